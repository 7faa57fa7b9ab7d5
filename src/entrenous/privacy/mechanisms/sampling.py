"""Secret samples: which records a release looks at, drawn from the same secret source as its noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from entrenous.errors import PrivacyError
from entrenous.registry import part

WITHOUT_REPLACEMENT = "without-replacement"


@part
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

    def __str__(self) -> str:
        return f"{self.sample} of {self.population} records"


def without_replacement(population: int, sample: int) -> Sampling:
    """A uniform sample without replacement."""
    return Sampling(WITHOUT_REPLACEMENT, population, sample)


def sampling_from(stated: Mapping[str, Any]) -> Sampling:
    """Sampling as a certificate writes it."""
    try:
        return Sampling(**stated)
    except TypeError as error:
        raise PrivacyError(
            "sampling needs scheme, population and sample", repr(dict(stated)), "Do not rely on it."
        ) from error
