"""Rows of a sparse table in internal units, with the centring left implicit: nothing is ever written out.

The map of a public domain takes a row x to ``s + f c``: c is what a row of zeros becomes before it is drawn into the
ball, f draws the row into the ball, and s is the difference that the stored entries make, drawn in. s has the zeros of
x, c is one vector and f one number per row, so scores and weighted sums of rows cost the stored entries only:

    X_int w    = s w + f <c, w>
    X_int^T v  = s^T v + c sum(f v)

On the grid (`inside_on_grid`) s and f are multiples of it, so that sums over rows are exact, and multiplied by c once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from entrenous.arrays import AnyArray, Array, row_blocks
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.rows.error_slopes import ErrorSlopes
from entrenous.engine.rows.exact_sums import SLOPE_GRID, exact_sum, short_digits
from entrenous.engine.rows.registry import row_kind
from entrenous.engine.rows.rows import Rows, bin_of
from entrenous.engine.rows.sparse_kernel import (
    add_second_moments,
    add_weighted,
    into_unit_ball,
    whole_pulls,
    whole_slopes,
)
from entrenous.errors import InputError
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.domain import ROW_GRID, FeatureDomain

_FARTHEST = 100.0
"""Norm of c up to which the sums above keep their digits: they round by 1e-16 times this, and norms by its square."""

_MOST_UNITS = 2.0**33
"""Rows times their largest square, so that sums of squares stay below 2^53 units of 2^-20."""

_AT_ONCE = 1 << 18
"""Rows, or numbers where rows are written out, that are scored at once."""

_FLAT = 1e-12
"""Share of a column's mean square below which its variance is rounding."""


@row_kind(accepts=sparse.issparse)
@dataclass(frozen=True, eq=False)
class SparseRows(Rows):
    """Rows ``stored_i + factor_i shift + offset`` of a sparse table of any format."""

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
        return self._mapped(domain, on_grid=False)

    def inside_on_grid(self, domain: FeatureDomain) -> SparseRows:
        return self._mapped(domain, on_grid=True)

    def _mapped(self, domain: FeatureDomain, *, on_grid: bool) -> SparseRows:
        assert not self.shift.any(), "rows in internal units have been clipped already"
        table = self.stored
        n, d = table.shape
        obstacle = _obstacle(domain, d, n if on_grid else 0)
        if obstacle is not None:
            raise obstacle
        scale = np.broadcast_to(domain.scale, d)
        low, high = (np.broadcast_to(side, d) for side in domain.ends())
        zero = np.clip(0.0, low, high)
        entries, factor, shift = np.empty(len(table.data)), np.empty(n), _of_zeros(domain, d)
        into_unit_ball(table.indptr, table.indices, table.data, low, high, zero, scale, shift, on_grid, entries, factor)
        return SparseRows(_with_entries(table, entries), shift, factor, np.zeros(d))

    def scores_inside(self, domain: FeatureDomain, weights: Array) -> Array:
        n, d = self.shape
        # Where sums would lose digits, a few rows at a time are written out.
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
        scores += self.factor * float(self.shift @ w)
        scores += self.offset @ w
        return scores

    def weighted_sum(self, weights: Array) -> Array:
        total: Array = self.stored.T @ weights
        return total + self.shift * float(self.factor @ weights) + self.offset * weights.sum()

    def sum(self) -> Array:
        return self._exact_sum(np.ones(len(self)), 1.0) + self.offset * len(self)

    def capped_sum(self, w: Array, intercept: float, y: AnyArray, slopes: CappedSlopes) -> tuple[Array, float]:
        whole = self.scores(short_digits(w)) + intercept
        whole_slopes(whole, np.asarray(y), slopes.event / slopes.cap, slopes.other / slopes.cap)
        unit = SLOPE_GRID * slopes.cap
        return self._whole_sum(whole) * unit, float(whole.sum()) * unit

    def residual_sum(self, w: Array, intercept: float, y: AnyArray, slopes: ErrorSlopes) -> tuple[Array, float, float]:
        whole, filled = y - self.scores(short_digits(w)) - intercept, np.empty(len(self))
        whole_pulls(whole, slopes.cap, slopes.fades, filled)
        unit = SLOPE_GRID * slopes.cap
        return self._whole_sum(whole) * unit, float(whole.sum()) * unit, float(filled.sum()) * SLOPE_GRID

    def _whole_sum(self, weights: Array) -> Array:
        """`weighted_sum` of whole slopes."""
        return self._exact_sum(weights, 16.0) + self.offset * weights.sum()

    def _exact_sum(self, weights: Array, split: float) -> Array:
        """``sum_i weights_i (stored_i + factor_i shift)`` for weights on a grid: exact sums, rounded three times."""
        high, low = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        add_weighted(self.stored.indptr, self.stored.indices, self.stored.data, weights, split, high, low)
        return high + low + self.shift * exact_sum(self.factor * weights, split)

    def spread(self) -> Array:
        # In s + f c + o the variance does not feel o.
        moved = self.minus(self.offset)
        squares = moved.mean_squares()
        variance = squares - np.square(moved.mean())
        return np.sqrt(np.where(variance > _FLAT * squares, variance, 0.0))

    def mean_squares(self) -> Array:
        high, low = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        rows, once = self.stored, np.ones(len(self))
        add_weighted(rows.indptr, rows.indices, np.square(rows.data), once, ROW_GRID, high, low)
        squares = high + low + self.shift * (2.0 * self._by_factor() + self.shift * self._squared_factors())
        moved = 2.0 * self.offset * self.minus(self.offset).mean() + np.square(self.offset)
        return np.maximum(squares / len(self) + moved, 0.0)

    def _by_factor(self) -> Array:
        """``sum_i factor_i stored_i``."""
        high, low = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        add_weighted(self.stored.indptr, self.stored.indices, self.stored.data, self.factor, ROW_GRID, high, low)
        return high + low

    def _squared_factors(self) -> float:
        return exact_sum(np.square(self.factor), ROW_GRID)

    def histograms(self, low: Array, high: Array, bins: int, within: FeatureBounds, columns: AnyArray) -> Array:
        assert not self.shift.any(), "rows in internal units have been clipped already"
        table = self.stored[:, columns]
        least, most = (side[columns] for side in within.sides())
        origin, unit = least / 2.0 + most / 2.0, most / 2.0 - least / 2.0
        entries, place = table.data, table.indices
        inside = (np.clip(entries, least[place], most[place]) - origin[place]) / unit[place]
        chosen = bin_of(inside, low[place], high[place], bins)
        counts = np.bincount(place * bins + chosen, minlength=unit.size * bins).reshape(unit.size, bins).astype(float)
        zeros = bin_of((np.clip(0.0, least, most) - origin) / unit, low, high, bins)
        counts[np.arange(unit.size), zeros] += len(self) - np.bincount(place, minlength=unit.size)
        return counts

    def second_moments(self) -> Array:
        high, low = (np.zeros((self.shape[1],) * 2) for _ in range(2))
        add_second_moments(self.stored.indptr, self.stored.indices, self.stored.data, ROW_GRID, high, low)
        cross = np.outer(self._by_factor(), self.shift)
        total = high + low + cross + cross.T + self._squared_factors() * np.outer(self.shift, self.shift)
        moved = np.outer(self.minus(self.offset).sum(), self.offset)
        return total + moved + moved.T + len(self) * np.outer(self.offset, self.offset)


