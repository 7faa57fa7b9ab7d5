"""Printed noise, side conditions, steps and step sizes of Wang et al., and what the planners refuse."""

import math

import numpy as np
import pytest

import entrenous as en
from entrenous.planners.wang2024 import PAIRWISE, POINTWISE, printed_variance
from entrenous.privacy.budget import Budget
from entrenous.problem.surrogates.convex import Hinge

ASK = {"n": 10_000, "n_features": 5, "epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize(("name", "factor", "k"), [("dpsgd-pairwise", 56, 2), ("dpsgd-pointwise", 14, 1)])
def test_printed_noise_is_the_papers(name, factor, k):
    plan = en.plan(name, **ASK, calibration="paper")
    n, T, G, beta = 10_000, 10_000, plan.problem.lipschitz, plan.public["beta"]
    assert plan.steps == T
    variance = factor * G**2 * T / (beta * n**2 * 1.0) * (math.log(1e6) / (1 - beta) + 1)
    assert plan.mechanisms[0].sigma ** 2 == pytest.approx(variance, rel=1e-12)

    def holds(beta):
        lam = math.log(1e6) / (1 - beta) + 1
        ratio = factor * T / (beta * n**2) * lam
        inside = n / (k * lam * (1 + ratio / 4))
        return ratio >= 2.68 and lam - 1 <= ratio / 6 * math.log(inside), ratio

    assert holds(beta)[0]
    # The smallest one: nothing on a grid of our own is allowed and smaller by more than the grid's step.
    allowed = [ratio for ok, ratio in map(holds, np.geomspace(1e-7, 0.9999, 997)) if ok]
    assert min(allowed) >= variance / G**2 * (1 - 0.005)
    certificate = plan.certificate()
    certificate.verify()
    assert certificate.claimed_epsilon == 1.0
    # Valid, and more than the accountant asks for.
    assert certificate.epsilon < 1.0
    assert plan.mechanisms[0].sigma > en.plan(name, **ASK).mechanisms[0].sigma


@pytest.mark.parametrize("delta", [1 / 256**2, 1e-5])
@pytest.mark.parametrize(("name", "printed"), [("dpsgd-pairwise", PAIRWISE), ("dpsgd-pointwise", POINTWISE)])
def test_at_256_records_no_beta_exists(name, printed, delta):
    with pytest.raises(en.AssumptionError, match=r"beta.*none for n=256, T=256, epsilon=1.*tight"):
        en.plan(name, n=256, n_features=5, epsilon=1.0, delta=delta, calibration="paper")
    assert printed_variance(printed, 1.0, 256, 256, Budget(20.0, delta))[0] >= 2.68


def test_sensitivities():
    slope = 1 / (1 + math.exp(-2.0))
    assert en.plan("dpsgd-pairwise", **ASK).mechanisms[0].l2_sensitivity == pytest.approx(2 * slope)
    printed = en.plan("dpsgd-pairwise", **ASK, options={"form": "label-difference"})
    assert printed.mechanisms[0].l2_sensitivity == pytest.approx(4 / (1 + math.exp(-4.0)))
    slope = 1 / (1 + math.exp(-math.sqrt(2.0)))
    pointwise = en.plan("dpsgd-pointwise", **ASK, options={"batch": 20})
    assert pointwise.mechanisms[0].l2_sensitivity == pytest.approx(2 * slope * math.sqrt(2) / 20)
    regression = en.plan("dpsgd-pointwise", task="pointwise-regression", target_bounds=(0, 1), **ASK)
    assert regression.mechanisms[0].l2_sensitivity == pytest.approx(2 * 2 * (1 + math.sqrt(2)) * math.sqrt(2))
    assert regression.problem.dimension == 6


LOG = math.log(1e6)


@pytest.mark.parametrize(
    ("surrogate", "low_noise", "n", "step", "steps"),
    [
        # Theorem 6 (a) and (b).
        ("logistic", False, 10_000, lambda n, e: min(n**-0.5, e), 10_000),
        ("logistic", True, 10_000, lambda n, e: e, 10_000),
        # Theorem 7 (a): alpha = 0.5, 0.2 and 0.
        ("q-norm-hinge(q=1.5)", False, 10_000, lambda n, e: min(n**-0.5, e), 10_000),
        ("q-norm-hinge(q=1.2)", False, 400, lambda n, e: min(n ** (-2.4 / 2.4), e), math.ceil(400**1.5)),
        ("hinge", False, 200, lambda n, e: min(n**-1.5, e), 200**2),
        # Theorem 7 (b).
        ("q-norm-hinge(q=1.5)", True, 400, lambda n, e: min(n ** (-1.75 / 3), n * e / 400 ** (4 / 3)), 400 ** (4 / 3)),
        ("hinge", True, 200, lambda n, e: min(n**-1.5, e / n), 200**2),
    ],
)
def test_steps_and_step_sizes_are_the_theorems(surrogate, low_noise, n, step, steps):
    for name, dimension in (("dpsgd-pairwise", 5), ("dpsgd-pointwise", 6)):
        ask = {**ASK, "n": n, "surrogate": surrogate, "options": {"low_noise": low_noise}}
        plan = en.plan(name, **ask)
        assert plan.steps == math.ceil(steps)
        c = 1.0 / plan.problem.lipschitz
        wanted = c * step(n, 1.0 / math.sqrt(dimension * LOG))
        assert plan.phases[0].step_size == pytest.approx(wanted, rel=1e-3)


def test_steps_are_capped_where_smooth():
    ask = {**ASK, "surrogate": "smoothed-hinge(width=0.01)", "options": {"low_noise": True}}
    plan = en.plan("dpsgd-pairwise", **ask, radius=100.0)
    assert plan.phases[0].step_size == pytest.approx(2.0 / (100.0 * 4.0))
    # Without privacy the low-noise step of the smooth theorem is the cap itself.
    free = en.plan("dpsgd-pairwise", **ASK | {"epsilon": None, "delta": None}, options={"low_noise": True})
    assert free.phases[0].step_size == 1.0
    assert not free.mechanisms
    assert free.steps == 10_000


def test_work_is_counted():
    assert en.plan("dpsgd-pairwise", **ASK, max_iter=30).pair_gradients == 30
    assert en.plan("dpsgd-pairwise", **ASK, max_iter=30, options={"batch": 5}).pair_gradients == 300
    assert en.plan("dpsgd-pointwise", **ASK, max_iter=30, options={"batch": 5}).pair_gradients == 0


@pytest.mark.parametrize("name", ["dpsgd-pairwise", "dpsgd-pointwise"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"options": {"batch": 0}}, "batch must"),
        ({"options": {"batch": 10_001}}, "batch must"),
        ({"options": {"batch": 2.0}}, "batch must"),
        ({"options": {"batch": True}}, "batch must"),
        ({"options": {"low_noise": 1}}, "low_noise"),
        ({"options": {"beta": 0.5}}, "options must be among"),
        ({"delta": 0}, "delta > 0"),
        ({"max_iter": 0}, "max_iter"),
        ({"calibration": "paper", "options": {"batch": 5}}, "one record or pair"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason(name, wrong, message):
    with pytest.raises(en.EntrenousError, match=message) as caught:
        en.plan(name, **ASK | wrong)
    assert caught.value.way_out


def test_no_plan_asks_for_days():
    assert en.plan("dpsgd-pairwise", n=100_000, n_features=3, epsilon=None, surrogate="hinge").steps == 5_000_000
    assert en.plan("dpsgd-pairwise", n=1000, n_features=3, epsilon=None, surrogate="hinge").steps == 1_000_000


def test_tasks_and_surrogates_must_fit():
    with pytest.raises(en.AssumptionError, match="dpsgd-pointwise covers pointwise-classification"):
        en.plan("dpsgd-pointwise", task="auc", **ASK)
    with pytest.raises(en.AssumptionError, match="dpsgd-pairwise covers auc"):
        en.plan("dpsgd-pairwise", task="pointwise-regression", target_bounds=(0, 1), **ASK)
    with pytest.raises(en.AssumptionError, match="square or q-norm-loss"):
        en.plan("dpsgd-pointwise", task="pointwise-regression", target_bounds=(0, 1), surrogate="hinge", **ASK)
    with pytest.raises(en.InputError, match="batch must"):
        en.plan("dpsgd-pairwise", **ASK, options={"batch": 1})
    with pytest.raises(en.AssumptionError, match="covers"):
        en.AUCClassifier(algorithm="dpsgd-pointwise", bounds=(0, 1)).fit([[0.0], [1.0], [0.5]], [0, 1, 0])

    class Own(Hinge):
        name = "own"

    with pytest.raises(en.PrivacyError, match="library's own or registered"):
        en.plan("dpsgd-pairwise", **ASK, surrogate=Own())
