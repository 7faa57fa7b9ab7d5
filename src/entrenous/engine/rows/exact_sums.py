"""Sums that do not round: of whole numbers of some public unit, in float64.

Float64 holds every whole number up to 2^53, so sums and products of such numbers are exact in any order, by whatever
code, as long as no partial sum is larger. Longer sums are kept in two parts, the large digits and the small ones, which
both stay below that. Rows on the grid (`ROW_GRID`) have 20 binary digits, slopes 24. Proof: ``docs/proofs.md``, *Exact
sums*.
"""

from __future__ import annotations

import math

import numpy as np

from entrenous.arrays import AnyArray, Array

SLOPE_GRID = 2.0**-24
"""Slopes are cut towards zero to multiples of this, in units of their cap."""
MOST_ROWS = 1 << 13
"""Rows on the grid whose products can be added before they join a total: 20 and 20 digits, and 13 for the rows."""
_WEIGHT_DIGITS = 32
"""Binary digits of a parameter, beside those of rows: scores are then sums of whole numbers below 2^53."""


class ExactTotal:
    """A growing sum of arrays of whole numbers of a unit below `split`, each part exact: its digits above and below."""

    def __init__(self, shape: int | tuple[int, ...], split: float) -> None:
        self._split = split
        self._high, self._low = np.zeros(shape), np.zeros(shape)

    def add(self, part: Array) -> None:
        """One more part."""
        high = np.floor(part / self._split) * self._split
        self._high += high
        self._low += part - high

    @property
    def value(self) -> Array:
        """The sum, rounded once."""
        return self._high + self._low


def exact_sum(values: Array, split: float) -> float:
    """The sum of one array of such numbers, rounded once."""
    high = np.floor(values / split) * split
    return float(high.sum() + (values - high).sum())


def short_digits(w: AnyArray, digits: int = _WEIGHT_DIGITS) -> Array:
    """A parameter rounded to multiples of a power of two, so many digits below its norm. It is released, so public."""
    norm = float(np.linalg.norm(w))
    if not 0.0 < norm < math.inf:
        return np.zeros(len(w))
    unit = math.ldexp(1.0, max(math.frexp(norm)[1] - digits, -1000))
    rounded: Array = np.rint(np.asarray(w, dtype=np.float64) / unit) * unit
    return rounded
