"""Measured errors, complexities and noise never exceed the printed bounds with explicit constants."""

import math

import numpy as np
import pytest
from theory_runs import all_pairs, hinge, hinge_risk, previous_pairs, ranking, ranking_data, rng, slope

from entrenous.theory import kang2021, xue2021, yang2021_aistats, yang2021_neurips


def test_theorems_6_and_7_hold_for_the_hinge():
    n, reps, delta = 30, 300, 0.05
    data = ranking_data(n)
    targets = rng(1).normal(size=(50, 3))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    best = hinge_risk(targets, data).min()
    for T, eta in ((50, 0.1), (200, 0.5), (800, 0.05)):
        indices = rng(2).integers(n, size=(reps, T + 1))
        average, _ = previous_pairs(ranking(hinge), data, indices, eta, np.zeros((reps, 3)), radius=1.0)
        found = hinge_risk(average, data) - best
        assert found.mean() <= float(yang2021_neurips.theorem_6a(T, eta, G=1.0, distance=1.0))
        bound = float(yang2021_neurips.theorem_7a(T, eta, G=1.0, B=2.0, distance=1.0, delta=delta))
        assert np.mean(found > bound) <= delta


def test_theorem_6_falls_as_stated_on_the_absolute_value():
    """``f = |w|`` from w = 1 with steps 1/sqrt(T): half the bound, at its rate."""
    Ts, found = [64, 256, 1024, 4096], []
    for T in Ts:
        average, _ = previous_pairs(
            lambda w, a, b: np.sign(w), np.zeros((2, 1)), np.zeros((1, T + 1), int), T**-0.5, np.ones((1, 1))
        )
        seen = []
        previous_pairs(
            lambda w, a, b: np.sign(w),
            np.zeros((2, 1)),
            np.zeros((1, T + 1), int),
            T**-0.5,
            np.ones((1, 1)),
            visit=lambda w, seen=seen: seen.append(abs(w[0, 0])),
        )
        found.append(np.mean(seen))
        bound = float(yang2021_neurips.theorem_6a(T, T**-0.5, G=1.0, distance=1.0))
        assert abs(average[0, 0]) <= found[-1] <= bound
        assert found[-1] >= bound / 4.0
    assert slope(Ts, found) == pytest.approx(-0.5, abs=0.075)


def test_theorem_6_changing_steps_are_summed():
    steps = 1.0 / np.sqrt(np.arange(1.0, 51.0))
    before = np.concatenate([steps[:1], steps[:-1]])
    by_hand = (4.0 + 9.0 * np.sum(2.0 * steps * before + steps**2)) / (2.0 * steps.sum())
    assert float(yang2021_neurips.theorem_6a(50, steps, G=3.0, distance=2.0)) == pytest.approx(by_hand)


def test_theorem_8_holds_for_a_sigmoid_which_is_not_convex():
    n, reps, L, alpha_0 = 20, 60, 0.0963, 0.25
    data = ranking_data(n)
    a, b = all_pairs(data)
    kept = (a[:, -1] == 1.0) & (b[:, -1] == 0.0)
    gaps = (a - b)[kept, :-1]

    def slope_of(t):
        s = 1.0 / (1.0 + np.exp(t))
        return -s * (1.0 - s)

    for T, eta in ((50, 1.0), (400, 0.5)):
        squares = []

        def visit(w, squares=squares):
            gradient = slope_of(w @ gaps.T) @ gaps / n**2
            squares.append(np.sum(gradient**2, axis=1).mean())

        indices = rng(3).integers(n, size=(reps, T + 1))
        previous_pairs(ranking(slope_of), data, indices, eta, np.zeros((reps, 3)), visit=visit)
        start = 0.5 * len(gaps) / n**2
        assert 0.0 < np.mean(squares) <= float(yang2021_neurips.theorem_8(T, eta, L, start, alpha_0))


@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_theorem_9_holds_for_a_quadratic_and_falls_as_stated(mu):
    """``f = mu/2 |w - (x + x')/2|^2``, rows in the unit ball: iterates stay in it, so gradients are below 2 mu."""
    n, reps, Ts, found = 12, 2000, [8, 32, 128, 512], []
    data = rng(4).uniform(-1.0, 1.0, size=(n, 1))
    for T in Ts:
        eta = 2.0 / (mu * (np.arange(1, T + 1) + 1.0))
        indices = rng(5).integers(n, size=(reps, T + 1))
        last = previous_pairs(lambda w, a, b: mu * (w - (a + b) / 2.0), data, indices, eta, np.zeros((reps, 1)))[1]
        found.append(mu / 2.0 * np.mean((last - data.mean()) ** 2))
        assert found[-1] <= float(yang2021_neurips.theorem_9(T, mu, mu, 2.0 * mu))
    assert slope(Ts, found) == pytest.approx(-1.0, abs=0.15)


def test_lemma_4_holds_and_spheres_reach_two_thirds_of_it():
    n, reps, kappa, ts, found = 200, 300, 0.5, [10, 40, 160], []
    source = rng(6)
    x = source.normal(size=(n, 40))
    x *= kappa / np.linalg.norm(x, axis=1, keepdims=True)
    for t in ts:
        i, k = source.integers(n, size=(reps, 1)), source.integers(n, size=(reps, t))
        signs = source.choice([-1.0, 1.0], size=(reps, t, 1))
        # The supremum over a ball of radius 2 is twice the norm.
        found.append(2.0 * np.linalg.norm((signs * (x[i] - x[k])).mean(axis=1), axis=1).mean())
        bound = float(yang2021_aistats.lemma_4(t, D=2.0, kappa=kappa))
        assert 0.63 * bound <= found[-1] <= bound / math.sqrt(2.0) * 1.02
    assert slope(ts, found) == pytest.approx(-0.5, abs=0.03)


