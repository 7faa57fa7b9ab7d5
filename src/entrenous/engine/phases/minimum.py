"""What iterative algorithms do without privacy: minimise the objective to a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from entrenous.arrays import AnyArray
from entrenous.engine.phases.phase import Phase, Released
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.engine.solvers.minimiser import minimise
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
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
