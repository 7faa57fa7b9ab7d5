"""What a phase may ask of a table of rows, whatever kind of table it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array, Codes
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.class_moments import ClassMoments
from entrenous.engine.rows.error_slopes import ErrorSlopes
from entrenous.engine.rows.exact_sums import SLOPE_GRID, short_digits
from entrenous.errors import InputError
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.domain import FeatureDomain


class Rows(ABC):
    """A table of numbers, one row per record.

    A kind of table is a class with these methods and a place in the registry (`row_kind`). Those that are not abstract
    follow from the others; a kind that knows a shorter way writes its own.
    """

    has_array: ClassVar[bool] = False
    """Whether `array` gives the rows one by one. Without it only phases that ask for sums take the rows."""
    described: ClassVar[str] = "a table that is no array"
    """What errors call such a table."""
    as_array: ClassVar[str] = "numpy.asarray(X)"
    """How its owner makes an array of it."""

    @classmethod
    @abstractmethod
    def of(cls, table: Any) -> Rows:
        """The rows of a table, in the user's units."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def all_finite(self) -> bool:
        """Whether no entry is NaN or infinite."""

    @abstractmethod
    def inside(self, domain: FeatureDomain) -> Rows:
        """Rows in the user's units, clipped into the domain and mapped to internal units: every norm is at most 1."""

    def inside_on_grid(self, domain: FeatureDomain) -> Rows:
        """As `inside`, with entries cut to a grid, so that sums over the rows do not round (`exact_sums`).

        A kind that has no such form gives its rows as they are, and its sums round.
        """
        return self.inside(domain)

    @abstractmethod
    def take(self, chosen: AnyArray | slice) -> Rows:
        """The rows that a mask, an array of indices or a slice names."""

    @abstractmethod
    def scores(self, w: Array) -> Array:
        """``X @ w``."""

    def scores_inside(self, domain: FeatureDomain, weights: Array) -> Array:
        """The scores of the rows as `inside` maps them: a column for each row of `weights`, in internal units."""
        if not domain.keeps_columns and not self.has_array:
            raise self.refused("a domain that mixes or bends the columns takes dense rows", "Declare ranges or a ball")
        internal = self.inside(domain)
        return np.column_stack([internal.scores(w) for w in weights])

    @abstractmethod
    def weighted_sum(self, weights: Array) -> Array:
        """``X.T @ weights``: one weight per row."""

    @abstractmethod
    def minus(self, row: Array) -> Rows:
        """Every row less this one."""

    @abstractmethod
    def spread(self) -> Array:
        """The standard deviation of every column, for rows whose mean was taken off."""

    @abstractmethod
    def second_moments(self) -> Array:
        """``sum_i x_i x_i^T``."""

    def sum(self) -> Array:
        """The sum of the rows."""
        return self.weighted_sum(np.ones(len(self)))

    def mean(self) -> Array:
        """The mean row."""
        return self.sum() / len(self)

    def mean_squares(self) -> Array:
        """The mean square of every column."""
        return np.diagonal(self.second_moments()) / len(self)

    def capped_sum(self, w: Array, intercept: float, y: AnyArray, slopes: CappedSlopes) -> tuple[Array, float]:
        """``sum_i a_i s_i x_i`` and ``sum_i a_i s_i``, a_i the capped slope of row i at its score, s_i its sign.

        Slopes are cut towards zero to multiples of ``SLOPE_GRID`` times the cap.
        """
        unit = SLOPE_GRID * slopes.cap
        whole = np.trunc(slopes.at(self.scores(short_digits(w)) + intercept, y) / unit)
        return self.weighted_sum(whole) * unit, float(whole.sum()) * unit

    def residual_sum(self, w: Array, intercept: float, y: AnyArray, slopes: ErrorSlopes) -> tuple[Array, float, float]:
        """``sum_i a_i x_i``, ``sum_i a_i`` and ``sum_i u_i^2`` for the errors of these scores.

        a_i is the slope of error i, cut towards zero to the same multiples, and u_i how much of the cap it fills,
        rounded up.
        """
        unit = SLOPE_GRID * slopes.cap
        pulls, filled = slopes.at(y - self.scores(short_digits(w)) - intercept)
        whole, more = np.trunc(pulls / unit), np.ceil(np.minimum(filled + SLOPE_GRID, 1.0) / SLOPE_GRID)
        return self.weighted_sum(whole) * unit, float(whole.sum()) * unit, float(more.sum()) * SLOPE_GRID

    def class_moments(self, y: AnyArray) -> ClassMoments:
        """Count, sums and second moments by class (codes 0 and 1); those of two tables are added with ``+``."""
        classes = [self.take(y == code) for code in (0, 1)]
        sums, seconds = [rows.sum() for rows in classes], [rows.second_moments() for rows in classes]
        return ClassMoments(len(self), float(np.count_nonzero(y == 1)), np.array(sums), np.array(seconds))

    def ranges(self) -> tuple[Array, Array]:
        """The least and the largest entry of every column: of the rows themselves, so only for fits without privacy."""
        rows = self.array()
        return rows.min(axis=0), rows.max(axis=0)

    def histograms(self, low: Array, high: Array, bins: int, within: FeatureBounds, columns: AnyArray) -> Array:
        """How many rows fall into each of `bins` equal bins from low to high, for each of these columns.

        The two ends are in half-widths of `within` from its centre, so that nothing over- or underflows, wherever that
        is. Rows outside count in the end bins. Counts of two tables are added with ``+``.
        """
        least, most = (side[columns] for side in within.sides())
        origin, unit = least / 2.0 + most / 2.0, most / 2.0 - least / 2.0
        counts = np.zeros((unit.size, bins))
        for j, column in enumerate(columns):
            values = self.scores(np.eye(1, self.shape[1], column)[0])
            inside = (np.clip(values, least[j], most[j]) - origin[j]) / unit[j]
            counts[j] = np.bincount(bin_of(inside, low[j], high[j], bins), minlength=bins)
        return counts

    def array(self) -> Array:
        """The rows as one C-contiguous array, for loops over single rows; an error for tables that have none."""
        raise self.refused("this reads rows one by one", "Use an algorithm that asks for sums of rows")

    def refused(self, needs: str, instead: str) -> InputError:
        """The error where something needs an array."""
        return InputError(needs, self.described, f"{instead}, or use {self.as_array} if it fits into memory.")


def bin_of(x: Array, low: Array, high: Array, bins: int) -> Codes:
    """Which of the equal bins from low to high a number is in; beyond them the nearest."""
    return np.clip((x - low) / (high - low) * bins, 0, bins - 1).astype(np.int64)