def canonical_csr(X: Any) -> Any:
    """A sparse table of any format as CSR of float64, each place stored once; X itself is not changed."""
    table = sparse.csr_array(X, dtype=np.float64)
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def _of_zeros(domain: FeatureDomain, d: int) -> Array:
    """What a row of zeros becomes before it is drawn into the ball."""
    low, high = (np.broadcast_to(side, d) for side in domain.ends())
    shift: Array = (np.clip(0.0, low, high) - domain.origin) * domain.scale
    return np.ascontiguousarray(np.broadcast_to(shift, d))


def _obstacle(domain: FeatureDomain, d: int, n: int = 0) -> InputError | None:
    """Why rows must be written out, if they must: a matrix mixes their columns, shapes bend them, or sums would lose
    their digits.
    """
    if not domain.keeps_columns:
        return InputError("sparse rows need a domain that keeps columns as they are", "another", "Use X.toarray().")
    radii = float(np.linalg.norm(_of_zeros(domain, d)))
    if not radii <= _FARTHEST:
        return InputError(
            f"sparse rows need zero within {_FARTHEST:g} radii of the domain's centre, or centring loses digits",
            f"{radii:.3g} radii",
            "Use a larger clipping radius, a FeatureBall around 0, or X.toarray().",
        )
    if n * (1.0 + radii) ** 2 > _MOST_UNITS:
        return InputError(
            f"exact sums over {n:,} sparse rows need zero within {math.sqrt(_MOST_UNITS / n) - 1.0:.3g} radii of the "
            "domain's centre",
            f"{radii:.3g} radii",
            "Use a larger clipping radius, a FeatureBall around 0, or X.toarray().",
        )
    return None


def _with_entries(table: Any, entries: Array) -> Any:
    """The same places with other entries."""
    return sparse.csr_array((entries, table.indices, table.indptr), shape=table.shape)
