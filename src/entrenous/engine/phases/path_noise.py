"""How much of the noise on its gradients a descent keeps: what the path says that was released anyway.

Without curvature noise adds up step by step: an upper bound that is known before any row is read. Where the loss pulls
back, the later iterates wander less than such a walk would; how much they wandered is in the released gradients. The
rows themselves are not asked.
"""

from __future__ import annotations

import numpy as np

from entrenous.arrays import Array
from entrenous.engine.phases.phase import geometric_sum

_USUAL = 0.7
"""Wandering of a walk without curvature, over its mean, as a median: below it curvature is believed."""
_POWER = 1.5
"""By which power of the wandering the noise in the average shrinks. Columns that stand for one another are flat in one
direction and curved in another: theirs shrinks by 1/2, that of a column which is curved all through by 1 to 2."""
_FEW_STEPS = 5.0
"""Of so many steps half is believed."""
_LEAST = 0.2
"""The constants were chosen on diabetes, debrecen, usps, ijcnn1, a9a and a made-up table with a column twice in it;
`benchmarks/coef_noise.py` has the ratios of real tables."""


def without_curvature(per_step: float, steps: int, decay: float = 1.0) -> float:
    """Sd of a coordinate's average over the later half of the steps, noise of `per_step` added in each.

    What is left of it shrinks by `decay` from step to step; 1 is a loss that is flat.
    """
    skipped, step = steps // 2, np.arange(steps)
    # How much of a step's noise the average has: all later iterates, each with what is left of it there.
    first = np.maximum(step, skipped)
    shares = decay ** (first - step) * geometric_sum(decay, steps - first)
    return per_step * float(np.linalg.norm(shares)) / (steps - skipped)


class LaterPath:
    """The iterates of the later half as sums: their average, and how far they wandered around it."""

    def __init__(self, size: int) -> None:
        self._start: Array | None = None
        self._count = 0
        self._sum, self._squares, self._by_step = np.zeros(size), np.zeros(size), np.zeros(size)

    def add(self, w: Array) -> None:
        """The next iterate."""
        if self._start is None:
            # Sums of differences keep the digits that sums of squares of a long parameter would lose.
            self._start = w.copy()
        moved = w - self._start
        self._sum += moved
        self._squares += np.square(moved)
        self._by_step += self._count * moved
        self._count += 1

    @property
    def average(self) -> Array:
        """The mean iterate."""
        assert self._start is not None
        return self._start + self._sum / self._count

    def kept(self, per_step: float, steps: int, least: float = _LEAST) -> Array:
        """For each coordinate, the share of the noise without curvature that the average is estimated to have.

        It is never below `least`.
        """
        m = self._count
        if m < 3:
            return np.ones(self._sum.size)
        variance = self._squares / m - np.square(self._sum / m)
        along = self._by_step / m - (m - 1) / 2.0 * self._sum / m
        # A descent that is still on its way drifts; the line through the path is taken off.
        around_line = variance - np.square(along) * 12.0 / (m * m - 1.0)
        # What a walk without curvature would show, as a mean.
        wandered = np.minimum(variance * 6.0 * m / (m * m - 1.0), around_line * 15.0 * m / (m * m - 4.0)) / per_step**2
        # One path tells little of one coordinate, so others have a say; but none makes its noise look smaller.
        seen = np.maximum(np.maximum(wandered, (wandered + wandered.mean()) / 2.0), 0.0) / _USUAL
        trust = steps / (steps + _FEW_STEPS)
        return np.maximum(np.minimum(1.0 - trust + trust * seen, 1.0) ** _POWER, least)
