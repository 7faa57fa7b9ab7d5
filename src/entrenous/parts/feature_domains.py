"""Public domains of the features: what a row may be before anything is computed from it.

Rows are clipped into the domain and mapped to *internal units*, in which every row has norm at most 1 and any two rows
are at most 2 apart. All radii, ridges, sensitivities and noise scales of a plan are in these units. Domain numbers are
public: they come from units, sensors, forms and law, never from the private rows.
"""

from __future__ import annotations

import json
import math
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from entrenous.arrays import Array, row_blocks
from entrenous.errors import InputError, PrivacyError
from entrenous.parts.data_dictionary import ranges_from_dictionary

if TYPE_CHECKING:
    from entrenous.engine.description import DomainDescription

INTERNAL_DIAMETER = 2.0
"""Diameter of every domain in internal units."""

_LARGEST, _SMALLEST = 1e150, 1e-100
"""Entries beyond the first are cut and widths below the second refused, so that nothing overflows to inf or NaN."""

Numbers = float | tuple[float, ...]


@dataclass(frozen=True)
class FeatureDomain(ABC):
    """An ellipsoid, or a box cut by one: centre and unit per feature, then ``||(x - centre) / unit|| <= 1``."""

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

    def ends(self) -> tuple[Array, Array]:
        """What entries are clipped to before the row as a whole is."""
        return np.array([-_LARGEST]), np.array([_LARGEST])

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
    ) -> DomainDescription:
        """What the declared domain implies for a fit of `n` records, as a table to print; no data.

        `n_features` is needed where one number stands for all features.
        """
        # A plan is made two layers above; it is asked for only when somebody wants to read about it.
        from entrenous.engine.description import DomainDescription
        from entrenous.planners.planning import plan

        width = self.origin.size if n_features is None else n_features
        made = plan(algorithm, n=n, n_features=width, epsilon=epsilon, delta=delta, bounds=self)
        return DomainDescription.of(made)

    def to_internal(self, X: Array) -> Array:
        """Rows clipped into the domain, in internal units: every norm is at most 1."""
        origin, scale = self.origin, self.scale
        low, high = self.ends()
        rows = np.empty(X.shape)
        for block in row_blocks(rows):
            part = rows[block]
            np.clip(X[block], low, high, out=part)
            part -= origin
            part *= scale
            _draw_into_unit_ball(part)
        return rows

    def to_user(self, w: Array, intercept: float) -> tuple[Array, float]:
        """Coefficients and intercept of the same linear score in the user's units."""
        unit = self.unit
        coef = np.divide(w, unit, out=np.zeros_like(w), where=unit > 0.0)
        return coef, intercept - float(coef @ self.origin)

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


