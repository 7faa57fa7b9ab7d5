"""Xue et al. 2021: printed formulas to the letter, literal transcriptions of the boxes, and attacks on whole plans."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from oracles import all_pairs, stated_mechanism

import entrenous as en
from entrenous.engine.phases.phase import Released
from entrenous.engine.rows.registry import rows_of
from entrenous.planners.xue2021 import epochs
from entrenous.privacy.accounting import second_opinion, total_epsilon
from entrenous.privacy.budget import NO_PRIVACY
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.noise import noise_from
from entrenous.problem.streams.indices import permutation

BALL = en.FeatureBall(radius=1.0)
ASK = {"n": 300, "n_features": 4, "epsilon": 1.0, "delta": 1e-6}
G_LABEL_DIFFERENCE = 2 * 2 / (1 + math.exp(-4.0))
"""Logistic, rows and parameters in unit balls: twice the margin, twice the feature."""


def records(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


def project(w, radius=1.0):
    norm = np.linalg.norm(w)
    return w if norm <= radius else w * radius / norm


def seeded(plan, X, y, seed=7):
    with pytest.warns(en.PrivacyWarning, match="seeded"):
        return plan.run(X, y, random_state=seed)


def without_noise(plan):
    silent = tuple(replace(phase, output_noise=None) for phase in plan.phases)
    return replace(plan, phases=silent, budget=NO_PRIVACY)


# --- the boxes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-5, 0.0])
@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_dpgdc_averages_descent_and_adds_noise_once(delta, calibration):
    X, y = records(20)
    plan = en.plan(
        "dpgdc", n=20, n_features=3, epsilon=2.0, delta=delta, bounds=BALL, ridge=0.1, calibration=calibration
    )
    fitted = seeded(plan, X, y)
    eta, T = plan.public["step_size"], plan.public["steps"]
    w, total = np.zeros(3), np.zeros(3)
    for _ in range(T):
        w = project(w - eta * all_pairs(plan.problem, w, X, y)[1])
        total += w
    expected = project(total / T + plan.mechanisms[0].draw(noise_from(7), 3))
    np.testing.assert_allclose(fitted.w, expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 5, 23])
@pytest.mark.parametrize("delta", [1e-5, 0.0])
@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_dpegd_is_algorithm_3(n, delta, calibration):
    X, y = records(n)
    plan = en.plan(
        "dpegd",
        n=n,
        n_features=3,
        epsilon=2.0,
        delta=delta,
        bounds=BALL,
        calibration=calibration,
        index_seed=11,
    )
    fitted = seeded(plan, X, y)
    order, noise = permutation(11, n), noise_from(7)
    affordable = 2.0 / 3 if delta == 0.0 else 2.0 / math.sqrt(3 * math.log(1 / delta))
    G = plan.problem.lipschitz
    # The paper's ||C|| is the diameter of the ball of radius 1.
    eta = (2.0 / G) * min(4.0 / math.sqrt(n), affordable)
    if calibration == "tight":
        smoothness = [plan.problem.full_smoothness(stop - start) for start, stop in epochs(n)]
        eta = min(eta, *(4.0**i * 2.0 / each for i, each in enumerate(smoothness, start=1)))
    k = math.floor(math.log2(n))
    w, used = np.zeros(3), 0
    for i in range(1, k + 1):
        n_i = n // 2**i if i < k else n - used
        part = order[used : used + n_i]
        used += n_i
        eta_i = eta / 4**i
        total = np.zeros(3)
        for _ in range(n_i):
            w = project(w - eta_i * all_pairs(plan.problem, w, X[part], y[part])[1])
            total += w
        w = project(total / n_i + plan.mechanisms[i - 1].draw(noise, 3))
    assert used == n
    np.testing.assert_allclose(fitted.w, w, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 9, 100, 255, 256, 257])
def test_the_epochs_of_any_n_are_disjoint_and_have_a_pair_each(n):
    shares = epochs(n)
    assert len(shares) == max(1, math.floor(math.log2(n)))
    assert [start for start, _ in shares] == [0, *(stop for _, stop in shares[:-1])]
    assert shares[-1][1] == n
    assert all(stop - start >= 2 for start, stop in shares)
    assert [stop - start for start, stop in shares[:-1]] == [n // 2**i for i in range(1, len(shares))]


def test_dpegd_for_a_power_of_two_is_the_papers_division():
    assert [stop - start for start, stop in epochs(64)] == [32, 16, 8, 4, 2, 2]


# --- printed formulas -------------------------------------------------------------------------------------------------


def test_dpgdc_printed_noise_is_the_papers():
    plan = en.plan("dpgdc", **ASK, calibration="paper")
    T, eta = plan.public["steps"], plan.public["step_size"]
    assert plan.problem.form == "label-difference"
    printed = 4 * math.sqrt(2 * math.log(1.25 / 1e-6)) * G_LABEL_DIFFERENCE * T * eta / 300
    assert plan.mechanisms[0].sigma == pytest.approx(printed, rel=1e-12)
    pure = en.plan("dpgdc", **ASK | {"delta": 0}, calibration="paper")
    T, eta = pure.public["steps"], pure.public["step_size"]
    assert pure.mechanisms[0].kind == "laplace"
    assert pure.mechanisms[0].scale == pytest.approx(4 * G_LABEL_DIFFERENCE * eta * T * 2 / 300, rel=1e-12)
    assert pure.mechanisms[0].l1_sensitivity == pytest.approx(2 * pure.mechanisms[0].l2_sensitivity)
    # True in this form: D_full = 2G/n, and the average moves by eta D_full (T + 1)/2.
    assert pure.certificate().epsilon == pytest.approx(0.25 * (T + 1) / T, rel=1e-9)


def test_dpegd_printed_noise_and_step_sizes_are_the_papers():
    plan = en.plan("dpegd", **ASK, calibration="paper")
    eta = 2 / G_LABEL_DIFFERENCE * min(4 / math.sqrt(300), 1 / math.sqrt(4 * math.log(1e6)))
    pure = en.plan("dpegd", **ASK | {"delta": 0}, calibration="paper")
    eta_pure = 2 / G_LABEL_DIFFERENCE * min(4 / math.sqrt(300), 1 / 4)
    for i, (phase, other) in enumerate(zip(plan.phases, pure.phases, strict=True), start=1):
        assert phase.step_size == pytest.approx(eta / 4**i)
        assert other.step_size == pytest.approx(eta_pure / 4**i)
        assert phase.total_steps == phase.share[1] - phase.share[0]
        printed = 4 * math.sqrt(2 * math.log(1.25 / 1e-6)) * G_LABEL_DIFFERENCE * phase.step_size
        assert phase.output_noise.sigma == pytest.approx(printed, rel=1e-12)
        assert other.output_noise.scale == pytest.approx(4 * G_LABEL_DIFFERENCE * other.step_size * 2, rel=1e-12)
    assert plan.certificate().epsilon < 0.5


@pytest.mark.parametrize("n", [2, 5, 100, 257])
def test_dpegd_tight_noise_is_lemma_4_on_each_part(n):
    plan = en.plan("dpegd", n=n, n_features=4, epsilon=1.0, delta=1e-6)
    slope = 1 / (1 + math.exp(-2.0))
    for (start, stop), phase, stated in zip(epochs(n), plan.phases, plan.public["phases"], strict=True):
        n_k = stop - start
        moved = phase.step_size * (slope * 2 / n_k) * (n_k + 1) / 2
        assert phase.output_noise.l2_sensitivity == pytest.approx(moved, rel=1e-12)
        assert phase.output_noise.sigma == pytest.approx(moved / mu_for(1.0, 1e-6), rel=1e-12)
        assert stated == {"records": n_k, "steps": n_k, "step_size": phase.step_size, "average_from": 1}


def test_another_number_of_steps_is_priced():
    """``eta_k T_k D_pair / n_k``: twice the steps, about twice the sensitivity; printed noise does not know."""
    usual, longer = (en.plan("dpegd", **ASK, max_iter=t) for t in (50, 100))
    for a, b in zip(usual.mechanisms, longer.mechanisms, strict=True):
        assert b.l2_sensitivity / a.l2_sensitivity == pytest.approx(101 / 51)
    with pytest.warns(en.PrivacyWarning, match="really spends"):
        en.plan("dpegd", **ASK, max_iter=100, calibration="paper")


def test_lemma_1_of_the_paper_is_loose():
    """It prints 8G/(alpha n); the truth is 4G/(alpha n) for any pairwise loss and R/(alpha n) for the AUC."""
    ask = ASK | {"ridge": 0.5, "max_iter": 10_000}
    form = {"options": {"form": "indicator"}}
    G = 2 / (1 + math.exp(-2.0))
    auc = en.plan("dpgdsc", **ask).mechanisms[0].l2_sensitivity
    assert auc == pytest.approx(G / (0.5 * 300), rel=1e-9)
    printed = en.plan("dpgdsc", **ask, **form, calibration="paper").mechanisms[0].sigma
    assert printed / math.sqrt(2 * math.log(1.25e6)) == pytest.approx(8 * auc, rel=1e-9)


def test_the_noise_of_table_4_drowns_the_unit_ball():
    """DPGDSC at n = 256, eps = 1, delta = 1/n, ridge 1e-3: sigma above 400, where Table 4 reports 64 %."""
    with pytest.warns(en.PrivacyWarning, match="1/n"):
        plan = en.plan("dpgdsc", n=256, n_features=8, epsilon=1.0, delta=1 / 256, ridge=1e-3, calibration="paper")
    # 425 with G = 4, the supremum over all radii; 417 with the constant of the unit ball.
    assert plan.mechanisms[0].sigma == pytest.approx(425 * G_LABEL_DIFFERENCE / 4, rel=2e-3)


@pytest.mark.parametrize(("delta", "crossing"), [(1e-5, 8.4), (1 / 256, 7.0)])
def test_the_classical_gaussian_overpays_far_beyond_its_proof_and_then_underpays(delta, crossing):
    """Proved for eps <= 1; the exact price of its noise stays below the claim until the crossing."""

    def real(epsilon):
        sigma = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
        return total_epsilon((stated_mechanism("gaussian", 1.0, "Lemma 3", sigma=sigma),), delta)

    assert real(1.0) < 0.9
    assert real(0.96 * crossing) < 0.96 * crossing
    assert real(1.04 * crossing) > 1.04 * crossing


# --- attacks ----------------------------------------------------------------------------------------------------------


def worst_neighbours(n, replaced):
    """All records at one pole but one at the other, whose label turns."""
    X = np.full((n, 2), 0.0)
    X[:, 0] = -1.0
    X[replaced, 0] = 1.0
    y = np.zeros(n, dtype=int)
    y_new = y.copy()
    y_new[replaced] = 1
    return (X, y), (X, y_new)


def random_neighbours(n, replaced, rng):
    X = rng.normal(size=(n, 2))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    y = rng.integers(0, 2, size=n)
    X_new, y_new = X.copy(), y.copy()
    X_new[replaced] = -X[replaced] / np.linalg.norm(X[replaced])
    y_new[replaced] = 1 - y[replaced]
    return (X, y), (X_new, y_new)


def released(phase, plan, data, w):
    """One noiseless phase of the plan on its share of the records."""
    chosen = slice(None) if phase.share is None else permutation(plan.index_seed, plan.n)[slice(*phase.share)]
    X, y = data
    return (
        replace(phase, output_noise=None)
        .run(plan.problem, rows_of(X[chosen]), y[chosen], Released(w), None, lambda a, b: None)
        .w
    )


@pytest.mark.parametrize("n", [2, 3, 5, 30])
@pytest.mark.parametrize("surrogate", ["logistic", "smoothed-hinge(width=0.5)", "square"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_adjacent_records_never_move_dpgdc_farther_than_its_plan_says(n, surrogate, delta):
    plan = en.plan("dpgdc", n=n, n_features=2, epsilon=1.0, delta=delta, bounds=BALL, surrogate=surrogate)
    rng = np.random.default_rng(1)
    ratios = []
    for neighbours in [worst_neighbours(n, 0), *(random_neighbours(n, 1, rng) for _ in range(10))]:
        phase = replace(plan.phases[0], output_noise=None)
        one, two = (
            phase.run(plan.problem, rows_of(X), y, Released(plan.problem.start()), None, lambda done, total: None).w
            for X, y in neighbours
        )
        ratios.append(np.linalg.norm(one - two) / plan.mechanisms[0].l2_sensitivity)
    assert max(ratios) <= 1.0 + 1e-9
    if surrogate != "square":
        # The square is steepest far from where descent goes.
        assert max(ratios) >= 0.5


@pytest.mark.parametrize("n", [2, 3, 5, 40])
@pytest.mark.parametrize("surrogate", ["logistic", "smoothed-hinge(width=0.5)"])
def test_adjacent_records_never_move_an_epoch_farther_than_its_plan_says(n, surrogate):
    """The first epochs release the same, the one with the replaced record moves within its sensitivity."""
    plan = en.plan("dpegd", n=n, n_features=2, epsilon=1.0, bounds=BALL, surrogate=surrogate, index_seed=5)
    order = permutation(5, n)
    rng = np.random.default_rng(2)
    for k, (start, _) in enumerate(epochs(n)):
        replaced = order[start]
        ratios = []
        for neighbours in [worst_neighbours(n, replaced), *(random_neighbours(n, replaced, rng) for _ in range(5))]:
            w = plan.problem.start()
            for phase in plan.phases[:k]:
                one, two = (released(phase, plan, data, w) for data in neighbours)
                np.testing.assert_array_equal(one, two)
                w = one
            one, two = (released(plan.phases[k], plan, data, w) for data in neighbours)
            ratios.append(np.linalg.norm(one - two) / plan.mechanisms[k].l2_sensitivity)
        assert max(ratios) <= 1.0 + 1e-9
        assert max(ratios) >= 0.5


def test_the_attack_on_epochs_sees_a_halved_sensitivity():
    plan = en.plan("dpegd", n=40, n_features=2, epsilon=1.0, bounds=BALL, index_seed=5)
    start = epochs(40)[0][0]
    one, two = (
        released(plan.phases[0], plan, data, plan.problem.start())
        for data in worst_neighbours(40, permutation(5, 40)[start])
    )
    assert np.linalg.norm(one - two) > 0.5 * plan.mechanisms[0].l2_sensitivity


def test_the_same_index_seed_deals_the_same_parts_and_another_one_others():
    X, y = records(64)
    ask = {"n": 64, "n_features": 3, "epsilon": 1.0, "bounds": BALL}
    same = [without_noise(en.plan("dpegd", **ask, index_seed=seed)).run(X, y).w for seed in (1, 1, 2)]
    np.testing.assert_array_equal(same[0], same[1])
    assert not np.array_equal(same[0], same[2])


# --- price ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dpgdc", "dpegd"])
@pytest.mark.parametrize("n", [2, 3, 5, 100, 257])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (4.0, 1e-5), (1.0, 0.0)])
def test_the_accountant_agrees_for_any_n(name, n, epsilon, delta):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = en.plan(name, n=n, n_features=4, epsilon=epsilon, delta=delta)
    assert plan.epsilon == pytest.approx(epsilon, rel=1e-9)
    # A pure loss is rounded up to the accountant's grid of 1e-3.
    assert second_opinion(plan.mechanisms, delta) == pytest.approx(epsilon, rel=1e-6, abs=1e-3 if delta == 0.0 else 0.0)
    verified = plan.certificate().verify()
    assert all("seeded" in said for said in verified.reservations)
    assert verified.epsilon <= epsilon * (1 + 1e-9)


def test_epochs_cost_one_budget_together_and_the_sum_without_the_scopes():
    plan = en.plan("dpegd", **ASK)
    assert plan.epsilon == pytest.approx(1.0)
    everywhere = tuple(replace(m, scope="all") for m in plan.mechanisms)
    assert second_opinion(everywhere, 1e-6) > 2.0


def test_noise_of_all_epochs_is_in_the_figure():
    plan = en.plan("dpegd", **ASK)
    sigmas = [m.sigma for m in plan.mechanisms]
    assert plan.noise_per_coefficient == pytest.approx(math.sqrt(sum(s**2 for s in sigmas)))


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_long_steps_are_refused_with_the_largest_allowed_one():
    ask = {"n": 4, "n_features": 2, "epsilon": 50.0, "radius": 1000.0}
    with pytest.raises(en.AssumptionError, match=r"eta <= 16, got eta = 1000") as caught:
        en.plan("dpegd", **ask, options={"step_size": 1000.0})
    assert en.plan("dpegd", **ask).phases[0].step_size == pytest.approx(16 / 4)
    with pytest.raises(en.AssumptionError, match="eta <= "):
        en.plan("dpegd", **ask, calibration="paper")
    allowed = float(caught.value.way_out.split(":")[1].split("}")[0])
    plan = en.plan("dpegd", **ask, options={"step_size": allowed})
    assert plan.phases[0].step_size == pytest.approx(allowed / 4)
    with pytest.raises(en.AssumptionError, match="2/L"):
        en.plan("dpegd", **ask, options={"step_size": 1.01 * allowed})


@pytest.mark.parametrize("step_size", [0.0, -1.0, math.nan, math.inf, "1", True])
def test_step_sizes_are_positive_numbers(step_size):
    with pytest.raises(en.InputError, match="step_size"):
        en.plan("dpegd", **ASK, options={"step_size": step_size})


@pytest.mark.parametrize("name", ["dpgdc", "dpegd"])
def test_the_hinge_is_refused_and_the_way_out_is_named(name):
    with pytest.raises(en.AssumptionError, match=r"smooth.*dpgdc2"):
        en.plan(name, **ASK, surrogate="hinge")
    en.plan(name, **ASK, surrogate="smoothed-hinge(width=0.5)")


@pytest.mark.parametrize("name", ["dpgdc", "dpegd"])
def test_the_twin_is_the_minimiser(name):
    X, y = records(40)
    twin = en.plan(name, n=40, n_features=3, epsilon=None)
    other = en.plan("dpgdc2", n=40, n_features=3, epsilon=None)
    np.testing.assert_allclose(twin.run(X, y).w, other.run(X, y).w, rtol=1e-9)
    assert twin.certificate() is None


@pytest.mark.parametrize(("radius", "surrogate"), [(0.1, "logistic"), (50.0, "logistic"), (1.0, "square")])
def test_dpgdc_never_steps_too_far(radius, surrogate):
    for calibration in ("tight", "paper"):
        plan = en.plan("dpgdc", **ASK, radius=radius, surrogate=surrogate, calibration=calibration)
        assert plan.public["step_size"] <= 2.0 / plan.problem.full_smoothness(300) * (1 + 1e-12)
        assert 10 <= plan.steps <= 1000
