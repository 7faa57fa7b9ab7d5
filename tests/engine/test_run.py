"""The solver against literal transcriptions of the algorithms' boxes, with the same noise."""

import math
from dataclasses import replace

import numpy as np
import pytest
from oracles import all_pairs
from sklearn.metrics import roc_auc_score

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_objective
from entrenous.engine.rows.class_moments import ClassMoments
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.solvers.least_squares import MomentNoise, ranking_from_moments
from entrenous.privacy.noise import noise_from
from entrenous.problem.tasks.task import task_named


def records(n=30, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return X, y


BALL = en.FeatureBall(radius=3.0)


def internal(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.maximum(norms, 3.0)


def project(w, radius):
    norm = np.linalg.norm(w)
    return w if norm <= radius else w * radius / norm


@pytest.mark.parametrize("surrogate", ["logistic", "hinge", "square"])
def test_dpgdc2_is_algorithm_2_of_xue(surrogate):
    X, y = records()
    plan = en.plan("dpgdc2", n=30, n_features=4, epsilon=2.0, delta=1e-5, surrogate=surrogate, bounds=BALL, max_iter=12)
    with pytest.warns(en.PrivacyWarning):
        fitted = plan.run(X, y, random_state=7)
    noise, U = noise_from(7), internal(X)
    # ||C|| is the diameter of the ball of radius 1; no step is longer than 2/L where the surrogate is smooth.
    smoothness = plan.problem.full_smoothness(30)
    longest = 2.0 / smoothness if 0.0 < smoothness < math.inf else math.inf
    eta = min(2.0 / (plan.problem.lipschitz * math.sqrt(12)), longest)
    iterates = [np.zeros(4)]
    for _ in range(12):
        gradient = all_pairs(plan.problem, iterates[-1], U, y)[1] + plan.mechanisms[0].sigma * noise.normal(4)
        iterates.append(project(iterates[-1] - eta * gradient, 1.0))
    np.testing.assert_allclose(fitted.w, np.mean(iterates, axis=0), rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(X[:3] / 3.0 @ fitted.w, X[:3] @ fitted.coef + fitted.intercept, rtol=1e-12)


@pytest.mark.parametrize("delta", [1e-5, 0.0])
def test_dpgdsc_is_algorithm_1_of_xue(delta):
    X, y = records()
    plan = en.plan("dpgdsc", n=30, n_features=4, epsilon=2.0, delta=delta, bounds=BALL, ridge=0.3, max_iter=9)
    with pytest.warns(en.PrivacyWarning):
        fitted = plan.run(X, y, random_state=7)
    noise, U = noise_from(7), internal(X)
    eta = 2.0 / (plan.problem.full_smoothness(30) + 0.3 + 0.3)
    w = np.zeros(4)
    for _ in range(9):
        w = project(w - eta * all_pairs(plan.problem, w, U, y)[1], 1.0)
    w = project(w + plan.mechanisms[0].draw(noise, 4), 1.0)
    np.testing.assert_allclose(fitted.w, w, rtol=1e-10, atol=1e-13)


def test_noisy_gd_averages_the_later_half():
    X, y = records()
    plan = en.plan("noisy-gd", n=30, n_features=4, epsilon=2.0, delta=1e-5, bounds=BALL, max_iter=7)
    with pytest.warns(en.PrivacyWarning):
        fitted = plan.run(X, y, random_state=7)
    noise, U = noise_from(7), internal(X)
    radius = plan.problem.domain.radius
    eta = radius / (plan.problem.lipschitz * math.sqrt(7))
    w, kept = np.zeros(4), []
    for t in range(1, 8):
        gradient = all_pairs(plan.problem, w, U, y)[1] + plan.mechanisms[0].sigma * noise.normal(4)
        w = project(w - eta * gradient, radius)
        if t >= 4:
            kept.append(w)
    np.testing.assert_allclose(fitted.w, np.mean(kept, axis=0), rtol=1e-10, atol=1e-13)


def test_moments_without_noise_minimise_the_square_surrogate_over_all_pairs():
    X, y = records(60)
    exact = en.plan("moments", n=60, n_features=4, epsilon=None).run(X, y).w
    iterated = en.plan("noisy-gd", n=60, n_features=4, epsilon=None, surrogate="square").run(X, y).w
    np.testing.assert_allclose(exact / np.linalg.norm(exact), iterated / np.linalg.norm(iterated), rtol=1e-6)


def test_moments_release_has_the_noise_of_its_plan():
    """The released statistics differ from the exact ones by noise of the certificate's sigma, in Lemma 8's units."""
    X, y = records(40, 5)
    plan = en.plan("moments", n=40, n_features=5, epsilon=1.0, delta=1e-5, bounds=BALL)
    weights = plan.phases[0].weights
    flat = rows_of(internal(X)).class_moments(y).weighted(weights)
    assert flat.size == 1 + 2 * 5 + 2 * 15
    np.testing.assert_allclose(
        ClassMoments.from_weighted(flat, weights, 40, 5).seconds,
        rows_of(internal(X)).class_moments(y).seconds,
        atol=1e-12,
    )
    events, others = internal(X)[y == 1], internal(X)[y == 0]
    a, b, c = weights
    frobenius = [np.linalg.norm(rows.T @ rows) ** 2 for rows in (events, others)]
    expected = (a * len(events)) ** 2 + c**2 * sum(frobenius)
    expected += b**2 * sum(np.linalg.norm(rows.sum(axis=0)) ** 2 for rows in (events, others))
    assert float(flat @ flat) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("n", "d", "epsilon"), [(200_000, 20, 1.0), (2000, 5, 1.0), (2000, 20, 1.0), (500, 60, 1.0), (2000, 5, 100.0)]
)
def test_moments_state_the_noise_of_repeated_releases(n, d, epsilon):
    """From no eigenvalue made negative by noise to half of them, the first order is close to a simulation."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (n, d)) * np.linspace(0.3, 1.0, d)
    X[:, 0] += X[:, 1] / 2.0
    y = (X @ rng.normal(size=d) + rng.normal(size=n) > 0.3).astype(int)
    plan = en.plan("moments", n=n, n_features=d, epsilon=epsilon, delta=1e-6, bounds=(-1.5, 1.5))
    phase, exact, noise = plan.phases[0], rows_of(plan.features.to_internal(X)).class_moments(y), noise_from(3)
    fits = [
        ranking_from_moments(phase.release(exact, noise), ridge=0.0, noise=phase.noise_in_moments, shrinkage=0.5)
        for _ in range(600)
    ]
    stated = np.median([fit.noise for fit in fits], axis=0)
    ratio = stated / np.std([fit.w for fit in fits], axis=0)
    assert abs(float(np.median(ratio)) - 1.0) < 0.12, ratio
    assert (np.abs(ratio - 1.0) < 0.22).all(), ratio


def test_the_stated_noise_of_moments_is_the_derivative():
    """With little noise, each part of the sd is that of a finite difference, negative eigenvalues included."""
    rng = np.random.default_rng(0)
    n, d, step = 400, 6, 1e-5
    seconds = rng.normal(size=(2, d, d)) * 20.0
    moments = ClassMoments(n, 150.0, rng.normal(size=(2, d)) * 30.0, seconds + seconds.transpose(0, 2, 1))
    weights = (1.0, 1.0, 1.0)
    flat = moments.weighted(weights)

    def solved(flat, sds):
        noise = MomentNoise(*sds)
        return ranking_from_moments(
            ClassMoments.from_weighted(flat, weights, n, d), ridge=0.1, noise=noise, shrinkage=0.0
        )

    jacobian = np.array([solved(flat + s * e, (1, 1, 1)).w for e in np.eye(flat.size) for s in (step, -step)])
    jacobian = (jacobian[::2] - jacobian[1::2]) / (2.0 * step)
    for sds in [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 2.0, 0.5)]:
        per_entry = np.repeat(sds, [1, 2 * d, d * (d + 1)])
        expected = np.sqrt(((per_entry[:, None] * jacobian) ** 2).sum(axis=0))
        np.testing.assert_allclose(solved(flat, sds).noise, expected, rtol=1e-6)
    # The count's part leaves out what it moves where eigenvalues are negative, so it needs a covariance without any.
    whole = ClassMoments(
        n, 150.0, moments.sums, np.stack([60.0 * np.eye(d), 90.0 * np.eye(d)]) + moments.seconds / 20.0
    )

    def shrunk(events):
        return ranking_from_moments(
            replace(whole, events=events), ridge=0.1, noise=MomentNoise(1.0, 0.0, 1e-9), shrinkage=0.0
        )

    expected = np.abs(shrunk(150.0 + 1e-3).w - shrunk(150.0 - 1e-3).w) / 2e-3
    np.testing.assert_allclose(shrunk(150.0).noise, expected, rtol=1e-5)


@pytest.mark.parametrize(("ridge", "shrinkage"), [(0.05, 0.0), (0.0, 0.5), (0.05, 0.5), (1e-12, 0.0)])
def test_moments_solve_the_repaired_least_squares_problem(ridge, shrinkage):
    X, y = records(200, 6)
    plan = en.plan("moments", n=200, n_features=6, epsilon=1.0, delta=1e-5, bounds=BALL)
    moments, noise = (
        plan.phases[0].release(rows_of(internal(X)).class_moments(y), noise_from(0)),
        MomentNoise(5.0, 5.0, 7.0),
    )
    means = moments.sums / np.array([[200.0 - moments.events], [moments.events]])
    covariance = sum(
        second / count - np.outer(mean, mean)
        for second, mean, count in zip(moments.seconds, means, (200.0 - moments.events, moments.events), strict=True)
    )
    values, vectors = np.linalg.eigh(covariance)
    assert values[0] < 0.0
    added = ridge + shrinkage * 7.0 * math.hypot(1.0 / moments.events, 1.0 / (200.0 - moments.events)) * math.sqrt(12.0)
    expected = vectors @ ((vectors.T @ (means[1] - means[0])) / (np.maximum(values, 0.0) + added))
    solved = ranking_from_moments(moments, ridge=ridge, noise=noise, shrinkage=shrinkage)
    tolerance = 1e-10 if added > 1e-6 else 1e-3
    np.testing.assert_allclose(solved.w, expected, rtol=tolerance)
    assert solved.intercept == pytest.approx(-float(expected @ means.sum(axis=0)) / 2.0, rel=tolerance)


@pytest.mark.parametrize("surrogate", ["logistic", "squared-hinge", "hinge", "q-norm-hinge(q=1.5)"])
@pytest.mark.parametrize("radius", [0.3, 5.0])
def test_the_non_private_twin_is_the_constrained_minimiser(surrogate, radius):
    """No feasible step along any random direction improves the objective beyond the stated tolerance."""
    X, y = records(50)
    X = X * np.array([1.0, 10.0, 0.1, 1.0])
    plan = en.plan("dpgdc2", n=50, n_features=4, epsilon=None, surrogate=surrogate, radius=radius, ridge=0.01)
    w = plan.run(X, y).w
    assert np.linalg.norm(w) <= radius * (1 + 1e-12)
    best = all_pairs_objective(plan.problem, w, rows_of(X), y)[0]
    rng = np.random.default_rng(1)
    slack = 6e-4 if surrogate == "hinge" else 1e-7
    for scale in (1e-3, 1e-2, 1e-1, 1.0):
        for _ in range(50):
            other = project(w + scale * rng.normal(size=4), radius)
            assert all_pairs_objective(plan.problem, other, rows_of(X), y)[0] >= best - slack


def test_the_sigmoid_counts_wrong_pairs():
    """A few far records of the wrong class bend a convex loss; of a bounded one they are a few wrong pairs."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), np.repeat([1, 0], 300)
    X[y == 1] += (1.5, 0.3, 0.0)
    X[:12, 0] = -30.0
    found = {}
    for surrogate in ("logistic", "hinge", "sigmoid"):
        fitted = en.plan("noisy-gd", n=600, n_features=3, epsilon=None, surrogate=surrogate).run(X, y)
        found[surrogate] = roc_auc_score(y[12:], X[12:] @ fitted.coef)
    assert found["sigmoid"] > 0.85 > 0.8 > max(found["logistic"], found["hinge"])


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_a_sigmoid_without_a_ridge_stops_and_with_one_arrives(ridge):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 3)), rng.integers(2, size=500)
    X[y == 1] += 0.5
    plan = en.plan(n=500, n_features=3, epsilon=None, surrogate="sigmoid", ridge=ridge)
    fitted = plan.run(X, y)
    value, gradient = all_pairs_objective(plan.problem, fitted.w, rows_of(X), y)
    assert fitted.steps < 200
    if ridge:
        assert np.abs(gradient).max() < 1e-6
    # Ten times the parameter would not save much more.
    assert all_pairs_objective(plan.problem, 10.0 * fitted.w, rows_of(X), y)[0] > 0.995 * value


