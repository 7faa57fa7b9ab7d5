"""Descent on secret samples against literal transcriptions of the boxes of Wang et al., with the same random stream."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import all_pairs, ordered_pair_loss
from scipy.stats import chi2

import entrenous as en
from entrenous.engine.phases import sampled_descent as sampled
from entrenous.privacy.noise import noise_from

N, D = 25, 3
BALL = en.FeatureBall(radius=3.0)
ASK = {"n": N, "n_features": D, "epsilon": 2.0, "delta": 1e-5, "bounds": BALL}


def records(seed=0):
    rng = np.random.default_rng(seed)
    X = 2.0 * rng.normal(size=(N, D))
    y = (X[:, 0] + rng.normal(size=N) > 0).astype(int)
    return X, y


def internal(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 3.0)


def project(w, radius):
    norm = np.linalg.norm(w)
    return w if norm <= radius else w * radius / norm


def samples_and_noise(seed, steps, size, dimension, sigma, block):
    """Samples without replacement by exchanging entries of a list, and noise, in the order in which they are drawn."""
    source, order = noise_from(seed), list(range(N))
    for done in range(0, steps, block):
        now = min(block, steps - done)
        columns = source.integers(range(N, N - size, -1), now).T
        noise = sigma * source.normal(now * dimension).reshape(now, dimension) if sigma else np.zeros((now, dimension))
        for t in range(now):
            for k in range(size):
                other = k + int(columns[k][t])
                order[k], order[other] = order[other], order[k]
            yield list(order[:size]), noise[t]


def sigma_of(plan):
    return plan.mechanisms[0].sigma if plan.mechanisms else 0.0


def fit(plan, X, y, seed=7):
    if not plan.is_private:
        return plan.run(X, y, random_state=seed)
    with pytest.warns(en.PrivacyWarning):
        return plan.run(X, y, random_state=seed)


@pytest.mark.parametrize("block", [1 << 18, 30])
@pytest.mark.parametrize("form", ["indicator", "label-difference"])
@pytest.mark.parametrize("surrogate", ["logistic", "hinge", "q-norm-loss(q=1.5)"])
@pytest.mark.parametrize("epsilon", [2.0, None])
def test_dpsgd_pairwise_is_algorithm_2_of_wang(surrogate, form, epsilon, block, monkeypatch):
    monkeypatch.setattr(sampled, "BLOCK", block)
    X, y = records()
    ask = {**ASK, "epsilon": epsilon, "surrogate": surrogate, "max_iter": 40, "options": {"form": form}}
    plan = en.plan("dpsgd-pairwise", **ask)
    fitted = fit(plan, X, y)
    U, eta, w = internal(X), plan.phases[0].step_size, np.zeros(D)
    iterates = []
    for (i, j), noise in samples_and_noise(7, 40, 2, D, sigma_of(plan), block // D):
        iterates.append(w)
        # In whichever order puts the event first.
        i, j = (i, j) if y[i] >= y[j] else (j, i)
        gradient = ordered_pair_loss(plan.problem, w, U[i], U[j], y[i], y[j])[1]
        w = project(w - eta * (gradient + noise), 1.0)
    assert len(iterates) == 40
    np.testing.assert_allclose(fitted.w, np.mean(iterates, axis=0), rtol=1e-10, atol=1e-14)
    assert np.linalg.norm(fitted.w) > 1e-3


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_a_minibatch_of_pairs_is_the_mean_over_its_ordered_pairs(form, ridge):
    X, y = records()
    plan = en.plan("dpsgd-pairwise", **ASK, ridge=ridge, max_iter=15, options={"form": form, "batch": 6})
    fitted = fit(plan, X, y)
    U, eta, w = internal(X), plan.phases[0].step_size, np.zeros(D)
    iterates = []
    for sample, noise in samples_and_noise(7, 15, 6, D, sigma_of(plan), 1 << 15):
        iterates.append(w)
        w = project(w - eta * (all_pairs(plan.problem, w, U[sample], y[sample])[1] + noise), 1.0)
    np.testing.assert_allclose(fitted.w, np.mean(iterates, axis=0), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("batch", [None, 2, 5])
@pytest.mark.parametrize("domain", ["frobenius", "nuclear"])
def test_dpsgd_pairwise_learns_a_metric_step_by_step(batch, domain):
    X, y = records()
    y = y + (X[:, 1] > 0)
    ask = {**ASK, "task": "metric", "classes": (0, 1, 2), "domain": domain, "ridge": 0.2, "max_iter": 12}
    plan = en.plan("dpsgd-pairwise", **ask, radius=0.3, options={"batch": batch})
    assert plan.mechanisms[0].l2_sensitivity == pytest.approx(
        2.0 * plan.problem.lipschitz * (1.0 if batch is None else 2.0 / batch)
    )
    fitted = fit(plan, X, y)
    U, eta, w = internal(X), plan.phases[0].step_size, np.zeros((D, D))
    iterates = []
    p = D * (D + 1) // 2
    for sample, noise in samples_and_noise(7, 12, batch or 2, p, sigma_of(plan), 1 << 10):
        iterates.append(w)
        gradient = all_pairs(plan.problem, w, U[sample], y[sample])[1]
        w = plan.problem.domain.project(w - eta * (gradient + plan.problem.score.from_coordinates(noise, D)))
    np.testing.assert_allclose(fitted.w, np.mean(iterates, axis=0), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("batch", [None, 5])
@pytest.mark.parametrize(
    ("task", "surrogate"),
    [
        ("pointwise-classification", "logistic"),
        ("pointwise-classification", "smoothed-hinge(width=0.5)"),
        ("pointwise-regression", "square"),
        ("pointwise-regression", "q-norm-loss(q=1.4)"),
    ],
)
def test_dpsgd_pointwise_is_algorithm_1_of_wang(task, surrogate, batch):
    X, y = records()
    regression = task == "pointwise-regression"
    targets = X @ [0.5, -0.2, 0.1] + 3.0
    ask = {"task": task, "surrogate": surrogate, "ridge": 0.05, "max_iter": 40, "options": {"batch": batch}}
    plan = en.plan("dpsgd-pointwise", **ASK, **ask, target_bounds=(1.0, 5.0) if regression else None)
    fitted = fit(plan, X, targets if regression else y)
    U, eta, w = np.column_stack([internal(X), np.ones(N)]), plan.phases[0].step_size, np.zeros(D + 1)
    z = (np.clip(targets, 1.0, 5.0) - 3.0) / 2.0
    phi, iterates = plan.problem.surrogate, []
    for sample, noise in samples_and_noise(
        7, 40, batch or 1, D + 1, sigma_of(plan), (1 << 18) // max(D + 1, batch or 1)
    ):
        iterates.append(w)
        gradient = 0.05 * w + noise
        for i in sample:
            if regression:
                gradient = gradient + phi.derivative(np.array([1.0 - (z[i] - U[i] @ w)]))[0] * U[i] / len(sample)
            else:
                s = 2.0 * y[i] - 1.0
                gradient = gradient + phi.derivative(np.array([s * (U[i] @ w)]))[0] * s * U[i] / len(sample)
        w = project(w - eta * gradient, 1.0)
    average = np.mean(iterates, axis=0)
    np.testing.assert_allclose(fitted.w, average[:-1], rtol=1e-10, atol=1e-14)
    # In the user's units: x/3 and, for the regression, targets around 3 in steps of 2.
    coef, intercept = average[:-1] / 3.0, average[-1]
    if regression:
        coef, intercept = 2.0 * coef, 2.0 * intercept + 3.0
    np.testing.assert_allclose(fitted.coef, coef, rtol=1e-10, atol=1e-14)
    assert fitted.intercept == pytest.approx(intercept, rel=1e-10)


def test_one_pair_and_a_minibatch_of_two_are_two_normalisations():
    one = en.plan("dpsgd-pairwise", **ASK, max_iter=10)
    two = en.plan("dpsgd-pairwise", **ASK, max_iter=10, options={"batch": 2})
    assert one.mechanisms[0].l2_sensitivity == pytest.approx(2.0 * two.mechanisms[0].l2_sensitivity)
    assert one.mechanisms[0].sigma == pytest.approx(2.0 * two.mechanisms[0].sigma)
    assert one.mechanisms[0].secret_sample == two.mechanisms[0].secret_sample


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
def test_the_ridge_weighs_as_over_all_pairs(form):
    """Averaged over all pairs, the step of one random pair is a multiple of the all-pairs gradient, ridge included."""
    X, y = records()
    U = internal(X)
    plan = en.plan("dpsgd-pairwise", **ASK | {"epsilon": None}, ridge=0.4, options={"form": form}, max_iter=2)
    w = np.array([0.3, -0.2, 0.1])
    ridge = plan.phases[0].ridge_of(plan.problem)
    total = np.zeros(D)
    for i in range(N):
        for j in range(N):
            if y[i] > y[j]:
                total += ordered_pair_loss(plan.problem, w, U[i], U[j], y[i], y[j])[1]
    mean = total / (N * (N - 1) / 2) + ridge * w
    scale = 2.0 if form == "indicator" else 1.0
    np.testing.assert_allclose(mean, scale * all_pairs(plan.problem, w, U, y)[1], rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_subset_is_equally_likely(size):
    """The law of the samples of the transcription, which the tests above hold to those of the run."""
    counts = {}
    for sample, _ in samples_and_noise(3, 40_000, size, 1, 0.0, 1 << 18):
        assert len(set(sample)) == size
        key = tuple(i < 5 for i in sample)
        counts[key] = counts.get(key, 0) + 1
    # Records below 5, position by position, as in drawing from an urn.
    expected = {}
    for key in counts:
        low, high, chance = 5, N - 5, 1.0
        for is_low in key:
            chance *= (low if is_low else high) / (low + high)
            low, high = (low - 1, high) if is_low else (low, high - 1)
        expected[key] = 40_000 * chance
    assert len(counts) == 2**size
    statistic = sum((counts[key] - expected[key]) ** 2 / expected[key] for key in expected)
    assert chi2.sf(statistic, len(expected) - 1) > 1e-4


@pytest.mark.parametrize(
    ("name", "options", "taken"), [("dpsgd-pairwise", {}, 2 + D), ("dpsgd-pointwise", {"batch": 4}, 5 + D)]
)
def test_samples_are_drawn_where_the_noise_is(name, options, taken, monkeypatch):
    import os

    drawn, urandom = [], os.urandom
    plan = en.plan(name, **ASK, max_iter=11, options=options)
    X, y = records()
    plan.run(X, y)  # compiles; naming a file of the compiler's cache takes random bytes too
    monkeypatch.setattr(os, "urandom", lambda size: drawn.append(size) or urandom(size))
    first = plan.run(X, y)
    # 8 bytes for every index and for every noise value, the intercept's included.
    assert sum(drawn) == 8 * 11 * taken
    assert (plan.run(X, y).w != first.w).all()
    assert "index_seed" not in plan.certificate().public


def test_noise_per_coefficient_is_what_a_simulation_shows():
    plan = en.plan(
        "dpsgd-pairwise", n=20, n_features=500, epsilon=1.0, radius=1e6, surrogate="hinge", bounds=(-1, 1), max_iter=9
    )
    # One class: no pair pays, what is released is noise alone; steps so small that the projection never acts.
    plan = replace(plan, phases=(replace(plan.phases[0], step_size=1e-3),))
    fitted = fit(plan, np.zeros((20, 500)), np.zeros(20))
    assert np.std(fitted.w) == pytest.approx(plan.noise_per_coefficient, rel=0.12)


def test_without_bounds_a_fit_without_privacy_takes_them_from_the_rows():
    X, y = records()
    X = 1e4 * X + 5e6
    free = en.plan("dpsgd-pairwise", n=N, n_features=D, epsilon=None, max_iter=500)
    boxed = en.plan(
        "dpsgd-pairwise", n=N, n_features=D, epsilon=None, max_iter=500, bounds=(X.min(axis=0), X.max(axis=0))
    )
    first, second = (plan.run(X, y, random_state=1) for plan in (free, boxed))
    np.testing.assert_allclose(first.coef, second.coef, rtol=1e-12)
    assert np.corrcoef(X @ first.coef, X[:, 0])[0, 1] > 0.5
    with pytest.raises(en.PrivacyError, match="bounds"):
        en.plan("dpsgd-pairwise", n=N, n_features=D, epsilon=1.0, max_iter=5).run(X, y)


def test_plans_survive_json():
    for name, options in (("dpsgd-pairwise", {"batch": 4}), ("dpsgd-pointwise", {})):
        plan = en.plan(name, **ASK, max_iter=10, options=options)
        assert en.Plan.from_json(plan.to_json()) == plan


def test_regression_targets():
    X, _ = records()
    y = X @ [0.5, -0.2, 0.1]
    ask = {**ASK, "task": "pointwise-regression", "max_iter": 30}
    with pytest.raises(en.PrivacyError, match=r"Never use y\.min"):
        en.plan("dpsgd-pointwise", **ask).run(X, y)
    bounded = en.plan("dpsgd-pointwise", **ask, target_bounds=(-1, 1))
    wild = y.copy()
    wild[3] = 1e200
    tame = y.copy()
    tame[3] = 1.0
    np.testing.assert_array_equal(fit(bounded, X, wild).coef, fit(bounded, X, tame).coef)
    for bad in (np.where(y > 0, np.nan, y), np.array(["a"] * N), y[:-1]):
        with pytest.raises(en.InputError):
            bounded.run(X, bad)
    free = en.plan("dpsgd-pointwise", **ask | {"epsilon": None, "max_iter": 20_000})
    fitted = free.run(X, y, random_state=0)
    assert np.corrcoef(X @ fitted.coef + fitted.intercept, y)[0, 1] > 0.9
    assert np.isfinite(free.run(X, np.full(N, 4.0), random_state=0).coef).all()
    for bounds in ((1, 0), (0, np.inf), "01", (0, 1, 2), (None, 1), 3):
        with pytest.raises(en.InputError, match="target_bounds"):
            en.plan("dpsgd-pointwise", **ask, target_bounds=bounds)


def test_more_budget_means_better_classification():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 2))
    y = (X @ [1.0, 0.5] > 0.2).astype(int)
    right = {}
    for epsilon in (0.1, 8.0, None):
        plan = en.plan(
            "dpsgd-pointwise", n=2000, n_features=2, epsilon=epsilon, bounds=(-1, 1), options={"batch": 40}, radius=5.0
        )
        fits = [fit(plan, X, y, seed) for seed in range(8)]
        right[epsilon] = np.mean([((X @ f.coef + f.intercept > 0) == y).mean() for f in fits])
    assert right[0.1] < right[8.0] - 0.05
    assert right[8.0] > 0.9
    assert right[None] > 0.9
