"""Streams: in which order records come, with which earlier ones they meet, how long the steps are, what is averaged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError
from entrenous.parts.indices import uniform, with_replacement
from entrenous.parts.pairing import Pairing, random_pairs, with_previous, with_reservoir, with_reservoir_of_other_class

Order = Literal["arrival", "with-replacement", "random-pairs"]
Average = Literal["delayed", "before", "last", "all"]
Schedule = Literal["power", "inverse", "huai"]
_WORDS = {
    "order": ("arrival", "with-replacement", "random-pairs"),
    "average": ("delayed", "before", "last", "all"),
    "schedule": ("power", "inverse", "huai"),
    "release": ("average", "every iterate"),
    "keep": ("latest", "reservoir", "reservoir per class"),
}


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

    `keep`: what the buffer holds, the latest records, or (in order of arrival) a uniform sample of all before; one
    sample per class depends on the labels and has no sensitivity.

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
    keep: Literal["latest", "reservoir", "reservoir per class"] = "latest"

    def __post_init__(self) -> None:
        words = all(getattr(self, name) in allowed for name, allowed in _WORDS.items())
        whole = all(
            isinstance(number, int) and not isinstance(number, bool) and number >= least
            for number, least in ((self.steps, 0 if self.warmup else 1), (self.buffer or 1, 1), (self.warmup, 0))
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

    def pairing_of(self, y: AnyArray, seed: int, phase: int) -> Pairing:
        """The pairs of all steps among the records with these labels."""
        if not self.looks_at_labels:
            return self.pairing(len(y), seed, phase)
        assert self.buffer is not None
        codes = np.ascontiguousarray(y[: self.steps + 1], dtype=np.int64)
        return with_reservoir_of_other_class(codes, self.buffer, uniform(seed, phase, (len(codes), 1)))

    def pairing(self, n: int, seed: int, phase: int) -> Pairing:
        """The pairs of all steps among n records, whatever their labels."""
        if self.looks_at_labels:
            raise InputError(
                "pairs that depend on labels have no sensitivity", self.keep, "Use a stream that does not."
            )
        if self.keep == "reservoir":
            assert self.buffer is not None
            seen = self.steps + 1
            return with_reservoir(seen, self.buffer, uniform(seed, phase, (seen, self.buffer)))
        if self.order == "random-pairs":
            first, second = with_replacement(seed, phase, n, 2 * self.steps).reshape(2, -1)
            return random_pairs(first, second)
        seen = self.steps + max(1, self.warmup)
        order = np.arange(seen) if self.order == "arrival" else with_replacement(seed, phase, n, seen)
        pairing = with_previous(order, self.buffer)
        skipped = pairing.steps - self.steps
        return Pairing(pairing.current[skipped:], order, pairing.low[skipped:], pairing.high[skipped:])

    def turns(self) -> Array:
        """Which record, counted from 1, each step is about."""
        return np.arange(1, self.steps + 1, dtype=float) + self.warmup

    def step_sizes(self) -> Array:
        """``eta_1..eta_T``."""
        t = self.turns()
        if self.schedule == "huai":
            return self.step_size * (t - 1.0) / (t * np.maximum(t - 2.0, 1.0))
        if self.schedule == "inverse":
            return self.step_size / (t + 1.0)
        return self.step_size * t**-self.decay

    def weights(self) -> Array:
        """Shares ``a_0..a_T`` of the iterates ``w_0..w_T`` in the output (what is missing from 1 is the warm-up's)."""
        shares = np.zeros(self.steps + 1)
        if self.average == "last":
            shares[-1] = 1.0
        elif self.average == "all":
            shares[:] = 1.0 / (self.steps + max(1, self.warmup))
        elif self.average == "before":
            shares[:-1] = 1.0 / self.steps
        else:
            eta = self.step_sizes()
            # w_{-1} = w_0, so the first two steps both weigh the start.
            shares[0] = eta[:2].sum()
            shares[1 : max(1, self.steps - 1)] = eta[2:]
            shares /= eta.sum()
        return shares

    def pair_gradients(self) -> int:
        """Pairs over all steps."""
        if self.order == "random-pairs":
            return self.steps
        if self.keep != "latest":
            return self.steps * (self.buffer or 1)
        before = np.arange(1, self.steps + 1) + max(0, self.warmup - 1)
        return int((before if self.buffer is None else np.minimum(before, self.buffer)).sum())