@dataclass(frozen=True)
class FeatureBounds(FeatureDomain):
    """A box ``low <= x <= high`` per feature, optionally cut by a clipping radius.

    Parameters
    ----------
    low, high : float or sequence
        Public range of each feature. ``low == high`` declares a public constant; its coefficient is 0.
    clip : float, optional
        Clipping radius in half-widths: rows farther than this from the centre of the box are drawn towards it. A box
        of d features has corners at ``sqrt(d)``; records rarely live there, and a smaller radius means less noise.
    names : sequence of str, optional
        Feature names, checked against the table's.

    >>> FeatureBounds(low=(0, 40), high=(120, 250)).origin.tolist()
    [60.0, 145.0]

    """

    low: Numbers
    high: Numbers
    clip: float | None = None
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for side in ("low", "high"):
            object.__setattr__(self, side, _numbers(getattr(self, side), f"bounds: {side}"))
        if self.names is not None:
            object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        low, high = np.broadcast_arrays(*self._checked_sides())
        reversed_at = np.flatnonzero(low > high)
        if reversed_at.size:
            i = int(reversed_at[0])
            name = repr(self.names[i]) if self.names else i
            raise InputError(
                "bounds need low <= high for every feature",
                f"({low[i]:g}, {high[i]:g}) for feature {name}",
                "Swap the two numbers.",
            )
        object.__setattr__(self, "clip", _clip_number(self.clip))
        half_width = high / 2.0 - low / 2.0
        if ((half_width > 0.0) & (half_width < _SMALLEST)).any() or max(abs(low).max(), abs(high).max()) > _LARGEST:
            raise InputError(
                f"bounds need widths of 0 or at least {_SMALLEST:g}, and ends within {_LARGEST:g}",
                "a range beyond",
                "Change the unit.",
            )
        if self.names is not None and len(self.names) != low.size:
            raise InputError(
                "bounds need one name per feature", f"{len(self.names)} names for {low.size} ranges", "Match them."
            )

    def _checked_sides(self) -> tuple[Array, Array]:
        low, high = np.atleast_1d(np.array(self.low, dtype=float)), np.atleast_1d(np.array(self.high, dtype=float))
        if low.size != high.size and 1 not in (low.size, high.size):
            raise InputError(
                "bounds need as many lower as upper ends", f"{low.size} and {high.size}", "Give one pair per feature."
            )
        return low, high

    @classmethod
    def from_mapping(cls, ranges: Mapping[str, Sequence[float]], clip: float | None = None) -> FeatureBounds:
        """From ``{"age": (0, 120), ...}``."""
        if not isinstance(ranges, Mapping):
            raise InputError("bounds need a range per feature name", repr(ranges), 'Try {"age": (0, 120)}.')
        for name, pair in ranges.items():
            if isinstance(pair, str) or not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
                raise InputError(
                    "bounds need a (low, high) pair per feature", f"{pair!r} for feature {name!r}", f"{name} = (0, 1)"
                )
        if not ranges:
            raise InputError("bounds need at least one feature", "an empty mapping", 'Try {"age": (0, 120)}.')
        low, high = zip(*ranges.values(), strict=True)
        return cls(low, high, clip, tuple(ranges))

    @classmethod
    def from_file(cls, path: str | Path) -> FeatureBounds:
        """From a TOML or JSON file: ranges under ``[bounds]`` (or at the top), and an optional ``clip``.

        A ``.csv`` file is read as a data dictionary (`from_dictionary`).

        ::

            clip = 2.5
            [bounds]
            age = [0, 120]
            glucose = [40, 400]
        """
        path = Path(path)
        if path.suffix.lower() == ".csv":
            return cls.from_dictionary(path)
        try:
            text = path.read_text(encoding="utf-8")
            content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise InputError(
                "bounds need a readable TOML or JSON file", f"{path} ({error})", "See entrenous fit --help."
            ) from error
        if not isinstance(content, dict):
            raise InputError("bounds need a table of ranges", f"a {type(content).__name__}", "age = [0, 120]")
        clip = content.pop("clip", None)
        ranges = content.pop("bounds", content)
        if ranges is not content and content:
            raise InputError(
                "a file with [bounds] keeps all ranges there", f"{', '.join(content)} outside", "Move them."
            )
        return cls.from_mapping(ranges, clip)

    @classmethod
    def from_dictionary(cls, table: Any, clip: float | None = None) -> FeatureBounds:
        """From a data dictionary, one line per column of the data: a CSV file, a data frame or a list of mappings.

        Usual headers are understood: name, column, variable, feature or field; min, low, lower or minimum; max, high,
        upper or maximum. Other columns are ignored.

        >>> FeatureBounds.from_dictionary([{"variable": "age", "min": 0, "max": 120, "unit": "years"}]).ranges()
        {'age': (0.0, 120.0)}
        """
        return cls.from_mapping(ranges_from_dictionary(table), clip)

    def ranges(self) -> dict[str, tuple[float, float]]:
        """``{name: (low, high)}``, for bounds with names."""
        low, high = np.broadcast_arrays(*self._checked_sides())
        return dict(zip(self.names or (), zip(low.tolist(), high.tolist(), strict=True), strict=True))

    def for_features(self, n_features: int) -> FeatureBounds:
        low, high = self._checked_sides()
        for side in (low, high):
            if side.size not in (1, n_features):
                raise InputError(
                    f"bounds need one pair, or one per feature ({n_features})", str(side.size), "Match the table."
                )
        return FeatureBounds(
            tuple(np.broadcast_to(low, n_features).tolist()),
            tuple(np.broadcast_to(high, n_features).tolist()),
            self.clip,
            self.names,
        )

    def reordered(self, names: Sequence[str]) -> FeatureBounds:
        """The same ranges in the order of the table's columns; missing and unknown names are errors."""
        if self.names is None:
            return self
        missing = [name for name in names if name not in self.names]
        unknown = [name for name in self.names if name not in set(names)]
        if missing or unknown:
            raise InputError(
                "bounds need exactly the table's features",
                "; ".join(
                    part
                    for part in (
                        missing and f"no bounds for {', '.join(map(repr, missing))}",
                        unknown and f"no such column: {', '.join(map(repr, unknown))}",
                    )
                    if part
                ),
                "Declare a public range for each column, or drop the column.",
            )
        order = [self.names.index(name) for name in names]
        low, high = (np.broadcast_to(side, len(names)) for side in self._checked_sides())
        return FeatureBounds(tuple(low[order].tolist()), tuple(high[order].tolist()), self.clip, tuple(names))

    def sides(self) -> tuple[Array, Array]:
        """Lower and upper ends, one per range."""
        low, high = np.broadcast_arrays(*self._checked_sides())
        return low.copy(), high.copy()

    @property
    def origin(self) -> Array:
        low, high = self._checked_sides()
        return low / 2.0 + high / 2.0

    @property
    def unit(self) -> Array:
        low, high = self._checked_sides()
        half_width = high / 2.0 - low / 2.0
        corner = math.sqrt(max(1, int(np.count_nonzero(half_width))))
        return half_width * (corner if self.clip is None else min(self.clip, corner))

    def ends(self) -> tuple[Array, Array]:
        return self._checked_sides()

    def public_numbers(self) -> dict[str, Any]:
        return {"kind": "box", "low": self.low, "high": self.high, "clip": self.clip, "names": self.names}


