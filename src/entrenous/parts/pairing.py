"""Which records meet at each step of a stream: the current record with a window of earlier ones.

A `Pairing` is drawn without looking at any record. Step t pairs record ``current[t]`` with the records
``stream[low[t]:high[t]]`` and averages; a record paired with itself gives no gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from entrenous.arrays import Array, Codes


class Pairing(NamedTuple):
    """The pairs of all steps, by index."""

    current: Codes
    stream: Codes
    low: Codes
    high: Codes

    @property
    def steps(self) -> int:
        return len(self.current)


def with_previous(order: Codes, buffer: int | None) -> Pairing:
    """Each record with the last `buffer` ones before it (FIFO), or with all before it for ``None``.

    The first record of the order has nothing before it, so there is one step less than there are records.
    """
    steps = np.arange(1, len(order))
    low = np.zeros_like(steps) if buffer is None else np.maximum(0, steps - buffer)
    return Pairing(order[1:], order, low, steps)


def random_pairs(first: Codes, second: Codes) -> Pairing:
    """A fresh pair at every step."""
    steps = np.arange(len(first))
    return Pairing(first, second, steps, steps + 1)


def with_reservoir(n: int, size: int, uniforms: Array) -> Pairing:
    """Each record, in order of arrival, with a uniform sample with replacement of those before it (Kar et al. 2013).

    Every one of the `size` places is taken over by the t-th record with probability 1/t, independently; `uniforms` has
    one row of `size` numbers per record.
    """
    return _windows(n, size, _places_with_replacement(n, size, uniforms))


def with_reservoir_of_other_class(y: Codes, size: int, uniforms: Array) -> Pairing:
    """Each record with a sample without replacement of the earlier records of the other class (Zhao et al. 2011).

    Which records meet depends on the labels, so no private plan may use it. A record that finds the other class's
    reservoir empty meets itself, which gives no gradient.
    """
    partners, low, high = _places_by_class(y, size, uniforms)
    return Pairing(np.arange(1, len(y)), partners, low, high)


def _windows(n: int, size: int, partners: Codes) -> Pairing:
    low = np.arange(n - 1) * size
    return Pairing(np.arange(1, n), partners, low, low + size)


@njit(cache=True)
def _places_with_replacement(n, size, uniforms):  # type: ignore[no-untyped-def]
    """The reservoir that records 1..n-1 find, one after another."""
    places = np.zeros(size, np.int64)
    found = np.empty((n - 1) * size, np.int64)
    for t in range(1, n):
        found[(t - 1) * size : t * size] = places
        for k in range(size):
            if uniforms[t, k] * (t + 1) < 1.0:
                places[k] = t
    return found


@njit(cache=True)
def _places_by_class(y, size, uniforms):  # type: ignore[no-untyped-def]
    n = len(y)
    places = np.zeros((2, size), np.int64)
    seen = np.zeros(2, np.int64)
    found = np.empty((n - 1) * size, np.int64)
    low, high = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64)
    end = 0
    for t in range(n):
        own, other = int(y[t]), 1 - int(y[t])
        if t > 0:
            held = min(seen[other], size)
            low[t - 1] = end
            for k in range(max(held, 1)):
                found[end + k] = places[other, k] if held > 0 else t
            end += max(held, 1)
            high[t - 1] = end
        seen[own] += 1
        if seen[own] <= size:
            places[own, seen[own] - 1] = t
        else:
            slot = int(uniforms[t, 0] * seen[own])
            if slot < size:
                places[own, slot] = t
    return found[:end].copy(), low, high
