"""What iterative algorithms do without privacy: minimise the objective to a tolerance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray
from entrenous.engine.phases.phase import Phase, Released
from entrenous.engine.progress import Progress
from entrenous.engine.rows.error_slopes import PAIR_WIDTH
from entrenous.engine.rows.rows import Rows
from entrenous.engine.solvers.minimiser import minimise
from entrenous.engine.solvers.point_minimiser import minimise_points
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.bounded import Welsch
from entrenous.problem.typical_error import spread_of
from entrenous.registry import part


@part
@dataclass(frozen=True)
class Minimise(Phase):
    """The objective over all pairs, minimised to a stated tolerance. Without privacy only."""

    max_iter: int
    tolerance: float

    @property
    def mechanism(self) -> Mechanism | None:
        return None

    @property
    def lemmas(self) -> tuple[str, ...]:
        return ()

    @property
    def numbers(self) -> dict[str, Any]:
        return {"tolerance": self.tolerance, "max_iter": self.max_iter}

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.max_iter

    def pair_gradients(self, n: int) -> int:
        return self.max_iter * n * (n - 1) // 2

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        return 0.0

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        w, iterations = minimise(problem, X, y, so_far.w, self.tolerance, self.max_iter, progress)
        return Released(w, None, iterations)


_FIRST = 2.0
"""Spreads of the targets that the first bandwidth is for."""
_ROUNDS, _SETTLED, _EXACT = 6, 0.01, 1e-9
"""Of fitting and looking at the errors again: this many at most, fewer once their spread settles or is rounding."""


@part
@dataclass(frozen=True)
class RobustMinimise(Minimise):
    """Error entropy with a bandwidth that follows from the errors. Without privacy only.

    From a fit with a bandwidth for errors as large as the targets' own spread it goes to ever narrower ones: a loss
    that is not convex needs a good start.
    """

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        targets = np.asarray(y, dtype=float)
        whole = float(targets.max() - targets.min()) or 1.0
        w, spread, iterations = so_far.w, _FIRST * spread_of(targets) or whole, 0
        for _ in range(_ROUNDS):
            narrowed = replace(problem, surrogate=Welsch(PAIR_WIDTH * spread))
            w, more = minimise(narrowed, X, targets, w, self.tolerance, self.max_iter, progress)
            iterations += more
            before, spread = spread, min(spread_of(targets - X.scores(w)), spread)
            if spread <= _EXACT * whole or spread >= (1.0 - _SETTLED) * before:
                break
        return Released(w, None, iterations, error_cap=max(spread, _EXACT * whole))


@part
@dataclass(frozen=True)
class PointMinimise(Minimise):
    """A mean loss over single records, minimised to a stated tolerance. Without privacy only."""

    def pair_gradients(self, n: int) -> int:
        return 0

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        w, intercept, iterations = minimise_points(problem, X, y, self.tolerance, self.max_iter, progress)
        return Released(w, intercept, iterations)
