"""A plan: everything that will happen to the records, decided from public numbers before a row is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from entrenous import __version__
from entrenous.engine.bounds_release import BoundsRelease
from entrenous.engine.codec import decode, encode
from entrenous.engine.phases import Phase
from entrenous.engine.run import Fitted, run
from entrenous.errors import InputError, warn_of_privacy
from entrenous.parts.feature_domains import FeatureDomain
from entrenous.parts.pair_list import PairList
from entrenous.parts.problem import Problem
from entrenous.privacy.accounting import TOLERANCE, account_name, accountant_version, confirm, total_epsilon
from entrenous.privacy.budget import Budget
from entrenous.privacy.certificate import PrivacyCertificate, as_json, describe_problem
from entrenous.privacy.mechanisms import Mechanism

SCHEMA = "entrenous-plan/1"


@dataclass(frozen=True)
class Plan:
    """The phases of a run, its mechanisms, and what they cost.

    Print it, store it, check it: it holds public numbers only. `run` is where rows enter.
    """

    algorithm: str
    citation: str
    problem: Problem
    budget: Budget
    n: int
    phases: tuple[Phase, ...]
    mechanisms: tuple[Mechanism, ...] = ()
    calibration: str = "tight"
    public: Mapping[str, Any] = field(default_factory=dict)
    """Numbers of the planner that the certificate needs to be recomputed: step size, steps, weights."""
    warnings: tuple[str, ...] = ()
    index_seed: int | None = None
    """Seed of the index stream (`parts.indices`) where the plan draws one. It says nothing about the noise."""
    features: FeatureDomain | None = None
    """Public domain of the rows; with `bounds_release` the loose one to search in."""
    bounds_release: BoundsRelease | None = None
    """What happens before the phases where the bounds are to be found; its mechanism is the first of `mechanisms`."""
    classes: tuple[Any, ...] | None = None
    target_bounds: tuple[float, float] | None = None
    """Public range of the targets of a regression: they are clipped into it and mapped to [-1, 1]."""

    @property
    def task(self) -> str:
        return self.problem.task

    @property
    def n_features(self) -> int:
        return self.problem.n_features

    @property
    def is_private(self) -> bool:
        return self.budget.is_private

    @property
    def pair_list(self) -> PairList | None:
        """Public numbers of the list of pairs that `run` takes in place of labels; ``None``: it takes labels."""
        return self.phases[0].pair_list

    @property
    def steps(self) -> int:
        """Gradient steps over all phases."""
        return sum(phase.steps for phase in self.phases)

    @property
    def pair_gradients(self) -> int:
        """Pair gradients evaluated over all phases."""
        return sum(phase.pair_gradients(self.n) for phase in self.phases)

    @property
    def noise_per_coefficient(self) -> float:
        """Sd that the noise alone gives a coefficient of the released parameter, internal units, before projection.

        A later phase starts from what an earlier one released, noise included, so variances add.
        """
        return math.hypot(*(phase.noise_per_coefficient(self.problem, self.n) for phase in self.phases))

    @property
    def epsilon(self) -> float:
        """What the mechanisms really spend at the budget's delta."""
        return total_epsilon(self.mechanisms, self.budget.delta) if self.is_private else float("inf")

    def checked(self) -> Plan:
        """This plan after the accountant's second opinion; a warning where printed noise breaks its own claim."""
        if not self.is_private:
            return self
        spent = self.epsilon
        if self.calibration == "tight":
            confirm(self.budget.epsilon, self.mechanisms, self.budget.delta)
            return self
        confirm(spent, self.mechanisms, self.budget.delta)
        if spent <= self.budget.epsilon:
            return self
        message = (
            f"{self.algorithm} with its paper's noise really spends epsilon={spent:.4g}, more than the "
            f'{self.budget.epsilon:.4g} asked for. Use calibration="tight".'
        )
        warn_of_privacy(message)
        return replace(self, warnings=(*self.warnings, message))

    def certificate(self) -> PrivacyCertificate | None:
        """What a run of this plan costs; ``None`` without privacy."""
        if not self.is_private:
            return None
        return PrivacyCertificate(
            library=f"entrenous {__version__}",
            algorithm=self.algorithm,
            citation=self.citation,
            calibration=self.calibration,
            # Calibration aims a hair below the request, so the request itself is the honest figure.
            epsilon=self.budget.epsilon if self.calibration == "tight" else self.epsilon,
            delta=self.budget.delta,
            claimed_epsilon=self.budget.epsilon,
            n=self.n,
            problem=describe_problem(self.problem),
            mechanisms=self.mechanisms,
            accountant={
                "name": account_name(self.mechanisms),
                "version": f"dp-accounting {accountant_version()}",
                "tolerance": TOLERANCE,
            },
            public=as_json(
                {
                    "n_features": self.n_features,
                    "domain": None if self.features is None else self.features.public_numbers(),
                    "classes": self.classes,
                    "parameter_domain": self.problem.domain.name,
                    **({} if self.bounds_release is None else {"private_bounds": self.bounds_release.public()}),
                    **({} if self.target_bounds is None else {"target_bounds": self.target_bounds}),
                    **({} if self.index_seed is None else {"index_seed": self.index_seed}),
                    **self.public,
                }
            ),
            warnings=self.warnings,
        )

    def run(self, X: Any, y: Any, *, random_state: Any = None) -> Fitted:
        """Fit the records: clip them, map them to internal units, fold over the phases.

        `y` has one label per row; for a plan on listed pairs it has one row ``(i, j, similar)`` per pair instead.
        `random_state=None` draws secure noise; anything else is repeatable, warned of and marked in the certificate.
        """
        return run(self, X, y, random_state)

    def to_json(self) -> str:
        """The plan as JSON text."""
        return json.dumps({"schema": SCHEMA, "plan": encode(self)}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The inverse of `to_json`; only the library's own part types are ever built."""
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(
                f"a plan needs {SCHEMA}", f"text that is not JSON ({error})", "Use plan.to_json()."
            ) from error
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise InputError(f"a plan needs {SCHEMA}", "something else", "Use plan.to_json().")
        return decode(content["plan"], cls)

    def __str__(self) -> str:
        lines = [
            f"Plan {self.algorithm} ({self.calibration}) for {self.task}: n = {self.n}, {self.n_features} features",
            f"  problem     {self.problem.surrogate} surrogate ({self.problem.form} form), radius "
            f"{self.problem.domain.radius:g}, ridge {self.problem.ridge:g}",
            f"  work        {self.steps} steps, {self.pair_gradients:,} pair gradients",
        ]
        if self.bounds_release is not None:
            lines.append(f"  bounds      found within loose ranges, for {self.bounds_release.share:.0%} of the budget")
        lines += [
            f"  mechanism   {m.count} x {m.kind}: sensitivity {m.l2_sensitivity:.6g} ({m.lemma}), "
            f"noise {m.sigma or m.scale:.6g}"
            for m in self.mechanisms
        ]
        if self.is_private:
            lines.append(f"  privacy     epsilon {self.epsilon:.6g} at delta {self.budget.delta:.3g}, replace-one")
            lines.append(
                f"  noise       {self.noise_per_coefficient:.4g} per coefficient (internal units, before projection)"
            )
        else:
            lines.append("  privacy     none")
        return "\n".join(lines + [f"  warning     {warning}" for warning in self.warnings])
