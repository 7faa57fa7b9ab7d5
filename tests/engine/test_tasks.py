"""Metrics and minimum error entropy from plan to the user's units, privately and as twins."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from oracles import all_pairs

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_objective
from entrenous.engine.phases.phase import Released
from entrenous.engine.rows.registry import rows_of
from entrenous.planners.kang2021 import kang_gp
from entrenous.privacy.budget import Budget
from entrenous.privacy.noise import noise_from
from entrenous.problem.pair_scores import ErrorDifference
from entrenous.problem.parameter_domains import L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.bounded import Welsch

METRIC = [a.name for a in en.algorithms() if "metric" in a.tasks]
ENTROPY = [a.name for a in en.algorithms() if "error-entropy" in a.tasks]
CLASSES = ("red", "green", "blue")


def labelled(n=24, d=3, seed=0):
    """Classes differ along the first feature; the last one is noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=n)
    X = rng.uniform(-1.0, 1.0, size=(n, d))
    X[:, 0] = codes - 1.0 + 0.1 * rng.normal(size=n)
    return X, np.array(CLASSES)[codes]


def measured(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 10.0, size=(n, d))
    return X, 50.0 + 3.0 * X[:, 0] - 2.0 * X[:, 1] + 0.1 * rng.normal(size=n)


def metric_plan(name, **changes):
    ask = {"n": 24, "n_features": 3, "epsilon": 2.0, "delta": 1e-4, "bounds": (-2, 2), "classes": CLASSES, "ridge": 0.1}
    return en.plan(name, task="metric", **{**ask, **changes})


def entropy_plan(name="kang-gp", **changes):
    ask = {"n": 40, "n_features": 3, "epsilon": 2.0, "delta": 1e-4, "bounds": (0, 10), "target_bounds": (0, 100)}
    return en.plan(name, task="error-entropy", **{**ask, **changes})


def seeded(plan, X, y, seed=3):
    with pytest.warns(en.PrivacyWarning, match="seeded"):
        return plan.run(X, y, random_state=seed)


def test_who_takes_what():
    assert {a.name for a in en.algorithms()} - set(METRIC) == {
        "logistic-gd",
        "residual-gd",
        "dpsgd-pointwise",
        "oam",
        "spauc",
    }
    assert ENTROPY == ["residual-gd", "kang-gp"]
    with pytest.raises(en.AssumptionError, match=r"spauc covers auc.*dpgdc"):
        metric_plan("spauc")
    with pytest.raises(en.AssumptionError, match=r"dpgdc covers auc, metric.*kang-gp"):
        entropy_plan("dpgdc")


# --- metric -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METRIC)
@pytest.mark.parametrize("domain", ["frobenius", "nuclear"])
def test_private_metrics_are_in_their_domain_and_certified(name, domain):
    X, y = labelled()
    plan = metric_plan(name, domain=domain, radius=0.7)
    fitted = seeded(plan, X, y)
    values = np.linalg.eigvalsh(fitted.w)
    assert values.min() >= -1e-12
    assert (np.linalg.norm(values) if domain == "frobenius" else values.sum()) <= 0.7 * (1 + 1e-12)
    certificate = en.PrivacyCertificate.from_json(fitted.certificate.to_json())
    assert certificate.problem["task"] == "metric"
    assert certificate.public["parameter_domain"] == domain
    assert certificate.public["classes"] == list(CLASSES)
    verified = certificate.verify()
    assert all("seeded" in said for said in verified.reservations)
    assert verified.epsilon == pytest.approx(2.0)
    assert en.Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("name", METRIC)
def test_the_metric_is_the_same_distance_in_both_units(name):
    X, y = labelled()
    scale, shift = np.array([1.0, 100.0, 0.01]), np.array([0.0, 5.0, -3.0])
    bounds = (-2 * scale + shift, 2 * scale + shift)
    plan = metric_plan(name, bounds=bounds, index_seed=1)
    fitted = seeded(plan, X * scale + shift, y)
    assert fitted.coef.shape == (3, 3)
    assert fitted.intercept == 0.0
    gap = (X[0] - X[1]) * scale
    # In the units of the domain: declared, or found.
    internal = gap / fitted.bounds.unit
    assert gap @ fitted.coef @ gap == pytest.approx(internal @ fitted.w @ internal, rel=1e-12)
    np.testing.assert_allclose(seeded(metric_plan(name, index_seed=1), X, y).w, fitted.w, rtol=1e-9, atol=1e-12)


