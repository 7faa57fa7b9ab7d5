"""The public range of a regression's targets, and the map to ``[-1, 1]``, the internal units of a target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError, PrivacyError

_LARGEST, _SMALLEST = 1e150, 1e-100


def checked_target_bounds(bounds: Any) -> tuple[float, float]:
    """``(low, high)`` as two finite numbers, the first below the second."""
    try:
        pair = not isinstance(bounds, str) and isinstance(bounds, Sequence | np.ndarray) and len(bounds) == 2
        low, high = (float(end) for end in bounds) if pair else (math.nan, math.nan)
    except (TypeError, ValueError):
        low = high = math.nan
    if not (-_LARGEST <= low < high <= _LARGEST and high / 2.0 - low / 2.0 >= _SMALLEST):
        raise InputError(
            "target_bounds must be two finite numbers (low, high), low < high",
            repr(bounds),
            "Try target_bounds=(0, 100).",
        )
    return low, high


def missing_target_bounds() -> PrivacyError:
    """The error of every private regression without a public range of its targets."""
    return PrivacyError(
        "a private regression needs the public range of its targets, because the noise is scaled to it",
        "target_bounds=None",
        "Declare what is known before looking at the data, e.g. target_bounds=(0, 100). Targets outside are clipped. "
        "Never use y.min() and y.max(): they are private.",
    )


def no_target_bounds(task: str) -> InputError:
    """The error of a range of targets that is declared for a task which has none."""
    return InputError("target_bounds belong to a regression", f"task={task!r}", "Leave them out.")


@dataclass(frozen=True)
class TargetRange:
    """Targets from `low` to `high`; those outside are clipped."""

    low: float
    high: float

    @classmethod
    def around(cls, y: AnyArray) -> TargetRange:
        """The range of the targets themselves, for fits without privacy."""
        low, high = float(y.min()), float(y.max())
        return cls(low, high) if low < high else cls(low - 1.0, high + 1.0)

    def to_internal(self, y: AnyArray) -> Array:
        """Targets clipped and mapped to ``[-1, 1]``."""
        return np.clip((np.clip(y, self.low, self.high) - self._middle) / self._half, -1.0, 1.0)

    def to_user(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """A linear prediction of internal targets as one of the user's."""
        return coef * self._half, intercept * self._half + self._middle

    @property
    def _middle(self) -> float:
        return self.low / 2.0 + self.high / 2.0

    @property
    def _half(self) -> float:
        return self.high / 2.0 - self.low / 2.0
