"""Streams: in which order records come, with which earlier ones they meet, how long the steps are, what is averaged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.parts.indices import with_replacement
from entrenous.parts.pairing import Pairing, random_pairs, with_previous

Order = Literal["arrival", "with-replacement", "random-pairs"]
Average = Literal["delayed", "before", "last"]


@dataclass(frozen=True)
class Stream:
    """The public side of a streaming run: enough to draw its pairs, steps and average again.

    `order`: records as they come, drawn with replacement, or a fresh random pair at every step. `buffer`: with how many
    previous records the current one is paired (``None``: all). Step sizes are ``step_size * t^-decay``. `average`:
    ``"delayed"`` is ``sum_t eta_t w_{t-2} / sum_t eta_t`` (Yang et al., NeurIPS 2021), ``"before"`` the mean of the
    iterates at which gradients were taken, ``"last"`` the last iterate.
    """

    steps: int
    step_size: float
    order: Order = "with-replacement"
    buffer: int | None = 1
    decay: float = 0.0
    average: Average = "delayed"

    def __post_init__(self) -> None:
        known = self.order in ("arrival", "with-replacement", "random-pairs") and self.average in (
            "delayed",
            "before",
            "last",
        )
        whole = all(isinstance(k, int) and not isinstance(k, bool) and k >= 1 for k in (self.steps, self.buffer or 1))
        sizes = self.step_size > 0.0 and 0.0 <= self.decay < math.inf and math.isfinite(self.step_size)
        if not (known and whole and sizes):
            raise InputError("a stream needs positive steps, step size and buffer", repr(self.__dict__), "Check them.")

    def pairing(self, n: int, seed: int, phase: int) -> Pairing:
        """The pairs of all steps among n records."""
        if self.order == "random-pairs":
            first, second = with_replacement(seed, phase, n, 2 * self.steps).reshape(2, -1)
            return random_pairs(first, second)
        if self.order == "arrival":
            return with_previous(np.arange(self.steps + 1), self.buffer)
        return with_previous(with_replacement(seed, phase, n, self.steps + 1), self.buffer)

    def step_sizes(self) -> Array:
        """``eta_1..eta_T``."""
        return self.step_size * np.arange(1, self.steps + 1, dtype=float) ** -self.decay

    def weights(self) -> Array:
        """Shares ``a_0..a_T`` of the iterates ``w_0..w_T`` in the output."""
        shares = np.zeros(self.steps + 1)
        if self.average == "last":
            shares[-1] = 1.0
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
        sizes = np.arange(1, self.steps + 1)
        return int((sizes if self.buffer is None else np.minimum(sizes, self.buffer)).sum())
