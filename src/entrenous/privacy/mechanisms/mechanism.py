"""What a mechanism is: it adds its own noise, and says what that noise costs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError, PrivacyError
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.sampling import Sampling, sampling_from
from entrenous.privacy.noise import NoiseSource
from entrenous.registry import is_own, load_library, parts_of

EVERYWHERE = "all"
"""Scope of a release that may look at every record."""


EXACT, FLOAT, SEEDED = "grid-exact", "float", "seeded"
WAYS_TO_DRAW = (EXACT, FLOAT, SEEDED)
"""On a public grid and exactly, in floating point, or repeatably by whoever knows the seed."""


def disjoint(phase: int) -> str:
    """Scope of a release that looks only at the records of this phase, counted from 1."""
    return f"disjoint phase {phase}"


@dataclass(frozen=True)
class Mechanism(ABC):
    """`count` releases with noise of one kind; one record moves each by at most `bound`.

    A kind of mechanism is a class with a field for the size of its noise (`noise_field`), `draw`, `rms`, and a price:
    `gdp` where its noise is Gaussian, `pure` where it gives pure privacy. It is registered with `registry.part`.
    """

    kind: ClassVar[str]
    noise_field: ClassVar[str]
    """Name of the field that holds the size of the noise: sigma or scale."""
    draws: ClassVar[tuple[str, ...]] = (FLOAT, SEEDED)
    """The ways in which its noise can have been drawn."""

    bound: Bound
    count: int = field(default=1, kw_only=True)
    scope: str = field(default=EVERYWHERE, kw_only=True)
    """Whose records the releases look at: `EVERYWHERE`, or those of one phase (`disjoint`)."""
    noise: str | None = field(default=FLOAT, kw_only=True, compare=False)
    """How the noise is drawn: one of `WAYS_TO_DRAW`, or ``None`` in certificates from before this was stated."""

    def __post_init__(self) -> None:
        count, size = self.count, self.noise_size
        counted = isinstance(count, int) and not isinstance(count, bool) and count >= 1
        sized = isinstance(size, int | float) and not isinstance(size, bool) and 0.0 < size < math.inf
        bounded = type(self.bound) is Bound and self.bound.value < math.inf and (self.bound.l1 or 0.0) < math.inf
        if self.noise not in (None, *self.draws):
            raise PrivacyError(
                f"the noise of a {self.kind} is drawn as {' or '.join(self.draws)}",
                repr(self.noise),
                "Do not rely on it.",
            )
        if not (counted and sized and bounded and isinstance(self.scope, str)):
            raise PrivacyError(
                "a mechanism needs a finite bound, a positive noise scale of its own and a count >= 1",
                f"a {self.kind} with {self.noise_field}={size!r}, count={count!r}, bound={self.bound!r}",
                "Do not run it: its privacy cannot be stated.",
            )

    @property
    def grid(self) -> float | None:
        """The power of two that releases are rounded to; ``None``: they are not."""
        return None

    @property
    def noise_size(self) -> float:
        """Sigma or scale."""
        size: float = getattr(self, self.noise_field)
        return size

    @property
    def l2_sensitivity(self) -> float:
        return self.bound.value

    @property
    def l1_sensitivity(self) -> float | None:
        return self.bound.l1

    @property
    def lemma(self) -> str:
        return self.bound.lemma

    @property
    def secret_sample(self) -> Sampling | None:
        """The secret sample that every release looks at; ``None``: all records of its scope."""
        return None

    @property
    def noise_multiplier(self) -> float:
        """Noise per unit of l2 sensitivity, of one release."""
        return self.noise_size / self.bound.value

    @property
    def gdp(self) -> float | None:
        """``mu^2`` of Gaussian differential privacy, summed over the releases; ``None`` where it has none."""
        return None

    @property
    def pure(self) -> float | None:
        """Pure epsilon, summed over the releases; ``None`` where it has none."""
        return None

    @abstractmethod
    def draw(self, source: NoiseSource, dimension: int) -> Array:
        """Noise for one release of this many coordinates; `release` adds it."""

    @abstractmethod
    def rms(self, dimension: int) -> float:
        """Root mean square of one coordinate of the noise."""

    def release(self, value: Array, source: NoiseSource) -> Array:
        """The value with this mechanism's noise added. Compiled loops add it themselves (`noise_of_steps`)."""
        noise = self.draw(source, value.size)
        return value + noise.reshape(value.shape)

    def noise_of_steps(self, source: NoiseSource, steps: int, dimension: int) -> Array:
        """The noise of several releases, one row each, for a compiled loop that takes the steps itself."""
        return np.concatenate([self.draw(source, dimension) for _ in range(steps)]).reshape(steps, dimension)

    def to_dict(self) -> dict[str, Any]:
        """JSON fields in the order of the certificate's schema."""
        sample = self.secret_sample
        stated: dict[str, Any] = {
            "kind": self.kind,
            "l2_sensitivity": self.bound.value,
            "l1_sensitivity": self.bound.l1,
            "sigma": self.noise_size if self.noise_field == "sigma" else None,
            "scale": self.noise_size if self.noise_field == "scale" else None,
            "count": self.count,
            "lemma": self.lemma,
            "sampling": None
            if sample is None
            else {"scheme": sample.scheme, "population": sample.population, "sample": sample.sample},
            "scope": self.scope,
        }
        if self.noise is None:
            return stated
        error = None if self.grid is None else self.bound.error
        return {**stated, "noise": self.noise, "grid": self.grid, "error": error}

    def __str__(self) -> str:
        times = f"{self.count:,} x " if self.count > 1 else ""
        sample = "" if self.secret_sample is None else f", {self.secret_sample}"
        where = "" if self.scope == EVERYWHERE else f", {self.scope}"
        size = f"{self.noise_field} {self.noise_size:.6g}"
        return f"{times}{self.kind}, sensitivity {self.bound.value:.6g} ({self.lemma}), {size}{sample}{where}"


