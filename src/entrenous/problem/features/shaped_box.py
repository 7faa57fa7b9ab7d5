"""A cut box whose numeric columns may bend: each also gives ramps, so that a linear score of the row is a shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.features.cut_box import CutBox
from entrenous.registry import part

MOST_RAMPS = 100
_HIGHEST = 2.0**10
"""The norm of all ramps' heights together: more, and sums of ramps lose digits."""
_FARTHEST = 1e30
"""Entries that float32 holds, and whose squares do not overflow."""


@part
@dataclass(frozen=True)
class ShapedBox(CutBox):
    """Entries from `low` to `high`, moved and scaled as in a `CutBox`; then each of the `shaped` columns adds ramps.

    With v a column's internal entry, ramp q rises from 0 to 1 between ``edges[q]`` and ``edges[q + 1]``, and the row
    gets ``heights[q] (ramp_q(v) - middles[q])``. A linear score is then, per column, a continuous function that bends
    at the edges. The row with all its ramps is drawn into the unit ball. Internal entries: first the columns, then the
    ramps, column by column.

    >>> box = ShapedBox((0.0,), (1.0,), (0.5,), (1.0,), None, (), (0,), (-0.5, 0.0, 0.5), (0.5, 0.5), (0.4, 0.4))
    >>> box.to_internal(np.array([[0.25]])).round(3).tolist()
    [[-0.25, 0.0, -0.2]]
    """

    kind: ClassVar[str] = "shaped box"

    shaped: tuple[int, ...] = ()
    """Numbers of the columns that have ramps."""
    edges: tuple[float, ...] = ()
    middles: tuple[float, ...] = ()
    heights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        edges, middles, heights = (np.asarray(side, dtype=float) for side in (self.edges, self.middles, self.heights))
        finite = all(np.isfinite(side).all() and side.ndim == 1 for side in (edges, middles, heights))
        if not finite or not (middles.size == heights.size == edges.size - 1 >= 1):
            raise InputError(
                "a shaped box needs one middle and height per ramp, and one edge more", "others", "Give one of each."
            )
        if (np.diff(edges) <= 0.0).any() or (heights <= 0.0).any():
            raise InputError("a shaped box needs rising edges and positive heights", "others", "Sort the edges.")
        if (middles < 0.0).any() or (middles > 1.0).any():
            raise InputError("middles are means of ramps, from 0 to 1", "others", "Give the mean of each ramp.")
        entries = np.abs(np.array([self.low, self.high]) - self.origin) * self.scale
        if not (entries.max() <= _FARTHEST and heights.max() <= _FARTHEST):
            raise InputError(
                f"a shaped box needs entries of at most {_FARTHEST:g} axes", "a wider range", "Use longer axes."
            )
        if middles.size > MOST_RAMPS or np.linalg.norm(heights) * math.sqrt(max(1, len(self.shaped))) > _HIGHEST:
            raise InputError(
                f"a shaped box has at most {MOST_RAMPS} ramps per column, and heights of norm {_HIGHEST:g} at most",
                "more",
                "Use fewer or lower ramps.",
            )
        known = all(isinstance(j, int) and 0 <= j < len(self.low) for j in self.shaped)
        if not known or list(self.shaped) != sorted(set(self.shaped)):
            raise InputError("shaped must be numbers of features, in order", repr(self.shaped), "Count from 0.")
        for name, side in (("edges", edges), ("middles", middles), ("heights", heights)):
            object.__setattr__(self, name, tuple(side.tolist()))
        object.__setattr__(self, "shaped", tuple(self.shaped))

    @property
    def ramps(self) -> int:
        """How many ramps a shaped column has."""
        return len(self.heights)

    @property
    def added_entries(self) -> int:
        return self.ramps * len(self.shaped)

    def added(self, rows: Array) -> Array:
        ramps = self.ramp_values(rows[:, list(self.shaped)])
        ramps -= np.array(self.middles)
        ramps *= np.array(self.heights)
        return ramps.reshape(len(rows), -1)

    def ramp_values(self, entries: Array) -> Array:
        """How much of each ramp lies below these internal entries, from 0 to 1: a further axis."""
        edges = np.array(self.edges)
        values: Array = np.clip((entries[..., None] - edges[:-1]) / np.diff(edges), 0.0, 1.0)
        return values

    def to_user(self, w: Array, intercept: float) -> tuple[Array, float]:
        """Slopes per unit of the user's, then what each ramp adds to the score from its lower edge to its upper one."""
        slopes, level = super().to_user(w[: len(self.low)], intercept)
        rises = w[len(self.low) :] * self._all_heights
        return np.concatenate([slopes, rises]), level - float(rises @ self._all_middles)

    def from_user(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        slopes, rises = coef[..., : len(self.low)], coef[..., len(self.low) :]
        weights, level = super().from_user(slopes, intercept)
        return np.concatenate([weights, rises / self._all_heights], axis=-1), level + rises @ self._all_middles

    def edges_of(self, column: int) -> Array:
        """Where the ramps of a column begin and end, in the user's units."""
        return self.center[column] + self.axes[column] * np.array(self.edges)

    @property
    def _all_heights(self) -> Array:
        return np.tile(self.heights, len(self.shaped))

    @property
    def _all_middles(self) -> Array:
        return np.tile(self.middles, len(self.shaped))
