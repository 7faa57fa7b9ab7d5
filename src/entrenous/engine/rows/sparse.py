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
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from entrenous.arrays import AnyArray, Array, row_blocks
from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.rows.registry import row_kind
from entrenous.engine.rows.rows import Rows
from entrenous.engine.rows.sparse_kernel import add_second_moments, into_unit_ball
from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain

_FARTHEST = 100.0
"""Norm of c up to which the sums above keep their digits: they round by 1e-16 times this, and norms by its square."""

_AT_ONCE = 1 << 18
"""Rows, or numbers where rows are written out, that are scored at once."""

_FLAT = 1e-12
"""Share of a column's mean square below which its variance is rounding."""


@row_kind(accepts=sparse.issparse)
@dataclass(frozen=True, eq=False)
class SparseRows(Rows):
    """Rows ``factor_i (stored_i + shift) + offset`` of a sparse table of any format."""

    stored: Any
    """A ``scipy.sparse.csr_array`` in canonical format."""
    shift: Array
    factor: Array
    offset: Array

    described: ClassVar[str] = "a sparse table"
    as_array: ClassVar[str] = "X.toarray()"

    @classmethod
    def of(cls, table: Any) -> SparseRows:
        n, d = table.shape
        return cls(canonical_csr(table), np.zeros(d), np.ones(n), np.zeros(d))

    def all_finite(self) -> bool:
        entries = self.stored.data[:, None]
        return all(bool(np.isfinite(entries[block]).all()) for block in row_blocks(entries))

    def inside(self, domain: FeatureDomain) -> SparseRows:
        assert not self.shift.any(), "rows in internal units have been clipped already"
        table = self.stored
        n, d = table.shape
        obstacle = _obstacle(domain, d)
        if obstacle is not None:
            raise obstacle
        scale = np.broadcast_to(domain.scale, d)
        low, high = (np.broadcast_to(side, d) for side in domain.ends())
        shift = -domain.origin * scale
        entries, factor = np.empty(len(table.data)), np.empty(n)
        into_unit_ball(table.indptr, table.indices, table.data, low, high, scale, shift, entries, factor)
        return SparseRows(_with_entries(table, entries), shift, factor, np.zeros(d))

    def scores_inside(self, domain: FeatureDomain, weights: Array) -> Array:
        n, d = self.shape
        # Where clipping moves zeros, a few rows at a time are written out.
        written_out = _obstacle(domain, d) is not None
        step = max(1, _AT_ONCE // d) if written_out else _AT_ONCE
        scores = np.empty((n, len(weights)))
        for start in range(0, n, step):
            block = slice(start, start + step)
            part: Rows = DenseRows(self.stored[block].toarray()) if written_out else self.take(block)
            scores[block] = Rows.scores_inside(part, domain, weights)
        return scores

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.stored.shape
        return shape

    def take(self, chosen: AnyArray | slice) -> SparseRows:
        return replace(self, stored=self.stored[chosen], factor=self.factor[chosen])

    def minus(self, row: Array) -> SparseRows:
        return replace(self, offset=self.offset - row)

    def scores(self, w: Array) -> Array:
        scores: Array = self.stored @ w
        scores += self.shift @ w
        scores *= self.factor
        scores += self.offset @ w
        return scores

    def weighted_sum(self, weights: Array) -> Array:
        drawn = self.factor * weights
        total: Array = self.stored.T @ drawn
        return total + self.shift * drawn.sum() + self.offset * weights.sum()

    def spread(self) -> Array:
        share = np.square(self.factor)
        squares = _with_entries(self.stored, np.square(self.stored.data)).T @ share
        squares += self.shift * (2.0 * (self.stored.T @ share) + self.shift * share.sum())
        # In f (s + c) + o the variance does not feel o.
        mean = self.minus(self.offset).mean()
        variance = squares / len(self) - np.square(mean)
        return np.sqrt(np.where(variance > _FLAT * squares / len(self), variance, 0.0))

    def second_moments(self) -> Array:
        share = np.square(self.factor)
        total = np.zeros((self.shape[1],) * 2)
        add_second_moments(self.stored.indptr, self.stored.indices, self.stored.data, share, total)
        cross = np.outer(self.stored.T @ share, self.shift)
        total += cross + cross.T + share.sum() * np.outer(self.shift, self.shift)
        moved = np.outer(self.minus(self.offset).sum(), self.offset)
        return total + moved + moved.T + len(self) * np.outer(self.offset, self.offset)


def canonical_csr(X: Any) -> Any:
    """A sparse table of any format as CSR of float64, each place stored once; X itself is not changed."""
    table = sparse.csr_array(X, dtype=np.float64)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def _obstacle(domain: FeatureDomain, d: int) -> InputError | None:
    """Why a domain would move zeros that are not stored, or lose their digits; ``None``: it does not."""
    scale = np.broadcast_to(domain.scale, d)
    low, high = (np.broadcast_to(side, d) for side in domain.ends())
    # A public constant becomes 0 whatever is stored.
    outside = np.flatnonzero(((low > 0.0) | (high < 0.0)) & (scale > 0.0))
    if outside.size:
        j = int(outside[0])
        return InputError(
            "sparse rows need bounds that contain 0: zeros that are not stored would be clipped",
            f"({low[j]:g}, {high[j]:g}) for feature {j}",
            "Widen the range to 0, shift the feature's unit, or use X.toarray().",
        )
    radii = float(np.linalg.norm(domain.origin * scale))
    if not radii <= _FARTHEST:
        return InputError(
            f"sparse rows need zero within {_FARTHEST:g} radii of the domain's centre, or centring loses digits",
            f"{radii:.3g} radii",
            "Use a larger clipping radius, a FeatureBall around 0, or X.toarray().",
        )
    return None


def _with_entries(table: Any, entries: Array) -> Any:
    """The same places with other entries."""
    return sparse.csr_array((entries, table.indices, table.indptr), shape=table.shape)
