"""Compiled scalars that per-step loops share: the slope of every surrogate, chosen by an integer code.

A kernel cannot call a Python object, so a surrogate enters it as four numbers. The NumPy classes of
``parts.surrogates`` stay the definition; the tests hold the two together.
"""

from __future__ import annotations

import math
from dataclasses import fields

from numba import njit

from entrenous.errors import InputError
from entrenous.parts.surrogates import Reparametrised, Surrogate

LOGISTIC, HINGE, SMOOTHED_HINGE, SQUARED_HINGE, SQUARE, Q_NORM_HINGE, Q_NORM_LOSS, WELSCH = range(8)

_CODES = {
    "logistic": LOGISTIC,
    "hinge": HINGE,
    "smoothed-hinge": SMOOTHED_HINGE,
    "squared-hinge": SQUARED_HINGE,
    "square": SQUARE,
    "q-norm-hinge": Q_NORM_HINGE,
    "q-norm-loss": Q_NORM_LOSS,
    "welsch": WELSCH,
}


def surrogate_code(surrogate: Surrogate) -> tuple[int, float, float, float]:
    """``(code, parameter, inner, outer)`` of a surrogate: it is ``outer * phi(inner * t)``.

    `parameter` is the smoothed hinge's width, the q of a q-norm or the bandwidth of Welsch's, 0 where there is none.

    >>> from entrenous.parts.surrogates import Reparametrised, SmoothedHinge
    >>> surrogate_code(Reparametrised(SmoothedHinge(width=0.1), inner=2.0, outer=3.0))
    (2, 0.1, 2.0, 3.0)
    """
    inner = outer = 1.0
    while isinstance(surrogate, Reparametrised):
        inner, outer, surrogate = inner * surrogate.inner, outer * surrogate.outer, surrogate.base
    code = _CODES.get(getattr(surrogate, "name", ""))
    if code is None:
        raise InputError(
            "a compiled loop needs one of the surrogates " + ", ".join(_CODES),
            str(surrogate),
            "Use one of them, or an algorithm over all pairs.",
        )
    settings = fields(surrogate)
    parameter = float(getattr(surrogate, settings[0].name)) if settings else 0.0
    return code, parameter, inner, outer


@njit(cache=True, error_model="numpy")
def slope(code: int, parameter: float, inner: float, outer: float, t: float) -> float:
    """``d/dt`` of ``outer * phi(inner * t)``; at a kink the right derivative, as everywhere."""
    s = inner * t
    if code == LOGISTIC:
        # Two branches, so that exp never overflows.
        if s >= 0.0:
            decay = math.exp(-s)
            d = -decay / (1.0 + decay)
        else:
            d = -1.0 / (1.0 + math.exp(s))
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
        d = s / parameter**2 * math.exp(-0.5 * (s / parameter) ** 2)
    else:
        d = math.nan
    return outer * inner * d
