"""Rounding stays within the bounds that the noise covers: against the same definitions with many more digits."""

import json
import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.phases.phase import Released
from entrenous.engine.rows.registry import rows_of
from entrenous.privacy.lemmas.rounding import descent_error, pair_sum_error, stream_error
from entrenous.privacy.noise import SecureNoise, SeededNoise, grid_of
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.spelling import surrogate_from

RNG = np.random.default_rng(0)
QUAD = np.longdouble
"""80 bits here, 64 of them digits: 2^11 times finer than float64."""

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="needs a long double of 64 digits")


def unit_rows(n, d):
    rows = RNG.normal(size=(n, d))
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]


def fine_logistic_slope(margin):
    return -1.0 / (1.0 + np.exp(margin))


SLOPES = {
    "logistic": fine_logistic_slope,
    "hinge": lambda t: np.where(t < 1.0, QUAD(-1.0), QUAD(0.0)),
    "square": lambda t: -2.0 * (1.0 - t),
    "squared-hinge": lambda t: -2.0 * np.maximum(1.0 - t, 0.0),
    "smoothed-hinge(width=1.0)": lambda t: -np.clip(1.0 - t, 0.0, 1.0),
}


def fine_gradient(name, w, X, y):
    """The mean over all ordered pairs, of the definition, in long double.

    The hinge's slopes are those at the scores of float64: the lemma allows its jump anywhere.
    """
    X, w = X.astype(QUAD), np.asarray(w, dtype=QUAD)
    scores = X @ w
    if name == "hinge":
        scores = (X.astype(float) @ w.astype(float)).astype(QUAD)
    events, others = X[y == 1], X[y == 0]
    margins = scores[y == 1][:, None] - scores[y == 0][None, :]
    slopes = SLOPES[name](margins)
    total = events.T @ slopes.sum(axis=1) - others.T @ slopes.sum(axis=0)
    return total / (len(X) * (len(X) - 1))


def ranking(name, d, radius=3.0, ridge=0.0):
    return Problem(LinearDifference(), surrogate_from(name), L2Ball(radius), n_features=d, ridge=ridge)


@pytest.mark.parametrize("name", SLOPES)
@pytest.mark.parametrize(("n", "d"), [(30, 2), (3000, 5)])
def test_gradients_over_all_pairs(name, n, d):
    problem = ranking(name, d)
    error = pair_sum_error(problem, n)
    worst = 0.0
    for _ in range(3):
        X, y, w = unit_rows(n, d), RNG.integers(0, 2, n), RNG.normal(size=d)
        w *= 3.0 / np.linalg.norm(w)
        found = all_pairs_gradient(problem, w, rows_of(X), y)
        worst = max(worst, float(np.linalg.norm(found.astype(QUAD) - fine_gradient(name, w, X, y))))
    assert worst <= error
    if name != "hinge":  # whose counts are whole numbers
        assert worst > 0.0


@pytest.mark.parametrize("score", [Mahalanobis(), ErrorDifference()])
def test_gradients_of_metrics_and_errors(score):
    n, d = 60, 3
    domain = FrobeniusPSD(1.0) if isinstance(score, Mahalanobis) else L2Ball(1.0)
    surrogate = "logistic" if isinstance(score, Mahalanobis) else "welsch(bandwidth=0.7)"
    problem = Problem(score, surrogate_from(surrogate), domain, n_features=d)
    X = unit_rows(n, d)
    w = RNG.normal(size=problem.start().shape)
    w = (w + w.T) / 2.0 if w.ndim == 2 else w
    w /= np.linalg.norm(w)
    y = RNG.integers(0, 2, n) if w.ndim == 2 else RNG.uniform(-1, 1, n)
    found = all_pairs_gradient(problem, w, rows_of(X), y)
    with mpmath.workdps(40):
        rows = [[mpmath.mpf(float(x)) for x in row] for row in X]
        total = [mpmath.mpf(0)] * found.size
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                diff = [a - b for a, b in zip(rows[i], rows[j], strict=True)]
                if w.ndim == 2:
                    tau = 1 if y[i] == y[j] else -1
                    size = sum(float(w[a, b]) * diff[a] * diff[b] for a in range(d) for b in range(d))
                    slope = tau / (1 + mpmath.exp(tau * (problem.score.threshold - size)))
                    feature = [diff[a] * diff[b] for a in range(d) for b in range(d)]
                else:
                    t = mpmath.mpf(float(y[i])) - float(y[j]) - sum(float(c) * x for c, x in zip(w, diff, strict=True))
                    slope = -(t / mpmath.mpf("0.7") ** 2) * mpmath.exp(-((t / mpmath.mpf("0.7")) ** 2) / 2)
                    feature = diff
                total = [a + slope * f for a, f in zip(total, feature, strict=True)]
        exact = np.array([float(x / (n * (n - 1))) for x in total]).reshape(found.shape)
    worst = float(np.linalg.norm(found - exact))
    assert worst <= pair_sum_error(problem, n)
    np.testing.assert_allclose(found, exact, atol=1e-9)