@dataclass(frozen=True)
class FeatureBall(FeatureDomain):
    """All rows within `radius` of a public `center` (one number, or one per feature).

    >>> FeatureBall(radius=3.0).for_features(2).to_internal(np.array([[30.0, 40.0]])).round(3).tolist()
    [[0.6, 0.8]]
    """

    radius: float
    center: Numbers = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _numbers(self.radius, "ball: radius"))
        object.__setattr__(self, "center", _numbers(self.center, "ball: center"))
        if not isinstance(self.radius, float) or not self.radius >= _SMALLEST:
            raise InputError(
                f"a feature ball needs a radius of at least {_SMALLEST:g}",
                repr(self.radius),
                "Try FeatureBall(radius=1.0).",
            )

    def for_features(self, n_features: int) -> FeatureBall:
        center = np.atleast_1d(np.array(self.center, dtype=float))
        if center.size not in (1, n_features):
            raise InputError(
                f"the ball's center needs one number, or one per feature ({n_features})", str(center.size), "Match it."
            )
        return FeatureBall(self.radius, tuple(np.broadcast_to(center, n_features).tolist()))

    @property
    def origin(self) -> Array:
        return np.atleast_1d(np.array(self.center, dtype=float))

    @property
    def unit(self) -> Array:
        return np.full(self.origin.size, self.radius)

    def public_numbers(self) -> dict[str, Any]:
        return {"kind": "ball", "radius": self.radius, "center": self.center}


def _numbers(given: Any, what: str) -> Numbers:
    """A finite float, or a tuple of them."""
    try:
        values = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers", repr(given), "Give a number, or one per feature.") from error
    if values.ndim > 1 or not values.size or not np.isfinite(values).all():
        raise InputError(f"{what} must be finite numbers, one or one per feature", repr(given), "Check the range.")
    return float(values) if values.ndim == 0 else tuple(float(v) for v in values)


def _clip_number(clip: Any) -> float | None:
    if clip is None:
        return None
    number = float(clip) if isinstance(clip, int | float) and not isinstance(clip, bool) else math.nan
    if not _SMALLEST <= number < math.inf:
        raise InputError("clip must be a positive number", repr(clip), "Leave it out for the whole box.")
    return number


def feature_domain_from(bounds: Any, n_features: int, names: Sequence[str] | None = None) -> FeatureDomain:
    """What the user declared as `bounds`, as a domain with one entry per feature.

    `bounds` is ``(low, high)`` with scalars or arrays, a mapping from feature name to ``(low, high)``, a
    `FeatureBounds` or a `FeatureBall`.
    """
    if isinstance(bounds, Mapping):
        bounds = FeatureBounds.from_mapping(bounds)
    elif not isinstance(bounds, FeatureDomain):
        if isinstance(bounds, str) or not isinstance(bounds, Sequence) or len(bounds) != 2:
            raise InputError(
                "bounds must be (low, high), a mapping from feature name to (low, high), FeatureBounds, FeatureBall "
                "or PrivateBounds",
                repr(bounds),
                "Scalars or one number per feature: bounds=(0, 100) or bounds=([0, 40], [120, 250]).",
            )
        bounds = FeatureBounds(bounds[0], bounds[1])
    if isinstance(bounds, FeatureBounds) and bounds.names is not None:
        if names is None:
            if len(bounds.names) != n_features:
                raise InputError(
                    f"bounds need one range per feature ({n_features})",
                    f"{len(bounds.names)} named ranges and a table without column names",
                    "Pass a DataFrame, or bounds=(low, high) arrays in column order.",
                )
        else:
            bounds = bounds.reordered(names)
    domain: FeatureDomain = bounds.for_features(n_features)
    return domain


def missing_bounds(what: str) -> PrivacyError:
    """The error every private entry point raises when no public domain was declared."""
    return PrivacyError(
        f"{what} needs public bounds on the features, because the noise is scaled to them",
        "bounds=None",
        'Declare what is known before looking at the data, e.g. bounds={"age": (0, 120), "bmi": (10, 70)}, '
        "bounds=(low, high) with scalars or arrays, or bounds=entrenous.FeatureBall(radius). "
        "If only loose ranges are known: bounds=entrenous.PrivateBounds(within=(low, high)). "
        "Rows outside are clipped. Never use X.min() and X.max(): they are private. "
        "For a fit without privacy set epsilon=None.",
    )
