"""Prices of mechanism lists: our closed forms, dp-accounting's opinion, and a third computation for mixed kinds."""

import math
from dataclasses import replace

import dp_accounting
import pytest
from dp_accounting.pld import PLDAccountant
from oracles import stated_mechanism
from scipy.optimize import brentq

import entrenous
from entrenous.errors import PrivacyError
from entrenous.privacy.accounting import TOLERANCE, accountant_version, confirm, second_opinion, total_epsilon
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import delta_of, epsilon_of, mu_for
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.calibration import calibrated

GRID = 1e-3
"""What a privacy loss distribution may add when it rounds a loss up to its grid."""


def gaussian(multiplier, count=1, scope="all", sensitivity=0.01):
    return stated_mechanism(
        "gaussian", sensitivity, "Lemma 2", sigma=multiplier * sensitivity, count=count, scope=scope
    )


def l2_laplace(epsilon, count=1, scope="all", sensitivity=0.01):
    return stated_mechanism("l2-laplace", sensitivity, "Lemma 3", scale=sensitivity / epsilon, count=count, scope=scope)


def laplace(epsilon, count=1, scope="all"):
    return stated_mechanism(
        "laplace", 0.01, "Lemma 3", scale=0.03 / epsilon, l1_sensitivity=0.03, count=count, scope=scope
    )


@pytest.mark.parametrize("count", [1, 7, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_gaussians_agree_with_dp_accounting(epsilon, count):
    mechanisms = [gaussian(math.sqrt(count) / mu_for(epsilon, 1e-5), count)]
    assert total_epsilon(mechanisms, 1e-5) == epsilon_of(math.sqrt(mechanisms[0].gdp), 1e-5)
    assert total_epsilon(mechanisms, 1e-5) == pytest.approx(epsilon, rel=1e-9)
    assert second_opinion(mechanisms, 1e-5) == pytest.approx(epsilon, rel=TOLERANCE)


@pytest.mark.parametrize("epsilon", [0.02, 0.5, 3.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-12, 1e-9, 1e-3, 1e-2])
def test_the_second_opinion_keeps_its_tolerance_at_every_delta(epsilon, delta):
    # 1/n**2 is 1e-12 for a million records: a truncated tail of 1e-15 would already be seen.
    mechanisms = [gaussian(1.0 / mu_for(epsilon, delta))]
    assert second_opinion(mechanisms, delta) == pytest.approx(epsilon, rel=TOLERANCE)
    confirm(epsilon, mechanisms, delta)


@pytest.mark.parametrize("n", [1_000, 1_000_000, 100_000_000])
@pytest.mark.parametrize("epsilon", [0.02, 1.0])
def test_a_plan_of_any_size_is_confirmed(n, epsilon):
    plan = entrenous.plan("moments", n=n, n_features=5, epsilon=epsilon)
    assert plan.budget.delta == 1.0 / n**2
    assert plan.epsilon == pytest.approx(epsilon, rel=1e-9)


def test_gaussians_of_different_ratios_compose():
    mechanisms = [gaussian(4.0, 3), gaussian(10.0, 20, sensitivity=5.0), gaussian(2.5)]
    mu = math.sqrt(3 / 16 + 20 / 100 + 1 / 6.25)
    assert total_epsilon(mechanisms, 1e-6) == pytest.approx(epsilon_of(mu, 1e-6), rel=1e-12)
    assert second_opinion(mechanisms, 1e-6) == pytest.approx(epsilon_of(mu, 1e-6), rel=1e-6)


def test_composition_agrees_with_dp_accountings_own():
    """Our mechanisms are merged before dp-accounting sees them; here it composes them itself."""
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    mechanisms = [gaussian(4.0, 3), gaussian(10.0, 20), gaussian(2.5)]
    for mechanism in mechanisms:
        accountant.compose(dp_accounting.GaussianDpEvent(mechanism.noise_multiplier), mechanism.count)
    assert total_epsilon(mechanisms, 1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-6)


@pytest.mark.parametrize("make", [l2_laplace, laplace])
@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 1), (1.0, 1), (3.0, 1), (0.25, 4), (0.05, 20)])
def test_pure_mechanisms_add_up(make, epsilon, count):
    mechanisms = [make(epsilon, count)]
    total = total_epsilon(mechanisms, 0.0)
    assert total == pytest.approx(count * epsilon, rel=1e-12)
    assert total - 1e-9 <= second_opinion(mechanisms, 0.0) <= total + GRID
    # With a delta to spend, the opinion on a composition is lower, never higher.
    assert second_opinion(mechanisms, 1e-6) <= total + GRID


def mixed_epsilon(mu, pure, delta):
    """A Gaussian after the two-point loss that dominates every pure mechanism, from the definition."""
    share = math.exp(pure) / (1.0 + math.exp(pure))

    def excess(epsilon):
        return share * delta_of(epsilon - pure, mu) + (1.0 - share) * delta_of(epsilon + pure, mu) - delta

    return brentq(excess, 1e-9, 200.0, xtol=1e-12)


@pytest.mark.parametrize("delta", [1e-8, 1e-3])
@pytest.mark.parametrize(("mu", "pure"), [(0.3, 0.5), (1.0, 1.0), (0.2, 2.0), (2.0, 0.1)])
@pytest.mark.parametrize("make", [l2_laplace, laplace])
def test_mixed_kinds_by_three_accounts(mu, pure, delta, make):
    mechanisms = [gaussian(2.0 / mu, 4), make(pure)]
    ours = total_epsilon(mechanisms, delta)
    exact = mixed_epsilon(mu, pure, delta)
    assert exact - 1e-9 <= ours <= exact + 2.0 * GRID
    assert ours < epsilon_of(mu, delta) + pure
    assert ours > max(epsilon_of(mu, delta), pure - 1e-6)


