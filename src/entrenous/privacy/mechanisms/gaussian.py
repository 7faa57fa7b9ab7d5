"""Normal noise: on a release, or on a release that looks at a secret sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from entrenous.arrays import Array
from entrenous.errors import PrivacyError
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.mechanisms.on_grid import OnGrid
from entrenous.privacy.mechanisms.sampling import Sampling
from entrenous.privacy.noise import NoiseSource
from entrenous.registry import part


@dataclass(frozen=True)
class NormalNoise(Mechanism):
    """What the two classes below share: independent normal noise of sd `sigma` on every coordinate."""

    noise_field: ClassVar[str] = "sigma"

    sigma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bound.l1 is not None:
            raise PrivacyError(
                "normal noise is priced by an l2 sensitivity alone", f"l1={self.bound.l1:g}", "Leave it out."
            )

    @property
    def gdp(self) -> float | None:
        """``mu^2``; of a sampled release as if every record were in the sample, because a secret sample only helps."""
        return self.count * (self.bound.value / self.sigma) ** 2

    def draw(self, source: NoiseSource, dimension: int) -> Array:
        values = source.normal(dimension)
        values *= self.sigma
        return values

    def release(self, value: Array, source: NoiseSource) -> Array:
        return source.plus_normal(value, self.sigma, self.bound.value, self.bound.error)

    def noise_of_steps(self, source: NoiseSource, steps: int, dimension: int) -> Array:
        return self.draw(source, steps * dimension).reshape(steps, dimension)

    def rms(self, dimension: int) -> float:
        return self.sigma


@part
@dataclass(frozen=True)
class Gaussian(OnGrid, NormalNoise):
    """Normal noise of sd `sigma` per coordinate."""

    kind: ClassVar[str] = "gaussian"


@part
@dataclass(frozen=True)
class SampledGaussian(NormalNoise):
    """Normal noise on releases that each look at a fresh secret sample.

    The bound is that of a release whose sample holds the record.
    """

    kind: ClassVar[str] = "sampled-gaussian"

    sampling: Sampling = field(kw_only=True)

    @property
    def secret_sample(self) -> Sampling | None:
        return self.sampling
