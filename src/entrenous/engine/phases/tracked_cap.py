"""The cap of a descent on errors, led by how much of it the errors fill: from released numbers only."""

from __future__ import annotations

import math

import numpy as np

_SMALLEST, _LARGEST = 1e-6, 2.0
"""In internal units: targets are at most 2 apart."""
_GAIN, _LATER, _LEAST = 2.0, 10.0, 0.1
"""How far the cap's logarithm moves per missing share of filling: so much in the first steps, less with time."""
_NOISE = 4.0
"""How much less it moves where what it follows is noisy."""
_FARTHEST = 0.7
"""In one step it moves by a factor of 2 at most."""


class TrackedCap:
    """A cap that errors fill, in the mean of squares, to a wanted share: Huber's second proposal, step by step.

    The constants were chosen with those of `planners.residual_gd`.
    """

    def __init__(self, start: float, fill: float, noise: float) -> None:
        self._fill = fill
        self._gain = _GAIN / (1.0 + _NOISE * noise)
        self._log = math.log(min(max(start, _SMALLEST), _LARGEST))
        self._past: list[float] = []

    @property
    def value(self) -> float:
        """The cap of the next step."""
        return math.exp(self._log)

    def follow(self, filled: float) -> None:
        """Larger where the errors fill more of it than wanted, smaller where they fill less."""
        gain = self._gain * max(_LEAST, min(1.0, _LATER / (len(self._past) + 1)))
        moved = float(np.clip(gain * (filled - self._fill), -_FARTHEST, _FARTHEST))
        self._log = min(max(self._log + moved, math.log(_SMALLEST)), math.log(_LARGEST))
        self._past.append(self._log)

    def settle(self) -> None:
        """From here on the cap is its mean over the last quarter of the steps."""
        last = self._past[-max(1, len(self._past) // 4) :]
        if last:
            self._log = float(np.mean(last))
