"""Surrogates that are bounded and so not convex: Welsch's and the sigmoid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.surrogates.base import Hoelder, Interval, Surrogate
from entrenous.registry import part


@part
@dataclass(frozen=True)
class Welsch(Surrogate):
    """``1 - e^(-t^2 / (2 h^2))``, h the bandwidth: not convex.

    Its mean over pairs of errors is, up to constants, the negative information potential that minimum error entropy
    maximises. Errors far beyond the bandwidth count the same, whatever their size.
    """

    name: ClassVar[str] = "welsch"
    bandwidth: float = 1.0

    def __post_init__(self) -> None:
        if not 1e-100 < self.bandwidth < 1e100:
            raise InputError("welsch needs 0 < bandwidth < inf", f"bandwidth={self.bandwidth}", "Try bandwidth=1.0.")

    @property
    def convex(self) -> bool:
        return False

    def value(self, t: Array) -> Array:
        return -np.expm1(-self._half_square(t))

    def derivative(self, t: Array) -> Array:
        return t / self.bandwidth**2 * np.exp(-self._half_square(t))

    def curvature(self, t: Array) -> Array:
        half_square = self._half_square(t)
        return (1.0 - 2.0 * half_square) * np.exp(-half_square) / self.bandwidth**2

    def slopes(self, margins: Interval) -> tuple[float, float]:
        # The derivative is odd, rises on [-h, h] and falls outside.
        reached = self.derivative(self._turns(margins, 1.0))
        return max(0.0, -float(reached.min())), max(0.0, float(reached.max()))

    def smoothness(self, margins: Interval) -> float:
        # phi'' = (1 - u^2) e^(-u^2/2) / h^2 at u = t/h: its peaks are at 0 and at +-sqrt(3).
        return float(np.abs(self.curvature(self._turns(margins, math.sqrt(3.0)))).max())

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 1.0 / self.bandwidth**2)

    def _half_square(self, t: Array) -> Array:
        # Beyond 1e6 bandwidths the exponential is 0; the cut keeps the square finite.
        return np.square(np.clip(t / self.bandwidth, -1e6, 1e6)) / 2.0

    def _turns(self, margins: Interval, peak: float) -> Array:
        """The ends of the interval, and those of 0 and +-peak bandwidths that lie inside it."""
        far = 100.0 * self.bandwidth  # nothing is left of any derivative there
        low, high = (min(max(end, -far), far) for end in margins)
        inside = [t for t in (-peak * self.bandwidth, 0.0, peak * self.bandwidth) if low <= t <= high]
        return np.array([low, high, *inside])


@part
@dataclass(frozen=True)
class Sigmoid(Surrogate):
    """``1 / (1 + e^(t / width))``: not convex.

    A wrong pair pays at most 1, so the mean over pairs is near the share of wrong ones, that is ``1 - AUC``, the nearer
    the narrower it is beside the margins. No single pair can pull hard.
    """

    name: ClassVar[str] = "sigmoid"
    width: float = 1.0

    def __post_init__(self) -> None:
        if not 1e-100 < self.width < 1e100:
            raise InputError("sigmoid needs 0 < width < inf", f"width={self.width}", "Try width=1.0.")

    @property
    def convex(self) -> bool:
        return False

    def value(self, t: Array) -> Array:
        with np.errstate(over="ignore"):
            return 1.0 / (1.0 + np.exp(t / self.width))

    def derivative(self, t: Array) -> Array:
        with np.errstate(over="ignore"):
            small = np.exp(-np.abs(t / self.width))
        return -small / np.square(1.0 + small) / self.width

    def curvature(self, t: Array) -> Array:
        with np.errstate(over="ignore"):
            small = np.exp(-np.abs(t / self.width))
        return np.sign(t) * small * (1.0 - small) / (1.0 + small) ** 3 / self.width**2

    def slopes(self, margins: Interval) -> tuple[float, float]:
        # Never positive, and steepest at 0.
        nearest_to_zero = min(max(0.0, margins.low), margins.high)
        return -float(self.derivative(np.array([nearest_to_zero]))[0]), 0.0

    def smoothness(self, margins: Interval) -> float:
        # |phi''| = s (1 - s) |1 - 2s| / width^2 at s = phi: it rises from 0 up to its peak, and falls behind it.
        low, high = margins.low / self.width, margins.high / self.width
        nearest, farthest = max(0.0, low, -high), max(-low, high)
        peak = math.log(2.0 + math.sqrt(3.0))
        if nearest <= peak <= farthest:
            return _STEEPEST_SIGMOID / self.width**2
        at = farthest if farthest < peak else nearest
        small = math.exp(-at)
        return small * -math.expm1(-at) / (1.0 + small) ** 3 / self.width**2

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, _STEEPEST_SIGMOID / self.width**2)


_STEEPEST_SIGMOID = 1.0 / (6.0 * math.sqrt(3.0))
"""The largest ``s (1 - s)(1 - 2 s)``."""
