"""The Gaussian curve against an independent computation, and the figures that published noise really gives."""

import itertools
import math

import mpmath
import pytest

import entrenous
from entrenous.errors import PrivacyWarning
from entrenous.planners.xue2021 import dpgdc2
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import delta_of, epsilon_of, log_delta, mu_for
from entrenous.privacy.lemmas.gradients import all_pairs_gradient_sensitivity
from entrenous.problem.pair_scores import LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.convex import Hinge, Logistic

EPSILONS = [0.01, 0.1, 0.5, 1.0, 2.0, 8.0, 40.0, 300.0]
DELTAS = [1e-300, 1e-30, 1e-15, 1e-9, 1e-6, 1e-3, 0.1, 0.5]
over_budgets = pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))


def exact_delta(epsilon, mu):
    """The hockey-stick divergence of N(mu, 1) and N(0, 1), by the cdf to 60 digits."""
    with mpmath.workdps(60):
        epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


def integrated_delta(epsilon, mu):
    """The same from its definition: the integral of the positive part of p - e^eps q."""
    with mpmath.workdps(30):
        epsilon, mu = mpmath.mpf(epsilon), mpmath.mpf(mu)
        crossing = epsilon / mu + mu / 2
        density = mpmath.npdf
        return mpmath.quad(
            lambda t: density(t, mu, 1) - mpmath.exp(epsilon) * density(t, 0, 1),
            [crossing, crossing + 1, crossing + 5, crossing + 40],
        )


@pytest.mark.parametrize(("epsilon", "mu"), [(0.1, 0.3), (1.0, 0.27), (1.0, 3.0), (5.0, 0.8), (0.0, 1.0), (20.0, 4.0)])
def test_the_curve_is_the_divergence(epsilon, mu):
    assert float(exact_delta(epsilon, mu)) == pytest.approx(float(integrated_delta(epsilon, mu)), rel=1e-12)
    assert delta_of(epsilon, mu) == pytest.approx(float(integrated_delta(epsilon, mu)), rel=1e-12)


