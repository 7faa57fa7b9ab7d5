"""What phases that compute a metric from one release have in common: units, columns, and what the noise does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import Phase, Released
from entrenous.engine.progress import Progress
from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.rows.rows import Rows
from entrenous.errors import InputError
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem

_REPEATS = 4
"""How often the released numbers get the same noise once more, to see what it does to the metric."""


@dataclass(frozen=True)
class MetricRelease(Phase):
    """One release of sums over the records, then a metric from what was released.

    The metric is scaled to the radius of the parameter's domain: only proportions of distances are learnt.
    """

    noise: Mechanism | None
    rank: int | None
    """Directions that the metric may have; ``None``: as many as there are features."""

    def __post_init__(self) -> None:
        if self.rank is not None and not (type(self.rank) is int and self.rank >= 1):
            raise InputError("rank must be an int >= 1, or None", repr(self.rank), "None keeps all directions.")

    @property
    def mechanism(self) -> Mechanism | None:
        return self.noise

    @property
    def unit_rows(self) -> bool:
        return True

    @property
    def on_grid(self) -> bool:  # type: ignore[override]
        return self.noise is not None

    @property
    def steps(self) -> int:
        return 1

    def pair_gradients(self, n: int) -> int:
        return 0

    @abstractmethod
    def exact(self, X: Rows, y: AnyArray) -> Array:
        """What the noise is added to, as one vector."""

    @abstractmethod
    def solver(self, X: Rows, y: AnyArray, ridge: float) -> Callable[[Array], Array]:
        """From such a vector to a matrix; it reads nothing of the rows but their number and width."""

    def release(self, X: Rows, y: AnyArray, noise: NoiseSource) -> Array:
        """The vector as it leaves the phase."""
        value = self.exact(X, y)
        return value if self.noise is None else self.noise.release(value, noise)

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        varies = np.ones(X.shape[1], dtype=bool) if so_far.features is None else so_far.features.unit > 0.0
        varies = np.broadcast_to(varies, X.shape[1])
        if not varies.any():
            progress(1, 1)
            return Released(self._scaled(problem, np.eye(X.shape[1])), None, 1, np.zeros(problem.start().shape))
        rows = X if varies.all() else DenseRows(X.array()[:, varies])
        released = self.release(rows, y, noise)
        solve = self.solver(rows, y, problem.ridge)

        def metric(vector: Array) -> Array:
            matrix = np.zeros(problem.start().shape)
            matrix[np.ix_(varies, varies)] = solve(vector)
            return self._scaled(problem, matrix)

        found = metric(released)
        progress(1, 1)
        return Released(found, None, 1, self._spread(metric, released, found))

    def _spread(self, metric: Callable[[Array], Array], released: Array, found: Array) -> Array:
        """One sd for all entries: by how much the same noise once more moves the metric. It costs no privacy."""
        if self.noise is None:
            return np.zeros(found.shape)
        again = np.random.default_rng(0)
        sd = self.noise.rms(1)
        moved = [metric(released + sd * again.normal(size=released.size)) - found for _ in range(_REPEATS)]
        return np.full(found.shape, float(np.sqrt(np.mean(np.square(moved)))))

    @staticmethod
    def _scaled(problem: Problem, matrix: Array) -> Array:
        norm = problem.domain.norm(matrix)
        return matrix * (problem.domain.radius / norm) if norm > 0.0 else matrix
