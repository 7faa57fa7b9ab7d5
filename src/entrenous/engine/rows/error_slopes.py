"""Slopes of a loss of single errors that no error pulls harder than a cap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from entrenous.arrays import Array

FADING = math.sqrt(math.e)
"""Width of a fading slope, in caps."""
PAIR_WIDTH = math.sqrt(FADING**2 - 1.0)
"""Bandwidth of pairs of errors, in spreads of the errors, if nobody asked for one: the slope of a pair, averaged over
the partner's error, then has the width `FADING`."""


class ErrorSlopes(NamedTuple):
    """How hard an error r pulls: ``min(|r|, cap)`` with its sign, or less where large errors fade.

    Fading is the slope of Welsch's loss, ``r exp(-r^2/(2 h^2))``. Its largest value, reached at ``r = h``, is the cap
    if ``h = sqrt(e) cap``; so it is nowhere above ``min(|r|, cap)``, which is what the noise is for.
    """

    cap: float
    fades: bool

    def at(self, errors: Array) -> tuple[Array, Array]:
        """The slopes, and the squares of ``min(|e|/cap, 1)``: how much of the cap the errors fill."""
        filled = np.square(np.clip(errors / self.cap, -1e6, 1e6))  # the exponential is 0 long before
        if self.fades:
            return errors * np.exp(-filled / (2.0 * FADING**2)), np.minimum(filled, 1.0)
        return np.clip(errors, -self.cap, self.cap), np.minimum(filled, 1.0)
