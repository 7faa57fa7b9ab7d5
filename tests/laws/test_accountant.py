"""Every private algorithm of the registry against dp-accounting's own composition, on a grid of budgets."""

import itertools
from functools import lru_cache

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant

import entrenous as en
from entrenous.privacy.accounting import TOLERANCE, second_opinion
from entrenous.problem.tasks.task import task_named

pytestmark = pytest.mark.attack

PRIVATE = [record for record in en.algorithms() if set(record.privacy) != {"none"}]
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
DELTAS = (1e-10, 1e-6, 1e-3, 0.0)
GRID = 1e-3
"""What a privacy loss distribution may add when it rounds losses up to its grid."""
ORDERS = (2, 3, 4, 5, 6, 7, 9, 11, 14, 18, 23, 29, 37, 47, 60, 76, 97, 150, 230, 360, 550)
"""Renyi orders for samples, not those of the planner: another valid bound, so near and not equal."""
NEAR, NEAR_SAMPLED = 1e-4, 0.15
RELATIONS = dp_accounting.NeighboringRelation


def recomputed(mechanisms, delta):
    """Epsilon as dp-accounting composes the releases of each disjoint phase; the dearest phase counts."""
    scopes = {m.scope for m in mechanisms}
    assert "all" not in scopes or scopes == {"all"}
    return max(composed(tuple(stated(m) for m in mechanisms if m.scope == scope), delta) for scope in scopes)


def stated(mechanism):
    """Kind, noise per unit of sensitivity, count and sampling; twelve digits, so that equal prices are asked once."""
    sensitivity = mechanism.l1_sensitivity or mechanism.l2_sensitivity
    noise = mechanism.noise_size
    return mechanism.gdp is not None, float(f"{noise / sensitivity:.12g}"), mechanism.count, mechanism.secret_sample


@lru_cache
def composed(releases, delta):
    # Our sensitivities are those of a replacement already, which REPLACE_ONE would double in loss distributions.
    plain = PLDAccountant(RELATIONS.ADD_OR_REMOVE_ONE, value_discretization_interval=GRID)
    sampled = RdpAccountant(ORDERS, RELATIONS.REPLACE_ONE)
    for normal, multiplier, count, sampling in releases:
        # A pure mechanism is at worst a Laplace of its epsilon.
        event = (dp_accounting.GaussianDpEvent if normal else dp_accounting.LaplaceDpEvent)(multiplier)
        plain.compose(event, count)
        if sampling is not None:
            event = dp_accounting.SampledWithoutReplacementDpEvent(sampling.population, sampling.sample, event)
        if normal:
            sampled.compose(event, count)
    # A loss distribution cuts tails, so it has no pure epsilon; at a delta so small it is the same.
    spent = plain.get_epsilon(delta or 1e-12)
    return spent if all(sampling is None for *_, sampling in releases) else min(spent, sampled.get_epsilon(delta))


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_the_accountant_agrees_with_every_plan(epsilon, delta):
    for record in PRIVATE:
        if (delta == 0.0 and "pure" not in record.privacy) or (delta > 0.0 and "approximate" not in record.privacy):
            continue
        # Two records a step in both sampled algorithms: their noise takes a second to find, and is found once.
        options = {"batch": 2} if record.name == "dpsgd-pointwise" else {}
        ask = {"n": 100, "n_features": 3, "ridge": 0.1, "index_seed": 1}
        if task_named(record.tasks[0]).has_targets:
            ask["target_bounds"] = (0.0, 1.0)
        plan = en.plan(record.name, epsilon=epsilon, delta=delta, options=options, **ask)
        assert plan.epsilon == pytest.approx(epsilon, rel=TOLERANCE), record.name
        rounding = GRID if delta == 0.0 else 0.0
        opinion = second_opinion(plan.mechanisms, delta)
        # Every release is rounded to a grid of its own before they are added up, and there are up to 200 of them.
        several = 10.0 if len({m.noise_multiplier for m in plan.mechanisms}) > 1 else 1.0
        assert opinion == pytest.approx(epsilon, rel=several * TOLERANCE, abs=rounding), record.name
        nearness = NEAR_SAMPLED if any(m.secret_sample for m in plan.mechanisms) else NEAR
        assert recomputed(plan.mechanisms, delta) == pytest.approx(epsilon, rel=several * nearness), record.name
