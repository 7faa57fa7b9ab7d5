"""One noisy release of class moments, then least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray
from entrenous.engine.phases.phase import Phase, Released
from entrenous.engine.progress import Progress
from entrenous.engine.rows.class_moments import ClassMoments
from entrenous.engine.rows.rows import Rows
from entrenous.engine.solvers.least_squares import MomentNoise, ranking_from_moments
from entrenous.privacy.lemmas.statistics import LEMMA_8
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part


@part
@dataclass(frozen=True)
class MomentRelease(Phase):
    """One noisy release of class counts, sums and second moments, then least squares on what was released."""

    weights: tuple[float, float, float]
    noise: Mechanism | None
    shrinkage: float

    @property
    def mechanism(self) -> Mechanism | None:
        return self.noise

    @property
    def lemmas(self) -> tuple[str, ...]:
        return (LEMMA_8,)

    @property
    def numbers(self) -> dict[str, Any]:
        return {"weights": self.weights, "shrinkage": self.shrinkage}

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def on_grid(self) -> bool:  # type: ignore[override]
        return self.noise is not None

    @property
    def steps(self) -> int:
        return 1

    def pair_gradients(self, n: int) -> int:
        return 0

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        """Noise of the class-mean difference, classes balanced."""
        if self.noise is None:
            return 0.0
        return self.noise.rms(1) / self.weights[1] * float(np.sqrt(2.0)) / (n / 2.0)

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        moments = self.release(X.class_moments(y), noise)
        ranking = ranking_from_moments(
            moments, ridge=problem.ridge, noise=self.noise_in_moments, shrinkage=self.shrinkage
        )
        progress(1, 1)
        return Released(ranking.w, ranking.intercept, 1, ranking.noise)

    @property
    def noise_in_moments(self) -> MomentNoise | None:
        """Sds of the noise on what is released, in the moments' own units; ``None``: there is none."""
        if self.noise is None:
            return None
        sd = self.noise.rms(1)
        a, b, c = self.weights
        return MomentNoise(sd / a, sd / b, sd / c)

    def release(self, moments: ClassMoments, noise: NoiseSource) -> ClassMoments:
        """The moments as they leave the phase: with the mechanism's noise, or as they are where there is none."""
        if self.noise is None:
            return moments
        flat = self.noise.release(moments.weighted(self.weights), noise)
        return ClassMoments.from_weighted(flat, self.weights, moments.n, moments.sums.shape[1])
