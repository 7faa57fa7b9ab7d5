"""The convex surrogates: logistic, the hinge and its relatives, the square."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.surrogates.base import Function, Hoelder, Interval, Surrogate
from entrenous.registry import part


@part
@dataclass(frozen=True)
class Logistic(Surrogate):
    """``log(1 + e^-t)``."""

    name: ClassVar[str] = "logistic"

    def value(self, t: Array) -> Array:
        return np.log1p(np.exp(-np.abs(t))) + np.maximum(0.0, -t)

    def derivative(self, t: Array) -> Array:
        # NumPy's vectorised exp is several times faster than scipy's expit; where it overflows, 1/inf = 0 is right.
        with np.errstate(over="ignore"):
            return -1.0 / (1.0 + np.exp(t))

    def curvature(self, t: Array) -> Array:
        small = np.exp(-np.abs(t))
        return small / np.square(1.0 + small)

    def smoothness(self, margins: Interval) -> float:
        nearest_to_zero = min(max(0.0, margins.low), margins.high)
        rate = 1.0 / (1.0 + math.exp(-abs(nearest_to_zero)))
        return rate * (1.0 - rate)

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 0.25)


@part
@dataclass(frozen=True)
class Hinge(Surrogate):
    """``max(0, 1 - t)``."""

    name: ClassVar[str] = "hinge"

    def value(self, t: Array) -> Array:
        return np.maximum(0.0, 1.0 - t)

    def derivative(self, t: Array) -> Array:
        return -(t < 1.0).astype(float)

    @property
    def scalar_functions(self) -> tuple[Function, Function]:
        return lambda t: max(0.0, 1.0 - t), lambda t: -1.0 if t < 1.0 else 0.0

    def smoothness(self, margins: Interval) -> float:
        return math.inf if margins.low < 1.0 <= margins.high else 0.0

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(0.0, 1.0)


@part
@dataclass(frozen=True)
class SmoothedHinge(Surrogate):
    """The Moreau envelope of the hinge: a parabola of the given width replaces the kink.

    It lies below the hinge by at most ``width / 2``.
    """

    name: ClassVar[str] = "smoothed-hinge"
    width: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 < self.width < math.inf:
            raise InputError("smoothed-hinge needs 0 < width < inf", f"width={self.width}", "Try width=0.5.")

    def value(self, t: Array) -> Array:
        gap = np.maximum(0.0, 1.0 - t)
        return np.where(gap <= self.width, gap * gap / (2.0 * self.width), gap - self.width / 2.0)

    def derivative(self, t: Array) -> Array:
        return -np.clip((1.0 - t) / self.width, 0.0, 1.0)

    def curvature(self, t: Array) -> Array:
        return ((t < 1.0) & (t > 1.0 - self.width)) / self.width

    def smoothness(self, margins: Interval) -> float:
        meets_the_parabola = margins.low < 1.0 and margins.high > 1.0 - self.width
        return 1.0 / self.width if meets_the_parabola else 0.0

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 1.0 / self.width)


@part
@dataclass(frozen=True)
class SquaredHinge(Surrogate):
    """``max(0, 1 - t)^2``."""

    name: ClassVar[str] = "squared-hinge"

    def value(self, t: Array) -> Array:
        return np.square(np.maximum(0.0, 1.0 - t))

    def derivative(self, t: Array) -> Array:
        return -2.0 * np.maximum(0.0, 1.0 - t)

    def curvature(self, t: Array) -> Array:
        return np.where(t < 1.0, 2.0, 0.0)

    def smoothness(self, margins: Interval) -> float:
        return 2.0 if margins.low < 1.0 else 0.0

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 2.0)


@part
@dataclass(frozen=True)
class Square(Surrogate):
    """``(1 - t)^2``."""

    name: ClassVar[str] = "square"
    slope_is_affine: ClassVar[bool] = True

    def value(self, t: Array) -> Array:
        return np.square(1.0 - t)

    def derivative(self, t: Array) -> Array:
        return 2.0 * (t - 1.0)

    def curvature(self, t: Array) -> Array:
        return np.full_like(t, 2.0)

    def smoothness(self, margins: Interval) -> float:
        return 2.0

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 2.0)


@dataclass(frozen=True)
class _PowerSurrogate(Surrogate):
    """Shared by the two q-norm surrogates: 1 < q <= 2, Hoelder exponent q - 1 (Wang et al. 2024)."""

    q: float = 1.5

    def __post_init__(self) -> None:
        if not 1.0 < self.q <= 2.0:
            raise InputError(f"{self.name} needs 1 < q <= 2", f"q={self.q}", "For q = 1 use the hinge.")


@part
@dataclass(frozen=True)
class QNormHinge(_PowerSurrogate):
    """``max(0, 1 - t)^q``."""

    name: ClassVar[str] = "q-norm-hinge"

    def value(self, t: Array) -> Array:
        return np.maximum(0.0, 1.0 - t) ** self.q

    def derivative(self, t: Array) -> Array:
        return -self.q * np.maximum(0.0, 1.0 - t) ** (self.q - 1.0)

    @property
    def scalar_functions(self) -> tuple[Function, Function]:
        q = self.q
        return lambda t: max(0.0, 1.0 - t) ** q, lambda t: -q * max(0.0, 1.0 - t) ** (q - 1.0)

    def smoothness(self, margins: Interval) -> float:
        if margins.low >= 1.0:
            return 0.0
        gap_at_high = max(0.0, 1.0 - margins.high)
        if self.q == 2.0:
            return 2.0
        return self.q * (self.q - 1.0) * gap_at_high ** (self.q - 2.0) if gap_at_high > 0.0 else math.inf

    @property
    def hoelder(self) -> Hoelder:
        # x -> max(0, x)^p is Hoelder with constant 1 for 0 < p <= 1.
        return Hoelder(self.q - 1.0, self.q)


@part
@dataclass(frozen=True)
class QNormLoss(_PowerSurrogate):
    """``|1 - t|^q``."""

    name: ClassVar[str] = "q-norm-loss"

    def value(self, t: Array) -> Array:
        return np.abs(1.0 - t) ** self.q

    def derivative(self, t: Array) -> Array:
        return self.q * np.sign(t - 1.0) * np.abs(t - 1.0) ** (self.q - 1.0)

    @property
    def scalar_functions(self) -> tuple[Function, Function]:
        q = self.q
        return lambda t: abs(1.0 - t) ** q, lambda t: q * math.copysign(abs(t - 1.0) ** (q - 1.0), t - 1.0)

    def smoothness(self, margins: Interval) -> float:
        if self.q == 2.0:
            return 2.0
        distance = max(margins.low - 1.0, 1.0 - margins.high)
        return self.q * (self.q - 1.0) * distance ** (self.q - 2.0) if distance > 0.0 else math.inf

    @property
    def hoelder(self) -> Hoelder:
        # The odd power sign(x)|x|^p is Hoelder with constant 2^(1-p), reached at x = -x'.
        return Hoelder(self.q - 1.0, self.q * 2.0 ** (2.0 - self.q))
