"""Categorical columns as numbers, from public lists of categories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import validate_data

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError
from entrenous.problem.features.box import FeatureBounds

Column = str | int


class OneHot(TransformerMixin, BaseEstimator):
    """One column of zeros and ones per public category; `fit` learns nothing from rows.

    scikit-learn's ``OneHotEncoder`` takes the categories from the rows, which tells who is in the table. Here they are
    declared. A value that is not listed, a missing one included, becomes zeros (or the `unknown` column): never an
    error, because an error would tell that such a row exists.

    Parameters
    ----------
    categories : mapping
        From column name (column number for a table without names) to its public categories. A single category gives
        a single column, enough for a binary one: ``{"sex": ("m",)}``.
    numeric : mapping or FeatureBounds, optional
        The numeric columns, passed through, with their public ranges: ``{"age": (0, 120)}``. Columns that are in
        neither are an error, so that none is forgotten.
    unknown : {"zeros", "column"}, default="zeros"
        What an unlisted value becomes: no category, or a further column ``<name>_other``.

    Notes
    -----
    `bounds` gives the domain of the output. A row has exactly one of the k categories, so a block of k columns needs
    less room than the box ``[0, 1]^k``, all of whose corners are ``sqrt(k)`` half-widths from its centre. The block is
    centred on ``1/k`` by the range ``[2/k - 1, 1]``, of half-width ``1 - 1/k``: the one stands at 1 and each zero at
    ``-1/(k - 1)`` half-widths, squared norm ``k/(k - 1)`` in place of k (a row of zeros has less). So the clipping
    radius ``sqrt(d + sum k/(k - 1))``, over d numeric columns and all blocks, draws in no row of the output, and the
    noise is that of a box with so many features. What else comes in is clipped: privacy does not rest on the coding.

    Examples
    --------
    >>> import pandas as pd
    >>> coded = OneHot({"stage": (1, 2, 3, 4)}, numeric={"age": (0, 120)})
    >>> coded.fit_transform(pd.DataFrame({"age": [50, 61], "stage": [2, 9]})).tolist()
    [[0.0, 1.0, 0.0, 0.0, 50.0], [0.0, 0.0, 0.0, 0.0, 61.0]]
    >>> coded.bounds().ranges()["stage_2"], round(coded.bounds().clip ** 2, 3)
    ((-0.5, 1.0), 2.333)

    """

    def __init__(
        self,
        categories: Mapping[Any, Sequence[Any]],
        *,
        numeric: Mapping[Any, Sequence[float]] | FeatureBounds | None = None,
        unknown: str = "zeros",
    ) -> None:
        self.categories = categories
        self.numeric = numeric
        self.unknown = unknown

    def fit(self, X: Any, y: Any = None) -> OneHot:
        """Check that the declared columns are the table's; nothing else is looked at."""
        validate_data(self, X, skip_check_array=True)
        self._columns_of(X)
        return self

    def transform(self, X: Any) -> Array:
        """The blocks in the order of `categories`, then the numeric columns in the order of `numeric`."""
        columns = self._columns_of(X)
        parts = [_indicators(columns[name], listed, self.unknown, name) for name, listed in self._blocks()]
        parts += [_as_numbers(columns[name], name) for name in self._ranges()]
        return np.column_stack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """``<column>_<category>`` for the blocks, then the numeric columns' names; column number i is ``x<i>``."""
        names = [f"{_text(name)}_{value}" for name, values in self._blocks() for value in self._with_other(values)]
        return np.array([*names, *map(_text, self._ranges())], dtype=object)

    def bounds(self, clip: float | None = None) -> FeatureBounds:
        """The public domain of the output, for an estimator's `bounds`; `clip` as in `FeatureBounds`, for its rows.

        Without `clip` the radius is the smallest that contains every row of the output. Indicator columns are declared
        `binary`; inside `PrivateBounds` the numeric columns are searched, and they keep their ranges.
        """
        low: list[float] = []
        high: list[float] = []
        reach = 0.0
        for _, values in self._blocks():
            k = len(self._with_other(values))
            # One category has no others to be told from: plain zero and one.
            low += [2.0 / k - 1.0 if k > 1 else 0.0] * k
            high += [1.0] * k
            reach += k / (k - 1.0) if k > 1 else 1.0
        indicators = len(low)
        ranges = self._ranges()
        low += [pair[0] for pair in ranges.values()]
        high += [pair[1] for pair in ranges.values()]
        box = math.sqrt(sum(a < b for a, b in ranges.values()))
        inner = self.numeric.clip if isinstance(self.numeric, FeatureBounds) else None
        reach += min(box, inner or math.inf) ** 2
        names = tuple(self.get_feature_names_out().tolist())
        radius = math.sqrt(reach) if clip is None else clip
        return FeatureBounds(tuple(low), tuple(high), radius, names, (*names[:indicators], *self._binary()))

    def _blocks(self) -> Iterator[tuple[Column, Sequence[Any]]]:
        if not isinstance(self.categories, Mapping) or not self.categories:
            raise InputError(
                "categories must map columns to their public categories", repr(self.categories), 'Try {"sex": ("m",)}.'
            )
        if self.unknown not in ("zeros", "column"):
            raise InputError("unknown must be 'zeros' or 'column'", repr(self.unknown), "'zeros' is the default.")
        for name, listed in self.categories.items():
            values = () if isinstance(listed, str) or not isinstance(listed, Sequence | np.ndarray) else list(listed)
            kinds = {isinstance(value, str) for value in values}
            titles = list(map(str, self._with_other(values)))
            if len(kinds) != 1 or len(set(titles)) != len(titles):
                raise InputError(
                    "a column needs one or more different categories, all text or all numbers",
                    f"{listed!r} for {name!r}",
                    f'List each once: {{{name!r}: ("a", "b")}}.',
                )
            yield name, values

    def _with_other(self, values: Sequence[Any]) -> list[Any]:
        return [*values, "other"] if self.unknown == "column" else list(values)

    def _ranges(self) -> dict[Column, tuple[float, float]]:
        if self.numeric is None:
            return {}
        if isinstance(self.numeric, FeatureBounds):
            if self.numeric.names is None:
                raise InputError("numeric columns need names", "FeatureBounds without names", "Use a mapping.")
            return dict(self.numeric.ranges().items())
        declared = FeatureBounds.from_mapping(self.numeric).ranges()
        return dict(zip(self.numeric, declared.values(), strict=True))

    def _binary(self) -> tuple[str, ...]:
        """Names of the numeric columns that are declared to hold two values."""
        declared = self.numeric
        return tuple(map(str, declared.binary)) if isinstance(declared, FeatureBounds) else ()

    def _columns_of(self, X: Any) -> dict[Column, AnyArray]:
        """Each declared column; the declared ones must be the table's, no more and no fewer."""
        declared = [*(name for name, _ in self._blocks()), *self._ranges()]
        named = getattr(X, "column_names", None) or getattr(X, "columns", None)
        rows: Any = X if named is not None else np.asarray(X, dtype=object if isinstance(X, list) else None)
        if named is None and rows.ndim != 2:
            raise InputError("OneHot needs a table", f"{rows.ndim} dimensions", "Use X.reshape(-1, 1) for one column.")
        present: list[Column] = list(named) if named is not None else list(range(rows.shape[1]))
        missing = [name for name in declared if name not in present]
        extra = [name for name in present if name not in declared]
        if missing or extra or len(declared) != len(present):
            raise InputError(
                f"the table's columns must be the declared ones ({', '.join(map(repr, declared))})",
                f"{', '.join(map(repr, present))}",
                "Declare each in categories or numeric, or drop it; a table without names has column numbers.",
            )
        return {name: np.asarray(X[name]) if named is not None else rows[:, name] for name in declared}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