def test_a_constant_feature_has_no_weight():
    X, y = labelled()
    plan = metric_plan("noisy-gd", bounds=([-2, -2, 1], [2, 2, 1]))
    fitted = seeded(plan, X, y)
    assert not fitted.coef[2].any()
    assert not fitted.coef[:, 2].any()
    assert fitted.coef[:2, :2].any()


@pytest.mark.parametrize("name", ["dpgdsc", "dpgdc2"])
@pytest.mark.parametrize("domain", ["frobenius", "nuclear"])
def test_a_metric_run_is_the_literal_box(name, domain):
    X, y = labelled(12)
    plan = metric_plan(name, n=12, max_iter=6, domain=domain)
    fitted = seeded(plan, X, y)
    U, codes = X / (2 * math.sqrt(3)), np.array([CLASSES.index(label) for label in y])
    noise, mechanism, eta = noise_from(3), plan.mechanisms[0], plan.public["step_size"]
    W, kept = np.zeros((3, 3)), [np.zeros((3, 3))]

    def drawn():
        v = mechanism.sigma * noise.normal(6)
        matrix = np.zeros((3, 3))
        for value, (i, j) in zip(v, [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)], strict=True):
            matrix[i, j] = matrix[j, i] = value if i == j else value / math.sqrt(2)
        return matrix

    for _ in range(6):
        gradient = all_pairs(plan.problem, W, U, codes)[1]
        W = plan.problem.domain.project(W - eta * (gradient + (drawn() if name == "dpgdc2" else 0.0)))
        kept.append(W)
    expected = np.mean(kept, axis=0) if name == "dpgdc2" else plan.problem.domain.project(W + drawn())
    np.testing.assert_allclose(fitted.w, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", METRIC)
def test_a_private_metric_never_sees_which_classes_are_there(name):
    X, _ = labelled()
    plan = metric_plan(name, index_seed=1)
    for y in (["red"] * 24, ["red"] * 23 + ["blue"], ["green", "blue"] * 12):
        assert np.isfinite(seeded(plan, X, y).coef).all()
    with pytest.raises(en.InputError, match="public classes"):
        plan.run(X, ["black"] * 24)


def test_the_metrics_sensitivity_is_attacked():
    """Everyone at one pole, one record at the other whose class turns: dpgdc moves at most as far as planned."""
    for surrogate, share in (("logistic", 0.3), ("smoothed-hinge(width=0.5)", 0.5)):
        plan = metric_plan("dpgdc", n=8, n_features=1, bounds=(-1, 1), classes=(0, 1), ridge=0.0, surrogate=surrogate)
        quiet = replace(plan.phases[0], output_noise=None)
        X = np.array([[1.0]] + [[-1.0]] * 7)
        start = plan.problem.start()
        one, two = (
            quiet.run(
                plan.problem,
                rows_of(X),
                np.array([label] + [0] * 7),
                Released(start),
                None,
                lambda done, total: None,
            ).w
            for label in (0, 1)
        )
        ratio = np.linalg.norm(one - two) / plan.mechanisms[0].l2_sensitivity
        assert share <= ratio <= 1.0


@pytest.mark.parametrize("domain", ["frobenius", "nuclear"])
@pytest.mark.parametrize("surrogate", ["logistic", "squared-hinge", "hinge"])
@pytest.mark.parametrize("radius", [0.3, 20.0])
def test_the_metrics_twin_is_the_constrained_minimiser(domain, surrogate, radius):
    X, y = labelled()
    settings = {"epsilon": None, "delta": None, "bounds": None, "classes": None, "ridge": 0.01}
    plan = metric_plan("noisy-gd", **settings, surrogate=surrogate, domain=domain, radius=radius)
    fitted = plan.run(X, y)
    W, codes = fitted.w, np.unique(y, return_inverse=True)[1]
    np.testing.assert_allclose(plan.problem.domain.project(W), W, atol=1e-12)
    best = all_pairs_objective(plan.problem, W, rows_of(X), codes)[0]
    assert best < all_pairs_objective(plan.problem, np.zeros((3, 3)), rows_of(X), codes)[0] - 1e-3
    rng = np.random.default_rng(1)
    slack = 2e-3 if surrogate == "hinge" else 1e-9
    for scale in (1e-4, 1e-2, 1e-1, 1.0):
        for _ in range(30):
            other = plan.problem.domain.project(W + scale * rng.normal(size=(3, 3)))
            assert all_pairs_objective(plan.problem, other, rows_of(X), codes)[0] >= best - slack
    # Only the first feature tells the classes apart.
    assert W[0, 0] == np.abs(W).max()


def test_the_metrics_twin_finds_its_step_where_the_loss_starts_as_a_straight_line():
    """One pair of unlike records: no curvature at zero, then a parabola; the minimiser is known."""
    ask = {"n": 2, "n_features": 1, "epsilon": None, "ridge": 0.1, "radius": 20.0}
    plan = en.plan("dpgdc", task="metric", **ask, surrogate="smoothed-hinge(width=0.5)")
    fitted = plan.run(np.array([[1.0], [-1.0]]), [0, 1])
    assert fitted.w[0, 0] == pytest.approx(16.0 / 32.1, rel=1e-7)
    assert fitted.steps < 100


def test_a_metric_without_privacy_needs_two_classes():
    X, _ = labelled()
    with pytest.raises(en.InputError, match="two classes or more"):
        metric_plan("noisy-gd", epsilon=None, delta=None, classes=None).run(X, ["red"] * 24)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"classes": ("a",)}, "two or more"),
        ({"classes": ("a", "b", "a")}, "two or more"),
        ({"domain": "l2-ball"}, "frobenius, nuclear"),
        ({"domain": "cube"}, "frobenius, nuclear"),
        ({"target_bounds": (0, 1)}, "regression"),
        ({"options": {"form": "label-difference"}}, "form of ranking"),
    ],
)
def test_wrong_metrics_are_refused(wrong, message):
    with pytest.raises(en.EntrenousError, match=message):
        metric_plan("dpgdc2", **wrong)