@pytest.mark.parametrize("d", [3, 20])
def test_lemma_a17_holds(d):
    source, reps = rng(7), 100
    for t in (10, 100):
        x = source.normal(size=(reps, t, d))
        x /= np.linalg.norm(x, axis=2, keepdims=True)
        signs = source.choice([-1.0, 1.0], size=(reps, t))
        sums = np.einsum("rt,rti,rtj->rij", signs, x, x) / t
        found = np.linalg.norm(sums, 2, axis=(1, 2)).mean()
        bound = float(yang2021_aistats.lemma_a17(t, d, chi=1.0 / d, largest=1.0))
        assert bound / 20.0 < found <= bound


def test_kang_theorem_2_holds_and_a_quadratic_attains_its_noise():
    """``f = mu/2 |theta - (x + x')/2|^2``: one step finds the mean, the last noise leaves p sigma^2/(2 mu)."""
    mu, p, T, reps = 0.5, 6, 5, 4000
    for n in (20, 200):
        sigma = float(kang2021.theorem_1(n, T, 2.0, 1e-4, G=2.0 * mu))
        source = rng(8)
        x = source.uniform(-1.0, 1.0, size=(reps, n, p)).mean(axis=1) / math.sqrt(p)
        theta = np.zeros((reps, p))
        for _ in range(T):
            theta = theta - (mu * (theta - x) + sigma * source.normal(size=(reps, p))) / mu
        found = mu / 2.0 * np.mean(np.sum(theta**2, axis=1))
        noise = p * sigma**2 / (2.0 * mu)
        sampling = mu / 2.0 / (3.0 * n)
        assert found == pytest.approx(noise + sampling, rel=0.05)
        assert found <= float(kang2021.theorem_2(n, p, T, sigma, G=2.0 * mu, L=mu, mu=mu, gap=mu / 2.0))


def released_mean(n, d, epsilon, delta=1e-3, alpha=0.5, reps=3000):
    """Excess risk of Xue's Algorithm 1 on ``alpha/2 |w - (x + x')/2|^2``: the sample's minimiser is its mean."""
    source = rng(9)
    sigma = float(xue2021.printed_noise_1(n, d, epsilon, delta, G=2.0 * alpha, alpha=alpha))
    mean = source.normal(size=(reps, d)) * math.sqrt(1.0 / (3.0 * n * d))
    return alpha / 2.0 * np.mean(np.sum((mean + sigma * source.normal(size=(reps, d))) ** 2, axis=1))


def test_xue_theorem_1_falls_as_stated_in_n_d_and_epsilon():
    assert slope([100, 1000, 10_000], [released_mean(n, 10, 1.0) for n in (100, 1000, 10_000)]) <= -1.0 * 0.85
    # Where the noise is all, the exponents are those of its term: -2 in n and epsilon, 1 in d.
    assert slope([50, 100, 200], [released_mean(n, 10, 1.0) for n in (50, 100, 200)]) == pytest.approx(-2.0, abs=0.1)
    assert slope([0.1, 0.3, 1.0], [released_mean(50, 10, e) for e in (0.1, 0.3, 1.0)]) == pytest.approx(-2.0, abs=0.1)
    assert slope([5, 20, 80], [released_mean(50, d, 1.0) for d in (5, 20, 80)]) == pytest.approx(1.0, abs=0.1)


def test_aistats_theorem_2_is_above_its_restatement_in_the_appendix():
    for n, gamma, G in ((100, 0.05, 1.0), (10**6, 0.3, 0.5), (10**4, 0.01, 3.0)):
        T, eta, D, M, R = n**2, n**-1.5, 2.0, 1.5, 0.01
        log = math.log(6.0 * math.e / gamma)
        moved = math.sqrt(T) + math.sqrt(3.0) * T * math.log(math.e * T) * math.log(6.0 / gamma) / n
        appendix = 4.0 * R + D**2 / (2.0 * T * eta) + eta * G**2 / 2.0
        appendix += 6.0 * (M + G * D) * math.sqrt(math.log(6.0 * T / gamma) / n)
        appendix += 19.0 * math.e * (M + G * D) * math.sqrt(log / n)
        factor = 4.0 + 48.0 * math.sqrt(6.0) * math.e * G * math.ceil(math.log(n)) * log
        appendix += 2.0 * math.sqrt(math.e) * eta * G * factor * moved
        main = float(yang2021_aistats.theorem_2(n, T, eta, G, D, M, gamma, R))
        # max(1, G) in the main text stands where the appendix has G.
        assert appendix <= main <= 1.2 * appendix / min(1.0, G)


def test_aistats_noise_is_short_of_its_proof_by_the_root_of_e():
    n, T, eta, epsilon, delta = 500, 500**2, 1e-4, 0.7, 1e-5
    printed = 8.0 * eta**2 * math.log(2.5 / delta) / epsilon**2
    printed *= T + 3.0 * T**2 * math.log(math.e * T) ** 2 * math.log(2.0 / delta) ** 2 / n**2
    found = float(yang2021_aistats.theorem_4(n, T, eta, epsilon, delta, 1.0))
    assert found**2 == pytest.approx(printed)
    proved = (
        float(yang2021_aistats.equation_9(n, T, eta, 1.0, delta / 2)) * math.sqrt(2.0 * math.log(2.5 / delta)) / epsilon
    )
    assert proved / found == pytest.approx(math.sqrt(math.e))