@pytest.mark.parametrize(("name", "ridge"), [("logistic", 0.0), ("logistic", 0.1), ("squared-hinge", 0.0)])
def test_what_a_descent_returns(name, ridge):
    n, d, steps = 200, 4, 300
    problem = ranking(name, d, radius=2.0, ridge=ridge)
    step = 1.0 / (problem.full_smoothness(n) + ridge)
    error = descent_error(problem, n, steps=steps, step_size=step)
    X, y = unit_rows(n, d), RNG.integers(0, 2, n)
    found = run_descent(problem, X, y, step, steps)
    w = np.zeros(d, dtype=QUAD)
    for _ in range(steps):
        w = w - QUAD(step) * (fine_gradient(name, w, X, y) + QUAD(ridge) * w)
        norm = np.sqrt(np.sum(w * w))
        w = w * (QUAD(2.0) / norm) if norm > 2.0 else w
    worst = float(np.linalg.norm(found.astype(QUAD) - w))
    assert 0.0 < worst <= error
    assert error < 1e-6 * step


def run_descent(problem, X, y, step, steps):
    from entrenous.engine.phases.descent import Descent

    phase = Descent(steps, step, steps)
    noise = SeededNoise(np.random.default_rng(0))
    return phase.run(problem, rows_of(X), y, Released(problem.start()), noise, lambda done, total: None).w


@pytest.mark.parametrize("surrogate", ["hinge", "logistic"])
def test_what_a_stream_returns(surrogate):
    """`ogd-previous` step by step in long double: a record meets the one before it."""
    n, d = 400, 3
    plan = en.plan("ogd-previous", n=n, n_features=d, epsilon=1.0, bounds=en.FeatureBall(1.0), surrogate=surrogate)
    phase, problem = plan.phases[0], plan.problem
    error = stream_error(problem, phase.stream, n)
    X, y = unit_rows(n, d), RNG.integers(0, 2, n)
    quiet = replace(phase, output_noise=None)
    found = quiet.run(
        problem, rows_of(X), y, Released(problem.start()), SeededNoise(np.random.default_rng(0)), lambda a, b: None
    ).w
    eta, weights = phase.stream.step_sizes(), phase.stream.weights()
    fine, w, average = X.astype(QUAD), np.zeros(d, dtype=QUAD), QUAD(weights[0]) * np.zeros(d, dtype=QUAD)
    radius = QUAD(problem.domain.radius)
    for t in range(1, phase.steps + 1):
        i, j = t - phase.stream.unpaired if phase.stream.unpaired > 1 else t, t - 1
        if y[i] != y[j]:
            difference = (fine[i] - fine[j]) * (1 if y[i] == 1 else -1)
            margin = difference @ w
            slope = SLOPES[surrogate](margin)
            w = w - QUAD(eta[t - 1]) * slope * difference
            norm = np.sqrt(np.sum(w * w))
            w = w * (radius / norm) if norm > radius else w
        average = average + QUAD(weights[t]) * w
    worst = float(np.linalg.norm(found.astype(QUAD) - average))
    assert 0.0 < worst <= error


