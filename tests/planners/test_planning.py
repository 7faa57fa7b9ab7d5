"""What a plan decides before any row: choices, numbers, refusals."""

import math
from dataclasses import replace

import numpy as np
import pytest

import entrenous as en
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.problem.tasks.task import task_named

ASK = {"n": 1000, "n_features": 5, "epsilon": 1.0, "delta": 1e-6}


def test_auto_looks_at_public_numbers_only():
    assert en.plan(**ASK).algorithm == "logistic-gd"
    assert en.plan(**ASK | {"epsilon": None, "delta": None}).algorithm == "logistic-gd"
    assert en.plan(**ASK, surrogate="square").algorithm == "moments"
    assert en.plan(**ASK, surrogate="hinge").algorithm == "noisy-gd"
    assert en.plan(**ASK | {"delta": 0}, ridge=0.1).algorithm == "dpgdsc"
    with pytest.raises(en.AssumptionError, match="ridge"):
        en.plan(**ASK | {"delta": 0})


@pytest.mark.parametrize("algorithm", ["moments", "noisy-gd", "dpgdc2"])
def test_gaussian_only_algorithms_name_the_pure_ones(algorithm):
    with pytest.raises(en.AssumptionError, match="dpgdsc"):
        en.plan(algorithm, **ASK | {"delta": 0}, ridge=0.1)


def test_dpgdsc_tight_noise_is_lemma_3():
    plan = en.plan("dpgdsc", **ASK, ridge=0.5, max_iter=10_000)
    slope = 1 / (1 + math.exp(-2.0))
    assert plan.mechanisms[0].l2_sensitivity == pytest.approx(slope * 2 / 1000 / 0.5)
    assert plan.mechanisms[0].sigma == pytest.approx(slope * 2 / 1000 / 0.5 / mu_for(1.0, 1e-6))


def test_dpgdsc_printed_noise_is_the_papers():
    plan = en.plan("dpgdsc", **ASK, ridge=0.5, calibration="paper")
    G = 2 * 2 / (1 + math.exp(-4.0))
    assert plan.problem.form == "label-difference"
    assert plan.problem.lipschitz == pytest.approx(G)
    assert plan.mechanisms[0].sigma == pytest.approx(8 * math.sqrt(2 * math.log(1.25 / 1e-6)) * G / (0.5 * 1000))
    certificate = plan.certificate()
    assert certificate.claimed_epsilon == 1.0
    # Four times the sensitivity that is true in this form, and the classical calibration on top.
    assert certificate.epsilon < 0.25
    pure = en.plan("dpgdsc", **ASK | {"delta": 0}, ridge=0.5, calibration="paper")
    assert pure.mechanisms[0].kind == "laplace"
    assert pure.mechanisms[0].scale == pytest.approx(8 * G * math.sqrt(5) / (0.5 * 1000))
    assert pure.certificate().epsilon == pytest.approx(0.25, rel=1e-6)


def test_dpgdc2_steps_and_step_size_are_the_papers():
    plan = en.plan("dpgdc2", **ASK | {"n": 50}, calibration="paper")
    log_term = math.log(1e6)
    steps = math.floor(min(50, 50**2 / (5 * log_term)))
    assert plan.steps == steps
    # The paper's ||C|| is the diameter of the ball of radius 1; Algorithm 2 takes no step beyond 2/L.
    assert plan.phases[0].step_size == pytest.approx(2 / (plan.problem.lipschitz * math.sqrt(steps)))
    wide = en.plan("dpgdc2", **ASK | {"n": 50, "radius": 50.0}, calibration="paper")
    assert wide.phases[0].step_size == pytest.approx(2 / wide.problem.ordered_smoothness)


@pytest.mark.parametrize(
    ("epsilon", "form", "true"),
    [(2.0, "indicator", 0.460), (4.0, "indicator", 0.982), (2.0, "label-difference", 0.982)],
)
def test_dpgdc2_printed_noise_is_wasteful_for_ranking(epsilon, form, true):
    plan = en.plan("dpgdc2", **ASK | {"epsilon": epsilon, "delta": 1e-5}, calibration="paper", options={"form": form})
    assert plan.certificate().epsilon == pytest.approx(true, abs=5e-4)
    assert plan.certificate().claimed_epsilon == epsilon


