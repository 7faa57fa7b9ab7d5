"""The certificate: everything a privacy officer needs to recompute what a fit spent, and nothing from the rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from entrenous.privacy.budget import ADJACENCY
from entrenous.privacy.certificate_fields import check_fields, not_a_certificate
from entrenous.privacy.mechanisms.mechanism import EXACT, FLOAT, SEEDED, Mechanism, mechanism_from
from entrenous.problem.problem import Problem
from entrenous.registry import late

SCHEMA = "entrenous-certificate/1"

LARGEST_FILE = 64 << 20
"""Bytes of a certificate file: even thousands of phases need far less."""

DOMAIN_FOUND_BY_PART = "domain_found_by_part"
"""Public entry of a certificate that is part of a composition: its domain is what the part of this number found."""

COMPOSITION = "composition"
"""Algorithm of a certificate that stands for several."""

NO_PROBLEM: dict[str, Any] = {
    "task": "none",
    "surrogate": "none",
    "form": "none",
    "R": 2.0,
    "radius": None,
    "ridge": 0.0,
    "c1": None,
    "c2": None,
}
"""The `problem` of a certificate for releases that minimise nothing."""


@dataclass(frozen=True)
class PrivacyCertificate:
    """What was released, with which noise, and the (epsilon, delta) that this noise really gives.

    `epsilon` is computed from the mechanisms; `claimed_epsilon` is what was asked for. They differ only in paper
    calibration, where the printed noise may give more or less than its paper says.
    """

    library: str
    algorithm: str
    citation: str
    calibration: str
    epsilon: float
    delta: float
    claimed_epsilon: float
    n: int
    problem: Mapping[str, Any]
    mechanisms: tuple[Mechanism, ...]
    accountant: Mapping[str, Any]
    public: Mapping[str, Any]
    seeded: bool = False
    warnings: tuple[str, ...] = ()
    adjacency: str = ADJACENCY
    unit: Mapping[str, Any] = field(default_factory=lambda: {"records_per_person": 1})
    schema: str = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        """The fields of the JSON schema, in its order."""
        return {
            "schema": self.schema,
            "library": self.library,
            "algorithm": self.algorithm,
            "citation": self.citation,
            "calibration": self.calibration,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "claimed_epsilon": self.claimed_epsilon,
            "adjacency": self.adjacency,
            "n": self.n,
            "problem": dict(self.problem),
            "mechanisms": [m.to_dict() for m in self.mechanisms],
            "accountant": dict(self.accountant),
            "public": dict(self.public),
            "seeded": self.seeded,
            "unit": dict(self.unit),
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """The certificate as JSON text (schema ``entrenous-certificate/1``)."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> PrivacyCertificate:
        """Read a certificate; anything that is not one is refused."""
        try:
            content = json.loads(text)
        except RecursionError:
            raise not_a_certificate(SCHEMA, "brackets inside brackets, too deep to read") from None
        except ValueError as error:
            # Not JSON, or a number of so many digits that Python will not read it.
            raise not_a_certificate(SCHEMA, f"text that cannot be read ({str(error)[:200]})") from None
        return cls.from_dict(content)

    @classmethod
    def from_dict(cls, content: Any) -> PrivacyCertificate:
        """The inverse of `to_dict`."""
        check_fields(content, SCHEMA)
        mechanisms = tuple(map(mechanism_from, content["mechanisms"]))
        return cls(**{**content, "mechanisms": mechanisms, "warnings": tuple(content["warnings"])})

    @classmethod
    def from_file(cls, path: str | Path) -> PrivacyCertificate:
        """Read a certificate from a JSON file."""
        path = Path(path)
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise not_a_certificate(SCHEMA, f"a file of {path.stat().st_size:,} bytes")
            return cls.from_json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise not_a_certificate(SCHEMA, f"a file that cannot be read ({type(error).__name__})") from error

    def as_seeded(self, warning: str) -> PrivacyCertificate:
        """The same certificate for a run whose noise can be repeated by whoever knows the seed."""
        mechanisms = tuple(replace(mechanism, noise=SEEDED) for mechanism in self.mechanisms)
        return replace(self, mechanisms=mechanisms, seeded=True, warnings=(*self.warnings, warning))

    def stating(self, name: str, public: Any) -> PrivacyCertificate:
        """The same certificate with one more public entry: what a mechanism of it released, or what read the rows."""
        return replace(self, public={**self.public, name: json.loads(json.dumps(public))})

    def verify(self) -> Verification:
        """Recompute epsilon and every sensitivity; raise `PrivacyError` when the truth is worse.

        What holds is the arithmetic of the description: noise of this size on releases that move by at most so much
        gives this epsilon. That the noise was drawn, and that nothing else was released, no file can prove. What has to
        be taken on trust beyond that is listed as reservations.
        """
        from entrenous.privacy.verification import verify

        return verify(self)

    def _repr_html_(self) -> str:
        card: str = late("entrenous.report.notebook_card", "notebook_card")(self)
        return card

    def __str__(self) -> str:
        lines = [
            f"Privacy certificate: epsilon = {self.epsilon:.6g}, delta = {self.delta:.3g}, {self.adjacency}, "
            f"n = {self.n}",
            f"  algorithm   {self.algorithm} ({self.calibration} calibration; {self.citation})",
        ]
        lines += [f"  mechanism   {mechanism}" for mechanism in self.mechanisms]
        if DOMAIN_FOUND_BY_PART in self.public:
            lines.append(f"  domain      {paid_elsewhere(self.public[DOMAIN_FOUND_BY_PART])}")
        lines.append(f"  accountant  {self.accountant['name']}, second opinion {self.accountant['version']}")
        lines.append(f"  noise       {self._noise_in_words()}")
        lines += [f"  warning     {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _noise_in_words(self) -> str:
        if self.seeded:
            return "SEEDED: repeatable by whoever knows the seed"
        ways = {mechanism.noise for mechanism in self.mechanisms}
        if ways == {EXACT}:
            return "secure, drawn exactly on a grid"
        if ways == {EXACT, FLOAT}:
            return "secure, in part in floating point"
        return "secure, in floating point" if ways == {FLOAT} else "secure"


Outcome = Literal["verified", "reservations"]


@dataclass(frozen=True)
class Verification:
    """What `PrivacyCertificate.verify` recomputed; it exists only when everything held."""

    epsilon: float
    checks: tuple[str, ...]
    reservations: tuple[str, ...]
    """What the reader has to take on trust, or to think about: each one a sentence."""

    @property
    def outcome(self) -> Outcome:
        """``"verified"``, or ``"reservations"`` where there are some."""
        return "reservations" if self.reservations else "verified"

    def __str__(self) -> str:
        lines = [f"  ok           {check}" for check in self.checks]
        return "\n".join(lines + [f"  reservation  {reservation}" for reservation in self.reservations])


def paid_elsewhere(part: int) -> str:
    """What a part of a composition says about a domain that another part found."""
    return f"found from the same records by part {part} of the composition, which pays for it: read the composition"


def as_json(content: dict[str, Any]) -> dict[str, Any]:
    """With lists for tuples, as the certificate will be read back."""
    normalised: dict[str, Any] = json.loads(json.dumps(content))
    return normalised


def describe_problem(problem: Problem) -> dict[str, Any]:
    """The certificate's `problem` field."""
    radius = problem.domain.radius
    return {
        "task": problem.task,
        "surrogate": str(problem.surrogate),
        "form": problem.form,
        "R": problem.diameter,
        "radius": radius if math.isfinite(radius) else None,
        "ridge": problem.ridge,
        "c1": _finite(problem.c1),
        "c2": _finite(problem.c2),
    }


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
