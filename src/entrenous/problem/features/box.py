"""A box of public ranges, optionally cut by a clipping radius."""

from __future__ import annotations

import json
import math
import numbers as numbers_abc
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.features.data_dictionary import ranges_from_dictionary
from entrenous.problem.features.domain import _LARGEST, _SMALLEST, FeatureDomain, Numbers, _numbers
from entrenous.registry import part

_MOST = 1 << 31


@part
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
    binary : sequence of str or int, optional
        Names, or numbers from 0, of the columns that hold only two values, as 0/1 indicators do. No search for
        narrower ranges touches them.

    >>> FeatureBounds(low=(0, 40), high=(120, 250)).origin.tolist()
    [60.0, 145.0]

    """

    low: Numbers
    high: Numbers
    clip: float | None = None
    names: tuple[str, ...] | None = None
    binary: tuple[str | int, ...] = ()

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
        object.__setattr__(self, "binary", self.columns_listed(self.binary, "binary"))

    def columns_listed(self, listed: Any, argument: str) -> tuple[str | int, ...]:
        """Each of these columns once, by its name where there are names; an error for what is no column."""
        given = tuple(listed) if isinstance(listed, Iterable) and not isinstance(listed, str) else (listed,)
        known, size = self.names or (), self.sides()[0].size
        # One range that stands for all features says nothing about how many there are.
        numbers = range(size if size > 1 or known else _MOST)
        for column in given:
            is_number = isinstance(column, numbers_abc.Integral) and not isinstance(column, bool)
            if not (column in numbers if is_number else column in known):
                raise InputError(
                    f"{argument} must list columns of the bounds, by name or by number from 0",
                    repr(column),
                    f"The names are {', '.join(map(repr, known))}." if known else "These bounds have no names.",
                )
        named = [known[int(c)] if known and not isinstance(c, str) else c for c in given]
        return tuple(dict.fromkeys(c if isinstance(c, str) else int(c) for c in named))

    def numbers_of(self, columns: Sequence[str | int]) -> tuple[int, ...]:
        """Numbers of these columns, in order."""
        order = {name: i for i, name in enumerate(self.names or ())}
        return tuple(sorted({order[c] if isinstance(c, str) else int(c) for c in columns}))

    @property
    def is_binary(self) -> npt.NDArray[np.bool_]:
        """Which columns are declared 0/1, one entry per range."""
        flags = np.zeros(self.sides()[0].size, dtype=bool)
        flags[list(self.numbers_of(self.binary))] = True
        return flags

    def _checked_sides(self) -> tuple[Array, Array]:
        low, high = np.atleast_1d(np.array(self.low, dtype=float)), np.atleast_1d(np.array(self.high, dtype=float))
        if low.size != high.size and 1 not in (low.size, high.size):
            raise InputError(
                "bounds need as many lower as upper ends", f"{low.size} and {high.size}", "Give one pair per feature."
            )
        return low, high

    @classmethod
    def from_mapping(
        cls, ranges: Mapping[str, Sequence[float]], clip: float | None = None, binary: Sequence[str | int] = ()
    ) -> FeatureBounds:
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
        return cls(low, high, clip, tuple(ranges), tuple(binary))

    @classmethod
    def from_file(cls, path: str | Path) -> FeatureBounds:
        """From a TOML or JSON file: ranges under ``[bounds]`` (or at the top), an optional ``clip``, 0/1 columns.

        A ``.csv`` file is read as a data dictionary (`from_dictionary`).

        ::

            clip = 2.5
            binary = ["smoker"]
            [bounds]
            smoker = [0, 1]
            age = [0, 120]
            glucose = [40, 400]
        """
        path = Path(path)
        if path.suffix.lower() == ".csv":
            return cls.from_dictionary(path)
        is_json = path.suffix.lower() == ".json"
        try:
            text = path.read_text(encoding="utf-8")
            content = json.loads(text, object_pairs_hook=_once) if is_json else _toml(text)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise InputError(
                "bounds need a readable TOML or JSON file with each name once",
                f"{path} ({error})",
                "See entrenous fit --help.",
            ) from error
        if not isinstance(content, dict):
            raise InputError("bounds need a table of ranges", f"a {type(content).__name__}", "age = [0, 120]")
        clip = content.pop("clip", None)
        binary = content.pop("binary", ())
        ranges = content.pop("bounds", content)
        if ranges is not content and content:
            raise InputError(
                "a file with [bounds] keeps all ranges there", f"{', '.join(content)} outside", "Move them."
            )
        return cls.from_mapping(ranges, clip, binary)

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
            self.binary,
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
        return FeatureBounds(
            tuple(low[order].tolist()), tuple(high[order].tolist()), self.clip, tuple(names), self.binary
        )

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
        declared = {"kind": "box", "low": self.low, "high": self.high, "clip": self.clip, "names": self.names}
        return {**declared, "binary": self.binary} if self.binary else declared


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, each of whose keys is there once; the parser would take the last without a word."""
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise ValueError(f"{key!r} is there twice")
        content[key] = value
    return content


def _toml(text: str) -> dict[str, Any]:
    """TOML; the parser refuses a key that is there twice, and says only where its value ends."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.match(r"Cannot overwrite a value \(at line (\d+)", str(error))
        lines = text.splitlines()[: int(place[1])] if place else []
        keys = [line.split("=")[0].strip() for line in lines if "=" in line]
        if not keys:
            raise
        raise ValueError(f"{keys[-1]!r} is there twice") from None


def _clip_number(clip: Any) -> float | None:
    if clip is None:
        return None
    number = float(clip) if isinstance(clip, int | float) and not isinstance(clip, bool) else math.nan
    if not _SMALLEST <= number < math.inf:
        raise InputError("clip must be a positive number", repr(clip), "Leave it out for the whole box.")
    return number
