"""Moreau envelopes: a convex surrogate with kinks made smooth, whatever its formula.

``e(t) = min over s of phi(s) + (s - t)^2 / (2 width)``. Its slope v at t solves ``v = phi'(t - width v)``, which has
one solution because phi' only grows; it is found by halving. ``docs/proofs.md``, "Moreau envelopes", proves the
constants.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.surrogates.base import Function, Hoelder, Interval, Reparametrised, Surrogate
from entrenous.problem.surrogates.convex import Hinge, SmoothedHinge
from entrenous.problem.surrogates.own import compiled, elementwise, try_constants
from entrenous.registry import is_own, part

_HALVINGS = 56
"""From a power of two above the slope to its last digit."""
_ROUNDING = 1e-9
"""How far, relatively, the nearest point may be off where constants are read there: they may only grow by it."""


@part
@dataclass(frozen=True)
class MoreauEnvelope(Surrogate):
    """The Moreau envelope of a convex surrogate whose slope jumps or is steep without bound.

    It lies below the surrogate by at most ``width / 2`` times its largest squared slope. A pair costs some fifty slopes
    of the base; the hinge has a closed form, which `smoothed` takes.
    """

    name: ClassVar[str] = "moreau-envelope"
    base: Surrogate
    width: float = 0.5

    def __post_init__(self) -> None:
        if not isinstance(self.base, Surrogate) or isinstance(self.base, Reparametrised):
            raise InputError(
                "a Moreau envelope is of a surrogate that is not reparametrised",
                repr(self.base),
                "Reparametrise the envelope instead.",
            )
        if not self.base.convex:
            raise InputError(
                "a Moreau envelope needs a convex surrogate: of another the nearest point may not be the only one",
                str(self.base),
                "Use it as it is.",
            )
        if self.base.hoelder.exponent == 1.0 and self.base.hoelder.constant < math.inf:
            raise InputError(
                "a Moreau envelope smooths what is not smooth", f"{self.base}, which is", "Use it as it is."
            )
        if not 0.0 < self.width < math.inf:
            raise InputError("moreau-envelope needs 0 < width < inf", f"width={self.width}", "Try width=0.5.")

    @property
    def scalar_functions(self) -> tuple[Function, Function]:
        return _functions_of(self.base, self.width)

    def value(self, t: Array) -> Array:
        return elementwise(self.scalar_functions[0])(t)

    def derivative(self, t: Array) -> Array:
        # At infinite margins compiled code may compute what it does not take.
        with np.errstate(invalid="ignore"):
            return elementwise(self.scalar_functions[1])(t)

    def slopes(self, margins: Interval) -> tuple[float, float]:
        # The base is asked where its slopes are taken, so that a user's own is tried there.
        self._try_base(margins)
        return super().slopes(margins)

    def smoothness(self, margins: Interval) -> float:
        self._try_base(margins)
        low, high = self._nearest(margins)
        steepest = self.base.smoothness(Interval(low - _slack(low), high + _slack(high)))
        return 1.0 / self.width if math.isinf(steepest) else steepest / (1.0 + self.width * steepest)

    @property
    def hoelder(self) -> Hoelder:
        return Hoelder(1.0, 1.0 / self.width)

    @property
    def caveat(self) -> str | None:
        if self.base.caveat is None and is_own(type(self.base)):
            return f"the surrogate {self.base} is the user's own: what it says of itself is not proved."
        return self.base.caveat

    def __str__(self) -> str:
        return f"{self.name}({self.base}, width={self.width!r})"

    def _nearest(self, margins: Interval) -> Interval:
        """Where the minimum over s is at the ends; it grows with t, without bound."""
        slopes = self.derivative(np.array(margins, dtype=float))
        return Interval(
            *(t if math.isinf(t) else t - self.width * float(v) for t, v in zip(margins, slopes, strict=True))
        )

    def _try_base(self, margins: Interval) -> None:
        """Have a base of the user's own tried, where these margins and their nearest points are."""
        if self.caveat is not None:
            nearest = self._nearest(margins)
            reached = Interval(min(margins.low, nearest.low), max(margins.high, nearest.high))
            if is_own(type(self.base)):
                try_constants(self.base, reached)
            else:
                self.base.slopes(reached)


def smoothed(surrogate: Surrogate, width: float = 0.5) -> Surrogate:
    """A smooth surrogate in the place of one with kinks: its Moreau envelope, in closed form for the hinge.

    `width` is how far a kink is rounded: slopes then grow by at most ``1 / width`` per unit of margin. A surrogate that
    is smooth already, or not convex, is refused.

    >>> from entrenous.problem.surrogates.convex import Hinge, QNormHinge
    >>> str(smoothed(Hinge(), width=0.1))
    'smoothed-hinge(width=0.1)'
    >>> str(smoothed(QNormHinge(q=1.2), width=0.1))
    'moreau-envelope(q-norm-hinge(q=1.2), width=0.1)'
    """
    # Exact type: a subclass may define another function.
    return SmoothedHinge(width) if type(surrogate) is Hinge else MoreauEnvelope(surrogate, width)


def _slack(t: float) -> float:
    return 0.0 if math.isinf(t) else _ROUNDING * (1.0 + abs(t))


@cache
def _functions_of(base: Surrogate, width: float) -> tuple[Function, Function]:
    """Value and slope of one number: the same functions every time, so that loops are compiled once."""
    phi, steep = base.scalar_functions
    value_of, slope_of = compiled(phi) or phi, compiled(steep) or steep

    def derivative(t: float) -> float:
        outer = slope_of(t)
        if outer == 0.0 or not math.isfinite(outer) or slope_of(t - width * outer) == outer:
            return outer
        # Between 0 and the base's slope at t. The places that are tried do not depend on t but for their coarseness,
        # and the end that is returned is the one that keeps the result growing with t, in floating point too.
        size = math.ldexp(1.0, math.frexp(outer)[1])
        low, high = (-size, 0.0) if outer < 0.0 else (0.0, size)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if slope_of(t - width * middle) > middle:
                low = middle
            else:
                high = middle
        return low if outer < 0.0 else high

    found = compiled(derivative) or derivative

    def value(t: float) -> float:
        slope = found(t)
        return value_of(t - width * slope) + 0.5 * width * slope * slope

    return value, derivative
