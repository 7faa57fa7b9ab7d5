"""Whole private runs of the SGD family against literal transcriptions of the papers' boxes, with the same draws."""

import math
import warnings

import numpy as np
import pytest

import entrenous as en
from entrenous.privacy.noise import noise_from
from entrenous.problem.streams.indices import permutation, uniform, with_replacement

N, D, SEED = 40, 3, 11
RADIUS = 2.0
"""Of the ball that rows are clipped into."""


def records():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = (X[:, 0] + 0.5 * rng.normal(size=N) > 0).astype(int)
    return X, y, X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), RADIUS)


def slope(surrogate, t):
    return -1.0 / (1.0 + math.exp(t)) if surrogate == "logistic" else -1.0 * (t < 1.0)


def gradient(surrogate, w, U, y, i, j):
    """Of one pair, in whichever order puts the event first."""
    if i == j or y[i] == y[j]:
        return np.zeros(D)
    gap = U[i] - U[j] if y[i] == 1 else U[j] - U[i]
    return slope(surrogate, gap @ w) * gap


def project(w):
    return w / max(1.0, np.linalg.norm(w))


def constants(surrogate):
    """G of one pair, rows at most 2 apart, the parameter in the unit ball, and the longest step 2/L."""
    return (2.0 / (1.0 + math.exp(-2.0)), 2.0) if surrogate == "logistic" else (2.0, math.inf)


def average(iterates, eta):
    """sum_t eta_t w_{t-2} / sum_t eta_t, with w_{-1} = w_0."""
    return sum(eta[t - 1] * iterates[max(0, t - 2)] for t in range(1, len(eta) + 1)) / sum(eta)


def sgd_previous(surrogate, U, y, seed):
    G, longest = constants(surrogate)
    T = N if surrogate == "logistic" else N**2
    eta = min(1.0 / G * T ** (-0.5 if surrogate == "logistic" else -0.75), longest)
    order = with_replacement(seed, 1, N, T + 1)
    iterates = [np.zeros(D)]
    for t in range(1, T + 1):
        w = iterates[-1]
        iterates.append(project(w - eta * gradient(surrogate, w, U, y, order[t], order[t - 1])))
    return average(iterates, [eta] * T)


def ogd_previous(surrogate, U, y, seed):
    G, longest = constants(surrogate)
    iterates, eta = [np.zeros(D)], []
    for t in range(1, N):
        w = iterates[-1]
        eta.append(min(1.0 / G, longest) / math.sqrt(t))
        iterates.append(project(w - eta[-1] * gradient(surrogate, w, U, y, t, t - 1)))
    return average(iterates, eta)


def sgd_all_previous(surrogate, U, y, seed):
    eta = 1.0 / constants(surrogate)[0] * N**-0.75
    order = with_replacement(seed, 1, N, N + 1)
    iterates = [np.zeros(D)]
    for t in range(1, N + 1):
        w = iterates[-1]
        mean = sum((gradient(surrogate, w, U, y, order[t], order[s]) for s in range(t)), np.zeros(D)) / t
        iterates.append(project(w - eta * mean))
    return np.mean(iterates[:-1], axis=0)


def sgd_pair(surrogate, U, y, seed):
    G, longest = constants(surrogate)
    eta = min(1.0 / G / math.sqrt(N), longest)
    first, second = with_replacement(seed, 1, N, 2 * N).reshape(2, N)
    iterates = [np.zeros(D)]
    for i, j in zip(first, second, strict=True):
        w = iterates[-1]
        iterates.append(project(w - eta * gradient(surrogate, w, U, y, i, j)))
    return np.mean(iterates[:-1], axis=0)


def olp(surrogate, U, y, seed, size=200):
    G, longest = constants(surrogate)
    chances = uniform(seed, 1, (N, size))
    places, iterates = [0] * size, [np.zeros(D)]
    for t in range(1, N):
        w = iterates[-1]
        mean = sum((gradient(surrogate, w, U, y, t, place) for place in places), np.zeros(D)) / size
        iterates.append(project(w - min(1.0 / G, longest) / math.sqrt(t) * mean))
        places = [t if chance * (t + 1) < 1.0 else place for place, chance in zip(places, chances[t], strict=True)]
    return np.mean(iterates[:-1], axis=0)


BOXES = {
    "sgd-previous": sgd_previous,
    "ogd-previous": ogd_previous,
    "sgd-all-previous": sgd_all_previous,
    "dp-sgd-output": sgd_all_previous,
    "sgd-pair": sgd_pair,
    "olp": olp,
}


def run(plan, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        return plan.run(X, y, random_state=5).w


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("surrogate", ["logistic", "hinge"])
@pytest.mark.parametrize("epsilon", [None, 20.0])
def test_a_stream_with_noise_on_its_average(name, surrogate, epsilon):
    X, y, U = records()
    ask = {"n": N, "n_features": D, "bounds": en.FeatureBall(RADIUS), "surrogate": surrogate, "index_seed": SEED}
    plan = en.plan(name, **ask, epsilon=epsilon)
    expected = BOXES[name](surrogate, U, y, SEED)
    assert np.linalg.norm(expected) > 1e-3
    if epsilon is not None:
        expected = project(expected + plan.mechanisms[0].sigma * noise_from(5).normal(D))
    np.testing.assert_allclose(run(plan, X, y), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_dp_localized_sgd_is_algorithm_3(calibration):
    """Phases on halves of the records, steps a quarter as long, noise after each, from the last release on."""
    X, y, U = records()
    epsilon, delta = 4.0, 1e-5
    ask = {"n": N, "n_features": D, "bounds": en.FeatureBall(RADIUS), "epsilon": epsilon, "delta": delta}
    plan = en.plan("dp-localized-sgd", **ask, index_seed=SEED, calibration=calibration)
    G = constants("logistic")[0]
    noise_factor = 12.0 * math.log(4.0 / delta) * math.sqrt(2.0 * math.log(2.5 / delta))
    eta = 2.0 / G * min(math.log(4.0 / delta) / math.sqrt(N), epsilon / (noise_factor * math.sqrt(D)))
    order, source, w, start = permutation(SEED, N), noise_from(5), np.zeros(D), 0
    for k in range(1, math.ceil(math.log2(N)) + 1):
        size = N // 2**k
        if size < 2:
            break
        V, z = U[order[start : start + size]], y[order[start : start + size]]
        start += size
        T, eta_k = math.ceil(size * math.log(4.0 / delta)), eta / 4.0**k
        drawn = with_replacement(SEED, k, size, T + 1)
        iterates = [w]
        for t in range(1, T + 1):
            here = iterates[-1]
            iterates.append(project(here - eta_k * gradient("logistic", here, V, z, drawn[t], drawn[t - 1])))
        sigma = plan.mechanisms[k - 1].sigma
        if calibration == "paper":
            assert sigma == pytest.approx(G * eta_k * noise_factor / epsilon)
        w = project(average(iterates, [eta_k] * T) + sigma * source.normal(D))
    np.testing.assert_allclose(run(plan, X, y), w, rtol=1e-10, atol=1e-12)
