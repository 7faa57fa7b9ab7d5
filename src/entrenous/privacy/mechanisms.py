"""Noise mechanisms as data: what was perturbed, how far one record moves it, how much noise, how often."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import PrivacyError
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.noise import NoiseSource

Kind = Literal["gaussian", "laplace", "l2-laplace"]


@dataclass(frozen=True)
class Mechanism:
    """`count` releases with noise of one shape.

    ``gaussian``: sd `sigma` per coordinate. ``l2-laplace``: density proportional to ``exp(-||z||/scale)``.
    ``laplace``: Laplace of `scale` per coordinate, priced by `l1_sensitivity`.
    """

    kind: Kind
    l2_sensitivity: float
    lemma: str
    sigma: float | None = None
    scale: float | None = None
    l1_sensitivity: float | None = None
    count: int = 1
    sampling: None = None
    scope: str = "all"

    def __post_init__(self) -> None:
        def positive(number: Any) -> bool:
            return isinstance(number, int | float) and not isinstance(number, bool) and 0.0 < number < math.inf

        right = {
            "gaussian": positive(self.sigma) and self.scale is None and self.l1_sensitivity is None,
            "l2-laplace": positive(self.scale) and self.sigma is None and self.l1_sensitivity is None,
            "laplace": positive(self.scale) and self.sigma is None and positive(self.l1_sensitivity),
        }.get(self.kind, False)
        counted = isinstance(self.count, int) and not isinstance(self.count, bool) and self.count >= 1
        if not (right and counted and positive(self.l2_sensitivity) and self.sampling is None):
            raise PrivacyError(
                "a mechanism needs a known kind, a positive sensitivity, its own noise scale and a count >= 1",
                repr({k: v for k, v in self.__dict__.items() if v is not None}),
                "Do not run it: its privacy cannot be stated.",
            )

    @property
    def noise_multiplier(self) -> float:
        """Noise per unit of l2 sensitivity, of one release."""
        return (self.sigma or self.scale or 0.0) / self.l2_sensitivity

    @property
    def is_gaussian(self) -> bool:
        return self.kind == "gaussian"

    @property
    def mu_squared(self) -> float:
        """GDP parameter, squared and summed over the releases."""
        assert self.sigma is not None
        return self.count * (self.l2_sensitivity / self.sigma) ** 2

    @property
    def pure_epsilon(self) -> float:
        """Pure epsilon, summed over the releases."""
        assert self.scale is not None
        sensitivity = self.l1_sensitivity if self.kind == "laplace" else self.l2_sensitivity
        assert sensitivity is not None
        return self.count * sensitivity / self.scale

    def draw(self, noise: NoiseSource, dimension: int) -> Array:
        """Noise for one release of this many coordinates."""
        if self.kind == "gaussian":
            assert self.sigma is not None
            return self.sigma * noise.normal(dimension)
        assert self.scale is not None
        if self.kind == "laplace":
            return self.scale * noise.laplace(dimension)
        # Uniform direction, Gamma(dimension, scale) length: a sum of exponentials.
        direction = noise.normal(dimension)
        length = self.scale * float(np.sum(noise.exponential(dimension)))
        return direction * (length / float(np.linalg.norm(direction)))

    def rms(self, dimension: int) -> float:
        """Root mean square of one coordinate of the noise."""
        if self.kind == "gaussian":
            assert self.sigma is not None
            return self.sigma
        assert self.scale is not None
        return self.scale * math.sqrt(2.0 if self.kind == "laplace" else dimension + 1.0)

    def to_dict(self) -> dict[str, Any]:
        """JSON fields in the order of the certificate's schema."""
        return {
            "kind": self.kind,
            "l2_sensitivity": self.l2_sensitivity,
            "l1_sensitivity": self.l1_sensitivity,
            "sigma": self.sigma,
            "scale": self.scale,
            "count": self.count,
            "lemma": self.lemma,
            "sampling": self.sampling,
            "scope": self.scope,
        }


def calibrated(budget: Budget, l2_sensitivity: float, lemma: str, *, count: int = 1, scope: str = "all") -> Mechanism:
    """The mechanism with the least noise that spends exactly the budget.

    Gaussian with exact GDP composition for ``delta > 0``; for pure privacy the l2 (K-norm) mechanism, whose noise is
    ``sqrt(2p/(p+1))`` smaller in rms than coordinate-wise Laplace.
    """
    if budget.is_pure:
        return Mechanism(
            "l2-laplace", l2_sensitivity, lemma, scale=count * l2_sensitivity / budget.epsilon, count=count, scope=scope
        )
    per_release = mu_for(budget.epsilon, budget.delta) / math.sqrt(count)
    return Mechanism("gaussian", l2_sensitivity, lemma, sigma=l2_sensitivity / per_release, count=count, scope=scope)
