"""How the columns go together, with noise: later phases get rows whose directions are spread alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import Released, StatisticPhase
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.errors import InputError
from entrenous.privacy.lemmas.pointwise import LEMMA_18
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.whitened_box import WhitenedBox
from entrenous.problem.problem import Problem
from entrenous.problem.symmetric import from_coordinates, lower_triangle, to_coordinates
from entrenous.registry import part

_OF_NOISE, _OF_MEAN = 0.2, 0.2
"""Added to the variance of every direction: this times the noise's largest eigenvalue, this times the mean variance.
Less finds more in nearly collinear columns and costs more elsewhere. Chosen, like the next, on debrecen, diabetes,
usps, ijcnn1 and a9a."""
_LONGER = 1.4
"""Length of whitened rows before they are drawn in, in lengths of what came before, as a mean square."""
_DIGITS = 6
"""Decimals of the matrix, whose entries are about 1."""
_LEAST = 0.2
"""Least mean square length that rows of norm at most 1 are taken to have: noise may say less."""


@part
@dataclass(frozen=True)
class Whiten(StatisticPhase):
    """The mean of ``z z^T`` over the rows z, with noise (Lemma 18); later phases get rows times its inverse root.

    Before the root is taken, every direction's variance is raised by what the noise could hide: directions that are
    mostly noise keep their proportions. What follows the matrix reads nothing but it and public numbers.
    """

    lemma: ClassVar[str] = LEMMA_18
    finds_bounds: ClassVar[bool] = True
    on_grid: ClassVar[bool] = True
    needs_array_for: ClassVar[tuple[str, str] | None] = (
        "whitening mixes the columns, so it reads dense rows",
        "Leave out the option whiten",
    )

    share: float
    """Of the budget."""
    noise: Mechanism

    @property
    def mechanism(self) -> Mechanism:
        return self.noise

    @property
    def numbers(self) -> dict[str, Any]:
        return {"whiten": {"share": self.share}}

    @property
    def takes_sparse(self) -> bool:
        return False

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        assert so_far.features is not None
        if so_far.features.mixes_columns:
            raise InputError("whitening needs a domain that keeps columns apart", "a whitened one", "Whiten once.")
        return Released(so_far.w, features=self.whitened(so_far.features, self.release(X, noise)))

    def release(self, X: Rows, noise: NoiseSource) -> Array:
        """The matrix as it leaves the phase."""
        return from_coordinates(self.noise.release(self.exact(X), noise))

    def exact(self, X: Rows) -> Array:
        """Isometric coordinates of the matrix before noise."""
        return to_coordinates(X.second_moments() / len(X))

    def whitened(self, domain: FeatureDomain, moments: Array) -> WhitenedBox:
        """The domain of whitened rows, from what was released."""
        varies = np.flatnonzero(domain.unit > 0.0)
        matrix = np.eye(domain.unit.size)
        matrix[np.ix_(varies, varies)] = self.whitening(moments[np.ix_(varies, varies)])
        low, high = (np.broadcast_to(side, domain.unit.size) for side in domain.ends())
        sides = {"low": low, "high": high, "center": domain.origin, "axes": domain.unit}
        numbers: dict[str, Any] = {name: tuple(side.tolist()) for name, side in sides.items()}
        entries = tuple(lower_triangle(matrix).tolist())
        binary = tuple(np.flatnonzero(domain.is_binary).tolist())
        return WhitenedBox(**numbers, whitening=entries, names=getattr(domain, "names", None), binary=binary)

    def whitening(self, moments: Array) -> Array:
        """The matrix that rows are multiplied by, from the released one of columns that vary."""
        values, vectors = np.linalg.eigh(moments)
        d = values.size
        total = float(np.clip(values.sum(), _LEAST, 1.0))
        positive = np.maximum(values, 0.0)
        variance = positive * (total / positive.sum()) if positive.any() else np.full(d, total / d)
        # Symmetric noise of sd s, and s/sqrt(2) off the diagonal, has eigenvalues up to about s sqrt(2 d).
        raised = variance + _OF_NOISE * self.noise.rms(1) * math.sqrt(2.0 * d) + _OF_MEAN * total / d
        length = math.sqrt(total / float(np.sum(variance / raised)))
        root: Array = (vectors * (_LONGER * length / np.sqrt(raised))) @ vectors.T
        # The noise hides far more than these digits, and files hold the matrix as text.
        return np.round((root + root.T) / 2.0, _DIGITS)
