"""The intercept of a regression on pairs, which differences cannot show: the mean error, with noise of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import Released, StatisticPhase
from entrenous.engine.progress import Progress
from entrenous.engine.rows.exact_sums import SLOPE_GRID
from entrenous.engine.rows.rows import Rows
from entrenous.privacy.lemmas.statistics import LEMMA_13
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part

CLIP = 1.0
"""Errors beyond half the targets' range are clipped: the typical error is wanted, not the size of outliers."""


@part
@dataclass(frozen=True)
class InterceptRelease(StatisticPhase):
    """The mean of the clipped errors at the parameter that came before, plus noise (Lemma 13)."""

    lemma: ClassVar[str] = LEMMA_13

    share: float
    noise: Mechanism
    clip: float = CLIP

    @property
    def mechanism(self) -> Mechanism | None:
        return self.noise

    @property
    def numbers(self) -> dict[str, Any]:
        return {"intercept": {"share": self.share, "clip": self.clip}}

    @property
    def unit_rows(self) -> bool:
        return True

    def exact(self, X: Rows, y: AnyArray, w: Array) -> float:
        """The mean before noise, of errors cut towards zero to multiples of ``clip SLOPE_GRID``: their sum is exact."""
        share = np.clip((y - X.scores(w)) / self.clip, -1.0, 1.0)
        return float(np.trunc(share / SLOPE_GRID).sum() / len(share)) * SLOPE_GRID * self.clip

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        released = float(self.noise.release(np.array([self.exact(X, y, so_far.w)]), noise)[0])
        return Released(so_far.w, float(np.clip(released, -self.clip, self.clip)), 0)