def test_the_descent_of_a_metric_is_the_papers():
    plan = metric_plan("noisy-gd")
    assert (plan.problem.domain.name, plan.problem.domain.radius, plan.problem.score.threshold) == (
        "frobenius",
        1.0,
        1.0,
    )
    assert metric_plan("auto", surrogate="logistic").algorithm == "noisy-gd"
    assert metric_plan("auto", delta=0).algorithm == "dpgdsc"


# --- minimum error entropy --------------------------------------------------------------------------------------------


def test_targets_are_clipped_and_mapped_by_public_numbers():
    X, y = measured()
    plan = entropy_plan(target_bounds=(0, 60))
    fitted = seeded(plan, X, y)
    U, t = (X - 5.0) / (5.0 * math.sqrt(3)), (np.minimum(y, 60.0) - 30.0) / 30.0
    assert (y > 60).any()
    noise, w = noise_from(3), np.zeros(3)
    for _ in range(plan.steps):
        gradient = all_pairs(plan.problem, w, U, t)[1] + plan.mechanisms[0].sigma * noise.normal(3)
        w = plan.problem.domain.project(w - gradient / plan.problem.full_smoothness(40))
    np.testing.assert_allclose(fitted.w, w, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(X @ fitted.coef + fitted.intercept, 30.0 * (U @ w) + 30.0, rtol=1e-10)


def test_the_entropys_certificate_verifies_and_cannot_be_bent():
    certificate = entropy_plan().certificate()
    assert certificate.problem["surrogate"] == "welsch(bandwidth=1.0)"
    assert certificate.public["target_bounds"] == [0.0, 100.0]
    assert en.PrivacyCertificate.from_json(certificate.to_json()).verify().outcome == "verified"
    content = json.loads(certificate.to_json())
    content["problem"]["surrogate"] = "welsch(bandwidth=0.9)"
    with pytest.raises(en.PrivacyError):
        en.PrivacyCertificate.from_json(json.dumps(content)).verify()


def test_the_output_lemmas_are_refused_without_convexity():
    """A certificate that claims Lemma 4 for a surrogate that is not convex is false, whatever its numbers."""
    honest = en.plan("dpgdc", n=40, n_features=3, epsilon=1.0, surrogate="square").certificate()
    content = json.loads(honest.to_json())
    content["problem"] |= {"surrogate": "welsch(bandwidth=5.0)"}
    with pytest.raises(en.PrivacyError, match="convex"):
        en.PrivacyCertificate.from_json(json.dumps(content)).verify()


@pytest.mark.parametrize("bandwidth", [0.2, 1.0])
def test_the_twin_recovers_the_line_in_the_users_units(bandwidth):
    X, y = measured()
    # One target in eight is wild: beyond the bandwidth it counts for little.
    y[::8] = 95.0
    plan = entropy_plan(epsilon=None, delta=None, radius=50.0, surrogate=Welsch(bandwidth))
    fitted = plan.run(X, y)
    if bandwidth == 0.2:
        np.testing.assert_allclose(fitted.coef, [3.0, -2.0, 0.0], atol=0.05)
        clean = np.arange(40) % 8 != 0
        errors = y[clean] - (X @ fitted.coef + fitted.intercept)[clean]
        assert np.std(errors) < 0.5
        # The intercept is that of the clean records: a mean error would be some 5 off.
        assert abs(np.mean(errors)) < 0.5
    U, t = (X - 5.0) / (5.0 * math.sqrt(3)), (y - 50.0) / 50.0
    gradient = all_pairs_objective(plan.problem, fitted.w, rows_of(U), t)[1]
    assert np.abs(gradient).max() < 1e-6


def test_the_twin_stays_in_its_ball_where_it_is_stationary():
    X, y = measured()
    plan = entropy_plan(epsilon=None, delta=None, radius=0.1)
    w = plan.run(X, y).w
    assert np.linalg.norm(w) == pytest.approx(0.1)
    U, t = (X - 5.0) / (5.0 * math.sqrt(3)), (y - 50.0) / 50.0
    gradient = all_pairs_objective(plan.problem, w, rows_of(U), t)[1]
    np.testing.assert_allclose(plan.problem.domain.project(w - gradient), w, atol=1e-6)


def test_a_twin_needs_no_bounds():
    X, y = measured()
    plan = entropy_plan(epsilon=None, delta=None, bounds=None, target_bounds=None, radius=50.0, surrogate=Welsch(20.0))
    fitted = plan.run(X, y)
    np.testing.assert_allclose(fitted.coef, [3.0, -2.0, 0.0], atol=0.05)
    np.testing.assert_allclose(fitted.coef, fitted.w)
    assert fitted.intercept == pytest.approx(50.0, abs=0.5)


@pytest.mark.parametrize("name", ["dpgdsc", "dpgdc", "dpgdc2", "dpegd"])
@pytest.mark.parametrize("task", ["auc", "metric"])
@pytest.mark.parametrize("epsilon", [1.0, None])
def test_what_needs_convexity_names_what_does_not(name, task, epsilon):
    with pytest.raises(en.AssumptionError, match=r"convex.*noisy-gd or kang-gp"):
        en.plan(name, task=task, n=40, n_features=3, epsilon=epsilon, ridge=0.1, surrogate="welsch")


def test_a_ridge_makes_no_loss_strongly_convex_that_is_not_convex():
    problem = Problem(ErrorDifference(), Welsch(), L2Ball(1.0), 3, ridge=5.0)
    assert problem.strong_convexity == 0.0


def test_auto_where_nothing_is_convex():
    assert entropy_plan("auto").algorithm == "residual-gd"
    for surrogate in ("welsch", "sigmoid"):
        assert en.plan(n=40, n_features=3, epsilon=1.0, surrogate=surrogate).algorithm == "noisy-gd"
        with pytest.raises(en.AssumptionError, match="noisy-gd adds Gaussian noise"):
            en.plan(n=40, n_features=3, epsilon=1.0, delta=0, ridge=0.1, surrogate=surrogate)
    with pytest.raises(en.AssumptionError, match="delta"):
        entropy_plan("auto", delta=0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target_bounds": None}, "public range of its targets"),
        ({"target_bounds": (1, 1)}, "low < high"),
        ({"target_bounds": (1, 0)}, "low < high"),
        ({"target_bounds": (0, math.inf)}, "finite"),
        ({"target_bounds": (0, math.nan)}, "finite"),
        ({"target_bounds": (0,)}, "two finite"),
        ({"target_bounds": "01"}, "two finite"),
        ({"target_bounds": 3}, "two finite"),
        ({"classes": (0, 1)}, "not classes"),
        ({"domain": "frobenius"}, "l2-ball, whole-space"),
        ({"domain": "whole-space", "radius": 1.0}, "no radius"),
        ({"surrogate": "hinge"}, "smooth"),
    ],
)
def test_wrong_regressions_are_refused(wrong, message):
    with pytest.raises(en.EntrenousError, match=message):
        entropy_plan(**wrong)


