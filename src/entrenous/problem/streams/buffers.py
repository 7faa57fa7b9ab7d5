"""Which earlier records a stream keeps for later ones to meet: by position, chunk after chunk, without a look at a row.

A buffer numbers the records it kept 0..k-1 and a new chunk's k, k+1, ...; `meet` returns the chunk's pairs in these
positions, and which positions to keep. The whole table is one chunk, so batch and online runs draw the same pairs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numba import njit

from entrenous.arrays import AnyArray, Codes
from entrenous.problem.streams.pairing import Pairing


class Buffer(ABC):
    """Who of the records so far the next ones meet."""

    def __init__(self) -> None:
        self.seen = 0
        self.held = 0

    @abstractmethod
    def meet(self, labels: AnyArray) -> tuple[Pairing, Codes]:
        """The pairs of a chunk of records with these labels, and the positions to keep after it."""


class Window(Buffer):
    """The last `size` records (FIFO), or all for ``None``. The first `skipped` records only fill it."""

    def __init__(self, size: int | None, skipped: int = 1) -> None:
        super().__init__()
        self.size, self.skipped = size, skipped

    def meet(self, labels: AnyArray) -> tuple[Pairing, Codes]:
        end = self.held + len(labels)
        turns = np.arange(self.held + max(0, self.skipped - self.seen), end)
        low = np.zeros_like(turns) if self.size is None else np.maximum(0, turns - self.size)
        kept = np.arange(0 if self.size is None else max(0, end - self.size), end)
        self.seen, self.held = self.seen + len(labels), len(kept)
        return Pairing(turns, np.arange(end), low, turns), kept


class Reservoir(Buffer):
    """A uniform sample of `size` of all records before (Kar et al. 2013), drawn without looking at any of them.

    With replacement every place is taken over by the t-th record with probability 1/t, independently; without, the t-th
    record takes one of the places with probability size/t.
    """

    def __init__(self, size: int, generator: np.random.Generator, *, replacement: bool) -> None:
        super().__init__()
        self.size, self.replacement, self._generator = size, replacement, generator

    def meet(self, labels: AnyArray) -> tuple[Pairing, Codes]:
        chances = self._generator.random((len(labels), self.size if self.replacement else 1))
        places = np.zeros(self.size, np.int64)
        places[: self.held] = np.arange(self.held)
        found, low, high = _sampled(places, self.held, self.seen, chances, self.replacement)
        turns = np.arange(self.held + (self.seen == 0), self.held + len(labels))
        self.seen += len(labels)
        self.held = self.size if self.replacement else min(self.size, self.seen)
        return Pairing(turns, found, low, high), places[: self.held].copy()


class ClassReservoirs(Buffer):
    """A sample without replacement of each class; a record meets the other class's (Zhao et al. 2011).

    Which records meet depends on the labels, so no private plan may use it. A record that finds the other class's
    reservoir empty meets itself, which gives no gradient.
    """

    def __init__(self, size: int, generator: np.random.Generator) -> None:
        super().__init__()
        self.size, self._generator = size, generator
        self._places = np.zeros((2, size), np.int64)
        self._per_class = np.zeros(2, np.int64)

    def meet(self, labels: AnyArray) -> tuple[Pairing, Codes]:
        codes = np.ascontiguousarray(labels, dtype=np.int64)
        found, low, high = _sampled_by_class(
            codes, self.held, self.seen, self._generator.random(len(codes)), self._places, self._per_class
        )
        turns = np.arange(self.held + (self.seen == 0), self.held + len(codes))
        filled = np.minimum(self._per_class, self.size)
        kept = np.concatenate([self._places[0, : filled[0]], self._places[1, : filled[1]]])
        self._places[0, : filled[0]] = np.arange(filled[0])
        self._places[1, : filled[1]] = filled[0] + np.arange(filled[1])
        self.seen, self.held = self.seen + len(codes), len(kept)
        return Pairing(turns, found, low, high), kept


@njit(cache=True)
def _sampled(places, held, seen, chances, replacement):  # type: ignore[no-untyped-def]
    """What each record of a chunk finds in the places, which are brought up to date on the way."""
    size, m = len(places), len(chances)
    found = np.empty(m * size, np.int64)
    low, high = np.empty(m, np.int64), np.empty(m, np.int64)
    end = 0
    for k in range(m):
        before = seen + k
        full = size if replacement else min(before, size)
        low[k] = end
        if before > 0:
            found[end : end + full] = places[:full]
            end += full
        high[k] = end
        if replacement:
            for place in range(size):
                if chances[k, place] * (before + 1) < 1.0:
                    places[place] = held + k
        else:
            place = before if before < size else int(chances[k, 0] * (before + 1))
            if place < size:
                places[place] = held + k
    first = 1 if seen == 0 else 0
    return found[:end], low[first:], high[first:]


@njit(cache=True)
def _sampled_by_class(codes, held, seen, chances, places, per_class):  # type: ignore[no-untyped-def]
    size, m = places.shape[1], len(codes)
    found = np.empty(m * size, np.int64)
    low, high = np.empty(m, np.int64), np.empty(m, np.int64)
    end = 0
    for k in range(m):
        own, other = codes[k], 1 - codes[k]
        full = min(per_class[other], size)
        low[k] = end
        if seen + k > 0:
            for place in range(max(full, 1)):
                found[end + place] = places[other, place] if full > 0 else held + k
            end += max(full, 1)
        high[k] = end
        per_class[own] += 1
        place = per_class[own] - 1 if per_class[own] <= size else int(chances[k] * per_class[own])
        if place < size:
            places[own, place] = held + k
    first = 1 if seen == 0 else 0
    return found[:end], low[first:], high[first:]