def test_our_noise_is_below_every_printed_noise():
    for name in ("dpgdsc", "dpgdc2"):
        tight = en.plan(name, **ASK, ridge=0.1)
        printed = en.plan(name, **ASK, ridge=0.1, calibration="paper", options={"form": "indicator"})
        assert tight.mechanisms[0].noise_multiplier < printed.mechanisms[0].noise_multiplier


def test_noise_per_coefficient_of_an_average_is_what_a_simulation_shows():
    """On records that give no gradient (one class), what is released is noise alone."""
    ask = {"n": 20, "n_features": 400, "epsilon": 1.0, "radius": 1e6, "surrogate": "hinge", "bounds": (-1, 1)}
    plan = en.plan("noisy-gd", **ask, max_iter=8)
    # Steps so small that the projection, which the figure leaves out, never acts.
    plan = replace(plan, phases=(replace(plan.phases[0], step_size=1e-3),))
    with pytest.warns(en.PrivacyWarning):
        w = plan.run(np.zeros((20, 400)), np.zeros(20), random_state=3).w
    assert np.std(w) == pytest.approx(plan.noise_per_coefficient, rel=0.12)


def test_moments_cost_no_pair_and_dpgdsc_counts_its_pairs():
    assert en.plan("moments", **ASK).pair_gradients == 0
    plan = en.plan("dpgdsc", **ASK, ridge=0.1, max_iter=3)
    assert plan.pair_gradients == 3 * 1000 * 999 // 2


def test_options_are_checked_against_the_planner():
    with pytest.raises(en.InputError, match="weights, shrinkage"):
        en.plan("moments", **ASK, options={"wieghts": (1, 1, 1)})
    with pytest.raises(en.InputError, match="three positive"):
        en.plan("moments", **ASK, options={"weights": (1, 1)})
    with pytest.raises(en.InputError, match="shrinkage"):
        en.plan("moments", **ASK, options={"shrinkage": -1})
    with pytest.raises(en.InputError, match="max_iter"):
        en.plan("moments", **ASK, max_iter=5)
    with pytest.raises(en.AssumptionError, match="paper"):
        en.plan("moments", **ASK, calibration="paper")
    with pytest.raises(en.InputError, match="calibration"):
        en.plan("moments", **ASK, calibration="loose")


