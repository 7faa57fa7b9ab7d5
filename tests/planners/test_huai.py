"""Huai et al. 2020: the printed noise, the warm-up that eats all records, and the private versions that work."""

import math

import numpy as np
import pytest

import entrenous as en
from entrenous.engine.phases.streaming import public_points

ASK = {"n": 300, "n_features": 4, "epsilon": 1.0, "delta": 1e-5}
BALL = en.FeatureBall(2.0)


def records(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("name", ["offpairstrc", "offpairc", "onpairstrc", "onpairc"])
def test_taken_literally_no_record_is_used(name):
    """The published ridge 1e-3: T1 is millions, and the certificate says that nothing was spent."""
    with pytest.warns(en.PrivacyWarning, match="no record is used"):
        plan = en.plan(name, **ASK, ridge=1e-3, calibration="paper", bounds=BALL)
    assert plan.steps == 0
    assert plan.certificate().epsilon == 0.0
    assert any("no record is used" in warning for warning in plan.certificate().warnings)
    plan.certificate().verify()
    X, y = records()
    with pytest.warns(en.PrivacyWarning):
        first, second = (plan.run(rows, y, random_state=0).w for rows in (X, -X))
    np.testing.assert_array_equal(first, second)


def test_the_printed_warmup():
    with pytest.warns(en.PrivacyWarning, match="T1 = "):
        plan = en.plan("offpairstrc", **ASK, ridge=0.5, calibration="paper")
    L = 4.0 + 0.5  # phi(2t) on rows of norm 1, and the ridge
    assert f"T1 = {math.ceil(16 * (L / 0.5) ** 2)} " in plan.warnings[0]
    capped = en.plan("offpairstrc", **ASK, ridge=0.5, calibration="paper", options={"warmup": 7})
    assert capped.steps == 293


def test_offline_noise_to_the_letter():
    plan = en.plan("offpairstrc", **ASK, ridge=0.5, calibration="paper", options={"warmup": 7})
    G = 4 / (1 + math.exp(-4))
    sigma2 = 128 * G**2 * math.log(300) ** 2 * math.log(1.25e5) / (0.5**2 * 300**2)
    assert plan.mechanisms[0].sigma ** 2 == pytest.approx(sigma2)
    pure = en.plan("offpairstrc", **ASK | {"delta": 0}, ridge=0.5, calibration="paper", options={"warmup": 7})
    assert pure.mechanisms[0].scale == pytest.approx(8 * 2 * G * math.log(300) / (0.5 * 300))
    convex = en.plan("offpairc", **ASK, calibration="paper", options={"warmup": 7})
    alpha = 300**-0.5
    sigma = 8 * (G + alpha) * math.log(300) / (alpha * 300) * math.sqrt(2 * math.log(1.25e5))
    assert convex.mechanisms[0].sigma == pytest.approx(sigma)


def test_online_noise_to_the_letter():
    plan = en.plan("onpairstrc", **ASK, ridge=0.5, calibration="paper", options={"warmup": 7})
    G = 4 / (1 + math.exp(-4))
    rho = (math.sqrt(math.log(1e5) + 1) - math.sqrt(math.log(1e5))) ** 2
    assert rho + 2 * math.sqrt(rho * math.log(1e5)) == pytest.approx(1.0)
    # sigma_t = sigma / t
    assert plan.mechanisms[0].sigma == pytest.approx(math.sqrt(32 * G**2 * 293 / (0.5**2 * rho)))
    assert plan.noise_per_coefficient == pytest.approx(plan.mechanisms[0].sigma / 300)


@pytest.mark.parametrize("name", ["offpairstrc", "onpairstrc"])
def test_the_box_step_by_step(name):
    """Warm-up points, then one step per record against the mean over all before it, as printed."""
    X, y = records(40)
    plan = en.plan(name, n=40, n_features=4, epsilon=None, ridge=0.5, bounds=BALL, options={"warmup": 9})
    fitted = plan.run(X, y).w
    U = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 2.0)
    w = [None, *public_points(plan.problem, plan.index_seed, 1, 9)]
    for t in range(10, 41):
        gradient = np.zeros(4)
        for i in range(1, t):
            if y[t - 1] != y[i - 1]:
                gap = (U[t - 1] - U[i - 1]) * (1 if y[t - 1] else -1)
                gradient -= gap / (1 + math.exp(gap @ w[-1])) / (t - 1)
        eta = (t - 1) / (t - 2) * 2 / (0.5 * t)
        step = w[-1] - eta * (gradient + 0.5 * w[-1])
        w.append(step / max(1.0, np.linalg.norm(step)))
    expected = np.mean(w[1:], axis=0) if name == "offpairstrc" else w[-1]
    np.testing.assert_allclose(fitted, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["offpairstrc", "offpairc", "onpairstrc", "onpairc"])
@pytest.mark.parametrize("n", [2, 3, 9, 120])
def test_tight_plans_run_and_verify_for_any_n(name, n):
    X, y = records(n)
    plan = en.plan(name, n=n, n_features=4, epsilon=1.0, ridge=0.2, bounds=BALL)
    fitted = plan.run(X, y)
    fitted.certificate.verify()
    assert fitted.certificate.epsilon == 1.0


def test_pure_privacy_offline():
    for name in ("offpairstrc", "offpairc"):
        assert en.plan(name, **ASK | {"delta": 0}, ridge=0.1).mechanisms[0].kind == "l2-laplace"
    with pytest.raises(en.AssumptionError, match="offpair"):
        en.plan("onpairstrc", **ASK | {"delta": 0}, ridge=0.1)


def test_needs():
    with pytest.raises(en.AssumptionError, match="offpairc"):
        en.plan("offpairstrc", **ASK)
    with pytest.raises(en.AssumptionError, match="smooth"):
        en.plan("offpairc", **ASK, surrogate="hinge")
    with pytest.raises(en.InputError, match="warmup"):
        en.plan("offpairc", **ASK, options={"warmup": 0})


def test_the_private_model_ranks():
    X, y = records(2000)
    with pytest.warns(en.PrivacyWarning):
        clf = en.AUCClassifier(1.0, algorithm="offpairstrc", ridge=0.1, bounds=BALL, random_state=0).fit(X, y)
    assert clf.score(X, y) > 0.9


@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_the_surrogate_must_be_smooth_on_the_margins_of_the_form(calibration):
    """In the label-difference form margins are twice as long, and reach the steep foot of the q-norm hinge."""
    ask = {"n": 20, "n_features": 2, "epsilon": 1.0, "ridge": 0.5, "surrogate": "q-norm-hinge(q=1.2)", "radius": 0.4}
    assert en.plan("offpairstrc", **ask).problem.pair_smoothness < math.inf
    with pytest.raises(en.AssumptionError, match="smooth"):
        en.plan("offpairstrc", **ask, calibration=calibration, options={"form": "label-difference"})
