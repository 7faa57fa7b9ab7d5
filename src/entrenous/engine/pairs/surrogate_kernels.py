"""Compiled scalars that loops share: the value and the slope of every surrogate, chosen by an integer code.

A kernel cannot call a Python object, so a surrogate enters it as four numbers. The NumPy classes of
``problem.surrogates`` stay the definition; the tests hold the two together. Where the code is a constant of the loop,
everything but the powers is free of calls and branches, so that the loop runs in vectors.
"""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
from numba import njit

from entrenous.problem.surrogates.base import Reparametrised, Surrogate, base_of
from entrenous.problem.surrogates.bounded import Sigmoid, Welsch
from entrenous.problem.surrogates.convex import (
    Hinge,
    Logistic,
    QNormHinge,
    QNormLoss,
    SmoothedHinge,
    Square,
    SquaredHinge,
)

LOGISTIC, HINGE, SMOOTHED_HINGE, SQUARED_HINGE, SQUARE, Q_NORM_HINGE, Q_NORM_LOSS, WELSCH, SIGMOID, OWN = range(10)

_CODES: dict[type[Surrogate], int] = {
    Logistic: LOGISTIC,
    Hinge: HINGE,
    SmoothedHinge: SMOOTHED_HINGE,
    SquaredHinge: SQUARED_HINGE,
    Square: SQUARE,
    QNormHinge: Q_NORM_HINGE,
    QNormLoss: Q_NORM_LOSS,
    Welsch: WELSCH,
    Sigmoid: SIGMOID,
}
"""Surrogates whose formulas are here too, written for vector units; the others bring theirs (`own_slope`). Each has one
setting at most, which is the kernel's `parameter`."""


def is_compiled(surrogate: Surrogate) -> bool:
    """Whether kernels know its value and slope by a code. Exact types: a subclass may define another function."""
    return type(base_of(surrogate)) in _CODES


def surrogate_code(surrogate: Surrogate) -> tuple[int, float, float, float]:
    """``(code, parameter, inner, outer)`` of a surrogate: it is ``outer * phi(inner * t)``.

    `parameter` is the surrogate's one setting, such as the smoothed hinge's width; 0 where there is none.
    Any other surrogate has a code but no slope here: `own_slope` puts it into the loop.

    >>> from entrenous.problem.surrogates.base import Reparametrised
    >>> from entrenous.problem.surrogates.convex import SmoothedHinge
    >>> surrogate_code(Reparametrised(SmoothedHinge(width=0.1), inner=2.0, outer=3.0))
    (2, 0.1, 2.0, 3.0)
    """
    inner = outer = 1.0
    while isinstance(surrogate, Reparametrised):
        inner, outer, surrogate = inner * surrogate.inner, outer * surrogate.outer, surrogate.base
    if not is_compiled(surrogate):
        return OWN, 0.0, inner, outer
    settings = fields(surrogate)
    parameter = float(getattr(surrogate, settings[0].name)) if settings else 0.0
    return _CODES[type(surrogate)], parameter, inner, outer


