"""Every private algorithm of the registry against an adversary who owns all records but one.

Plans are made from random public settings. Their own phases run without noise on tables that differ in one record, and
no two results may be farther apart than the sensitivity that the noise is scaled to. The reached shares show that the
attack has teeth: a sensitivity that is halved by mistake fails.
"""

import numpy as np
import pytest
from adversary import OPTIONS, SURROGATES, attack, family, mechanism_of, perturbed, plans, records_seen, releases

import entrenous as en
from entrenous.engine.phases.minimum import Minimise
from entrenous.problem.surrogates import spelling
from entrenous.problem.surrogates.envelope import MoreauEnvelope

pytestmark = pytest.mark.attack

PRIVATE = [record for record in en.algorithms() if set(record.privacy) != {"none"}]
PLANS, FAMILIES = 100, 5
LEAST_CASES = 2000
ROUNDING = 1e-9
REACHED = 0.9
"""Of the sensitivity, by the best case over at most eight records. Straight-line losses attain nearly all lemmas."""
REACHED_BY_TASK = 0.45
"""By the best case of each task. A metric starts at 0, where the cone stops half of the pushes."""

over_algorithms = pytest.mark.parametrize("record", PRIVATE, ids=lambda record: record.name)


def check_books(plan):
    """What the accountant counts is what the phases do."""
    mechanisms = [mechanism_of(phase)[1] for phase in plan.phases]
    assert tuple(mechanisms) == plan.mechanisms
    parts = []
    for phase, mechanism in zip(plan.phases, mechanisms, strict=True):
        assert mechanism.count == releases(phase)
        if mechanism.scope != "all":
            parts.append(range(*phase.records))
        if mechanism.secret_sample is not None:
            assert (mechanism.secret_sample.population, mechanism.secret_sample.sample) == (
                plan.n,
                records_seen(phase, plan.n),
            )
    seen = [record for part in parts for record in part]
    assert len(set(seen)) == len(seen), "phases that are priced as disjoint must not share a record"
    assert set(seen) <= set(range(plan.n))
    assert len({m.scope for m in mechanisms if m.scope != "all"}) == len(parts)


def check_run(plan, rng):
    """The plan runs on records, with its noise."""
    _, tables = family(rng, plan.problem, plan.n, 0)
    assert np.isfinite(plan.run(*tables[0], random_state=rng).w).all()


@over_algorithms
@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
def test_no_record_moves_a_release_farther_than_its_sensitivity(record):
    rng = np.random.default_rng(list(record.name.encode()))
    attacks = []
    for plan in plans(record, rng, PLANS):
        check_books(plan)
        check_run(plan, rng)
        for _ in range(FAMILIES):
            made = attack(plan, rng)
            assert made.reached <= 1.0 + ROUNDING, f"phase {made.phase} moves {made.reached} sensitivities: {plan!r}"
            attacks.append(made)
    assert sum(made.cases for made in attacks) >= LEAST_CASES
    assert max(made.reached for made in attacks if made.plan.n <= 8) >= REACHED
    for task in record.tasks:
        assert max(made.reached for made in attacks if made.plan.task == task) >= REACHED_BY_TASK, task
    attacked = [made.plan for made in attacks]
    assert {plan.calibration for plan in attacked} == set(record.calibrations)
    assert {"pure" if plan.budget.is_pure else "approximate" for plan in attacked} == set(record.privacy) - {"none"}


@over_algorithms
def test_the_adversary_knows_every_option(record):
    """A new option can change a sensitivity, so it must be among those that the adversary draws."""
    named = {"calibration", "index_seed", "features", "classes", "n_components", "asked_surrogate"}
    assert set(record.options) - named <= set(OPTIONS)


def test_the_adversary_knows_every_surrogate():
    asked = {spelling.surrogate_from(text).name for text in SURROGATES if text is not None}
    assert asked == {*spelling.SURROGATES, MoreauEnvelope.name}


def test_a_phase_that_the_adversary_does_not_know_fails():
    plan = en.plan("noisy-gd", n=4, n_features=1, epsilon=None)
    assert isinstance(plan.phases[0], Minimise)
    with pytest.raises(NotImplementedError, match="Minimise"):
        perturbed(plan.phases[0], plan.problem, None, None, None)
