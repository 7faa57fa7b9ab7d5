"""A plan: everything that will happen to the records, decided from public numbers before a row is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from entrenous.engine.codec import decode, encode, read_json
from entrenous.engine.old_plans import upgraded
from entrenous.engine.phases.phase import Phase
from entrenous.engine.plan_checks import check_plan, own_parts
from entrenous.engine.run import Fitted, run
from entrenous.errors import InputError, warn_of_privacy
from entrenous.ledger.spending import Spending
from entrenous.privacy.accounting import TOLERANCE, account_name, accountant_version, confirm, total_epsilon
from entrenous.privacy.budget import Budget
from entrenous.privacy.certificate import PrivacyCertificate, as_json, describe_problem
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.pair_list import PairList
from entrenous.problem.problem import Problem
from entrenous.problem.tasks.task import Task, task_named
from entrenous.registry import part
from entrenous.version import __version__

SCHEMA, OLD_SCHEMA = "entrenous-plan/2", "entrenous-plan/1"


@part
@dataclass(frozen=True)
class Plan:
    """The phases of a run, and what they cost.

    Print it, store it, check it: it holds public numbers only. `run` is where rows enter. A plan that does not do what
    its mechanisms are priced for cannot be built (`plan_checks`).
    """

    algorithm: str
    citation: str
    problem: Problem
    budget: Budget
    n: int
    phases: tuple[Phase, ...]
    calibration: str = "tight"
    remarks: Mapping[str, Any] = field(default_factory=dict)
    """Further public numbers of the planner, for the reader of a certificate: no lemma needs them."""
    warnings: tuple[str, ...] = ()
    index_seed: int | None = None
    """Seed of the order in which records meet (`problem.streams.indices`); ``None``: no order is drawn.

    Public, and unrelated to the noise.
    """
    features: FeatureDomain | None = None
    """Public domain of the rows; where the first phase looks for bounds, the loose one to search in."""
    classes: tuple[Any, ...] | None = None
    target_bounds: tuple[float, float] | None = None
    """Public range of the targets of a regression: they are clipped into it and mapped to [-1, 1]."""

    def __post_init__(self) -> None:
        errors = _checked_once(self.problem, self.budget, self.n, self.phases, self.calibration, self.features)
        covered = (phase.covering(error) for phase, error in zip(self.phases, errors, strict=True))
        object.__setattr__(self, "phases", tuple(covered))

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What the phases release, in their order."""
        return tuple(phase.mechanism for phase in self.phases if phase.mechanism is not None)

    @property
    def task(self) -> str:
        return self.problem.task

    @cached_property
    def task_object(self) -> Task:
        """What is learnt: the rules for labels and units."""
        return task_named(self.problem.task)

    @cached_property
    def own_parts(self) -> tuple[str, ...]:
        """Parts that are the user's own, by kind and name."""
        return own_parts(self.problem, self.phases, self.features)

    @property
    def public(self) -> dict[str, Any]:
        """The public numbers from which a certificate can be recomputed: those of the phases, and the remarks."""
        numbers: dict[str, Any] = {}
        shares = tuple(
            {"records": phase.records[1] - phase.records[0], **phase.numbers}
            for phase in self.phases
            if phase.records is not None
        )
        for phase in self.phases:
            if phase.records is None:
                numbers |= phase.numbers
        return {**numbers, **({"phases": shares} if shares else {}), **self.remarks}

    @property
    def gives_probability(self) -> bool:
        """Whether the scores of a run have a link to the probability of an event."""
        return any(phase.gives_probability for phase in self.phases)

    @property
    def n_features(self) -> int:
        return self.problem.n_features

    @cached_property
    def is_private(self) -> bool:
        return self.budget.is_private

    @property
    def pair_list(self) -> PairList | None:
        """Public numbers of the list of pairs that `run` takes in place of labels; ``None``: it takes labels."""
        return next((phase.pair_list for phase in self.phases if phase.pair_list is not None), None)

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
        """Sd that the noise alone gives each released coefficient, in internal units (`problem.features.domain`).

        Before projection. A later phase starts from what an earlier one released, noise included, so variances add.
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
                    **({} if self.target_bounds is None else {"target_bounds": self.target_bounds}),
                    **({} if self.index_seed is None else {"index_seed": self.index_seed}),
                    **self.public,
                    **({"own_parts": self.own_parts} if self.own_parts else {}),
                }
            ),
            warnings=(*self.budget.cautions(self.n), *self.warnings),
        )

    def run(
        self, X: Any, y: Any, *, random_state: Any = None, ledger: Any = None, dataset: str | None = None
    ) -> Fitted:
        """Fit the records: clip them, map them to internal units, fold over the phases.

        `y` has one label per row; for a plan on listed pairs it has one row ``(i, j, similar)`` per pair instead.
        `random_state=None` draws secure noise; anything else is repeatable, warned of and marked in the certificate.
        A private run spends the budget of `dataset` in `ledger`, or in that of the environment (``docs/ledger.md``).
        """
        spending = Spending(ledger, dataset)
        fitted = run(self, X, y, random_state, spending)
        spending.commit(fitted.certificate)
        return fitted

    def to_json(self) -> str:
        """The plan as JSON text."""
        return json.dumps({"schema": SCHEMA, "plan": encode(self)}, indent=2, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The inverse of `to_json`; only registered types are ever built, and the plan is checked as any other."""
        content = read_json(text, f"a plan needs {SCHEMA}", "Use plan.to_json().")
        schema = content.get("schema") if isinstance(content, dict) else None
        if schema not in (SCHEMA, OLD_SCHEMA) or "plan" not in content:
            raise InputError(f"a plan needs {SCHEMA}", "something else", "Use plan.to_json().")
        return plan_from(content["plan"], old=schema == OLD_SCHEMA)

    def __str__(self) -> str:
        lines = [
            f"Plan {self.algorithm} ({self.calibration}) for {self.task}: n = {self.n}, {self.n_features} features",
            f"  problem     {self.problem.surrogate} surrogate ({self.problem.form} form), radius "
            f"{self.problem.domain.radius:g}, ridge {self.problem.ridge:g}",
            f"  work        {self.steps} steps, {self.pair_gradients:,} pair gradients",
        ]
        lines += [f"  stages      {self.remarks['stages']}"] if "stages" in self.remarks else []
        lines += [f"  mechanism   {mechanism}" for mechanism in self.mechanisms]
        lines += [f"  your own    {name}" for name in self.own_parts]
        if self.is_private:
            lines.append(f"  privacy     epsilon {self.epsilon:.6g} at delta {self.budget.delta:.3g}, replace-one")
            lines.append(
                f"  noise       {self.noise_per_coefficient:.4g} per coefficient (internal units, before projection)"
            )
        else:
            lines.append("  privacy     none")
        warnings = (*self.budget.cautions(self.n), *self.warnings)
        return "\n".join(lines + [f"  warning     {warning}" for warning in warnings])


def plan_from(content: Any, *, old: bool = False) -> Plan:
    """A plan from what `codec.encode` made of it, in this version's form or in that of version 0.1.0."""
    return decode(upgraded(content) if old else content, Plan)


def _checked_once(
    problem: Problem,
    budget: Budget,
    n: int,
    phases: tuple[Phase, ...],
    calibration: str,
    features: FeatureDomain | None,
) -> tuple[float, ...]:
    """`check_plan`, with its results cached: planning and running build plans with the same phases many times."""
    try:
        return _remembered_check(problem, budget, n, phases, calibration, features)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        return check_plan(problem, budget, n, phases, calibration, features)


@lru_cache(maxsize=256)
def _remembered_check(
    problem: Problem,
    budget: Budget,
    n: int,
    phases: tuple[Phase, ...],
    calibration: str,
    features: FeatureDomain | None,
) -> tuple[float, ...]:
    return check_plan(problem, budget, n, phases, calibration, features)