@pytest.mark.parametrize(("y", "message"), [(["a"] * 40, "numbers"), ([math.nan] * 40, "finite"), ([1.0], "one label")])
def test_wrong_targets_are_refused_without_quoting_them(y, message):
    X, _ = measured()
    with pytest.raises(en.InputError, match=message) as caught:
        entropy_plan().run(X, y)
    assert "'a'" not in str(caught.value)


def test_a_private_run_without_a_range_of_targets_is_refused():
    """Also for a plan that did not come through `entrenous.plan`."""
    X, y = measured()
    made = kang_gp(Problem(ErrorDifference(), Welsch(), L2Ball(1.0), 3), Budget(1.0, 1e-6), 40)
    with pytest.raises(en.PrivacyError, match="range of its targets"):
        replace(made, features=entropy_plan().features).run(X, y)


def test_targets_far_outside_change_nothing_but_themselves():
    X, y = measured()
    plan = entropy_plan()
    inside, outside = y.copy(), y.copy()
    inside[0], outside[0] = 100.0, 1e300
    np.testing.assert_array_equal(seeded(plan, X, inside).w, seeded(plan, X, outside).w)


# --- domains of the linear tasks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dpgdc", "dpgdc2", "dpegd", "noisy-gd"])
def test_an_unbounded_domain_is_refused_where_steps_are_a_share_of_it(name):
    with pytest.raises(en.AssumptionError, match="bounded domain"):
        en.plan(name, n=40, n_features=3, epsilon=1.0, domain="whole-space")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        en.plan(name, n=40, n_features=3, epsilon=1.0, domain="l2-ball", radius=2.0)


def test_a_ball_without_a_radius_is_refused():
    with pytest.raises(en.InputError, match="radius"):
        en.plan("noisy-gd", n=40, n_features=3, epsilon=None, domain="l2-ball")
    assert en.plan("noisy-gd", n=40, n_features=3, epsilon=None).problem.domain.name == "whole-space"
    assert en.plan("dpgdc", n=40, n_features=3, epsilon=None, domain="whole-space").problem.domain.radius == math.inf


def test_a_certificate_cannot_hide_its_domain():
    content = json.loads(en.plan("dpgdc2", n=40, n_features=3, epsilon=1.0).certificate().to_json())
    assert content["public"]["parameter_domain"] == "l2-ball"
    for name in ("whole-space", "frobenius", "cube", 3):
        bent = json.loads(json.dumps(content))
        bent["public"]["parameter_domain"] = name
        with pytest.raises(en.PrivacyError):
            en.PrivacyCertificate.from_json(json.dumps(bent)).verify()