def test_disjoint_phases_cost_the_dearest():
    phases = [gaussian(4.0, scope="disjoint phase 1"), gaussian(2.0, scope="disjoint phase 2")]
    assert total_epsilon(phases, 1e-5) == pytest.approx(epsilon_of(0.5, 1e-5), rel=1e-12)
    assert second_opinion(phases, 1e-5) == pytest.approx(epsilon_of(0.5, 1e-5), rel=1e-6)
    # What touches every record is paid on top of the dearest phase.
    mechanisms = [*phases, gaussian(3.0)]
    expected = epsilon_of(math.sqrt(1 / 4 + 1 / 9), 1e-5)
    assert total_epsilon(mechanisms, 1e-5) == pytest.approx(expected, rel=1e-12)
    assert second_opinion(mechanisms, 1e-5) == pytest.approx(expected, rel=1e-6)
    # Two releases in one phase add up.
    within = [gaussian(4.0, scope="disjoint phase 1"), gaussian(4.0, scope="disjoint phase 1")]
    assert total_epsilon(within, 1e-5) == pytest.approx(epsilon_of(math.sqrt(2 / 16), 1e-5), rel=1e-12)


def test_disjoint_pure_phases_cost_the_dearest():
    phases = [l2_laplace(0.5, scope="disjoint phase 1"), laplace(0.8, scope="disjoint phase 2"), l2_laplace(0.1)]
    assert total_epsilon(phases, 0.0) == pytest.approx(0.9, rel=1e-12)
    assert second_opinion(phases, 0.0) == pytest.approx(0.9, abs=GRID)


def test_disjoint_phases_of_mixed_kinds():
    phases = [gaussian(2.0, scope="disjoint phase 1"), l2_laplace(0.3, scope="disjoint phase 2")]
    assert total_epsilon(phases, 1e-5) == pytest.approx(epsilon_of(0.5, 1e-5), abs=2.0 * GRID)


def test_nothing_released_costs_nothing():
    assert total_epsilon([], 1e-5) == 0.0
    assert second_opinion([], 1e-5) == 0.0


def test_no_pure_privacy_from_a_gaussian():
    assert total_epsilon([gaussian(4.0)], 0.0) == math.inf
    assert total_epsilon([gaussian(4.0), l2_laplace(1.0)], 0.0) == math.inf


def test_replace_one_in_dp_accounting_doubles_the_sensitivity():
    """Why our sensitivities, which are replace-one already, enter under ADD_OR_REMOVE_ONE."""

    def opinion(relation, multiplier):
        accountant = PLDAccountant(relation).compose(dp_accounting.GaussianDpEvent(multiplier))
        return accountant.get_epsilon(1e-5)

    relations = dp_accounting.NeighboringRelation
    one = 1.0 / 0.26805
    assert opinion(relations.ADD_OR_REMOVE_ONE, one) == pytest.approx(1.0, abs=1e-3)
    assert opinion(relations.REPLACE_ONE, one) == pytest.approx(2.155, abs=2e-3)
    assert opinion(relations.REPLACE_ONE, one) == pytest.approx(opinion(relations.ADD_OR_REMOVE_ONE, one / 2), rel=1e-9)
    assert second_opinion([gaussian(one)], 1e-5) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("budget", [Budget(0.1, 1e-6), Budget(1.0, 1e-5), Budget(8.0, 1e-9), Budget(1.0, 0.0)])
@pytest.mark.parametrize("count", [1, 30])
def test_confirm_takes_what_is_calibrated_and_refuses_one_per_cent_less_noise(budget, count):
    mechanism = calibrated(budget, Bound(0.02, "Lemma 2"), count=count)
    confirm(budget.epsilon, [mechanism], budget.delta)
    noise = "scale" if budget.is_pure else "sigma"
    fields = {**mechanism.to_dict(), noise: 0.99 * getattr(mechanism, noise)}
    with pytest.raises(PrivacyError, match="accountant must confirm"):
        confirm(budget.epsilon, [stated_mechanism(**fields)], budget.delta)


def test_confirm_refuses_a_second_release():
    mechanism = calibrated(Budget(1.0, 1e-5), Bound(0.02, "Lemma 2"))
    with pytest.raises(PrivacyError, match="accountant must confirm"):
        confirm(1.0, [mechanism, mechanism], 1e-5)


def test_the_version_is_that_of_dp_accounting():
    from importlib.metadata import version

    assert accountant_version() == version("dp-accounting")


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("delta", [0.25, 1e-4, 1e-12])
def test_a_tiny_epsilon_is_priced_in_little_memory(epsilon, delta):
    """A grid that follows epsilon would have billions of points where the noise is set by delta."""
    mechanism = calibrated(Budget(epsilon, delta), Bound(1.0, "Lemma 2"))
    confirm(epsilon, [mechanism], delta)
    # The whole promise off by a part in a hundred of mu is still noticed.
    with pytest.raises(PrivacyError):
        confirm(epsilon, [replace(mechanism, sigma=mechanism.sigma * 0.98)], delta)