def test_a_plan_needs_bounds_to_run_privately():
    X, y = records()
    plan = en.plan("moments", n=30, n_features=4, epsilon=1.0)
    with pytest.raises(en.PrivacyError, match="bounds"):
        plan.run(X, y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((29, 4)), np.zeros(29), "30 rows"),
        (np.zeros((30, 3)), np.zeros(30), "4 features"),
        (np.zeros((30, 4)), np.zeros(29), "one label per row"),
        (np.full((30, 4), np.nan), np.zeros(30), "finite"),
        (np.zeros((30, 4)), np.full(30, 2), "public classes"),
    ],
)
def test_wrong_rows_are_refused(X, y, message):
    plan = en.plan("moments", n=30, n_features=4, epsilon=1.0, bounds=BALL)
    with pytest.raises(en.InputError, match=message):
        plan.run(X, y)


def test_progress_is_told_in_public_numbers(capsys):
    X, y = records()
    plan = en.plan("dpgdc2", n=30, n_features=4, epsilon=1.0, bounds=BALL, max_iter=5)
    with en.progress_bar("five steps"):
        plan.run(X, y)
    assert capsys.readouterr().out == ""


def test_plans_survive_json():
    for record in en.algorithms():
        epsilon = 1.0 if "approximate" in record.privacy else None
        ask = {"n": 500, "n_features": 3, "ridge": 0.1, "bounds": {"a": (0, 1), "b": (0, 2), "c": (1, 3)}}
        if task_named(record.tasks[0]).has_targets:
            ask["target_bounds"] = (0, 1)
        plan = en.plan(record.name, epsilon=epsilon, **ask)
        again = en.Plan.from_json(plan.to_json())
        assert again == plan
        assert again.certificate() == plan.certificate()
    with pytest.raises(en.InputError, match="entrenous-plan/2"):
        en.Plan.from_json("{}")
    with pytest.raises(en.InputError, match="registered types"):
        en.Plan.from_json('{"schema": "entrenous-plan/2", "plan": {"type": "os.system", "command": "true"}}')
