"""Rows inside a `ShapedBox`: every column and its position among the ramps, on a grid, in float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.exact_sums import SLOPE_GRID, short_digits
from entrenous.engine.rows.rows import Rows
from entrenous.engine.rows.shaped_kernel import add_shaped, into_shaped, shaped_capped_sum, shaped_scores
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.shaped_box import ShapedBox

_EDGE_DIGITS = 24
"""Binary digits of what ramps add to a score: with a position's 16 and up to 2^12 columns, sums are exact."""


@dataclass(frozen=True, eq=False)
class ShapedRows(Rows):
    """As wide as the box makes them, ramps included; only `entries` and `positions` are stored."""

    box: ShapedBox
    entries: AnyArray
    """Columns in internal units."""
    positions: AnyArray
    """How many ramps lie below each shaped column's entry, parts of one included."""
    factor: AnyArray
    """What the ramps of each row are multiplied by so that its norm, ramps included, is at most 1."""

    has_array: ClassVar[bool] = True

    @classmethod
    def inside_box(cls, box: ShapedBox, table: AnyArray) -> ShapedRows:
        """The rows of a table in the user's units."""
        n, d = table.shape
        low, high = (np.ascontiguousarray(np.broadcast_to(side, d)) for side in box.ends())
        columns = np.array(box.shaped, dtype=np.int64)
        entries, positions = np.empty((n, d), dtype=np.float32), np.empty((n, columns.size), dtype=np.float32)
        factor = np.empty(n, dtype=np.float32)
        ramps = (columns, np.array(box.edges), np.array(box.middles), np.array(box.heights))
        into_shaped(table, low, high, box.origin, box.scale, *ramps, np.empty(d), entries, positions, factor)
        return cls(box, entries, positions, factor)

    @classmethod
    def of(cls, table: Any) -> ShapedRows:
        raise TypeError("rows with ramps come from a table and a box: see inside_box")

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self.entries), self.entries.shape[1] + self.box.added_entries

    def all_finite(self) -> bool:
        return True

    def inside(self, domain: FeatureDomain) -> Rows:
        raise TypeError("these rows are inside a domain already")

    def take(self, chosen: AnyArray | slice) -> ShapedRows:
        return ShapedRows(self.box, self.entries[chosen], self.positions[chosen], self.factor[chosen])

    def scores(self, w: Array) -> Array:
        scores = np.empty(len(self))
        shaped_scores(self.entries, self.positions, self.factor, *self._at_edges(w), scores)
        return scores

    def weighted_sum(self, weights: Array) -> Array:
        places = (len(self.box.shaped), self.box.ramps + 1)
        straight, whole, part = np.zeros(self.entries.shape[1]), np.zeros(places), np.zeros(places)
        total = add_shaped(self.entries, self.positions, self.factor, weights, False, straight, whole, part)
        return self._sum(straight, whole, part, total)

    def capped_sum(self, w: Array, intercept: float, y: AnyArray, slopes: CappedSlopes) -> tuple[Array, float]:
        rows = (self.entries, self.positions, self.factor)
        weights = slopes.event / slopes.cap, slopes.other / slopes.cap
        found = shaped_capped_sum(*rows, *self._at_edges(w), intercept, y, *weights)
        high, low, whole, bent_high, bent_low, total, level = found
        unit = SLOPE_GRID * slopes.cap
        return self._sum(high + low, whole, bent_high + bent_low, total) * unit, float(level) * unit

    def minus(self, row: Array) -> Rows:
        return self._written_out().minus(row)

    def spread(self) -> Array:
        return self._written_out().spread()

    def second_moments(self) -> Array:
        return self._written_out().second_moments()

    def array(self) -> Array:
        """The rows, ramps written out."""
        whole = np.arange(self.box.ramps)
        ramps = np.clip(self.positions.astype(float)[:, :, None] - whole, 0.0, 1.0) - np.array(self.box.middles)
        ramps = (ramps * np.array(self.box.heights)).reshape(len(self), -1)
        return np.hstack([self.entries.astype(float), ramps * self.factor.astype(float)[:, None]])

    def _written_out(self) -> Rows:
        from entrenous.engine.rows.dense import DenseRows  # dense rows make shaped ones

        return DenseRows(self.array())

    def _at_edges(self, w: Array) -> tuple[AnyArray, AnyArray]:
        """The weights of the columns; what the ramps of each add to the score at their edges, the last one twice."""
        d, ramps = self.entries.shape[1], self.box.ramps
        rises = w[d:].reshape(-1, ramps) * np.array(self.box.heights)
        at_edges = np.zeros((len(rises), ramps + 2))
        at_edges[:, 1:-1] = np.cumsum(rises, axis=1)
        at_edges[:, -1] = at_edges[:, -2]
        at_edges -= (rises @ np.array(self.box.middles))[:, None]
        return short_digits(w[:d]), short_digits(at_edges.ravel(), _EDGE_DIGITS).reshape(at_edges.shape)

    def _sum(self, straight: Array, whole: Array, part: Array, total: float) -> Array:
        """The sum of weighted rows, from the sums by position."""
        # A ramp is full for entries that have more whole ones, and in part for those that lie in it.
        above = np.cumsum(whole[:, ::-1], axis=1)[:, ::-1][:, 1:]
        ramps = (above + part[:, :-1] - total * np.array(self.box.middles)) * np.array(self.box.heights)
        return np.concatenate([straight, ramps.ravel()])
