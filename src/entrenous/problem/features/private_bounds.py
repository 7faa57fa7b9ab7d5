"""A request to find tight bounds privately, inside loose public ones."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    the budget finds where the records are. Where tight ranges are known, declare them with a clipping radius: that
    costs nothing. Above all for indicators and other columns of a few levels, whose ranges are exact: with few records
    the search takes the commonest level for the whole feature, and has cost AUC there.

    Parameters
    ----------
    within : (low, high), mapping or FeatureBounds
        Loose public ranges, as `FeatureBounds` takes them. Values outside are clipped, never dropped.
        ``low == high`` stays a public constant.
    share : float, default=0.1
        Share of the budget for the search: of ``mu^2`` where noise is Gaussian, of epsilon for pure privacy.

    >>> PrivateBounds(within=(0, 1000)).within.high
    1000.0

    """

    within: Any = None
    share: float = 0.1

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

    def for_features(self, n_features: int, names: Sequence[str] | None = None) -> FeatureBounds:
        """The loose ranges with one entry per feature, in the table's order."""
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
        if not np.any(low < high):
            raise InputError(
                "PrivateBounds needs a feature whose range has a width",
                "low == high for every feature",
                "Widen the ranges of the features that vary.",
            )
        return box


def _box(within: Any) -> FeatureBounds:
    example = 'PrivateBounds(within=(0, 1000)), or within={"age": (0, 1000), "glucose": (0, 10_000)}.'
    if within is None:
        raise InputError(
            "PrivateBounds needs loose public ranges to search in", "within=None", f"Even very wide ones do: {example}"
        )
    if isinstance(within, Mapping):
        return FeatureBounds.from_mapping(within)
    if isinstance(within, FeatureBounds):
        if within.clip is not None:
            raise InputError(
                "PrivateBounds finds the clipping radius itself", f"within.clip={within.clip:g}", "Leave clip=None."
            )
        return within
    refuse_pairs(within, "within")
    if isinstance(within, str) or not isinstance(within, Sequence | np.ndarray) or len(within) != 2:
        raise InputError(
            "within must be (low, high), a mapping from feature name to (low, high), or FeatureBounds",
            repr(within),
            example,
        )
    return FeatureBounds(within[0], within[1])
