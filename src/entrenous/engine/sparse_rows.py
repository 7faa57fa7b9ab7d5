"""Rows of a sparse table in internal units, with the centring left implicit: nothing is ever written out.

The map of a public domain takes a row x to ``f (S x + c)``: S scales, c is what a row of zeros becomes before it is
drawn into the ball, and f draws it there. S x has the zeros of x, c is one vector and f one number per row, so scores
and weighted sums of rows cost the stored entries only:

    X_int w    = f * ((X S) w + <c, w>)
    X_int^T v  = (X S)^T (f v) + c sum(f v)

Zeros that are not stored have to be inside the domain's ranges, or clipping would move them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from entrenous.arrays import AnyArray, Array
from entrenous.engine.sparse_kernel import add_second_moments, into_unit_ball
from entrenous.errors import InputError
from entrenous.parts.feature_domains import FeatureDomain

_FARTHEST = 100.0
"""Norm of c up to which the sums above keep their digits: they round by 1e-16 times this, and norms by its square."""

_FLAT = 1e-12
"""Share of a column's mean square below which its variance is rounding."""

SPARSE_ALGORITHMS = ("moments", "noisy-gd", "dpgdsc", "dpgdc", "dpgdc2", "dpegd", "kang-gp")
"""The algorithms whose phases take such rows."""


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Rows ``factor_i (stored_i + shift) + offset``; what the linear tasks ask of an array, it answers."""

    stored: Any
    """A ``scipy.sparse.csr_array`` in canonical format."""
    shift: Array
    factor: Array
    offset: Array

    @classmethod
    def as_they_are(cls, table: Any) -> SparseRows:
        """The rows of a CSR table, neither clipped nor scaled."""
        n, d = table.shape
        return cls(table, np.zeros(d), np.ones(n), np.zeros(d))

    @classmethod
    def inside(cls, domain: FeatureDomain, table: Any) -> SparseRows:
        """The rows of a CSR table as ``domain.to_internal`` maps them: every norm is at most 1."""
        n, d = table.shape
        scale = np.broadcast_to(domain.scale, d)
        low, high = (np.broadcast_to(side, d) for side in domain.ends())
        _need_zero_inside(low, high, scale)
        shift = -domain.origin * scale
        if not float(np.linalg.norm(shift)) <= _FARTHEST:
            raise InputError(
                f"sparse rows need zero within {_FARTHEST:g} radii of the domain's centre, or centring loses digits",
                f"{float(np.linalg.norm(shift)):.3g} radii",
                "Use a larger clipping radius, a FeatureBall around 0, or X.toarray().",
            )
        entries, factor = np.empty(len(table.data)), np.empty(n)
        into_unit_ball(table.indptr, table.indices, table.data, low, high, scale, shift, entries, factor)
        return cls(_with_entries(table, entries), shift, factor, np.zeros(d))

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.stored.shape
        return n, d

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: AnyArray) -> SparseRows:
        """The rows that a mask or an array of indices names."""
        return replace(self, stored=self.stored[chosen], factor=self.factor[chosen])

    def __sub__(self, row: Array) -> SparseRows:
        """Every row less this one."""
        return replace(self, offset=self.offset - row)

    def __matmul__(self, w: Array) -> Array:
        """The scores of the rows."""
        scores: Array = self.stored @ w
        scores += self.shift @ w
        scores *= self.factor
        scores += self.offset @ w
        return scores

    @property
    def T(self) -> TurnedRows:  # noqa: N802
        """For ``rows.T @ weight``."""
        return TurnedRows(self)

    def sum(self, axis: int) -> Array:
        """The sum of the rows (axis 0)."""
        return self.T @ np.ones(len(self))

    def mean(self, axis: int) -> Array:
        """The mean row (axis 0)."""
        return self.sum(axis) / len(self)

    def std(self, axis: int) -> Array:
        """The standard deviation of every column (axis 0)."""
        share = np.square(self.factor)
        squares = _with_entries(self.stored, np.square(self.stored.data)).T @ share
        squares += self.shift * (2.0 * (self.stored.T @ share) + self.shift * share.sum())
        # In f (s + c) + o the variance does not feel o.
        mean = (self - self.offset).mean(axis)
        variance = squares / len(self) - np.square(mean)
        return np.sqrt(np.where(variance > _FLAT * squares / len(self), variance, 0.0))

    def second_moments(self) -> Array:
        """``sum_i x_i x_i^T``, a dense square."""
        share = np.square(self.factor)
        total = np.zeros((self.shape[1],) * 2)
        add_second_moments(self.stored.indptr, self.stored.indices, self.stored.data, share, total)
        cross = np.outer(self.stored.T @ share, self.shift)
        total += cross + cross.T + share.sum() * np.outer(self.shift, self.shift)
        moved = np.outer((self - self.offset).sum(axis=0), self.offset)
        return total + moved + moved.T + len(self) * np.outer(self.offset, self.offset)


@dataclass(frozen=True, eq=False)
class TurnedRows:
    """The transpose of sparse rows, which takes one weight per row."""

    rows: SparseRows

    def __matmul__(self, weight: Array) -> Array:
        """The weighted sum of the rows."""
        rows = self.rows
        drawn = rows.factor * weight
        total: Array = rows.stored.T @ drawn
        return total + rows.shift * drawn.sum() + rows.offset * weight.sum()


Rows = Array | SparseRows
"""A table of rows in internal units, as the linear tasks take it."""


def canonical_csr(X: Any) -> Any:
    """A sparse table of any format as CSR of float64, each place stored once; X itself is not changed."""
    table = sparse.csr_array(X, dtype=np.float64)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def _need_zero_inside(low: Array, high: Array, scale: Array) -> None:
    # A public constant becomes 0 whatever is stored.
    outside = np.flatnonzero(((low > 0.0) | (high < 0.0)) & (scale > 0.0))
    if outside.size:
        j = int(outside[0])
        raise InputError(
            "sparse rows need bounds that contain 0: zeros that are not stored would be clipped",
            f"({low[j]:g}, {high[j]:g}) for feature {j}",
            "Widen the range to 0, shift the feature's unit, or use X.toarray().",
        )


def _with_entries(table: Any, entries: Array) -> Any:
    """The same places with other entries."""
    return sparse.csr_array((entries, table.indices, table.indptr), shape=table.shape)
