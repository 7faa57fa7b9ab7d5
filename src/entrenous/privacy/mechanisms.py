"""Noise mechanisms as data: what was perturbed, how far one record moves it, how much noise, how often."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import PrivacyError
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.noise import NoiseSource
from entrenous.privacy.subsampling import sampled_multiplier

Kind = Literal["gaussian", "laplace", "l2-laplace", "sampled-gaussian"]

WITHOUT_REPLACEMENT = "without-replacement"


@dataclass(frozen=True)
class Sampling:
    """A fresh, secret sample of `sample` of the `population` records for every release, each subset equally likely."""

    scheme: str
    population: int
    sample: int

    def __post_init__(self) -> None:
        whole = all(isinstance(k, int) and not isinstance(k, bool) for k in (self.population, self.sample))
        if self.scheme != WITHOUT_REPLACEMENT or not whole or not 1 <= self.sample <= self.population:
            raise PrivacyError(
                f"sampling needs the scheme {WITHOUT_REPLACEMENT!r} and 1 <= sample <= population",
                f"{self.scheme!r}, sample={self.sample!r}, population={self.population!r}",
                "Do not run it: its privacy cannot be stated.",
            )

    @property
    def share(self) -> float:
        """The probability q that a given record is in the sample."""
        return self.sample / self.population


@dataclass(frozen=True)
class Mechanism:
    """`count` releases with noise of one shape.

    ``gaussian``: sd `sigma` per coordinate. ``l2-laplace``: density proportional to ``exp(-||z||/scale)``.
    ``laplace``: Laplace of `scale` per coordinate, priced by `l1_sensitivity`. ``sampled-gaussian``: as gaussian, every
    release on a fresh sample that nobody sees; `l2_sensitivity` is that of a release whose sample holds the record.
    """

    kind: Kind
    l2_sensitivity: float
    lemma: str
    sigma: float | None = None
    scale: float | None = None
    l1_sensitivity: float | None = None
    count: int = 1
    sampling: Sampling | None = None
    scope: str = "all"

    def __post_init__(self) -> None:
        if isinstance(self.sampling, Mapping):
            object.__setattr__(self, "sampling", _sampling_from(self.sampling))

        def positive(number: Any) -> bool:
            return isinstance(number, int | float) and not isinstance(number, bool) and 0.0 < number < math.inf

        normal = positive(self.sigma) and self.scale is None and self.l1_sensitivity is None
        right = {
            "gaussian": normal,
            "sampled-gaussian": normal and isinstance(self.sampling, Sampling),
            "l2-laplace": positive(self.scale) and self.sigma is None and self.l1_sensitivity is None,
            "laplace": positive(self.scale) and self.sigma is None and positive(self.l1_sensitivity),
        }.get(self.kind, False)
        counted = isinstance(self.count, int) and not isinstance(self.count, bool) and self.count >= 1
        as_it_says = self.kind == "sampled-gaussian" or self.sampling is None
        if not (right and counted and positive(self.l2_sensitivity) and as_it_says):
            raise PrivacyError(
                "a mechanism needs a known kind, a positive sensitivity, its own noise scale, a count >= 1, "
                "and sampling only if its kind says so",
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
    def is_sampled(self) -> bool:
        return self.kind == "sampled-gaussian"

    @property
    def is_normal(self) -> bool:
        """Whether its noise is normal, sampled or not."""
        return self.is_gaussian or self.is_sampled

    @property
    def mu_squared(self) -> float:
        """GDP parameter, squared and summed over the releases; sampled ones are taken as if every record were used."""
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
        if self.is_normal:
            assert self.sigma is not None
            values = noise.normal(dimension)
            values *= self.sigma
            return values
        assert self.scale is not None
        if self.kind == "laplace":
            return self.scale * noise.laplace(dimension)
        # Uniform direction, Gamma(dimension, scale) length: a sum of exponentials.
        direction = noise.normal(dimension)
        length = self.scale * float(np.sum(noise.exponential(dimension)))
        return direction * (length / float(np.linalg.norm(direction)))

    def rms(self, dimension: int) -> float:
        """Root mean square of one coordinate of the noise."""
        if self.is_normal:
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
            "sampling": None if self.sampling is None else asdict(self.sampling),
            "scope": self.scope,
        }


def calibrated(
    budget: Budget,
    l2_sensitivity: float,
    lemma: str,
    *,
    count: int = 1,
    sampling: Sampling | None = None,
    scope: str = "all",
) -> Mechanism:
    """The mechanism with the least noise that spends exactly the budget.

    Gaussian with exact GDP composition for ``delta > 0``; for pure privacy the l2 (K-norm) mechanism, whose noise is
    ``sqrt(2p/(p+1))`` smaller in rms than coordinate-wise Laplace. With `sampling`, normal noise for releases on fresh
    secret samples.
    """
    if sampling is not None:
        sigma = l2_sensitivity * sampled_multiplier(budget.epsilon, budget.delta, count, sampling)
        return Mechanism("sampled-gaussian", l2_sensitivity, lemma, sigma=sigma, count=count, sampling=sampling)
    if budget.is_pure:
        return Mechanism(
            "l2-laplace", l2_sensitivity, lemma, scale=count * l2_sensitivity / budget.epsilon, count=count, scope=scope
        )
    per_release = mu_for(budget.epsilon, budget.delta) / math.sqrt(count)
    return Mechanism("gaussian", l2_sensitivity, lemma, sigma=l2_sensitivity / per_release, count=count, scope=scope)


def _sampling_from(stated: Mapping[str, Any]) -> Sampling:
    """Sampling as a certificate writes it."""
    try:
        return Sampling(**stated)
    except TypeError as error:
        raise PrivacyError(
            "sampling needs scheme, population and sample", repr(dict(stated)), "Do not rely on it."
        ) from error
