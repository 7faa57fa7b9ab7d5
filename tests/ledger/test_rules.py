"""The two filters: what they add, where it comes from, and an attack on adaptive choices."""

import math

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import log_ndtr, ndtr

import entrenous as en
from entrenous.ledger.rules import GaussianRule, RenyiRule, best_order, mu_of_pure, renyi_of_pure, rule_named
from entrenous.ledger.terms import Terms, terms_for
from entrenous.privacy.gaussian_dp import delta_of, mu_for
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.laplace import L2Laplace
from entrenous.privacy.mechanisms.mechanism import disjoint

EPSILONS = [1e-6, 0.1, 1.0, 3.0, 12.0, 60.0]


def gaussian(mu, **more):
    return Gaussian(Bound(1.0, "Lemma 7"), 1.0 / mu, **more)


def pure(epsilon, **more):
    return L2Laplace(Bound(1.0, "Lemma 7"), 1.0 / epsilon, **more)


def sampled_plan(**changes):
    ask = {"n": 1000, "n_features": 3, "epsilon": 1.0, "delta": 1e-6, "bounds": (0, 1), "max_iter": 100} | changes
    return en.plan("dpsgd-pointwise", task="pointwise-classification", **ask)


@pytest.mark.parametrize("epsilon", EPSILONS[:-2])
def test_a_pure_release_counts_as_the_gaussian_that_dominates_it_and_touches(epsilon):
    # The trade-off of randomised response is the worst of all pure ones: two lines that meet on the diagonal.
    mu, errors = mu_of_pure(epsilon), np.linspace(1e-9, 1 - 1e-9, 20_001)
    worst = np.maximum(0.0, np.maximum(1 - np.exp(epsilon) * errors, np.exp(-epsilon) * (1 - errors)))
    assert (worst >= stats.norm.cdf(stats.norm.ppf(1 - errors) - mu) - 1e-12).all()
    corner = 1.0 / (1.0 + math.exp(epsilon))
    assert stats.norm.cdf(stats.norm.ppf(1 - corner) - mu) == pytest.approx(corner, rel=1e-9)
    if epsilon > 0.01:
        assert (worst < stats.norm.cdf(stats.norm.ppf(1 - errors) - 0.99 * mu) - 1e-6).any()


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("order", [2, 8, 256])
def test_the_divergence_of_a_pure_release_is_that_of_randomised_response(epsilon, order):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        yes = mpmath.e**epsilon / (1 + mpmath.e**epsilon)
        exact = mpmath.log(yes**order * (1 - yes) ** (1 - order) + (1 - yes) ** order * yes ** (1 - order)) / (
            order - 1
        )
    priced = renyi_of_pure(epsilon, order)
    assert exact * (1 - 1e-13) <= priced <= exact * (1 + 1e-9) + 1e-13
    assert priced <= epsilon


def test_gaussian_costs_add_and_disjoint_phases_cost_the_dearest():
    rule = GaussianRule()
    assert rule.cost([gaussian(0.3), gaussian(0.4)]) == pytest.approx(0.25)
    assert rule.cost([gaussian(0.3, scope=disjoint(1)), gaussian(0.4, scope=disjoint(2))]) == pytest.approx(0.16)
    both = [gaussian(0.1), gaussian(0.3, scope=disjoint(1)), gaussian(0.4, scope=disjoint(2))]
    assert rule.cost(both) == pytest.approx(0.17)
    assert rule.cost([gaussian(0.3), pure(0.5), pure(0.5)]) == pytest.approx(0.09 + mu_of_pure(1.0) ** 2)
    assert RenyiRule(8).cost(both) == pytest.approx(4 * 0.17)


def test_noise_without_a_price_is_refused_and_not_free():
    class Unpriced(Gaussian):
        gdp = None

    for rule in (GaussianRule(), RenyiRule(8)):
        with pytest.raises(en.BudgetError, match="price"):
            rule.cost([gaussian(0.3), Unpriced(Bound(1.0, "Lemma 7"), 1.0)])
        with pytest.raises(en.BudgetError, match="finite cost"):
            rule.cost([])


def test_gdp_refuses_secret_samples_with_the_reason_and_rdp_takes_them():
    mechanisms = sampled_plan().mechanisms
    with pytest.raises(en.BudgetError, match="not that of a Gaussian") as caught:
        GaussianRule().cost(mechanisms)
    assert "rdp" in caught.value.way_out
    (release,) = mechanisms
    # The divergence of the whole, which the secret sample makes much smaller than without it.
    assert 0.0 < RenyiRule(4).cost(mechanisms) < 0.1 * 4 * release.gdp / 2


