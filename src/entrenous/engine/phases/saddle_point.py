"""The square loss over pairs from single records and running class means (the saddle point form of AUC)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import OnlinePhase, Released
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.engine.streams.fold import Fold
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part


@part
@dataclass(frozen=True)
class SaddlePoint(OnlinePhase):
    """One pass of stochastic gradients of ``p(1-p) E[(1 - <w, x - x'>)^2]``, projected; the mean of ``w_0..w_{T-1}``.

    The inner maximisation of the saddle point has a closed form in the class means u (events) and v, so the objective
    is, with p the share of events, ``(1-p) E[1[y=1] <w, x - u>^2] + p E[1[y=0] <w, x - v>^2] + p(1-p) (1 - <w, u -
    v>)^2``: a mean over records, whose gradient at one record needs running means only (Lei and Ying 2021).

    ``eta_t = step_size/((h_t + ridge) sqrt(t))`` where ``h_t = 2p(1-p) (tr Cov_1 + tr Cov_0 + ||u - v||^2)``, the trace
    of the Hessian on the records so far, is at least its largest eigenvalue: the worst case over rows of norm 1 would
    make steps many times too short. Means and variances are of private rows, so there is no private version.
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
    def mechanism(self) -> Mechanism | None:
        """None: running means of private rows have no private version."""
        return None

    @property
    def lemmas(self) -> tuple[str, ...]:
        return ()

    @property
    def numbers(self) -> dict[str, Any]:
        return {"step_size": self.step_size}

    def up_to(self, n: int) -> SaddlePoint:
        return replace(self, total_steps=min(self.total_steps, n))

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        fold = self.begin(problem, so_far.w)
        fold.feed(X.array(), y)
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
        self._squares = np.zeros(2)

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
            self._squares,
        )
        self.done += take

    def result(self) -> Array:
        return self._total / self.done


_FLAT = 1e-250
"""Curvature below which rows of norm 1 count as all alike."""


@njit(cache=True, error_model="numpy")
def _steps(X, y, done, step_size, ridge, radius, w, total, counts, means, squares):  # type: ignore[no-untyped-def]
    d = X.shape[1]
    for i in range(X.shape[0]):
        own = y[i]
        counts[own] += 1.0
        share = counts[1] / (counts[0] + counts[1])
        own_gap = 0.0
        class_gap = 0.0
        distance = 0.0
        for k in range(d):
            total[k] += w[k]
            before = X[i, k] - means[own, k]
            means[own, k] += before / counts[own]
            after = X[i, k] - means[own, k]
            squares[own] += before * after
            own_gap += w[k] * after
            class_gap += w[k] * (means[1, k] - means[0, k])
            distance += (means[1, k] - means[0, k]) ** 2
        # With one class so far both weights are 0, so the other mean, which nobody has set, does not count.
        spread = 2.0 * (1.0 - share if own == 1 else share) * own_gap
        between = -2.0 * share * (1.0 - share) * (1.0 - class_gap)
        curvature = ridge
        if counts[0] > 0.0 and counts[1] > 0.0:
            spreads = squares[0] / counts[0] + squares[1] / counts[1]
            curvature += 2.0 * share * (1.0 - share) * (spreads + distance)
        # Without curvature (one class, or all records alike) the gradient is 0 too, and the quotient would overflow.
        eta = step_size / (curvature * np.sqrt(done + i + 1.0)) if curvature > _FLAT else 0.0
        square = 0.0
        for k in range(d):
            gradient = spread * (X[i, k] - means[own, k]) + between * (means[1, k] - means[0, k]) + ridge * w[k]
            w[k] -= eta * gradient
            square += w[k] * w[k]
        if square > radius * radius:
            shrink = radius / np.sqrt(square)
            for k in range(d):
                w[k] *= shrink
