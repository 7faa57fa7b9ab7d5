"""The checks of every new plan, made by a planner or read from a file: its phases must do what its noise pays for.

Everything here is computed from public numbers, so an error never depends on a row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from entrenous.engine.phases.phase import Phase
from entrenous.errors import EntrenousError, PrivacyError
from entrenous.privacy.accounting import total_epsilon
from entrenous.privacy.budget import LARGEST_EPSILON, Budget
from entrenous.privacy.lemmas.bound import lemma_named
from entrenous.privacy.mechanisms.mechanism import EVERYWHERE, Mechanism, disjoint
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.pair_scores import Score
from entrenous.problem.parameter_domains import ParameterDomain
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.tasks.task import task_named
from entrenous.registry import is_own, is_part, own_among

_RELATIVE = 1e-9
"""Rounding allowed between what is stated and what is recomputed."""


def check_plan(
    problem: Problem,
    budget: Budget,
    n: int,
    phases: Sequence[Phase],
    calibration: str,
    features: FeatureDomain | None,
) -> tuple[float, ...]:
    """Raise `PrivacyError` unless these phases do what their mechanisms are priced for, within the budget.

    Returns, for each phase, how far rounding may take what it releases from what its lemma is about.
    """
    _need_registered_parts(problem, phases, features)
    _need_disjoint_shares(phases, n)
    if not budget.is_private:
        return (0.0,) * len(phases)
    numbered = enumerate(zip(phases, scopes_of(phases), strict=True), start=1)
    errors = tuple(_check_phase(number, phase, scope, problem, n, features) for number, (phase, scope) in numbered)
    mechanisms = [phase.mechanism for phase in phases if phase.mechanism is not None]
    if not mechanisms:
        raise PrivacyError("a private plan needs a phase", "none", "Add the phases that run.")
    spent = total_epsilon(mechanisms, budget.delta)
    # Noise as printed in a paper may spend more than was asked for: the certificate states what it spends.
    most = budget.epsilon if calibration == "tight" else LARGEST_EPSILON
    if not spent <= most * (1.0 + _RELATIVE):
        raise PrivacyError(
            f"the releases of a plan must stay within epsilon = {most:g} at delta = {budget.delta:.3g}",
            f"{spent:.6g} over {len(mechanisms)} releases",
            "Use more noise, fewer releases, or a larger budget.",
        )
    return errors


def scopes_of(phases: Sequence[Phase]) -> list[str]:
    """The scope that each phase's mechanism must state: all records, or those of one disjoint phase."""
    numbers = itertools.count(1)
    return [EVERYWHERE if phase.records is None else disjoint(next(numbers)) for phase in phases]


def own_parts(problem: Problem, phases: Sequence[Phase], features: FeatureDomain | None) -> tuple[str, ...]:
    """The parts of a plan that are the user's own, each by kind and name."""
    parts = list(_parts(problem, phases, features))
    own = own_among(map(type, parts))
    named = {
        f"{_kind_of(part)} {getattr(part, 'title', type(part).__name__)}"
        for part in parts
        if type(part) in own or getattr(part, "caveat", None)
    }
    lemmas = {phase.mechanism.lemma for phase in phases if phase.mechanism is not None}
    named |= {f"lemma {name}" for name in lemmas if lemma_named(name).is_own}
    if is_own(type(task_named(problem.task))):
        named.add(f"task {problem.task}")
    return tuple(sorted(named))


_KINDS: dict[type, str] = {
    Score: "score",
    Surrogate: "surrogate",
    ParameterDomain: "parameter domain",
    FeatureDomain: "feature domain",
    Phase: "phase",
    Mechanism: "mechanism",
    Problem: "problem",
}


def _kind_of(part: Any) -> str:
    return next((name for kind, name in _KINDS.items() if isinstance(part, kind)), "part")