def test_assumptions_name_the_way_out():
    with pytest.raises(en.AssumptionError, match=r"dpgdsc needs strong convexity > 0, got ridge=0\..*dpgdc2"):
        en.plan("dpgdsc", **ASK)
    with pytest.raises(en.AssumptionError, match="smooth"):
        en.plan("dpgdsc", **ASK, ridge=0.1, surrogate="hinge")
    with pytest.raises(en.AssumptionError, match="noisy-gd"):
        en.plan("moments", **ASK, surrogate="logistic")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"n": 1}, "n must be an int >= 2"),
        ({"n": 2.5}, "n must"),
        ({"n_features": 0}, "n_features"),
        ({"task": "auc-roc"}, "task"),
        ({"surrogate": "cosine"}, "surrogate"),
        ({"surrogate": "smoothed-hinge(width=-1)"}, "width"),
        ({"radius": 0.0}, "radius"),
        ({"radius": math.inf}, "radius"),
        ({"ridge": -1.0}, "ridge"),
        ({"ridge": math.nan}, "ridge"),
        ({"algorithm": "dpgdsd"}, "dpgdsc"),
        ({"algorithm": 3}, "name or a planner"),
        ({"bounds": (1, 0)}, "low <= high"),
        ({"bounds": (0, math.nan)}, "finite"),
        ({"bounds": ([0, 0], [1, 1])}, "one per feature"),
        ({"bounds": "0:1"}, "bounds must be"),
        ({"bounds": {"a": (0, 1)}}, "5"),
        ({"classes": (1, 1)}, "two different"),
        ({"classes": (0, 1, 2)}, "two different"),
        ({"max_iter": 0, "algorithm": "noisy-gd"}, "max_iter"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason(wrong, message):
    with pytest.raises(en.EntrenousError, match=message) as caught:
        en.plan(**ASK | wrong)
    assert caught.value.needs
    assert caught.value.got
    assert caught.value.way_out


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
@pytest.mark.parametrize("epsilon", [1.0, None])
@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("surrogate", ["hinge", "logistic", "square"])
def test_the_whole_space_is_refused_or_runs(surrogate, ridge, epsilon):
    """Step sizes and random points that are a share of the domain have nothing to be a share of."""
    X, y = np.random.default_rng(0).normal(size=(8, 2)), np.arange(8) % 2
    ask = {"n": 8, "n_features": 2, "domain": "whole-space", "bounds": en.FeatureBall(1.0)}
    for record in en.algorithms():
        if epsilon is None or record.privacy != ("none",):
            targets = {"target_bounds": (0, 1)} if task_named(record.tasks[0]).has_targets else {}
            try:
                plan = en.plan(record.name, **ask, **targets, epsilon=epsilon, ridge=ridge, surrogate=surrogate)
            except en.AssumptionError:
                continue
            assert np.isfinite(plan.run(X, y, random_state=0).w).all(), record.name


def test_a_large_delta_is_warned_of():
    with pytest.warns(en.PrivacyWarning, match="1/n"):
        en.plan(**ASK | {"delta": 0.001})


def test_a_users_own_planner_takes_the_same_way():
    from entrenous.planners.ours import noisy_gd

    def three_steps(problem, budget, n, *, note="none"):
        return replace(noisy_gd(problem, budget, n, max_iter=3), algorithm="three-steps", remarks={"note": note})

    plan = en.plan(three_steps, **ASK, options={"note": "mine"})
    assert (plan.algorithm, plan.steps, plan.public["note"]) == ("three-steps", 3, "mine")
    with pytest.raises(en.InputError, match="note"):
        en.plan(three_steps, **ASK, options={"remark": "mine"})


def test_under_noised_plans_of_users_are_stopped():
    from entrenous.planners.ours import noisy_gd

    def cheat(problem, budget, n):
        honest = noisy_gd(problem, budget, n)
        less = replace(honest.mechanisms[0], sigma=0.99 * honest.mechanisms[0].sigma)
        return replace(honest, phases=(replace(honest.phases[0], gradient_noise=less),))

    with pytest.raises(en.PrivacyError, match="must stay within epsilon = 1"):
        en.plan(cheat, **ASK)


def test_the_table_of_algorithms_prints():
    text = repr(en.algorithms())
    for record in en.algorithms():
        assert record.name in text
        assert record.citation in text
        assert record.planner.__doc__


TAKES_A_SEED = [record.name for record in en.algorithms() if "index_seed" in record.options]


@pytest.mark.parametrize("name", TAKES_A_SEED)
def test_a_user_chooses_the_order_of_the_records(name):
    # Without privacy dpegd deals out no records; oam has no privacy.
    epsilon = 1.0 if name == "dpegd" else None
    ask = {"n": 40, "n_features": 2, "epsilon": epsilon, "bounds": (-1, 1), "ridge": 0.5, "index_seed": 5}
    for seed in (0, np.int64(3), 2**63 - 1):
        assert en.plan(name, **ask, options={"index_seed": seed}).index_seed == int(seed)
    assert en.plan(name, **ask).index_seed == 5
    for wrong in (-1, 2**63, 1.0, "1", True):
        with pytest.raises(en.InputError, match="index_seed must be an int from 0") as caught:
            en.plan(name, **ask, options={"index_seed": wrong})
        assert repr(wrong) in caught.value.got
        with pytest.raises(en.InputError, match="index_seed must be an int from 0"):
            en.plan(name, **ask | {"index_seed": wrong})


def test_algorithms_without_an_order_take_no_index_seed():
    assert len(TAKES_A_SEED) > 5
    with pytest.raises(en.InputError, match="options must be among"):
        en.plan("moments", n=40, n_features=2, epsilon=1.0, bounds=(0, 1), options={"index_seed": 1})
