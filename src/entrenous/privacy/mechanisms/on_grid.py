"""What mechanisms share whose noise is drawn exactly: a public grid, and no other way to add the noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from entrenous.arrays import Array
from entrenous.errors import PrivacyError
from entrenous.privacy.mechanisms.mechanism import EXACT, FLOAT, SEEDED, Mechanism
from entrenous.privacy.noise import NoiseSource, grid_of


@dataclass(frozen=True)
class OnGrid(Mechanism):
    """A mechanism that releases on a grid, by a `release` that draws exactly where the source is secure."""

    draws: ClassVar[tuple[str, ...]] = (EXACT, FLOAT, SEEDED)

    noise: str | None = field(default=EXACT, kw_only=True, compare=False)

    @property
    def grid(self) -> float | None:
        return grid_of(self.noise_size) if self.noise == EXACT else None

    def noise_of_steps(self, source: NoiseSource, steps: int, dimension: int) -> Array:
        if self.noise == EXACT:
            raise PrivacyError(
                "noise for a compiled loop is drawn in floating point",
                'a mechanism that states "grid-exact"',
                'Use one that does not, such as SampledGaussian, or state noise="float".',
            )
        return super().noise_of_steps(source, steps, dimension)