def mechanism_kinds() -> dict[str, type[Mechanism]]:
    """Every registered kind of mechanism, by the word that certificates use."""
    load_library()
    kinds = list(parts_of(Mechanism))  # type: ignore[type-abstract]
    # The library's own last: no word of a certificate can come to mean something else.
    return {kind.kind: kind for kind in sorted(kinds, key=is_own, reverse=True)}


def mechanism_from(stated: Mapping[str, Any]) -> Mechanism:
    """A mechanism as a certificate writes it; `PrivacyError` where its fields do not belong together."""
    content = dict(stated)
    kinds = mechanism_kinds()
    kind = kinds.get(content.pop("kind"))
    if kind is None:
        raise PrivacyError(
            f"a mechanism must be one of {', '.join(kinds)}",
            repr(stated["kind"]),
            "Import the module that registers it, or do not rely on it.",
        )
    other = "scale" if kind.noise_field == "sigma" else "sigma"
    if content.pop(other) is not None:
        raise PrivacyError(f"a {kind.kind} has no {other}", repr(stated[other]), "Do not rely on it.")
    error = content.pop("error", None)
    sizes = content.pop("l2_sensitivity"), content.pop("lemma"), content.pop("l1_sensitivity")
    bound = Bound(*sizes, error=0.0 if error is None else error)
    sampling = content.pop("sampling")
    grid, content["noise"] = content.pop("grid", None), content.get("noise")
    takes_sample = "sampling" in {f.name for f in fields(kind)}
    if takes_sample != (sampling is not None):
        raise PrivacyError(
            f"a {kind.kind} {'needs' if takes_sample else 'has no'} secret sample", repr(sampling), "Do not rely on it."
        )
    if sampling is not None:
        content["sampling"] = sampling_from(sampling)
    try:
        made = kind(bound, **content)
    except TypeError as error:
        raise InputError(f"a {kind.kind} needs its own fields", str(error), "Do not rely on it.") from error
    if made.grid != grid:
        raise PrivacyError(
            f"this {kind.kind} needs the grid {made.grid}", f"{grid!r}", "Its noise would not cover the rounding."
        )
    return made
