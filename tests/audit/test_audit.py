"""Every private algorithm under attack: the claim holds, and with a third of the noise it would not."""

import numpy as np
import pytest
from scipy import stats

import entrenous as en
from audit.bounds import CONFIDENCE, Statistic, best_event, largest_probability, least_epsilon, least_probability
from audit.scenarios import DELTA, SCENARIOS
from entrenous.privacy.gaussian_dp import epsilon_of

pytestmark = pytest.mark.attack


def test_every_private_algorithm_is_audited_in_every_kind():
    offered = {(a.name, kind == "pure") for a in en.algorithms() for kind in a.privacy if kind != "none"}
    assert {(s.algorithm, s.pure) for s in SCENARIOS} == offered
    assert len({str(s) for s in SCENARIOS}) == len(SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_the_claim_holds_and_a_third_of_the_noise_is_found_out(scenario):
    # First, before anything is drawn: is the pair of data sets bad enough, and are the draws enough to tell?
    attack = scenario.attack
    # An average shows later steps less than the accountant assumes; everything else reaches its bound.
    assert 0.7 < attack.attained < 1.0 + 1e-9
    assert all(event.expected <= scenario.epsilon for event in attack.events(10**9))
    assert max(event.pessimistic for event in attack.events(scenario.draws, scenario.divisor)) > scenario.epsilon
    finding = scenario.audit()
    assert finding.claim == scenario.epsilon
    assert finding.least_epsilon <= finding.claim < finding.thin_least_epsilon


# --- the auditor audited ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "draws"), [(0, 50), (1, 50), (20, 50), (50, 50)])
def test_probability_bounds_are_clopper_and_pearsons(hits, draws):
    # Two of these four sides make one interval.
    level = 1.0 - (1.0 - CONFIDENCE) / 2.0
    interval = stats.binomtest(hits, draws).proportion_ci(level, "exact")
    assert least_probability(hits, draws) == pytest.approx(interval.low, rel=1e-9)
    assert largest_probability(hits, draws) == pytest.approx(interval.high, rel=1e-9)


def test_nothing_follows_from_equal_counts_or_from_less_than_delta():
    assert least_epsilon(30, 30, 100, 0.0) == 0.0
    assert least_epsilon(10, 0, 1000, DELTA) == 0.0
    assert least_epsilon(900, 10, 1000, DELTA) > 2.0


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_with_many_draws_the_expected_bound_is_the_exact_epsilon(mu):
    one, other = (Statistic(np.array([centre]), np.ones(1), stats.norm()) for centre in (mu, 0.0))
    event = best_event(one, other, 10**12, DELTA)
    assert event.expected == pytest.approx(epsilon_of(mu, DELTA), rel=1e-3)
    assert event.pessimistic < event.expected
    pure = [Statistic(np.array([centre]), np.ones(1), stats.laplace()) for centre in (mu, 0.0)]
    assert best_event(*pure, 10**12, 0.0).expected == pytest.approx(mu, rel=1e-3)


def test_counts_of_real_draws_give_about_the_expected_bound():
    rng = np.random.default_rng(5)
    one, other = (Statistic(np.array([centre]), np.ones(1), stats.norm()) for centre in (2.0, 0.0))
    event = best_event(one, other, 20_000, DELTA)
    seen = event.least_epsilon(rng.normal(2.0, size=20_000), rng.normal(size=20_000), DELTA)
    assert seen == pytest.approx(event.expected, abs=0.3)
    assert seen < epsilon_of(2.0, DELTA)


def test_both_directions_are_attacked():
    # Seen only by what it lacks: an eighth of the first data set's releases are elsewhere, none of the second's.
    rare = Statistic(np.array([0.0, 50.0]), np.array([0.875, 0.125]), stats.norm())
    never = Statistic(np.array([0.0]), np.ones(1), stats.norm())
    assert best_event(rare, never, 10**4, DELTA).expected > 3.0
    assert best_event(never.mirrored(), rare.mirrored(), 10**4, DELTA).expected < 0.2
