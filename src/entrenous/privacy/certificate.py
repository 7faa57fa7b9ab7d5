"""The certificate: everything a privacy officer needs to recompute what a fit spent, and nothing from the rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from entrenous.errors import PrivacyError
from entrenous.parts.problem import Problem
from entrenous.privacy.budget import ADJACENCY
from entrenous.privacy.mechanisms import Mechanism

SCHEMA = "entrenous-certificate/1"


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
            return cls.from_dict(json.loads(text))
        except json.JSONDecodeError as error:
            raise _not_a_certificate(f"text that is not JSON ({error})") from error

    @classmethod
    def from_dict(cls, content: Any) -> PrivacyCertificate:
        """The inverse of `to_dict`."""
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise _not_a_certificate(f"schema {content.get('schema') if isinstance(content, dict) else content!r}")
        names = {f.name for f in fields(cls)}
        if set(content) != names:
            odd = sorted(set(content) ^ names)
            raise _not_a_certificate(f"missing or unknown fields: {', '.join(odd)}")
        try:
            mechanisms = tuple(Mechanism(**m) for m in content["mechanisms"])
            if not mechanisms:
                raise _not_a_certificate("no mechanism")
            for name in ("epsilon", "delta", "claimed_epsilon"):
                if not 0.0 <= float(content[name]) < math.inf:
                    raise _not_a_certificate(f"{name}={content[name]!r}")
            return cls(**{**content, "mechanisms": mechanisms, "warnings": tuple(content["warnings"])})
        except TypeError as error:
            raise _not_a_certificate(f"a malformed field ({error})") from error

    @classmethod
    def from_file(cls, path: str | Path) -> PrivacyCertificate:
        """Read a certificate from a JSON file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def as_seeded(self, warning: str) -> PrivacyCertificate:
        """The same certificate for a run whose noise can be repeated by whoever knows the seed."""
        return replace(self, seeded=True, warnings=(*self.warnings, warning))

    def verify(self) -> Verification:
        """Recompute epsilon and every closed-form sensitivity; raise `PrivacyError` when the truth is worse."""
        from entrenous.privacy.verification import verify

        return verify(self)

    def __str__(self) -> str:
        lines = [
            f"Privacy certificate: epsilon = {self.epsilon:.6g}, delta = {self.delta:.3g}, {self.adjacency}, "
            f"n = {self.n}",
            f"  algorithm   {self.algorithm} ({self.calibration} calibration; {self.citation})",
        ]
        for m in self.mechanisms:
            size = f"sigma {m.sigma:.6g}" if m.is_gaussian else f"scale {m.scale:.6g}"
            lines.append(
                f"  mechanism   {m.count} x {m.kind}, sensitivity {m.l2_sensitivity:.6g}, {size}, {m.lemma}, {m.scope}"
            )
        lines.append(f"  accountant  {self.accountant['name']}, second opinion {self.accountant['version']}")
        lines.append(f"  noise       {'SEEDED: repeatable by whoever knows the seed' if self.seeded else 'secure'}")
        lines += [f"  warning     {warning}" for warning in self.warnings]
        return "\n".join(lines)


@dataclass(frozen=True)
class Verification:
    """What `PrivacyCertificate.verify` recomputed; it exists only when everything held."""

    epsilon: float
    checks: tuple[str, ...]
    on_trust: tuple[str, ...]
    """Sensitivities that do not follow from the certificate alone."""

    def __str__(self) -> str:
        lines = [f"  ok        {check}" for check in self.checks]
        return "\n".join(lines + [f"  on trust  {claim}" for claim in self.on_trust])


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


def _not_a_certificate(got: str) -> PrivacyError:
    return PrivacyError(f"a certificate needs the fields of {SCHEMA}", got, "Ask for the file that the fit wrote.")
