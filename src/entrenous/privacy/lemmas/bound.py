"""Bounds and lemmas: how far one record can move a release, and the lemma that says so.

Every lemma is registered here with the function that recomputes its bound from public numbers. Planners take bounds
from the functions of this folder and calibrate mechanisms to them. Plans and certificates are checked by recomputing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from entrenous.errors import PrivacyError
from entrenous.registry import is_own, load_library, part


@part
@dataclass(frozen=True)
class Bound:
    """The largest change of a release, in l2 (and where noise is coordinate-wise in l1), when a record is replaced."""

    value: float
    lemma: str
    l1: float | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)
    """The public numbers that reproduce it, beside the problem and the number of records."""
    error: float = field(default=0.0, compare=False, hash=False)
    """How far what is computed may be from what the lemma is about, in l2 (`rounding`). The noise covers it."""

    def __post_init__(self) -> None:
        sizes = (self.value,) if self.l1 is None else (self.value, self.l1)
        real = all(isinstance(size, int | float) and not isinstance(size, bool) for size in (*sizes, self.error))
        # Infinite where nothing bounds it: no mechanism takes such a one.
        if not (real and all(size > 0.0 for size in sizes) and self.error >= 0.0 and isinstance(self.lemma, str)):
            raise PrivacyError(
                "a bound needs a positive number and the name of its lemma",
                f"value={self.value!r}, l1={self.l1!r}, lemma={self.lemma!r}",
                "Do not run it: its privacy cannot be stated.",
            )

    def times(self, factor: float) -> Bound:
        """The bound of the release multiplied by a public factor."""
        l1 = None if self.l1 is None else self.l1 * factor
        return replace(self, value=self.value * factor, l1=l1, error=self.error * factor)

    def l2_only(self) -> Bound:
        """The bound without its l1 figure, for noise that is priced by the l2 change alone."""
        return self if self.l1 is None else replace(self, l1=None)

    def with_l1(self, dimension: int) -> Bound:
        """The bound with an l1 figure, for a release of p coordinates: ``||z||_1 <= sqrt(p) ||z||_2``."""
        return replace(self, l1=self.value * math.sqrt(dimension))


Recomputation = Callable[[Any, int, Mapping[str, Any]], Bound]
"""``(problem, n, numbers) -> Bound``: n is how many records one release sees, `numbers` are its phase's."""


@dataclass(frozen=True)
class Lemma:
    """One lemma of ``docs/proofs.md``, or of a user."""

    name: str
    recompute: Recomputation
    per_step: bool
    """Whether it covers one gradient, so that every step of a phase is a release."""

    @property
    def is_own(self) -> bool:
        return is_own(self.recompute)


_LEMMAS: dict[str, Lemma] = {}


def lemma(name: str, *, per_step: bool = False) -> Callable[[Recomputation], Recomputation]:
    """Decorator: this function recomputes the bound of the named lemma."""

    def register(recompute: Recomputation) -> Recomputation:
        known = _LEMMAS.get(name)
        if known is not None and known.recompute.__module__ != recompute.__module__:
            raise PrivacyError("a lemma needs a name of its own", f"{name!r}, which exists", "Choose another name.")
        _LEMMAS[name] = Lemma(name, recompute, per_step)
        return recompute

    return register


def lemma_named(name: str) -> Lemma:
    """The lemma of exactly this name; an error for any other."""
    if name not in _LEMMAS:
        load_library()
    if name not in _LEMMAS:
        raise PrivacyError(
            "a sensitivity needs a lemma that is known here",
            repr(name),
            "Do not rely on it. A lemma of your own is registered with entrenous.privacy.lemmas.bound.lemma.",
        )
    return _LEMMAS[name]


@dataclass(frozen=True)
class Requirement:
    """What the certificate of a named algorithm must contain."""

    lemmas: tuple[str, ...]
    """One of these bounds what its iterates or statistics release."""
    is_own: bool
    """Whether the algorithm is the user's."""


_REQUIREMENTS: dict[tuple[str, str | None], Requirement] = {}
"""By algorithm and task; no task: whatever the task is, unless it has an entry of its own."""


def require_lemmas(algorithm: str, lemmas: tuple[str, ...], *, is_own: bool, tasks: tuple[str, ...] = ()) -> None:
    """State which lemmas the certificates of an algorithm must rest on, for these tasks or (none) for all others."""
    for name in tasks or (None,):
        _REQUIREMENTS[algorithm, name] = Requirement(lemmas, is_own)


def requirement_of(algorithm: str, task: str) -> Requirement | None:
    """What an algorithm's certificate must contain; ``None`` for one that is not registered here."""
    load_library()
    return _REQUIREMENTS.get((algorithm, task), _REQUIREMENTS.get((algorithm, None)))
