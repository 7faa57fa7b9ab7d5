"""Surrogates by their text, as users and certificates write them."""

from __future__ import annotations

import re
from dataclasses import fields

from entrenous.errors import InputError
from entrenous.problem.surrogates import bounded, convex
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.surrogates.envelope import MoreauEnvelope
from entrenous.problem.surrogates.own import own_surrogates
from entrenous.registry import is_own, parts_of

SURROGATES: dict[str, type[Surrogate]] = {
    kind.name: kind
    for module in (convex, bounded)
    for kind in parts_of(Surrogate)  # type: ignore[type-abstract]
    if kind.__module__ == module.__name__
}
"""The library's own, by name: each class registers itself."""

_SPELLING = re.compile(r"(?P<name>[a-z-]+)(?:\((?P<settings>[^()]*)\))?")
_ENVELOPE = re.compile(rf"{MoreauEnvelope.name}\((?P<base>.+),\s*width=(?P<width>[^(),=]+)\)")


def surrogate_kinds() -> dict[str, type[Surrogate]]:
    """The library's surrogates and those that a user registered."""
    registered = parts_of(Surrogate)  # type: ignore[type-abstract]
    return {**{kind.name: kind for kind in registered if is_own(kind)}, **SURROGATES}


def surrogate_from(spec: str | Surrogate) -> Surrogate:
    """A surrogate from its text, such as ``"logistic"`` or ``"smoothed-hinge(width=0.1)"``; an instance is kept.

    >>> surrogate_from("q-norm-hinge(q=1.2)")
    QNormHinge(q=1.2)
    """
    if isinstance(spec, Surrogate):
        return spec
    envelope = _ENVELOPE.fullmatch(spec.strip()) if isinstance(spec, str) else None
    if envelope is not None:
        return MoreauEnvelope(surrogate_from(envelope["base"]), _number(envelope["width"], spec))
    match = _SPELLING.fullmatch(spec.strip()) if isinstance(spec, str) else None
    kind = None if match is None else SURROGATES.get(match["name"]) or surrogate_kinds().get(match["name"])
    if match is None or kind is None:
        if isinstance(spec, str) and spec in own_surrogates():
            return own_surrogates()[spec]
        raise InputError(
            "surrogate must be one of " + ", ".join(surrogate_kinds()),
            repr(spec),
            'Settings go in parentheses: "smoothed-hinge(width=0.1)"; entrenous.own_surrogate makes others, and '
            '"moreau-envelope(q-norm-hinge(q=1.5), width=0.1)" smooths one.',
        )
    try:
        pairs = [item.split("=") for item in (match["settings"] or "").split(",") if item.strip()]
        settings = {key.strip(): float(number) for key, number in pairs}
        if len(settings) < len(pairs):
            raise TypeError("a setting is given twice")
        return kind(**settings)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        allowed = ", ".join(f"{f.name}=number" for f in fields(kind)) or "no settings"
        raise InputError(f"{kind.name} takes {allowed}", repr(spec), "Write it without other settings.") from error


def _number(text: str, spec: object) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{MoreauEnvelope.name} takes width=number", repr(spec), "Try width=0.5.") from None
