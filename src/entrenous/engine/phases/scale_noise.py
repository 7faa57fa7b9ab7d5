"""What noise in the scales of columns does to coefficients in the user's units."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from entrenous.arrays import Array

MARGIN = 1.35
"""Factor of an estimate of noise in a coefficient, because it shall be too large rather than too small; chosen with the
constants of `path_noise`."""
_OF_SCALES = 1.2
"""Factor of the part that noise in the scales has, likewise."""


class ScaleNoise(NamedTuple):
    """Per column, by which share its coefficient would be longer or shorter, had its released variance been smaller or
    larger by the noise in it.
    """

    rise: Array
    fall: Array

    def added_to(self, noise: Array, coef: Array) -> Array:
        """Sd of the coefficients, noise in the scales included; both in the user's units."""
        # A variance next to 0 would make the rise endless.
        rise = np.minimum(self.rise, 2.0 * self.fall)
        either_way = _OF_SCALES * MARGIN * np.maximum(rise, self.fall)
        total: Array = np.hypot(noise * (1.0 + rise), either_way * np.abs(coef))
        return total