def _parts(*things: Any) -> Iterator[Any]:
    """The parts among these, and those that they hold."""
    for thing in things:
        if isinstance(thing, tuple | list):
            yield from _parts(*thing)
        elif is_dataclass(thing) and not isinstance(thing, type):
            yield thing
            yield from _parts(*(getattr(thing, f.name) for f in fields(thing)))


def _need_registered_parts(problem: Problem, phases: Sequence[Phase], features: FeatureDomain | None) -> None:
    """Exact types: a subclass may do something else than what its parent's proof is about."""
    for part in _parts(problem, phases, features):
        if not is_part(type(part)) and not getattr(part, "caveat", None):
            raise PrivacyError(
                f"every {_kind_of(part)} of a plan must be the library's own or registered as the user's",
                f"a {type(part).__module__}.{type(part).__qualname__}, which is neither",
                "Decorate the class with entrenous.registry.part: certificates will then name it as your own.",
            )


def _need_disjoint_shares(phases: Sequence[Phase], n: int) -> None:
    shares = sorted(phase.records for phase in phases if phase.records is not None)
    inside = all(0 <= start < stop <= n for start, stop in shares)
    apart = all(before[1] <= after[0] for before, after in itertools.pairwise(shares))
    if not (inside and apart):
        raise PrivacyError(
            f"phases on shares of {n} records must not have a record in common",
            ", ".join(f"{start} to {stop}" for start, stop in shares),
            "Give every phase records of its own.",
        )


def _check_phase(
    number: int, phase: Phase, scope: str, problem: Problem, n: int, features: FeatureDomain | None
) -> float:
    mechanism = phase.mechanism
    where = f"phase {number} ({type(phase).__name__})"
    if mechanism is None:
        raise PrivacyError(
            f"{where} of a private plan reads rows, so it needs a mechanism that adds noise", "none", "Give it one."
        )
    for what, needed, stated in (
        ("as many releases as it makes", phase.releases, mechanism.count),
        ("the scope of its records", scope, mechanism.scope),
        ("the sample that it draws", phase.sampling(n), mechanism.secret_sample),
    ):
        if needed != stated:
            raise PrivacyError(f"the mechanism of {where} must state {what}: {needed}", str(stated), "Match the two.")
    if mechanism.lemma not in phase.lemmas:
        raise PrivacyError(
            f"the mechanism of {where} needs the bound of {' or '.join(phase.lemmas) or 'a lemma'}",
            mechanism.lemma,
            "Use the sensitivity function of that lemma.",
        )
    return _check_bound(where, phase, mechanism, problem, n, features)


def _check_bound(
    where: str, phase: Phase, mechanism: Mechanism, problem: Problem, n: int, features: FeatureDomain | None
) -> float:
    domain = None if features is None else features.public_numbers()
    numbers = {"n_features": problem.n_features, "domain": domain, **phase.numbers}
    records = n if phase.records is None else phase.records[1] - phase.records[0]
    sample = mechanism.secret_sample
    try:
        true = lemma_named(mechanism.lemma).recompute(problem, records if sample is None else sample.sample, numbers)
    except EntrenousError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise PrivacyError(
            f"{where} needs the numbers of {mechanism.lemma}", str(error), "State them in the phase."
        ) from error
    if true.value > mechanism.bound.value * (1.0 + _RELATIVE):
        raise PrivacyError(
            f"{where} moves by up to {true.value:.9g} ({mechanism.lemma})",
            f"a mechanism for {mechanism.bound.value:.9g}",
            "Calibrate the mechanism to the bound of the phase that runs.",
        )
    stated = mechanism.bound.l1
    true_l1 = true.l1 if true.l1 is not None else true.with_l1(problem.dimension).l1
    if stated is not None and true_l1 is not None and true_l1 > stated * (1.0 + _RELATIVE):
        raise PrivacyError(
            f"{where} moves by up to {true_l1:.9g} in l1 ({mechanism.lemma})",
            f"a mechanism for {stated:.9g}",
            "Calibrate the mechanism to the bound of the phase that runs.",
        )
    return true.error
