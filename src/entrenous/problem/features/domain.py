"""Public domains of the features: what a row may be before anything is computed from it.

**Internal units**: entries are clipped to their ranges, shifted by the domain's centre and divided by `unit`; a domain
that whitens multiplies the row by its matrix; a row that is longer than 1 is then shortened to 1. So every row has norm
at most 1 and any two rows are at most 2 apart.
Targets of a regression are mapped to [-1, 1]. All radii, ridges, sensitivities and noise scales of a plan are in these
units; coefficients are mapped back to the user's units after the run.

Domain numbers are public: they come from units, sensors, forms and law, never from the private rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from entrenous.arrays import AnyArray, Array, row_blocks
from entrenous.errors import InputError
from entrenous.registry import late

INTERNAL_DIAMETER = 2.0
"""Diameter of every domain in internal units."""

_LARGEST, _SMALLEST = 1e150, 1e-100
"""Entries beyond the first are cut and widths below the second refused, so that nothing overflows to inf or NaN."""

_ROUNDING = 1e-12
"""Internal units by which rounding may push a row out of the domain that it lies in, as the corners of a box."""

ROW_GRID = 2.0**-20
"""Rows that are summed up exactly have entries that are multiples of this. Entries are cut towards zero to such a
multiple, so that norms stay at most 1. Float32 holds them, and float64 holds sums of them without rounding."""

Numbers = float | tuple[float, ...]


class _Map(NamedTuple):
    """The numbers of the map to internal units, one per feature or one for all."""

    low: Array
    high: Array
    origin: Array
    unit: Array
    scale: Array


@dataclass(frozen=True)
class FeatureDomain(ABC):
    """An ellipsoid, or a box cut by one: centre and unit per feature, then ``||(x - centre) / unit|| <= 1``."""

    mixes_columns: ClassVar[bool] = False
    """Whether an internal entry comes from several columns, so that a row must be there as a whole."""

    @abstractmethod
    def for_features(self, n_features: int) -> FeatureDomain:
        """The same domain with one number per feature; an error when the declared length is another."""

    @property
    @abstractmethod
    def origin(self) -> Array:
        """Centre, in the user's units, per feature."""

    @property
    @abstractmethod
    def unit(self) -> Array:
        """Length of one internal unit in the user's units, per feature; 0 for a public constant."""

    @property
    def scale(self) -> Array:
        """Internal units in one of the user's, per feature; 0 for a public constant."""
        unit = self.unit
        return np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0.0)

    @property
    def added_entries(self) -> int:
        """How many entries a row in internal units has beside one per feature."""
        return 0

    @property
    def keeps_columns(self) -> bool:
        """Whether a row before it is drawn in is its columns, moved and scaled, and nothing else."""
        return not self.mixes_columns and self.added_entries == 0

    @property
    def is_binary(self) -> npt.NDArray[np.bool_]:
        """Which features are declared 0/1."""
        return np.zeros(self.unit.size, dtype=bool)

    def ends(self) -> tuple[Array, Array]:
        """What entries are clipped to before the row as a whole is."""
        return np.array([-_LARGEST]), np.array([_LARGEST])

    @property
    def reach(self) -> float:
        """The largest entry, up to sign, that a row may have in internal units: 1, or less where a box cuts it off."""
        low, high, origin, _, scale = self._map
        return min(1.0, float(np.max(np.maximum(high - origin, origin - low) * scale)))

    @abstractmethod
    def public_numbers(self) -> dict[str, Any]:
        """What declares the domain, for certificates and files."""

    def describe(
        self,
        epsilon: float = 1.0,
        n: int = 1000,
        *,
        delta: float | None = None,
        algorithm: str = "auto",
        n_features: int | None = None,
    ) -> Any:
        """What the declared domain implies for a fit of `n` records, as a table to print; no data.

        `n_features` is needed where one number stands for all features.
        """
        width = self.origin.size if n_features is None else n_features
        describe = late("entrenous.report.bounds_table", "describe_domain")
        return describe(self, width, algorithm, n, epsilon, delta)

    @cached_property
    def _map(self) -> _Map:
        # Kept, because a metric maps two rows at a time.
        return _Map(*self.ends(), self.origin, self.unit, self.scale)

    def to_internal(self, X: AnyArray) -> Array:
        """Rows clipped into the domain, in internal units: every norm is at most 1."""
        low, high, origin, _, scale = self._map
        d = X.shape[1]
        rows = np.empty((len(X), d + self.added_entries))
        for block in row_blocks(rows):
            part = rows[block]
            entries = part[:, :d]
            np.clip(X[block], low, high, out=entries)
            entries -= origin
            entries *= scale
            if self.mixes_columns:
                part[:] = self.mixed(part)
            if self.added_entries:
                part[:, d:] = self.added(entries)
            _draw_into_unit_ball(part)
        return rows

    def to_internal_on_grid(self, X: AnyArray) -> AnyArray:
        """As `to_internal`, with entries cut to multiples of `ROW_GRID`, in float32, which holds them exactly.

        The norms of these very numbers are checked, in whole numbers, to be at most 1.
        """
        # Imported here: most of what the library does needs no compiler.
        from entrenous.problem.features.clip_kernel import into_grid

        d = X.shape[1]
        rows = np.empty((len(X), d + self.added_entries), dtype=np.float32)
        if self.keeps_columns:
            low, high, origin, _, scale = (np.ascontiguousarray(np.broadcast_to(side, d)) for side in self._map)
            into_grid(X, low, high, origin, scale, np.empty(d), rows)
            return rows
        # The map is in the rows already: what is left is to cut them.
        width = rows.shape[1]
        everything = np.full(width, -_LARGEST), np.full(width, _LARGEST), np.zeros(width), np.ones(width)
        for block in row_blocks(rows):
            into_grid(self.to_internal(X[block]), *everything, np.empty(width), rows[block])
        return rows

    def clipped(self, X: Array) -> Array:
        """Rows clipped into the domain, in the user's units; those that lie in it stay as they are, to the bit."""
        low, high, origin, unit, scale = self._map
        rows = np.empty(X.shape)
        for block in row_blocks(rows):
            part = rows[block]
            np.clip(X[block], low, high, out=part)
            boxed = self.mixed((part - origin) * scale)
            internal = boxed.copy()
            _draw_into_unit_ball(internal)
            drawn = (np.abs(boxed - internal) > _ROUNDING).any(axis=1)
            part[drawn] = np.clip(origin + unit * self.unmixed(internal[drawn]), low, high)
        return rows

    def mixed(self, rows: Array) -> Array:
        """Rows in units of their own columns as internal ones, before they are drawn into the ball: the same ones here.

        A domain that says `mixes_columns` has a symmetric matrix for it.
        """
        return rows

    def unmixed(self, rows: Array) -> Array:
        """The inverse of `mixed`."""
        return rows

    def added(self, rows: Array) -> Array:
        """The further entries of rows in units of their own columns, before they are drawn into the ball: none here."""
        return np.empty((len(rows), 0))

    def to_user(self, w: Array, intercept: float) -> tuple[Array, float]:
        """Coefficients and intercept of the same linear score in the user's units."""
        unit = self.unit
        coef = np.divide(self.mixed(w), unit, out=np.zeros_like(w), where=unit > 0.0)
        return coef, intercept - float(coef @ self.origin)

    def from_user(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        """The inverse of `to_user`; one linear score per row of `coef`."""
        return self.unmixed(coef * self.unit), intercept + coef @ self.origin

    def noise_to_user(self, noise: Array) -> Array:
        """The sd of each coefficient in the user's units, from those of independent internal ones."""
        return self.to_user(noise, 0.0)[0]

    def metric_to_user(self, w: Array) -> Array:
        """The matrix of the same squared distance in the user's units: ``S^-1 W S^-1``, S the diagonal of `unit`."""
        scale = self.scale
        return w * scale[:, None] * scale[None, :]


def _draw_into_unit_ball(rows: Array) -> None:
    """Rows longer than 1 to length 1, in place."""
    largest = np.abs(rows).max(axis=1, initial=0.0)
    # A row of d entries is at most sqrt(d) times as long as the largest of them: most rows need no second look.
    near = np.flatnonzero(largest > (1.0 - 1e-9) / math.sqrt(max(1, rows.shape[1])))
    # Dividing by the largest entry first keeps the norm of enormous rows finite.
    direction = rows[near] / largest[near, None]
    norm = np.linalg.norm(direction, axis=1)
    too_long = largest[near] > 1.0 / norm
    rows[near[too_long]] = direction[too_long] / norm[too_long, None]


def _numbers(given: Any, what: str) -> Numbers:
    """A finite float, or a tuple of them."""
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers", repr(given), "Give a number, or one per feature.") from error
    if values.ndim > 1 or not values.size or not np.isfinite(values).all():
        raise InputError(f"{what} must be finite numbers, one or one per feature", repr(given), "Check the range.")
    return float(values) if values.ndim == 0 else tuple(float(v) for v in values)
