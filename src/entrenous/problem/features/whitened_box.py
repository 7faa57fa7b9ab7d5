"""A box cut by an ellipsoid that lies aslant: what whitening finds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array, row_blocks
from entrenous.errors import InputError
from entrenous.problem.features.domain import TO_SINGLE, FeatureDomain
from entrenous.problem.symmetric import from_lower_triangle
from entrenous.registry import part


@part
@dataclass(frozen=True)
class WhitenedBox(FeatureDomain):
    """Entries from `low` to `high`, then ``||W (x - center) / axes|| <= 1`` for a symmetric positive definite W.

    `whitening` is the lower triangle of W, row by row. An axis of 0 is a public constant.

    >>> box = WhitenedBox((0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (1.0, 1.0), (2.0, -1.0, 2.0))
    >>> box.to_internal(np.array([[0.6, 0.6], [9.0, 0.5]])).round(3).tolist()
    [[0.1, 0.1], [0.894, -0.447]]
    """

    mixes_columns: ClassVar[bool] = True

    low: tuple[float, ...]
    high: tuple[float, ...]
    center: tuple[float, ...]
    axes: tuple[float, ...]
    whitening: tuple[float, ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        sides = {f.name: np.asarray(getattr(self, f.name), dtype=float) for f in fields(self) if f.name != "names"}
        finite = all(np.isfinite(side).all() for side in sides.values())
        entries = sides["whitening"].shape
        shapes = {side.shape for name, side in sides.items() if name != "whitening"}
        d = sides["low"].size
        if len(shapes) != 1 or sides["low"].ndim != 1 or not d or entries != (d * (d + 1) // 2,) or not finite:
            raise InputError(
                "a whitened box needs four finite numbers per feature and one per pair of features",
                "others",
                "Give one of each.",
            )
        if (sides["low"] > sides["high"]).any() or (sides["axes"] < 0.0).any():
            raise InputError("a whitened box needs low <= high and axes >= 0", "others", "Swap the ends.")
        for name, side in sides.items():
            object.__setattr__(self, name, tuple(side.tolist()))
        try:
            np.linalg.cholesky(self.matrix)
        except np.linalg.LinAlgError:
            raise InputError(
                "a whitened box needs a positive definite matrix", "another", "Use the one that a fit released."
            ) from None

    def for_features(self, n_features: int) -> WhitenedBox:
        if len(self.low) != n_features:
            raise InputError(
                f"bounds need one range per feature ({n_features})", str(len(self.low)), "Match the table."
            )
        return self

    @property
    def origin(self) -> Array:
        return np.array(self.center)

    @property
    def unit(self) -> Array:
        """The axes: internal units before whitening, per feature."""
        return np.array(self.axes)

    def ends(self) -> tuple[Array, Array]:
        return np.array(self.low), np.array(self.high)

    @property
    def reach(self) -> float:
        return 1.0

    @cached_property
    def matrix(self) -> Array:
        """W, whole."""
        return from_lower_triangle(np.array(self.whitening))

    def public_numbers(self) -> dict[str, Any]:
        return {"kind": "whitened box", **{f.name: getattr(self, f.name) for f in fields(self)}}

    def to_internal_single(self, X: AnyArray) -> AnyArray:
        rows = np.empty(X.shape, dtype=np.float32)
        for block in row_blocks(rows):
            rows[block] = self.to_internal(X[block]) * (1.0 - TO_SINGLE)
        return rows

    def mixed(self, rows: Array) -> Array:
        # Imported here: most of what the library does needs no compiler.
        from entrenous.problem.features.mix_kernel import rows_times

        flat = np.ascontiguousarray(rows, dtype=np.float64).reshape(-1, self.matrix.shape[0])
        whitened = np.empty_like(flat)
        rows_times(flat, self.matrix, whitened)
        return whitened.reshape(rows.shape)

    def unmixed(self, rows: Array) -> Array:
        return np.linalg.solve(self.matrix, rows.T).T.astype(np.float64, copy=False)

    def noise_to_user(self, noise: Array) -> Array:
        return self.scale * np.sqrt(np.square(self.matrix) @ np.square(noise))

    def metric_to_user(self, w: Array) -> Array:
        return super().metric_to_user(self.matrix @ w @ self.matrix)
