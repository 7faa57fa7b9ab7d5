"""Scores that may bend in every numeric feature: what a fit stores of them and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from entrenous.arrays import AnyArray, Array
from entrenous.engine.run import Fitted
from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.report.shapes_table import Shapes, shape_points


class BendingScores:
    """`coef_` for the straight part, `rises_` for the ramps, `shapes_` for both together."""

    shape: str
    coef_: Array
    coef_noise_: Array
    rises_: Array
    """What each ramp of the bounds adds to the score, a row per row of `coef_`; no columns where scores are linear."""
    rise_noise_: Array
    classes_: AnyArray
    n_features_in_: int
    bounds_: FeatureDomain | None
    all_bounds_: tuple[FeatureDomain | None, ...]
    _need_fit: Callable[[], None]

    _released: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "coef_noise_")

    def released_arrays(self) -> tuple[str, ...]:
        """Models without shapes are the same files as before there were any."""
        return (*self._released, *(("rises_", "rise_noise_") if self._bends else ()))

    @property
    def shapes_(self) -> Shapes:
        """What each value of each feature adds to the score, as a table: the whole model but its intercept.

        From what was released, so looking costs nothing. Rows that the domain draws in have all their shapes shrunk by
        one positive factor.
        """
        self._need_fit()
        if any(domain is None or domain.mixes_columns for domain in self.all_bounds_):
            raise InputError(
                "shapes need bounds that keep the features apart",
                "a whitened fit" if self.bounds_ is not None else "a fit without bounds",
                "Fit with bounds=... and without whiten.",
            )
        names = getattr(self, "feature_names_in_", None)
        named = [f"x{k}" for k in range(self.n_features_in_)] if names is None else [str(name) for name in names]
        labels = self.classes_[1:] if len(self.coef_) == 1 else self.classes_
        points = []
        for label, domain, coef, noise in zip(
            labels, self.all_bounds_, self.all_coefs(), self._all_noise(), strict=True
        ):
            assert domain is not None
            points += shape_points(label.item() if hasattr(label, "item") else label, named, domain, coef, noise)
        return Shapes(points)

    def _shape_for(self, X: Any) -> str:
        """Whether scores may bend; a sparse table is never written out, so there ``"auto"`` is linear."""
        return "linear" if self.shape == "auto" and issparse(X) else self.shape

    def _take_scores(self, fits: Sequence[Fitted]) -> None:
        d = self.n_features_in_
        coefs, noise = np.array([fitted.coef for fitted in fits]), np.array([fitted.noise for fitted in fits])
        self.coef_, self.rises_ = coefs[:, :d], coefs[:, d:]
        self.coef_noise_, self.rise_noise_ = noise[:, :d], noise[:, d:]

    def all_coefs(self) -> Array:
        """What the domain maps to internal weights: coefficients and rises."""
        return np.hstack([self.coef_, self.rises_]) if self._bends else self.coef_

    def _all_noise(self) -> Array:
        return np.hstack([self.coef_noise_, self.rise_noise_]) if self._bends else self.coef_noise_

    @property
    def _bends(self) -> bool:
        """Whether the fitted scores have ramps: all classes or none."""
        return self.bounds_ is not None and self.bounds_.added_entries > 0

    def _score_shapes(self, rows: int) -> dict[str, tuple[int | None, ...]]:
        """The shapes that the arrays must have."""
        entries = {"coef_": self.n_features_in_, "coef_noise_": self.n_features_in_}
        if self.bounds_ is not None and self._bends:
            entries |= dict.fromkeys(("rises_", "rise_noise_"), self.bounds_.added_entries)
        return {name: (rows, size) for name, size in entries.items()}
