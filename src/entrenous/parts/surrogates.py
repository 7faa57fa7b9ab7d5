"""Surrogates phi(t) of a pair's margin t: what a pair pays for being ordered wrongly.

Each one knows its value, its derivative, the range ``[-c1, c2]`` of the derivative on an interval of margins, its
smoothness there, and its Hoelder exponent and constant on the whole line. A new surrogate joins `SURROGATES` and every
law of ``tests/laws`` runs on it.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError


class Interval(NamedTuple):
    """Closed interval of reachable margins."""

    low: float
    high: float


class Hoelder(NamedTuple):
    """``|phi'(s) - phi'(t)| <= constant |s - t|^exponent`` for all s, t."""

    exponent: float
    constant: float


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

    @property
    def convex(self) -> bool:
        """Whether phi is convex: without it no iterate is stable, and only noise on gradients has a proof."""
        return True

    def slopes(self, margins: Interval) -> tuple[float, float]:
        """``(c1, c2)``, both >= 0, with phi' in ``[-c1, c2]`` on the margins.

        phi is convex (others override this), so phi' grows and its range is read off at the two ends.
        """
        low, high = self.derivative(np.array([margins.low, margins.high], dtype=float))
        return max(0.0, -float(low)), max(0.0, float(high))

    def __str__(self) -> str:
        settings = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self))
        return f"{self.name}({settings})" if settings else self.name


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

    def smoothness(self, margins: Interval) -> float:
        nearest_to_zero = min(max(0.0, margins.low), margins.high)
        rate = 1.0 / (1.0 + math.exp(-abs(nearest_to_zero)))
        return rate * (1.0 - rate)

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 0.25)


@dataclass(frozen=True)
class Hinge(Surrogate):
    """``max(0, 1 - t)``."""

    name: ClassVar[str] = "hinge"

    def value(self, t: Array) -> Array:
        return np.maximum(0.0, 1.0 - t)

    def derivative(self, t: Array) -> Array:
        return -(t < 1.0).astype(float)

    def smoothness(self, margins: Interval) -> float:
        return math.inf if margins.low < 1.0 <= margins.high else 0.0

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(0.0, 1.0)


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

    def smoothness(self, margins: Interval) -> float:
        meets_the_parabola = margins.low < 1.0 and margins.high > 1.0 - self.width
        return 1.0 / self.width if meets_the_parabola else 0.0

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 1.0 / self.width)


@dataclass(frozen=True)
class SquaredHinge(Surrogate):
    """``max(0, 1 - t)^2``."""

    name: ClassVar[str] = "squared-hinge"

    def value(self, t: Array) -> Array:
        return np.square(np.maximum(0.0, 1.0 - t))

    def derivative(self, t: Array) -> Array:
        return -2.0 * np.maximum(0.0, 1.0 - t)

    def smoothness(self, margins: Interval) -> float:
        return 2.0 if margins.low < 1.0 else 0.0

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 2.0)


@dataclass(frozen=True)
class Square(Surrogate):
    """``(1 - t)^2``."""

    name: ClassVar[str] = "square"

    def value(self, t: Array) -> Array:
        return np.square(1.0 - t)

    def derivative(self, t: Array) -> Array:
        return 2.0 * (t - 1.0)

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


@dataclass(frozen=True)
class QNormHinge(_PowerSurrogate):
    """``max(0, 1 - t)^q``."""

    name: ClassVar[str] = "q-norm-hinge"

    def value(self, t: Array) -> Array:
        return np.maximum(0.0, 1.0 - t) ** self.q

    def derivative(self, t: Array) -> Array:
        return -self.q * np.maximum(0.0, 1.0 - t) ** (self.q - 1.0)

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


@dataclass(frozen=True)
class QNormLoss(_PowerSurrogate):
    """``|1 - t|^q``."""

    name: ClassVar[str] = "q-norm-loss"

    def value(self, t: Array) -> Array:
        return np.abs(1.0 - t) ** self.q

    def derivative(self, t: Array) -> Array:
        return self.q * np.sign(t - 1.0) * np.abs(t - 1.0) ** (self.q - 1.0)

    def smoothness(self, margins: Interval) -> float:
        if self.q == 2.0:
            return 2.0
        distance = max(margins.low - 1.0, 1.0 - margins.high)
        return self.q * (self.q - 1.0) * distance ** (self.q - 2.0) if distance > 0.0 else math.inf

    @property
    def hoelder(self) -> Hoelder:
        # The odd power sign(x)|x|^p is Hoelder with constant 2^(1-p), reached at x = -x'.
        return Hoelder(self.q - 1.0, self.q * 2.0 ** (2.0 - self.q))


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

    def slopes(self, margins: Interval) -> tuple[float, float]:
        # The derivative is odd, rises on [-h, h] and falls outside.
        reached = self.derivative(self._turns(margins, 1.0))
        return max(0.0, -float(reached.min())), max(0.0, float(reached.max()))

    def smoothness(self, margins: Interval) -> float:
        # phi'' = (1 - u^2) e^(-u^2/2) / h^2 at u = t/h: its peaks are at 0 and at +-sqrt(3).
        half_square = self._half_square(self._turns(margins, math.sqrt(3.0)))
        return float(np.abs((1.0 - 2.0 * half_square) * np.exp(-half_square)).max()) / self.bandwidth**2

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


@dataclass(frozen=True)
class Reparametrised(Surrogate):
    """``outer * base(inner * t)``: how the papers' ``phi((y - y')<w, x - x'>)`` becomes a surrogate of our margin.

    With labels +-1 both orders of a pair of unlike labels pay ``base(2 t)``, so over all pairs it is ``2 base(2 t)``.
    """

    name: ClassVar[str] = "reparametrised"
    base: Surrogate
    inner: float
    outer: float

    @property
    def convex(self) -> bool:
        return self.base.convex

    def value(self, t: Array) -> Array:
        return self.outer * self.base.value(self.inner * t)

    def derivative(self, t: Array) -> Array:
        return self.outer * self.inner * self.base.derivative(self.inner * t)

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


SURROGATES: dict[str, type[Surrogate]] = {
    kind.name: kind
    for kind in (Logistic, Hinge, SmoothedHinge, SquaredHinge, Square, QNormHinge, QNormLoss, Welsch, Sigmoid)
}

_SPELLING = re.compile(r"(?P<name>[a-z-]+)(?:\((?P<settings>[^()]*)\))?")


def surrogate_from(spec: str | Surrogate) -> Surrogate:
    """A surrogate from its text, such as ``"logistic"`` or ``"smoothed-hinge(width=0.1)"``; an instance is kept.

    >>> surrogate_from("q-norm-hinge(q=1.2)")
    QNormHinge(q=1.2)
    """
    if isinstance(spec, Surrogate):
        return spec
    match = _SPELLING.fullmatch(spec.strip()) if isinstance(spec, str) else None
    if match is None or match["name"] not in SURROGATES:
        raise InputError(
            "surrogate must be one of " + ", ".join(SURROGATES),
            repr(spec),
            'Settings go in parentheses: "smoothed-hinge(width=0.1)"; entrenous.own_surrogate makes others.',
        )
    kind = SURROGATES[match["name"]]
    try:
        pairs = [item.split("=") for item in (match["settings"] or "").split(",") if item.strip()]
        settings = {key.strip(): float(number) for key, number in pairs}
        if len(settings) < len(pairs):
            raise TypeError("a setting is given twice")
        return kind(**settings)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        allowed = ", ".join(f"{f.name}=number" for f in fields(kind)) or "no settings"
        raise InputError(f"{kind.name} takes {allowed}", repr(spec), "Write it without other settings.") from error