def test_the_divergence_of_sampled_releases_is_the_accountants_own():
    from dp_accounting import GaussianDpEvent, NeighboringRelation, SampledWithoutReplacementDpEvent
    from dp_accounting.rdp import RdpAccountant

    (release,) = sampled_plan().mechanisms
    sample = release.secret_sample
    for order in (2, 8, 16):
        rule, accountant = RenyiRule(order), RdpAccountant([order], NeighboringRelation.REPLACE_ONE)
        one = SampledWithoutReplacementDpEvent(
            sample.population, sample.sample, GaussianDpEvent(release.noise_multiplier)
        )
        accountant.compose(one, release.count)
        for delta in (1e-6, 1e-12):
            direct = accountant.get_epsilon(delta)
            assert direct <= rule.epsilon(rule.cost([release]), delta) <= direct + 1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-9)])
def test_limits_keep_their_epsilon(epsilon, delta):
    for rule in (GaussianRule(), RenyiRule(best_order(epsilon, delta)), RenyiRule(200)):
        limit = rule.limit(epsilon, delta)
        if limit > 0.0:
            assert rule.epsilon(limit, delta) <= epsilon * (1 + 1e-11)
            assert rule.epsilon(limit, delta) == pytest.approx(epsilon, rel=1e-9)
    best = RenyiRule(best_order(epsilon, delta))
    # What rdp loses against gdp where all fits are Gaussian.
    assert 0.75 < 2 * best.limit(epsilon, delta) / best.order / GaussianRule().limit(epsilon, delta) < 1.0


def adaptive_delta(epsilon, first, second):
    """Exact delta of two Gaussian releases, the second one's mu chosen by the outcome of the first."""
    x = np.linspace(-12, 12, 40_001) + first
    mu = np.maximum(second(x), 1e-12)
    # What is left of epsilon after the loss of the first; then the second's own curve, on both sides of 0.
    rest = epsilon - (first * x - first**2 / 2)
    curve = ndtr(-rest / mu + mu / 2) - np.exp(rest + log_ndtr(-rest / mu - mu / 2))
    return integrate.simpson(curve * stats.norm.pdf(x - first), x=x)


@pytest.mark.parametrize("choice", ["rest of it if lucky", "rest of it if unlucky", "graded"])
def test_releases_chosen_by_looking_stay_below_the_filters_promise(choice):
    total, first, epsilon = 0.8, 0.5, 1.0
    left = math.sqrt(total**2 - first**2)
    second = {
        "rest of it if lucky": lambda x: np.where(x > 0.3, left, 0.0),
        "rest of it if unlucky": lambda x: np.where(x > 0.3, 0.0, left),
        "graded": lambda x: left * ndtr(2 * x),
    }[choice]
    promised = delta_of(epsilon, total)
    assert adaptive_delta(epsilon, first, second) <= promised * (1 + 1e-9)
    # The quadrature is exact: a choice that does not look gives what composition says.
    assert adaptive_delta(epsilon, first, lambda x: left + 0 * x) == pytest.approx(promised, rel=1e-6)
    # And it sees a filter that forgets one release: the promise would be broken.
    assert adaptive_delta(epsilon, first, lambda x: total + 0 * x) > 1.5 * promised


def test_terms_refuse_what_no_rule_can_keep():
    for wrong in (
        {},
        {"epsilon": 1.0},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": math.inf, "delta": 1e-6},
        {"epsilon": -1.0, "delta": 1e-6},
        {"epsilon": "1", "delta": 1e-6},
        {"epsilon": 1.0, "delta": 1e-6, "mu": 1.0},
        {"mu": 0.0},
        {"mu": math.nan},
        {"mu": True},
        {"mu": 1.0, "rule": "rdp", "order": 4},
        {"epsilon": 0.01, "delta": 1e-9, "rule": "rdp", "order": 2},
        {"epsilon": 1.0, "delta": 1e-6, "rule": "rdp", "order": 2.5},
        {"epsilon": 1.0, "delta": 1e-6, "rule": "pld"},
        {"epsilon": 1.0, "delta": 1e-6, "membership": "random"},
        {"version_of": "whole", "epsilon": 1.0},
        {"version_of": "whole", "part_of": "whole"},
        {"part_of": "whole"},
        {"part_of": "whole", "membership": "ward"},
    ):
        with pytest.raises(en.InputError) as caught:
            terms_for("set", **wrong)
        assert all((caught.value.needs, caught.value.got, caught.value.way_out)), wrong
    for name in ("", "  ", "x" * 201, None):
        with pytest.raises(en.InputError, match="name"):
            Terms(name, rule="gdp", mu=1.0)
    with pytest.raises(en.InputError, match="gdp"):
        rule_named("gdp", 3)


def test_parts_by_a_value_are_refused_with_the_reason():
    with pytest.raises(en.PrivacyError, match="out of one part and puts one into another"):
        terms_for("ward 7", part_of="hospital", membership="value")


def test_numbers_of_numpy_are_stored_as_plain_ones():
    made = terms_for("set", epsilon=np.float64(1.0), delta=np.float32(1e-6))
    assert type(made.delta) is float
    assert made.limit == pytest.approx(mu_for(1.0, 1e-6) ** 2)