_HIGH, _LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""log 2 in two parts; the first has so few digits that its small multiples are exact."""

_ROUNDER = 1.5 * 2.0**52
"""Added to a small number, it leaves the nearest integer in the low bits."""


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def decay(x: float) -> float:
    """``e^x`` for x <= 0, to the last place or two, without a call; below -708 it is 0."""
    shifted = x * 1.4426950408889634 + _ROUNDER
    k = shifted - _ROUNDER
    r = (x - k * _HIGH) - k * _LOW
    # Taylor's series of e^r, |r| <= log(2) / 2: the next term is below 5e-18. Terms in pairs wait less for each other.
    r2 = r * r
    r4 = r2 * r2
    low = ((1.0 / 120.0) * r + 1.0 / 24.0) * r2 + ((1.0 / 6.0) * r + 0.5)
    middle = ((1.0 / 362880.0) * r + 1.0 / 40320.0) * r2 + ((1.0 / 5040.0) * r + 1.0 / 720.0)
    high = ((1.0 / 6227020800.0) * r + 1.0 / 479001600.0) * r2 + ((1.0 / 39916800.0) * r + 1.0 / 3628800.0)
    p = ((high * r4 + middle) * r4 + low) * r2 + r + 1.0
    # k as the exponent of a power of two.
    power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
    return 0.0 if x < -708.0 else p * power


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def log1p_of_share(u: float) -> float:
    """``log(1 + u)`` for 0 <= u <= 1 without a call: ``2 artanh(z)`` at ``z = u / (2 + u) <= 1/3``."""
    z = u / (2.0 + u)
    q = z * z
    # The series of artanh(z) / z; the next term is below 2e-17.
    p = 1.0 / 31.0
    p = p * q + 1.0 / 29.0
    p = p * q + 1.0 / 27.0
    p = p * q + 1.0 / 25.0
    p = p * q + 1.0 / 23.0
    p = p * q + 1.0 / 21.0
    p = p * q + 1.0 / 19.0
    p = p * q + 1.0 / 17.0
    p = p * q + 1.0 / 15.0
    p = p * q + 1.0 / 13.0
    p = p * q + 1.0 / 11.0
    p = p * q + 1.0 / 9.0
    p = p * q + 1.0 / 7.0
    p = p * q + 1.0 / 5.0
    p = p * q + 1.0 / 3.0
    return 2.0 * z * (p * q + 1.0)


@njit(cache=True, error_model="numpy")
def value(code: int, parameter: float, inner: float, outer: float, t: float) -> float:
    """``outer * phi(inner * t)``."""
    s = inner * t
    if code == LOGISTIC:
        v = log1p_of_share(decay(-abs(s))) + max(0.0, -s)
    elif code == HINGE:
        v = max(0.0, 1.0 - s)
    elif code == SMOOTHED_HINGE:
        gap = max(0.0, 1.0 - s)
        v = gap * gap / (2.0 * parameter) if gap <= parameter else gap - parameter / 2.0
    elif code == SQUARED_HINGE:
        v = max(0.0, 1.0 - s) ** 2
    elif code == SQUARE:
        v = (1.0 - s) ** 2
    elif code == Q_NORM_HINGE:
        v = max(0.0, 1.0 - s) ** parameter
    elif code == Q_NORM_LOSS:
        v = abs(1.0 - s) ** parameter
    elif code == WELSCH:
        # Not 1 - decay: near 0 it would lose the digits.
        v = -math.expm1(-0.5 * (s / parameter) ** 2)
    elif code == SIGMOID:
        small = decay(-abs(s / parameter))
        v = (small if s >= 0.0 else 1.0) / (1.0 + small)
    else:
        v = math.nan
    return outer * v


@njit(cache=True, error_model="numpy")
def slope(code: int, parameter: float, inner: float, outer: float, t: float) -> float:
    """``d/dt`` of ``outer * phi(inner * t)``; at a kink the right derivative, as everywhere."""
    s = inner * t
    if code == LOGISTIC:
        # By the sign of s, so that nothing overflows.
        small = decay(-abs(s))
        d = -(small if s >= 0.0 else 1.0) / (1.0 + small)
    elif code == HINGE:
        d = -1.0 if s < 1.0 else 0.0
    elif code == SMOOTHED_HINGE:
        d = -min(max((1.0 - s) / parameter, 0.0), 1.0)
    elif code == SQUARED_HINGE:
        d = -2.0 * max(0.0, 1.0 - s)
    elif code == SQUARE:
        d = 2.0 * (s - 1.0)
    elif code == Q_NORM_HINGE:
        d = -parameter * max(0.0, 1.0 - s) ** (parameter - 1.0)
    elif code == Q_NORM_LOSS:
        d = parameter * math.copysign(abs(s - 1.0) ** (parameter - 1.0), s - 1.0)
    elif code == WELSCH:
        d = s / parameter**2 * decay(-0.5 * (s / parameter) ** 2)
    elif code == SIGMOID:
        small = decay(-abs(s / parameter))
        d = -small / ((1.0 + small) ** 2 * parameter)
    else:
        d = math.nan
    return outer * inner * d
