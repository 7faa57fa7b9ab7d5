"""A request to find tight bounds privately, inside loose public ones."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray
from entrenous.errors import InputError
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.declared import feature_domain_from, refuse_pairs
from entrenous.registry import part

_FARTHEST, _NARROWEST = 1e149, 1e-90


@part
@dataclass(frozen=True)
class PrivateBounds:
    """Spend a share of the budget on centre, scale and clipping radius; the rest goes to the algorithm.

    For features of which only loose ranges are public. A range ten times too wide means ten times the noise; a tenth of
    the budget finds where the records are. Where tight ranges are known, declare them: that costs nothing. The two go
    together: columns that are declared 0/1 (`binary` of `FeatureBounds`), constants, and those that `columns` leaves
    out keep their ranges, and cost nothing either.

    Parameters
    ----------
    within : (low, high), mapping or FeatureBounds
        Public ranges to search in, as `FeatureBounds` takes them, or what `OneHot.bounds` returns. Values outside are
        clipped, never dropped. ``low == high`` stays a public constant. A clipping radius tells how much room the
        columns need that keep their ranges.
    share : float, default=0.1
        Share of the budget for the search: of ``mu^2`` where noise is Gaussian, of epsilon for pure privacy.
    columns : sequence of str or int, optional
        Names, or numbers from 0, of the columns to search; the others keep the ranges of `within`. ``None`` searches
        all that vary and are not declared 0/1.

    >>> PrivateBounds(within=(0, 1000)).within.high
    1000.0
    >>> PrivateBounds({"age": (0, 120), "income": (0, 1e7)}, columns=["income"]).for_features(2).only
    (1,)

    """

    within: Any = None
    share: float = 0.1
    columns: tuple[str | int, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "within", _box(self.within))
        share = self.share
        number = float(share) if isinstance(share, numbers.Real) and not isinstance(share, bool) else math.nan
        if not 0.0 < number < 1.0:
            raise InputError(
                "PrivateBounds needs a share of the budget between 0 and 1, both excluded",
                f"share={share!r}",
                "0.1 leaves nine tenths to the algorithm; without a share declare bounds=(low, high).",
            )
        object.__setattr__(self, "share", number)
        if self.columns is not None:
            object.__setattr__(self, "columns", self._checked_columns())

    def _checked_columns(self) -> tuple[str | int, ...]:
        assert self.columns is not None
        listed = self.within.columns_listed(self.columns, "columns")
        if not listed:
            raise InputError(
                "PrivateBounds needs columns to search", "an empty list", "Leave columns=None to search all of them."
            )
        exact = [column for column in listed if column in self.within.binary]
        if exact:
            raise InputError(
                "columns to search must not be declared 0/1, because their ranges are exact",
                ", ".join(map(repr, exact)),
                "Take them out of columns, or out of binary.",
            )
        return listed

    def for_features(self, n_features: int, names: Sequence[str] | None = None) -> PrivateBounds:
        """The same request with one range per feature, in the table's order."""
        box = feature_domain_from(self.within, n_features, names)
        assert isinstance(box, FeatureBounds)
        low, high = box.sides()
        width = high / 2.0 - low / 2.0
        if ((width > 0.0) & (width < _NARROWEST)).any() or max(abs(low).max(), abs(high).max()) > _FARTHEST:
            # Checked here, on public numbers, so that no bounds found later can be refused.
            raise InputError(
                f"PrivateBounds needs widths of 0 or at least {_NARROWEST:g}, and ends within {_FARTHEST:g}",
                "a range beyond",
                "Change the unit.",
            )
        made = replace(self, within=box)
        searched = searchable(box, made.only)
        if not searched.size:
            raise InputError(
                "PrivateBounds needs a column to search whose range has a width and which is not declared 0/1",
                "none",
                "Widen the ranges of the columns that vary, or declare bounds without PrivateBounds.",
            )
        if box.clip is not None and searched.size == np.count_nonzero(width):
            raise InputError(
                "PrivateBounds finds the clipping radius itself where it searches every column",
                f"within.clip={box.clip:g}",
                "Leave clip=None.",
            )
        return made

    @property
    def only(self) -> tuple[int, ...] | None:
        """Numbers of the columns to search; ``None``: all that can be."""
        return None if self.columns is None else self.within.numbers_of(self.columns)


def searchable(within: FeatureBounds, only: Sequence[int] | None = None) -> AnyArray:
    """Numbers of the columns that vary and are not declared 0/1: all of them, or those that are in `only`."""
    low, high = within.sides()
    found = np.flatnonzero((low < high) & ~within.is_binary)
    return found if only is None else found[np.isin(found, np.array(only, dtype=int))]


def _box(within: Any) -> FeatureBounds:
    example = 'PrivateBounds(within=(0, 1000)), or within={"age": (0, 1000), "glucose": (0, 10_000)}.'
    if within is None:
        raise InputError(
            "PrivateBounds needs loose public ranges to search in", "within=None", f"Even very wide ones do: {example}"
        )
    if isinstance(within, Mapping):
        return FeatureBounds.from_mapping(within)
    if isinstance(within, FeatureBounds):
        return within
    refuse_pairs(within, "within")
    if isinstance(within, str) or not isinstance(within, Sequence | np.ndarray) or len(within) != 2:
        raise InputError(
            "within must be (low, high), a mapping from feature name to (low, high), or FeatureBounds",
            repr(within),
            example,
        )
    return FeatureBounds(within[0], within[1])
