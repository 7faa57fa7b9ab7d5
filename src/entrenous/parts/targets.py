"""The public range of a regression's targets, and the map to ``[-1, 1]``, the internal units of a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError, PrivacyError

_LARGEST = 1e150


def checked_target_bounds(bounds: Any) -> tuple[float, float]:
    """``(low, high)`` as two finite numbers, the first below the second."""
    try:
        pair = not isinstance(bounds, str) and isinstance(bounds, Sequence | np.ndarray) and len(bounds) == 2
        low, high = (float(end) for end in bounds) if pair else (math.nan, math.nan)
    except (TypeError, ValueError):
        low = high = math.nan
    if not -_LARGEST <= low < high <= _LARGEST:
        raise InputError(
            "target_bounds must be (low, high) with finite low < high", repr(bounds), "E.g. target_bounds=(0, 100)."
        )
    return low, high


@dataclass(frozen=True)
class TargetRange:
    """Targets from `low` to `high`; those outside are clipped."""

    low: float
    high: float

    @classmethod
    def of(cls, bounds: tuple[float, float] | None, y: AnyArray, *, private: bool) -> TargetRange:
        """The declared range; without privacy, and only then, it may come from the targets."""
        if not np.issubdtype(y.dtype, np.number) or not np.isfinite(y).all():
            raise InputError("targets must be finite numbers", "text, NaN or infinity in y", "Fill or drop them first.")
        if bounds is not None:
            return cls(*bounds)
        if private:
            raise PrivacyError(
                "running a private regression needs the public range of the targets",
                "target_bounds=None",
                "Declare it from knowledge of the quantity, e.g. target_bounds=(0, 100). Never use y.min(), y.max().",
            )
        low, high = float(y.min()), float(y.max())
        return cls(low, high) if low < high else cls(low - 1.0, high + 1.0)

    def to_internal(self, y: AnyArray) -> Array:
        """Targets clipped and mapped to ``[-1, 1]``."""
        return (np.clip(y, self.low, self.high) - self._middle) / self._half

    def to_user(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """A linear prediction of internal targets as one of the user's."""
        return coef * self._half, intercept * self._half + self._middle

    @property
    def _middle(self) -> float:
        return self.low / 2.0 + self.high / 2.0

    @property
    def _half(self) -> float:
        return self.high / 2.0 - self.low / 2.0
