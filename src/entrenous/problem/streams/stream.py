"""Streams: in which order records come, with which earlier ones they meet, how long the steps are, what is averaged."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.streams.buffers import Buffer, ClassReservoirs, Reservoir, Window
from entrenous.problem.streams.indices import chances, with_replacement
from entrenous.problem.streams.pairing import Pairing, random_pairs, with_previous
from entrenous.registry import part

Order = Literal["arrival", "with-replacement", "random-pairs"]
Average = Literal["delayed", "before", "last", "all"]
Schedule = Literal["power", "inverse", "huai"]
Keep = Literal["latest", "reservoir", "reservoir without replacement", "reservoir per class"]
_WORDS = {
    "order": ("arrival", "with-replacement", "random-pairs"),
    "average": ("delayed", "before", "last", "all"),
    "schedule": ("power", "inverse", "huai"),
    "release": ("average", "every iterate"),
    "keep": ("latest", "reservoir", "reservoir without replacement", "reservoir per class"),
}


_BLOCK = 1 << 16
"""Steps whose sizes are listed at once where only their sum is wanted: memory does not grow with the stream."""


@part
@dataclass(frozen=True)
class Stream:
    """The public side of a streaming run: enough to draw its pairs, steps and average again.

    `order`: records as they come, drawn with replacement, or a fresh random pair at every step. `buffer`: with how many
    previous records the current one is paired (``None``: all). `warmup`: so many records only fill the buffer, while
    the parameter is at public random points (Huai et al. 2020).

    `schedule`: ``"power"`` is ``step_size * t^-decay``; ``"inverse"`` is ``step_size/(t + 1)`` and ``"huai"``
    ``step_size (t - 1)/(t (t - 2))`` with t counting the records, both with `step_size` = 2/(strong convexity).

    `average`: ``"delayed"`` is ``sum_t eta_t w_{t-2} / sum_t eta_t`` (Yang et al., NeurIPS 2021), ``"before"`` the mean
    of the iterates at which gradients were taken, ``"last"`` the last one, ``"all"`` the mean of all, warm-up included.

    `keep`: what the buffer holds, the latest records, or (in order of arrival) a uniform sample of all before, with
    replacement or without; one sample per class depends on the labels and has no sensitivity.

    `release`: the average once, or every iterate as it comes, the one of record t with noise divided by t.
    """

    steps: int
    step_size: float
    order: Order = "with-replacement"
    buffer: int | None = 1
    decay: float = 0.0
    average: Average = "delayed"
    schedule: Schedule = "power"
    warmup: int = 0
    release: Literal["average", "every iterate"] = "average"
    keep: Keep = "latest"

    def __post_init__(self) -> None:
        words = all(getattr(self, name) in allowed for name, allowed in _WORDS.items())
        whole = all(
            isinstance(number, int) and not isinstance(number, bool) and number >= least
            for number, least in (
                (self.steps, 0 if self.warmup else 1),
                (1 if self.buffer is None else self.buffer, 1),
                (self.warmup, 0),
            )
        )
        sizes = 0.0 < self.step_size < math.inf and 0.0 <= self.decay < math.inf
        if self.keep != "latest":
            whole = whole and self.order == "arrival" and self.buffer is not None and self.warmup == 0
        if not (words and whole and sizes):
            raise InputError("a stream needs positive steps, step size and buffer", repr(self.__dict__), "Check them.")

    @property
    def looks_at_labels(self) -> bool:
        """Whether the pairs depend on the labels: then no private plan may use it."""
        return self.keep == "reservoir per class"

    def buffer_of(self, seed: int, phase: int) -> Buffer:
        """An empty buffer for records in order of arrival."""
        if self.keep == "latest":
            return Window(self.buffer, self.unpaired)
        assert self.buffer is not None
        generator = chances(seed, phase)
        if self.keep == "reservoir per class":
            return ClassReservoirs(self.buffer, generator)
        return Reservoir(self.buffer, generator, replacement=self.keep == "reservoir")

    def up_to(self, n: int) -> Stream:
        """The same stream over the first n records in order of arrival."""
        return replace(self, steps=max(0, min(self.steps, n - self.unpaired)))

    def checked_for(self, n: int) -> Stream:
        """The stream itself if n records are enough for its steps: compiled walks trust the indices of its pairs."""
        if self.order == "arrival" and self.steps + self.unpaired > n:
            raise InputError(
                f"{self.steps} steps in order of arrival need {self.steps + self.unpaired} records",
                f"n = {n}",
                "Take fewer steps.",
            )
        return self

    @property
    def unpaired(self) -> int:
        """How many records come before the first step."""
        return max(1, self.warmup)

    def pairing(self, n: int, seed: int, phase: int) -> Pairing:
        """The pairs of all steps among n records, whatever their labels."""
        if self.looks_at_labels:
            raise InputError(
                "pairs that depend on labels have no sensitivity", self.keep, "Use a stream that does not."
            )
        seen = self.steps + self.unpaired
        if self.order == "arrival":
            return self.buffer_of(seed, phase).meet(np.zeros(seen))[0]
        if self.order == "random-pairs":
            first, second = with_replacement(seed, phase, n, 2 * self.steps).reshape(2, -1)
            return random_pairs(first, second)
        order = with_replacement(seed, phase, n, seen)
        pairing = with_previous(order, self.buffer)
        skipped = pairing.steps - self.steps
        return Pairing(pairing.current[skipped:], order, pairing.low[skipped:], pairing.high[skipped:])

    def turns(self, first: int = 1, last: int | None = None) -> Array:
        """Which record, counted from 1, the steps `first` to `last` (all by default) are about."""
        return np.arange(first, (self.steps if last is None else last) + 1, dtype=float) + self.warmup

    def step_sizes(self, first: int = 1, last: int | None = None) -> Array:
        """``eta_first..eta_last``; by default ``eta_1..eta_T``."""
        t = self.turns(first, last)
        if self.schedule == "huai":
            return self.step_size * (t - 1.0) / (t * np.maximum(t - 2.0, 1.0))
        if self.schedule == "inverse":
            return self.step_size / (t + 1.0)
        return self.step_size * t**-self.decay

    @property
    def lag(self) -> int:
        """How many of the newest iterates have no share in the average yet."""
        return {"delayed": 2, "before": 1, "all": 0, "last": 0}[self.average]

    def iterate_weights(self, first: int, last: int) -> Array:
        """What ``w_first..w_last`` weigh in the average, before division by `total_weight`."""
        if self.average == "last":
            return np.zeros(last - first + 1)
        if self.average != "delayed":
            return np.ones(last - first + 1)
        weights = self.step_sizes(first + 2, last + 2)
        if first == 0:
            # w_{-1} = w_0, so the first two steps both weigh the start.
            weights[:1] += self.step_sizes(1, 1)
        return weights

    def total_weight(self, steps: int) -> float:
        """What the weights of all iterates that count after so many steps sum to (the warm-up's included)."""
        if self.average == "delayed":
            return _length(self, steps)
        return float(steps + self.unpaired if self.average == "all" else steps)

    def weights(self, first: int = 0, last: int | None = None) -> Array:
        """Shares ``a_first..a_last`` (all by default) of the iterates ``w_0..w_T`` in the output.

        What is missing from 1 is the warm-up's.
        """
        last = self.steps if last is None else last
        shares = np.zeros(last - first + 1)
        alone = self.steps if self.average == "last" else 0 if self.steps < self.lag else None
        if alone is None:
            counted = min(last, self.steps - self.lag)
            if counted >= first:
                shares[: counted - first + 1] = self.iterate_weights(first, counted) / self.total_weight(self.steps)
        elif first <= alone <= last:
            shares[alone - first] = 1.0
        return shares

    def blocks(self, first: int, last: int | None = None) -> Iterator[tuple[int, int]]:
        """The steps `first` to `last` (all by default) in stretches: their first and last."""
        last = self.steps if last is None else last
        return ((start, min(start + _BLOCK - 1, last)) for start in range(first, last + 1, _BLOCK))

    def pair_gradients(self) -> int:
        """Pairs over all steps."""
        if self.order == "random-pairs":
            return self.steps
        if self.keep in ("reservoir", "reservoir per class"):
            return self.steps * (self.buffer or 1)
        already = max(0, self.warmup - 1)
        # Step t meets t + already records, at most as many as the buffer holds: a ramp, then a plateau.
        ramp = self.steps if self.buffer is None else min(self.steps, max(0, self.buffer - already))
        return ramp * (ramp + 1) // 2 + ramp * already + (self.steps - ramp) * (self.buffer or 0)


@lru_cache(maxsize=16)
def _length(stream: Stream, steps: int) -> float:
    """``eta_1 + ... + eta_steps``; remembered, because the weights of every stretch are divided by it."""
    return math.fsum(float(stream.step_sizes(*ends).sum()) for ends in stream.blocks(1, steps))
