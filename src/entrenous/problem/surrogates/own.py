"""A surrogate of the user's own: two plain Python functions of a number, and how steep its slope may be.

Its constants are the user's word. They are tried on a fine grid of the margins that can be reached, which finds
mistakes but proves nothing, and a certificate says so.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.errors import AssumptionError, InputError
from entrenous.problem.surrogates.base import Function, Hoelder, Interval, Surrogate

_BY_TEXT: dict[str, OwnSurrogate] = {}

_POINTS = 4097
"""Margins at which the user's word is tried."""
_ROUNDING = 1e-9
"""How far, relatively, rounding may make it look broken."""


def own_surrogate(name: str, value: Function, derivative: Function, *, smoothness: float = math.inf) -> OwnSurrogate:
    """A convex surrogate ``phi`` of one's own.

    Parameters
    ----------
    name : str
        What certificates call it.
    value, derivative : functions of a number
        ``phi(t)`` and ``phi'(t)`` at a margin t; at a kink the derivative from the right. They are compiled if they
        use numbers and the `math` module only; otherwise loops over single pairs run in Python, with a warning.
    smoothness : float, optional
        The largest ``phi''``. Leave it out where phi has a kink.

    >>> import math
    >>> softplus = own_surrogate(
    ...     "softplus", lambda t: math.log1p(math.exp(-t)), lambda t: -1 / (1 + math.exp(t)), smoothness=0.25
    ... )
    >>> str(softplus)
    'own(softplus)'

    """
    made = OwnSurrogate(name, value, derivative, smoothness)
    _BY_TEXT[str(made)] = made
    return made


def own_surrogates() -> dict[str, OwnSurrogate]:
    """Those made in this process, by the text that certificates have; of one name the latest."""
    return _BY_TEXT


@dataclass(frozen=True)
class OwnSurrogate(Surrogate):
    """See `own_surrogate`."""

    name: ClassVar[str] = "own"
    title: str
    value_of: Function
    derivative_of: Function
    largest_curvature: float = math.inf

    def __post_init__(self) -> None:
        if not isinstance(self.title, str) or not self.title.strip():
            raise InputError("a surrogate of your own needs a name", repr(self.title), 'Try name="softplus".')
        for function in (self.value_of, self.derivative_of):
            if not callable(function):
                raise InputError(
                    "a surrogate of your own needs two functions of a number, its value and its derivative",
                    repr(function),
                    "Pass functions such as lambda t: max(0.0, 1.0 - t).",
                )
        curvature = self.largest_curvature
        if isinstance(curvature, bool) or not isinstance(curvature, int | float) or not curvature >= 0.0:
            raise InputError("smoothness must be a number >= 0", repr(curvature), "Leave it out where phi has a kink.")

    @property
    def scalar_functions(self) -> tuple[Function, Function]:
        return self.value_of, self.derivative_of

    def value(self, t: Array) -> Array:
        return elementwise(self.value_of)(t)

    def derivative(self, t: Array) -> Array:
        return elementwise(self.derivative_of)(t)

    def slopes(self, margins: Interval) -> tuple[float, float]:
        try_on(self, margins, self.largest_curvature)
        return super().slopes(margins)

    def smoothness(self, margins: Interval) -> float:
        try_on(self, margins, self.largest_curvature)
        return float(self.largest_curvature)

    @property
    def hoelder(self) -> Hoelder:
        # With a kink the derivative jumps; how far on the whole line, the user does not say.
        return Hoelder(1.0 if self.largest_curvature < math.inf else 0.0, float(self.largest_curvature))

    @property
    def caveat(self) -> str | None:
        return (
            f"the surrogate {self.title!r} is the user's own: that it is convex, with the stated slopes and a "
            f"smoothness of {self.largest_curvature:g}, was tried at {_POINTS} margins and is not proved."
        )

    def __str__(self) -> str:
        return f"own({self.title})"


