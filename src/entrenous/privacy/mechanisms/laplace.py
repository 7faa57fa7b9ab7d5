"""Noise of pure privacy: coordinate by coordinate, or along a random direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import PrivacyError
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.mechanisms.on_grid import OnGrid
from entrenous.privacy.noise import NoiseSource
from entrenous.registry import part


@part
@dataclass(frozen=True)
class Laplace(OnGrid):
    """Laplace noise of `scale` on every coordinate, priced by the l1 sensitivity."""

    kind: ClassVar[str] = "laplace"
    noise_field: ClassVar[str] = "scale"

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bound.l1 is None:
            raise PrivacyError("Laplace noise needs an l1 sensitivity", "none", "State it in the bound.")

    @property
    def pure(self) -> float | None:
        assert self.bound.l1 is not None
        return self.count * self.bound.l1 / self.scale

    def draw(self, source: NoiseSource, dimension: int) -> Array:
        return self.scale * source.laplace(dimension)

    def release(self, value: Array, source: NoiseSource) -> Array:
        assert self.bound.l1 is not None
        # The error is known in l2; in l1 it is at most sqrt(p) times that.
        return source.plus_laplace(value, self.scale, self.bound.l1, math.sqrt(value.size) * self.bound.error)

    def rms(self, dimension: int) -> float:
        return self.scale * math.sqrt(2.0)


@part
@dataclass(frozen=True)
class L2Laplace(Mechanism):
    """Noise of density proportional to ``exp(-||z||/scale)``: the K-norm mechanism of the l2 ball.

    It is drawn in floating point, and says so: coordinates depend on one another. One alone is Laplace's law, but what
    draws exactly has to do so in any dimension, because a mechanism does not know its own.
    """

    kind: ClassVar[str] = "l2-laplace"
    noise_field: ClassVar[str] = "scale"

    scale: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bound.l1 is not None:
            raise PrivacyError("an l2 mechanism is priced by its l2 sensitivity", f"l1={self.bound.l1:g}", "Drop it.")

    @property
    def pure(self) -> float | None:
        return self.count * self.bound.value / self.scale

    def draw(self, source: NoiseSource, dimension: int) -> Array:
        # Uniform direction, Gamma(dimension, scale) length: a sum of exponentials.
        direction = source.normal(dimension)
        length = self.scale * float(np.sum(source.exponential(dimension)))
        return direction * (length / float(np.linalg.norm(direction)))

    def rms(self, dimension: int) -> float:
        return self.scale * math.sqrt(dimension + 1.0)