@pytest.mark.parametrize("mu", [0.01, 0.1, 0.3, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("multiple", [0.0, 0.3, 1.0, 10.0, 100.0])
def test_log_delta_to_high_precision(multiple, mu):
    epsilon = multiple * mu
    with mpmath.workdps(60):
        true = float(mpmath.log(exact_delta(epsilon, mu)))
    assert log_delta(epsilon, mu) == pytest.approx(true, rel=1e-10, abs=1e-10)
    assert delta_of(epsilon, mu) == math.exp(log_delta(epsilon, mu))


@over_budgets
def test_calibration_is_tight_and_on_the_safe_side(epsilon, delta):
    mu = mu_for(epsilon, delta)
    assert exact_delta(epsilon, mu) <= mpmath.mpf(delta)
    assert exact_delta(epsilon, mu * (1.0 + 1e-9)) > mpmath.mpf(delta)


@over_budgets
def test_price_is_tight_and_on_the_safe_side(epsilon, delta):
    mu = mu_for(epsilon, delta)
    priced = epsilon_of(mu, delta)
    assert exact_delta(priced, mu) <= mpmath.mpf(delta)
    assert exact_delta(priced * (1.0 - 1e-9), mu) > mpmath.mpf(delta)
    # The two are inverse up to the two small steps to the safe side, which can only raise the price's rounding.
    assert priced == pytest.approx(epsilon, rel=1e-8)


@over_budgets
def test_the_inverse_of_the_inverse(epsilon, delta):
    mu = mu_for(epsilon, delta)
    assert mu_for(epsilon_of(mu, delta), delta) == pytest.approx(mu, rel=1e-9)


def test_the_curve_is_monotone():
    for epsilon, mu in itertools.product((0.1, 1.0, 5.0), (0.1, 0.5, 2.0)):
        assert log_delta(epsilon, mu) < log_delta(epsilon, mu * 1.01)
        assert log_delta(epsilon, mu) > log_delta(epsilon * 1.01, mu)
    assert epsilon_of(1.0, 1e-5) < epsilon_of(1.01, 1e-5)
    assert epsilon_of(1.0, 1e-5) > epsilon_of(1.0, 2e-5)


def test_edges():
    assert log_delta(1.0, 0.0) == -math.inf
    assert delta_of(1.0, 0.0) == 0.0
    assert epsilon_of(0.0, 1e-5) == 0.0
    assert epsilon_of(1.0, 0.0) == math.inf
    # A mu so small that even epsilon = 0 meets delta: the total variation distance is below it.
    assert epsilon_of(1e-7, 1e-5) == 0.0
    assert epsilon_of(1e-3, 1e-5) > 0.0


def test_one_gaussian_at_one_and_1e_minus_5():
    assert 1.0 / mu_for(1.0, 1e-5) == pytest.approx(3.7306, abs=5e-5)
    # The classical formula costs more here.
    assert math.sqrt(2.0 * math.log(1.25 / 1e-5)) > 1.25 * 3.7306


# --- what printed noise really gives ----------------------------------------------------------------------------------

N = 1000


def dpgdc2_sigma(lipschitz, steps, epsilon, delta):
    return 4.0 * lipschitz * math.sqrt(1.25 * steps * math.log(1.0 / delta)) / (N * epsilon)


def kang_sigma(lipschitz, steps, epsilon, delta):
    return 8.0 * lipschitz * math.sqrt(steps * math.log(1.0 / delta)) / (N * epsilon)


GENERIC = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 3)
INDICATOR = Problem(LinearDifference(), Logistic(), L2Ball(1.0), 3)
LABEL_DIFFERENCE = INDICATOR.in_form("label-difference")
FIGURES = [
    (GENERIC, 4.0, dpgdc2_sigma, 2.0, 2.115),
    (GENERIC, 4.0, dpgdc2_sigma, 4.0, 4.655),
    (GENERIC, 4.0, kang_sigma, 1.0, 0.520),
    (INDICATOR, 1.0, dpgdc2_sigma, 2.0, 0.460),
    (INDICATOR, 1.0, dpgdc2_sigma, 4.0, 0.982),
    (INDICATOR, 1.0, kang_sigma, 1.0, 0.115),
    (LABEL_DIFFERENCE, 2.0, dpgdc2_sigma, 2.0, 0.982),
    (LABEL_DIFFERENCE, 2.0, kang_sigma, 1.0, 0.244),
]


@pytest.mark.parametrize("steps", [1, 50, 1000])
@pytest.mark.parametrize(("problem", "multiple", "sigma", "claimed", "true"), FIGURES)
def test_what_printed_noise_really_gives(problem, multiple, sigma, claimed, true, steps):
    sensitivity = all_pairs_gradient_sensitivity(problem, N).value
    assert sensitivity == pytest.approx(multiple * problem.lipschitz / N, rel=1e-12)
    mu = math.sqrt(steps) * sensitivity / sigma(problem.lipschitz, steps, claimed, 1e-5)
    assert epsilon_of(mu, 1e-5) == pytest.approx(true, abs=5.1e-4)


@pytest.mark.parametrize(
    ("form", "epsilon", "true"),
    [("indicator", 2.0, 0.460), ("indicator", 4.0, 0.982), ("label-difference", 2.0, 0.982), (None, 2.0, 0.982)],
)
@pytest.mark.parametrize("surrogate", ["logistic", "hinge"])
@pytest.mark.parametrize("max_iter", [None, 7])
def test_dpgdc2_certificates_state_the_true_figure(form, epsilon, true, surrogate, max_iter):
    plan = entrenous.plan(
        "dpgdc2",
        n=N,
        n_features=4,
        epsilon=epsilon,
        delta=1e-5,
        surrogate=surrogate,
        calibration="paper",
        max_iter=max_iter,
        options=None if form is None else {"form": form},
    )
    certificate = plan.certificate()
    assert certificate.epsilon == pytest.approx(true, abs=5.1e-4)
    assert certificate.claimed_epsilon == epsilon
    # The form belongs to the paper, so it is what paper calibration runs unless told otherwise.
    assert certificate.problem["form"] == (form or "label-difference")
    assert certificate.verify().epsilon == pytest.approx(certificate.epsilon, rel=1e-12)
    assert plan.mechanisms[0].sigma == pytest.approx(dpgdc2_sigma(plan.problem.lipschitz, plan.steps, epsilon, 1e-5))


@pytest.mark.parametrize(("epsilon", "true"), [(2.0, 2.115), (4.0, 4.655)])
def test_printed_noise_that_breaks_its_claim_is_warned_of(epsilon, true):
    made = dpgdc2(GENERIC, Budget(epsilon, 1e-5), N, calibration="paper")
    with pytest.warns(PrivacyWarning, match=f"really spends epsilon={true:.3f}"):
        plan = made.checked()
    certificate = plan.certificate()
    assert certificate.epsilon == pytest.approx(true, abs=5.1e-4)
    assert certificate.claimed_epsilon == epsilon
    assert len(certificate.warnings) == 1
    assert "more than" in certificate.warnings[0]
    certificate.verify()


def test_printed_noise_that_keeps_its_claim_is_not_warned_of():
    # Warnings are errors here, so silence is checked by passing.
    plan = dpgdc2(GENERIC, Budget(1.0, 1e-5), N, calibration="paper").checked()
    assert plan.warnings == ()
    assert 0.9 < plan.certificate().epsilon < 1.0


@pytest.mark.parametrize(("delta", "crossing"), [(1e-5, 1.20), (1e-6, 0.79), (1 / 256, 2.48)])
def test_where_the_printed_noise_stops_holding(delta, crossing):
    def true(epsilon):
        return epsilon_of(4.0 / (N * dpgdc2_sigma(1.0, 1, epsilon, delta)), delta)

    assert true(crossing - 0.02) < crossing - 0.02
    assert true(crossing + 0.02) > crossing + 0.02