def _indicators(column: AnyArray, values: Sequence[Any], unknown: str, name: Column) -> Array:
    text = isinstance(values[0], str)
    # The type of a column belongs to the schema; a mismatch would turn every row into zeros without a word.
    if column.dtype.kind in ("biufc" if text else "US"):
        raise InputError(
            f"the categories of {name!r} must have the type of the column",
            f"{'text' if text else 'numbers'} for a column of {'numbers' if text else 'text'}",
            "Declare them as they stand in the table.",
        )
    place = {value: i for i, value in enumerate(values)}
    width = len(values) + (unknown == "column")
    # One row of zeros more than there are columns: where nothing is listed and there is no further column.
    return np.eye(width + 1, width)[[_place_of(cell, place) for cell in column.tolist()]]


def _place_of(cell: Any, place: Mapping[Any, int]) -> int:
    try:
        return place.get(cell, len(place))
    except TypeError:  # a cell that cannot be looked up is listed nowhere
        return len(place)


def _as_numbers(column: AnyArray, name: Column) -> Array:
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        # The original message quotes a cell, and cells are private.
        raise InputError(
            f"numeric column {name!r} must hold numbers", "text", "Declare it in categories instead."
        ) from None


def _text(name: Column) -> str:
    return f"x{name}" if isinstance(name, int) else name