# --- what is done with them -------------------------------------------------------------------------------------------


ASKED = {
    "noisy-gd": {},
    "dpgdsc": {"ridge": 0.1},
    "dpegd": {},
    "dp-sgd-output": {},
    "moments": {},
    "logistic-gd": {},
}


@pytest.mark.parametrize("algorithm", ASKED)
def test_plans_state_their_rounding_and_the_noise_covers_it(algorithm, monkeypatch):
    plan = en.plan(algorithm, n=300, n_features=3, epsilon=1.0, bounds=(0, 1), **ASKED[algorithm])
    assert all(m.bound.error > 0.0 or m.lemma == "Lemma 11" for m in plan.mechanisms)
    certificate = plan.certificate()
    assert [m["error"] for m in certificate.to_dict()["mechanisms"]] == [m.bound.error for m in plan.mechanisms]
    again = en.Plan.from_json(plan.to_json())
    assert [m.bound.error for m in again.mechanisms] == [m.bound.error for m in plan.mechanisms]
    asked = []
    import entrenous.privacy.noise as module

    real = module.rounded_normals
    monkeypatch.setattr(module, "rounded_normals", lambda scale, *rest: asked.append(scale) or real(scale, *rest))
    for mechanism in plan.mechanisms:
        # An error that is plain to see beside the grid.
        large = replace(mechanism, bound=replace(mechanism.bound, error=mechanism.bound.value / 8.0))
        large.release(np.zeros(4), SecureNoise())
        grid = grid_of(mechanism.sigma)
        assert asked[-1] * grid >= mechanism.sigma * 1.25
        mechanism.release(np.zeros(4), SecureNoise())
        bound = mechanism.bound
        needed = mechanism.sigma * (1.0 + (2.0 * grid + 2.0 * bound.error) / bound.value)
        assert needed <= asked[-1] * grid <= needed * (1.0 + 1e-8)


@pytest.mark.parametrize("algorithm", ["noisy-gd", "dpgdsc", "dp-sgd-output"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_certificate_that_states_less_is_false(algorithm, share):
    certificate = en.plan(
        algorithm, n=300_000, n_features=3, epsilon=1.0, bounds=(0, 1), max_iter=50, **ASKED[algorithm]
    ).certificate()
    assert certificate.verify().outcome == "verified"
    content = json.loads(certificate.to_json())
    for mechanism in content["mechanisms"]:
        mechanism["error"] *= share
    with pytest.raises(en.PrivacyError, match="rounding error"):
        en.PrivacyCertificate.from_json(json.dumps(content)).verify()
    for odd in (-1.0, math.inf, "0"):
        content["mechanisms"][0]["error"] = odd
        with pytest.raises(en.PrivacyError):
            en.PrivacyCertificate.from_json(json.dumps(content)).verify()


def test_rounding_is_small_beside_what_it_is_added_to():
    for algorithm, settings in ASKED.items():
        plan = en.plan(algorithm, n=50_000, n_features=20, epsilon=1.0, bounds=(0, 1), **settings)
        # Late phases have tiny steps, and less noise than earlier ones leave: rounding may be as large as theirs.
        error, first = max(m.bound.error for m in plan.mechanisms), plan.mechanisms[0].bound
        assert first.error < 1e-3 * first.value, algorithm
        assert error < 1e-3 * max(m.bound.value for m in plan.mechanisms), algorithm


def test_ramps_are_not_so_high_that_their_sums_lose_digits():
    """The bound for exact sums rests on this: see the proof."""
    from entrenous.problem.features.ramps import normal_ramps
    from entrenous.problem.features.shaped_box import MOST_RAMPS

    for count in range(1, MOST_RAMPS + 1):
        ramps = normal_ramps(count)
        per_column = float(np.linalg.norm(ramps.heights)) / (0.5 * math.sqrt(1.0 + ramps.square))
        assert per_column < 2.0**10
