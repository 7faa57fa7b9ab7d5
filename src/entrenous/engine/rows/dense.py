"""Rows that are an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit

from entrenous.arrays import AnyArray, Array, row_blocks
from entrenous.engine.rows.capped_kernel import capped_sum
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.class_moments import ClassMoments
from entrenous.engine.rows.error_slopes import ErrorSlopes
from entrenous.engine.rows.exact_sums import MOST_ROWS, SLOPE_GRID, ExactTotal, short_digits
from entrenous.engine.rows.histogram_kernel import add_counts
from entrenous.engine.rows.registry import row_kind
from entrenous.engine.rows.residual_kernel import residual_sum
from entrenous.engine.rows.rows import Rows
from entrenous.engine.rows.shaped import ShapedRows
from entrenous.errors import InputError
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.domain import ROW_GRID, FeatureDomain
from entrenous.problem.features.shaped_box import ShapedBox

_FREE_ORDER = {"reassoc", "contract", "nsz"}
"""Sums of products may be reordered, so that they become vector instructions; NaN and infinity keep their meaning."""

_ROWS = 512
"""Rows whose products are added up before they join the total: keeps rounding from growing with n."""


@row_kind(accepts=lambda table: True)
@dataclass(frozen=True, eq=False)
class DenseRows(Rows):
    """The rows of one array of float64 or float32, which is not copied; anything that ``numpy.asarray`` takes."""

    table: AnyArray
    has_array: ClassVar[bool] = True

    @classmethod
    def of(cls, table: Any) -> DenseRows:
        try:
            with np.errstate(all="ignore"):  # a warning of a number too large would tell of a row; infinity is refused
                single = getattr(table, "dtype", None) == np.float32
                return cls(np.asarray(table, dtype=np.float32 if single else np.float64))
        except (TypeError, ValueError):
            # The original message quotes a cell, and cells are private.
            raise InputError("the features must be numbers", "something else", "Encode or drop text.") from None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.table.shape

    def __len__(self) -> int:
        return len(self.table)

    def all_finite(self) -> bool:
        return all(bool(np.isfinite(self.table[block]).all()) for block in row_blocks(self.table))

    def inside(self, domain: FeatureDomain) -> DenseRows:
        return DenseRows(domain.to_internal(self.table))

    def inside_on_grid(self, domain: FeatureDomain) -> Rows:
        if isinstance(domain, ShapedBox):
            return ShapedRows.inside_box(domain, self.table)
        return DenseRows(domain.to_internal_on_grid(self.table))

    def take(self, chosen: AnyArray | slice) -> DenseRows:
        return DenseRows(self.table[chosen])

    def scores(self, w: Array) -> Array:
        if not self.table.flags.c_contiguous:
            # A copy for the compiled loop would cost more than BLAS does.
            return self.table @ w
        scores = np.empty(len(self.table))
        _row_scores(self.table, np.ascontiguousarray(w, dtype=np.float64), scores)
        return scores

    def scores_inside(self, domain: FeatureDomain, weights: Array) -> Array:
        # By blocks, so that there is no second table.
        scores = np.empty((len(self), len(weights)))
        for block in row_blocks(self.table):
            scores[block] = Rows.scores_inside(self.take(block), domain, weights)
        return scores

    def weighted_sum(self, weights: Array) -> Array:
        if not self.table.flags.c_contiguous:
            return self.table.T @ weights
        total: Array = _weighted_row_sum(self.table, np.ascontiguousarray(weights, dtype=np.float64))
        return total

    def minus(self, row: Array) -> DenseRows:
        return DenseRows(np.subtract(self.table, row, order="C"))

    def sum(self) -> Array:
        total: Array = self.table.sum(axis=0, dtype=np.float64)
        return total

    def mean(self) -> Array:
        mean: Array = self.table.mean(axis=0, dtype=np.float64)
        return mean

    def mean_squares(self) -> Array:
        total = ExactTotal(self.shape[1], ROW_GRID)
        for block in row_blocks(self.table, most=MOST_ROWS):
            total.add(np.square(self.table[block], dtype=np.float64).sum(axis=0))
        return total.value / len(self)

    def histograms(self, low: Array, high: Array, bins: int, within: FeatureBounds, columns: AnyArray) -> Array:
        least, most = (side[columns] for side in within.sides())
        origin, unit = least / 2.0 + most / 2.0, most / 2.0 - least / 2.0
        counts = np.zeros((unit.size, bins))
        add_counts(self.table, columns, least, most, origin, unit, low, high, counts)
        return counts

    def capped_sum(self, w: Array, intercept: float, y: AnyArray, slopes: CappedSlopes) -> tuple[Array, float]:
        if not self.table.flags.c_contiguous:
            return super().capped_sum(w, intercept, y, slopes)
        weights = slopes.event / slopes.cap, slopes.other / slopes.cap
        high, low, level = capped_sum(self.table, short_digits(w), intercept, y, *weights)
        unit = SLOPE_GRID * slopes.cap
        return (high + low) * unit, float(level) * unit

    def residual_sum(self, w: Array, intercept: float, y: AnyArray, slopes: ErrorSlopes) -> tuple[Array, float, float]:
        if not self.table.flags.c_contiguous:
            return super().residual_sum(w, intercept, y, slopes)
        high, low, level, filled = residual_sum(self.table, short_digits(w), intercept, y, slopes.cap, slopes.fades)
        unit = SLOPE_GRID * slopes.cap
        return (high + low) * unit, float(level) * unit, float(filled) * SLOPE_GRID

    def spread(self) -> Array:
        return np.sqrt(np.einsum("ij,ij->j", self.table, self.table) / len(self))

    def second_moments(self) -> Array:
        d = self.shape[1]
        total = ExactTotal((d, d), ROW_GRID)
        # By blocks, so that there is no second table. For rows on the grid, all that BLAS adds up are whole numbers of
        # 2^-40 below 2^53 of them: exact, in whatever order it adds.
        for block in row_blocks(self.table, least=d, most=MOST_ROWS):
            part = self.table[block].astype(np.float64, copy=False)
            total.add(part.T @ part)
        return total.value

    def class_moments(self, y: AnyArray) -> ClassMoments:
        d = self.shape[1]
        sums, seconds = np.zeros((2, d)), [ExactTotal((d, d), ROW_GRID) for _ in (0, 1)]
        # By blocks, because the rows of a class are a copy; a block is at least as long as wide, so that adding to the
        # d x d matrices costs no more than the products.
        for block in row_blocks(self.table, least=d, most=MOST_ROWS):
            for code in (0, 1):
                rows = self.table[block][y[block] == code].astype(np.float64, copy=False)
                sums[code] += rows.sum(axis=0)
                seconds[code].add(rows.T @ rows)
        events = float(np.count_nonzero(y == 1))
        return ClassMoments(len(self), events, sums, np.array([second.value for second in seconds]))

    def array(self) -> Array:
        return np.ascontiguousarray(self.table, dtype=np.float64)


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
def _row_scores(X, w, scores):  # type: ignore[no-untyped-def]
    """``scores = X @ w`` for contiguous rows; for narrow X it runs at the speed of memory, where BLAS does not."""
    n, d = X.shape
    for i in range(n):
        score = 0.0
        for k in range(d):
            score += X[i, k] * w[k]
        scores[i] = score


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
def _weighted_row_sum(X, weight):  # type: ignore[no-untyped-def]
    """``X.T @ weight``, as `_row_scores`."""
    n, d = X.shape
    total, part = np.zeros(d), np.empty(d)
    for start in range(0, n, _ROWS):
        part[:] = 0.0
        for i in range(min(_ROWS, n - start)):
            c = weight[start + i]
            row = X[start + i]
            for k in range(d):
                part[k] += c * row[k]
        for k in range(d):
            total[k] += part[k]
    return total
