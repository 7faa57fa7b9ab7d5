"""Where most targets are inside their public range: one noisy histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import Released, StatisticPhase, TargetSpread
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows, bin_of
from entrenous.errors import InputError
from entrenous.privacy.lemmas.statistics import LEMMA_19
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part

_HALF_IN_SDS = 1.35
"""Width of the middle half of normal targets, in standard deviations."""
MOST_BINS = 4096


@part
@dataclass(frozen=True)
class TargetCentre(StatisticPhase):
    """Counts of the targets in equal bins of their range, with noise (Lemma 19).

    Centre and scale are those of the shortest run of bins that surely holds half of the targets: a few wild ones, on
    either side or on one, do not move it. What follows the counts reads nothing but them and public numbers.
    """

    lemma: ClassVar[str] = LEMMA_19
    reads_raw_rows: ClassVar[bool] = True
    """It reads targets only, so that nothing needs to be mapped for it."""

    share: float
    """Of the budget."""
    noise: Mechanism
    bins: int

    def __post_init__(self) -> None:
        if isinstance(self.bins, bool) or not isinstance(self.bins, int) or not 1 <= self.bins <= MOST_BINS:
            raise InputError(f"bins must be an int from 1 to {MOST_BINS}", repr(self.bins), "64 are usual.")

    @property
    def mechanism(self) -> Mechanism:
        return self.noise

    @property
    def numbers(self) -> dict[str, Any]:
        return {"target_histogram": {"share": self.share, "bins": self.bins}}

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        return Released(so_far.w, targets=self.summary(self.release(y, noise), len(y)))

    def release(self, y: AnyArray, noise: NoiseSource) -> Array:
        """The counts as they leave the phase."""
        return self.noise.release(self.exact(y), noise)

    def exact(self, y: AnyArray) -> Array:
        """The counts before noise, of targets in internal units."""
        low, high = np.full(1, -1.0), np.full(1, 1.0)
        return np.bincount(bin_of(np.asarray(y), low, high, self.bins), minlength=self.bins).astype(float)

    def summary(self, counts: Array, n: int) -> TargetSpread:
        """Centre and scale that these noisy counts suggest; those of the whole range where noise hides the targets."""
        up_to = np.concatenate([[0.0], np.cumsum(counts)])
        sd = self.noise.rms(1)
        for width in range(1, self.bins):
            held = up_to[width:] - up_to[:-width]
            first = int(np.argmax(held))
            if held[first] - sd * math.sqrt(width) >= n / 2.0:
                size = 2.0 / self.bins
                return TargetSpread(-1.0 + (first + width / 2.0) * size, width * size / _HALF_IN_SDS)
        return TargetSpread()
