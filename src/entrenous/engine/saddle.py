"""The square loss over pairs from single records and running class means (the saddle point form of AUC)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases import Fold, OnlinePhase, Released
from entrenous.engine.progress import Progress
from entrenous.parts.problem import Problem
from entrenous.privacy.noise import NoiseSource


@dataclass(frozen=True)
class SaddlePoint(OnlinePhase):
    """One pass of stochastic gradients of ``p(1-p) E[(1 - <w, x - x'>)^2]``, projected; the mean of ``w_0..w_{T-1}``.

    The inner maximisation of the saddle point has a closed form in the class means u (events) and v, so the objective
    is, with p the share of events, ``(1-p) E[1[y=1] <w, x - u>^2] + p E[1[y=0] <w, x - v>^2] + p(1-p) (1 - <w, u -
    v>)^2``: a mean over records, whose gradient at one record needs running means only (Lei and Ying 2021). Those means
    are of private rows, so there is no private version. ``eta_t = step_size/sqrt(t)``.
    """

    total_steps: int
    step_size: float

    @property
    def unit_rows(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.total_steps

    def pair_gradients(self, n: int) -> int:
        return 0

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        return 0.0

    @property
    def described(self) -> dict[str, Any]:
        return {"step_size": self.step_size}

    def up_to(self, n: int) -> SaddlePoint:
        return replace(self, total_steps=min(self.total_steps, n))

    def run(
        self, problem: Problem, X: Array, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress
    ) -> Released:
        fold = self.begin(problem, w)
        fold.feed(X, y)
        progress(self.steps, self.steps)
        return self.finish(problem, fold, noise)

    def begin(self, problem: Problem, w: Array) -> Fold:
        return _SaddleRun(problem, self, problem.domain.project(w))

    def finish(self, problem: Problem, fold: Fold, noise: NoiseSource) -> Released:
        return Released(fold.result(), None, fold.done)


class _SaddleRun(Fold):
    def __init__(self, problem: Problem, phase: SaddlePoint, w: Array) -> None:
        self._ridge, self._radius, self._phase = problem.ridge, problem.domain.radius, phase
        self.done = 0
        self._w = np.array(w, dtype=float)
        self._total = np.zeros_like(self._w)
        self._counts = np.zeros(2)
        self._means = np.zeros((2, len(self._w)))

    def feed(self, X: Array, y: AnyArray) -> None:
        take = min(len(X), self._phase.total_steps - self.done)
        _steps(
            np.ascontiguousarray(X[:take]),
            np.ascontiguousarray(y[:take], dtype=np.int64),
            self.done,
            self._phase.step_size,
            self._ridge,
            self._radius,
            self._w,
            self._total,
            self._counts,
            self._means,
        )
        self.done += take

    def result(self) -> Array:
        return self._total / self.done


@njit(cache=True, error_model="numpy")
def _steps(X, y, done, step_size, ridge, radius, w, total, counts, means):  # type: ignore[no-untyped-def]
    d = X.shape[1]
    for i in range(X.shape[0]):
        own = y[i]
        counts[own] += 1.0
        share = counts[1] / (counts[0] + counts[1])
        eta = step_size / np.sqrt(done + i + 1.0)
        own_gap = 0.0
        class_gap = 0.0
        for k in range(d):
            total[k] += w[k]
            means[own, k] += (X[i, k] - means[own, k]) / counts[own]
            own_gap += w[k] * (X[i, k] - means[own, k])
            class_gap += w[k] * (means[1, k] - means[0, k])
        # With one class so far both weights are 0, so the other mean, which nobody has set, does not count.
        spread = 2.0 * (1.0 - share if own == 1 else share) * own_gap
        between = -2.0 * share * (1.0 - share) * (1.0 - class_gap)
        square = 0.0
        for k in range(d):
            gradient = spread * (X[i, k] - means[own, k]) + between * (means[1, k] - means[0, k]) + ridge * w[k]
            w[k] -= eta * gradient
            square += w[k] * w[k]
        if square > radius * radius:
            shrink = radius / np.sqrt(square)
            for k in range(d):
                w[k] *= shrink