@cache
def compiled(function: Function) -> Any | None:
    """The function as machine code; ``None``, with a warning, where it cannot be."""
    # Imported here: numba takes half a second.
    from numba import njit

    try:
        return njit("float64(float64)")(function)
    except Exception as reason:  # whatever the compiler does not like, Python may do
        # numba's first line names the stage, the next the reason.
        lines = [line.strip() for line in str(reason).splitlines() if line.strip()]
        warnings.warn(
            f"{getattr(function, '__name__', 'a function')} of your own surrogate cannot be compiled "
            f"({' '.join(lines[1:2] or lines) or type(reason).__name__}), so every pair is a call of Python, a hundred "
            "times slower or more. Use numbers and the math module only.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


@cache
def elementwise(function: Function) -> Callable[[Any], Array]:
    """The function on arrays."""
    if compiled(function) is None:
        return np.vectorize(lambda t: function(float(t)), otypes=[float])
    from numba import vectorize

    made: Callable[[Any], Array] = vectorize(["float64(float64)"])(function)  # type: ignore[no-untyped-call]
    return made


@cache
def try_on(surrogate: Surrogate, margins: Interval, smoothness: float) -> None:
    """An error where a user's phi is not what it says between these margins: finite, convex, that smooth, that steep.

    A grid finds mistakes and proves nothing; whoever relies on it is told so by the surrogate's `caveat`.
    """
    if not all(map(math.isfinite, margins)):
        raise AssumptionError(
            "a surrogate of your own needs bounded margins, on which its slopes can be tried",
            f"margins between {margins.low:g} and {margins.high:g}",
            "Give a radius for the parameter.",
        )
    t = np.linspace(margins.low, margins.high, _POINTS)
    value, slope = surrogate.value(t), surrogate.derivative(t)
    width = float(t[1] - t[0])
    rounding = _ROUNDING * (1.0 + float(np.abs(slope).max(initial=0.0)))
    if not (np.isfinite(value).all() and np.isfinite(slope).all()):
        raise _broken(surrogate, "finite", float(t[~(np.isfinite(value) & np.isfinite(slope))][0]))
    rise = np.diff(slope)
    # Between two margins a convex function rises at least by its slope at the first, at most by that at the second; one
    # of bounded curvature strays from that by its curvature at most.
    stray = 0.0 if surrogate.convex else min(smoothness, 1e300) * width**2
    least, most = np.minimum(slope[:-1], slope[1:]) * width - stray, np.maximum(slope[:-1], slope[1:]) * width + stray
    for what, wrong in (
        ("convex: its derivative must not fall", rise < -rounding if surrogate.convex else np.zeros(len(rise), bool)),
        (f"as smooth as declared ({smoothness:g})", np.abs(rise) > smoothness * width + rounding),
        ("the integral of its derivative", _outside(np.diff(value), least, most, value)),
    ):
        if wrong.any():
            raise _broken(surrogate, what, float(t[:-1][wrong][0]))


def try_constants(surrogate: Surrogate, margins: Interval) -> None:
    """`try_on` for a registered class of the user's, its stated slopes included."""
    try_on(surrogate, margins, surrogate.smoothness(margins))
    c1, c2 = surrogate.slopes(margins)
    slope = surrogate.derivative(np.linspace(margins.low, margins.high, _POINTS))
    wrong = (slope < -c1 * (1.0 + _ROUNDING) - _ROUNDING) | (slope > c2 * (1.0 + _ROUNDING) + _ROUNDING)
    if wrong.any():
        at = float(np.linspace(margins.low, margins.high, _POINTS)[wrong][0])
        raise _broken(surrogate, f"as flat as declared (slopes in [-{c1:g}, {c2:g}])", at)


def _outside(rise: Array, least: Array, most: Array, value: Array) -> AnyArray:
    slack = _ROUNDING * (1.0 + np.abs(value[:-1]) + np.abs(most))
    return (rise < least - slack) | (rise > most + slack)


def _broken(surrogate: Surrogate, what: str, at: float) -> AssumptionError:
    name = getattr(surrogate, "title", str(surrogate))
    return AssumptionError(
        f"the surrogate {name!r} must be {what}, between the margins that can be reached",
        f"something else near margin {at:.4g}",
        "Check value, derivative and smoothness; at a kink the derivative is the one from the right.",
    )
