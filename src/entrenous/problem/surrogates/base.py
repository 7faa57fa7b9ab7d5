"""Surrogates phi(t) of a pair's margin t: what each of them has to say of itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.registry import part

Function = Callable[[float], float]


class Interval(NamedTuple):
    """Closed interval of reachable margins."""

    low: float
    high: float


class Hoelder(NamedTuple):
    """``|phi'(s) - phi'(t)| <= constant |s - t|^exponent`` for all s, t."""

    exponent: float
    constant: float


_QUOTIENT_STEP = 1e-6
"""Half-width of a difference quotient: its rounding and, for a phi of unit scale, its truncation are near 1e-10."""


@dataclass(frozen=True)
class Surrogate(ABC):
    """A function of the margin, with the analytic constants that privacy and optimisation need."""

    name: ClassVar[str]

    @abstractmethod
    def value(self, t: Array) -> Array:
        """phi(t), elementwise."""

    @abstractmethod
    def derivative(self, t: Array) -> Array:
        """phi'(t), elementwise; at a kink the right derivative, always the same one (Lemma 6 needs a fixed rule)."""

    @abstractmethod
    def smoothness(self, margins: Interval) -> float:
        """The supremum of ``|phi''|`` on the margins, ``inf`` where phi' jumps or is steep without bound."""

    @property
    @abstractmethod
    def hoelder(self) -> Hoelder:
        """Exponent and constant of phi' on the whole line."""

    def curvature(self, t: Array) -> Array:
        """phi''(t), elementwise, where `smoothness` is finite; this default is a difference quotient of phi'."""
        step = _QUOTIENT_STEP * (1.0 + np.abs(t))
        return (self.derivative(t + step) - self.derivative(t - step)) / (2.0 * step)

    slope_is_affine: ClassVar[bool] = False
    """Whether phi' is a straight line: then a pair's gradient moves less at one parameter (Lemma 1)."""

    @property
    def convex(self) -> bool:
        """Whether phi is convex: without it no iterate is stable, and only noise on gradients has a proof."""
        return True

    @property
    def scalar_functions(self) -> tuple[Function, Function]:
        """``phi`` and ``phi'`` of one number, for compiled loops.

        Functions that use numbers and the `math` module only are compiled; what this default returns is not, so loops
        over single pairs run in Python, with a warning.
        """
        return (
            lambda t: float(self.value(np.array([t]))[0]),
            lambda t: float(self.derivative(np.array([t]))[0]),
        )

    @property
    def caveat(self) -> str | None:
        """What a certificate has to say about it; ``None`` for a surrogate of the library."""
        return None

    def slopes(self, margins: Interval) -> tuple[float, float]:
        """``(c1, c2)``, both >= 0, with phi' in ``[-c1, c2]`` on the margins.

        phi is convex (others override this), so phi' grows and its range is read off at the two ends.
        """
        low, high = self.derivative(np.array([margins.low, margins.high], dtype=float))
        return max(0.0, -float(low)), max(0.0, float(high))

    def __str__(self) -> str:
        settings = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))
        return f"{self.name}({settings})" if settings else self.name


@part
@dataclass(frozen=True)
class Reparametrised(Surrogate):
    """``outer * base(inner * t)``: how the papers' ``phi((y - y')<w, x - x'>)`` becomes a surrogate of our margin.

    With labels +-1 both orders of a pair of unlike labels pay ``base(2 t)``, so over all pairs it is ``2 base(2 t)``.
    """

    name: ClassVar[str] = "reparametrised"
    base: Surrogate
    inner: float
    outer: float

    def __post_init__(self) -> None:
        if not (0.0 < self.inner < math.inf and 0.0 < self.outer < math.inf):
            raise InputError(
                "a reparametrised surrogate needs 0 < inner < inf and 0 < outer < inf: others turn convex into concave",
                f"inner={self.inner!r}, outer={self.outer!r}",
                "Use positive numbers.",
            )

    @property
    def convex(self) -> bool:
        return self.base.convex

    def value(self, t: Array) -> Array:
        return self.outer * self.base.value(self.inner * t)

    def derivative(self, t: Array) -> Array:
        return self.outer * self.inner * self.base.derivative(self.inner * t)

    def curvature(self, t: Array) -> Array:
        return self.outer * self.inner**2 * self.base.curvature(self.inner * t)

    def slopes(self, margins: Interval) -> tuple[float, float]:
        c1, c2 = self.base.slopes(Interval(self.inner * margins.low, self.inner * margins.high))
        return self.outer * self.inner * c1, self.outer * self.inner * c2

    def smoothness(self, margins: Interval) -> float:
        inside = Interval(self.inner * margins.low, self.inner * margins.high)
        return self.outer * self.inner**2 * self.base.smoothness(inside)

    @property
    def hoelder(self) -> Hoelder:
        exponent, constant = self.base.hoelder
        return Hoelder(exponent, self.outer * self.inner ** (1.0 + exponent) * constant)

    def __str__(self) -> str:
        return f"{self.outer:g}*{self.base}({self.inner:g}t)"


def base_of(surrogate: Surrogate) -> Surrogate:
    """The surrogate under any reparametrisation."""
    while isinstance(surrogate, Reparametrised):
        surrogate = surrogate.base
    return surrogate
