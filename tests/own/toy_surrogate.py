"""A surrogate of one's own with two settings: how wide its bend is, and how steep it gets."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.errors import InputError
from entrenous.problem.surrogates.base import Hoelder, Surrogate
from entrenous.registry import part


@part
@dataclass(frozen=True)
class BentHinge(Surrogate):
    """``steepness`` times the Huber function of ``max(0, 1 - t)``: a parabola of this width, then a straight line."""

    name: ClassVar[str] = "bent-hinge"
    width: float = 0.5
    steepness: float = 1.0

    def __post_init__(self):
        if not (self.width > 0.0 and self.steepness > 0.0):
            raise InputError("bent-hinge needs two positive settings", f"{self}", "Try bent-hinge(width=0.5).")

    def value(self, t):
        gap = np.maximum(0.0, 1.0 - t)
        return self.steepness * np.where(gap <= self.width, gap**2 / (2.0 * self.width), gap - self.width / 2.0)

    def derivative(self, t):
        return -self.steepness * np.clip((1.0 - t) / self.width, 0.0, 1.0)

    def smoothness(self, margins):
        return self.steepness / self.width

    @property
    def hoelder(self):
        return Hoelder(1.0, self.steepness / self.width)

    @property
    def scalar_functions(self):
        width, steepness = self.width, self.steepness

        def value(t):
            gap = max(0.0, 1.0 - t)
            return steepness * (gap * gap / (2.0 * width) if gap <= width else gap - width / 2.0)

        def derivative(t):
            return -steepness * min(max((1.0 - t) / width, 0.0), 1.0)

        return value, derivative
