"""A box cut by an ellipsoid that lies aslant: what whitening finds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.features.cut_box import CutBox
from entrenous.problem.symmetric import from_lower_triangle
from entrenous.registry import part


@part
@dataclass(frozen=True)
class WhitenedBox(CutBox):
    """Entries from `low` to `high`, then ``||W (x - center) / axes|| <= 1`` for a symmetric positive definite W.

    `whitening` is the lower triangle of W, row by row. An axis of 0 is a public constant.

    >>> box = WhitenedBox((0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (1.0, 1.0), whitening=(2.0, -1.0, 2.0))
    >>> box.to_internal(np.array([[0.6, 0.6], [9.0, 0.5]])).round(3).tolist()
    [[0.1, 0.1], [0.894, -0.447]]
    """

    kind: ClassVar[str] = "whitened box"
    mixes_columns: ClassVar[bool] = True

    whitening: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        entries, d = np.asarray(self.whitening, dtype=float), len(self.low)
        if entries.shape != (d * (d + 1) // 2,) or not np.isfinite(entries).all():
            raise InputError(
                "a whitened box needs a finite number per pair of features", "others", "Give the lower triangle."
            )
        object.__setattr__(self, "whitening", tuple(entries.tolist()))
        try:
            np.linalg.cholesky(self.matrix)
        except np.linalg.LinAlgError:
            raise InputError(
                "a whitened box needs a positive definite matrix", "another", "Use the one that a fit released."
            ) from None

    @property
    def reach(self) -> float:
        return 1.0

    @cached_property
    def matrix(self) -> Array:
        """W, whole."""
        return from_lower_triangle(np.array(self.whitening))

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
