"""`residual-gd`: which stages run, what they cost, what a forged certificate cannot hide."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import entrenous as en
from entrenous.engine.phases.residual_descent import ResidualDescent
from entrenous.engine.phases.target_centre import TargetCentre
from entrenous.engine.phases.tracked_cap import TrackedCap
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.noise import SeededNoise
from entrenous.problem.surrogates.bounded import Welsch

pytestmark = pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")

TASKS = ("error-entropy", "pointwise-regression")


def planned(n=20_000, epsilon=1.0, task="error-entropy", **more):
    ask = {"n_features": 4, "bounds": (0, 10), "target_bounds": (0, 100)}
    return en.plan("residual-gd", task=task, n=n, epsilon=epsilon, **ask | more)


def records(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (n, 4))
    return X, 30.0 + X @ [1.0, -2.0, 0.0, 3.0] + rng.normal(size=n)


def kinds(plan):
    return [type(phase).__name__ for phase in plan.phases]


@pytest.mark.parametrize("task", TASKS)
def test_stages_follow_from_public_numbers(task):
    assert kinds(planned(task=task)) == ["TargetCentre", "Zoom", "Standardise", "ResidualDescent"]
    assert kinds(planned(50, task=task)) == ["TargetCentre", "Standardise", "ResidualDescent"]
    none = {"zoom": 0.0, "standardise": 0.0, "targets": 0.0}
    assert kinds(planned(task=task, options=none)) == ["ResidualDescent"]
    plan = planned(task=task, bounds=en.PrivateBounds(within=(-100, 100)))
    assert kinds(plan) == ["TargetCentre", "FindBounds", "Standardise", "ResidualDescent"]
    assert "200 noisy gradients" in str(plan)


def test_the_whole_budget_is_spent_and_no_more():
    plan = planned()
    mu = mu_for(1.0, plan.budget.delta)
    shares = [phase.mechanism.gdp / mu**2 for phase in plan.phases]
    assert shares == pytest.approx([0.05, 0.05, 0.1, 0.8])
    assert math.isclose(plan.epsilon, 1.0, rel_tol=1e-6)
    assert planned(options={"targets": 0.2}).phases[0].mechanism.gdp / mu**2 == pytest.approx(0.2)


def test_the_descent_is_shorter_where_noise_decides():
    quiet, loud, tiny = (planned(n).phases[-1] for n in (200_000, 500, 2))
    assert quiet.time == 10.0 * quiet.steps > loud.time > tiny.time > 0.0
    assert quiet.shrinkage < loud.shrinkage < tiny.shrinkage
    assert planned(500, n_features=40).phases[-1].time > 0.0
    assert planned(max_iter=7).phases[-1].steps == 7


def test_targets_get_as_many_bins_as_their_counts_bear():
    assert [planned(n).phases[0].bins for n in (200, 3000, 100_000)] == [16, 64, 512]


def test_the_square_surrogate_is_capped_as_late_as_noise_permits():
    quiet, loud = (planned(n, task="pointwise-regression").phases[-1] for n in (200_000, 500))
    assert (quiet.fades, loud.fades) == (False, False)
    assert quiet.fill < 0.2 < loud.fill == 0.5
    assert planned().phases[-1].fill == 0.5


def test_a_bandwidth_that_was_asked_for_is_kept():
    assert planned().phases[-1].bandwidth is None
    asked = planned(surrogate=Welsch(0.02)).phases[-1]
    assert asked.bandwidth == 0.02
    assert asked.late_slopes(1e-6).cap == pytest.approx(0.02 / math.sqrt(math.e))
    assert asked.late_slopes(1.0).cap > 0.6


def test_auto_takes_it_and_explicit_losses_decide():
    ask = {"n": 100, "n_features": 2, "epsilon": 1.0, "bounds": (0, 1), "target_bounds": (0, 1)}
    assert en.plan(task="error-entropy", **ask).algorithm == "residual-gd"
    assert en.plan(task="pointwise-regression", **ask).algorithm == "residual-gd"
    assert en.plan(task="pointwise-regression", surrogate="square", **ask).algorithm == "residual-gd"
    other = en.plan(task="pointwise-regression", surrogate="q-norm-loss(q=1.5)", **ask)
    assert other.algorithm == "dpsgd-pointwise"
    del ask["target_bounds"]
    assert en.plan(task="pointwise-classification", **ask).algorithm == "logistic-gd"
    assert en.plan(task="pointwise-classification", surrogate="hinge", **ask).algorithm == "dpsgd-pointwise"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"delta": 0.0}, "Gaussian noise"),
        ({"options": {"targets": 1.0}}, "share of the budget"),
        ({"options": {"targets": -0.1}}, "share of the budget"),
        ({"options": {"targets": 0.5, "standardise": 0.5}}, "share of the budget of its own"),
        ({"options": {"asked_surrogate": None}}, "options must be among"),
        ({"surrogate": "hinge"}, "welsch or square"),
        ({"target_bounds": None}, "public range of its targets"),
        ({"target_bounds": (1.0, 1.0)}, "low < high"),
        ({"intercept_share": 0.1}, "together with the coefficients"),
        ({"calibration": "paper"}, "no paper"),
        ({"shape": "additive"}, "linear scores"),
    ],
)
def test_wrong_requests(wrong, message):
    with pytest.raises(en.EntrenousError, match=message):
        planned(**wrong)


@pytest.mark.parametrize(
    "field", [{"time": 0.0}, {"fill": 1.0}, {"fill": 0.0}, {"shrinkage": -1.0}, {"bandwidth": 0.0}]
)
def test_a_descent_without_sense_is_refused(field):
    with pytest.raises(en.InputError, match="a descent needs"):
        replace(planned().phases[-1], **field)


def test_a_plan_survives_json_and_runs_the_same():
    X, y = records(2000)
    plan = planned(2000, surrogate=Welsch(0.1))
    again = en.Plan.from_json(plan.to_json())
    assert again == plan
    one, two = (p.run(X, y, random_state=3) for p in (plan, again))
    np.testing.assert_array_equal(one.w, two.w)
    assert one.certificate == two.certificate


def test_a_plan_with_less_noise_is_refused():
    plan = planned()
    descent = plan.phases[-1]
    for less in (
        replace(descent, noise=replace(descent.noise, sigma=1e-6)),
        replace(descent, total_steps=descent.total_steps + 1),
    ):
        with pytest.raises(en.PrivacyError):
            replace(plan, phases=(*plan.phases[:-1], less))


def forged(change):
    content = json.loads(planned().run(*records(20_000), random_state=0).certificate.to_json())
    change(content)
    return en.PrivacyCertificate.from_dict(content)


def without(lemma):
    def change(content):
        content["mechanisms"] = [m for m in content["mechanisms"] if m["lemma"] != lemma]

    return change


def of_lemma(content, lemma):
    return next(m for m in content["mechanisms"] if m["lemma"] == lemma)


@pytest.mark.parametrize(
    "change",
    [
        *(without(f"Lemma {k}") for k in (11, 15, 19, 23)),
        lambda c: (without("Lemma 19")(c), c["public"].pop("target_histogram")),
        lambda c: of_lemma(c, "Lemma 19").update(l2_sensitivity=1.0, sigma=30.0),
        lambda c: of_lemma(c, "Lemma 23").update(l2_sensitivity=0.5, sigma=40.0),
        lambda c: of_lemma(c, "Lemma 23").update(count=10),
        lambda c: c["public"].update(filled_weight=1.0),
        lambda c: c["public"].pop("filled_weight"),
        lambda c: c["public"].update(found_targets={"centre": 0.0}),
        lambda c: c["public"].update(found_error_cap=-1.0),
        lambda c: c["public"].update(steps=10**9),
        lambda c: c.update(algorithm="kang-gp"),
        lambda c: c.update(epsilon=0.9, claimed_epsilon=0.9),
    ],
)
def test_a_false_certificate_is_refused(change):
    with pytest.raises(en.PrivacyError):
        forged(change).verify()


def test_the_certificate_states_what_was_released():
    found = forged(lambda content: None)
    assert found.verify().epsilon == pytest.approx(1.0, rel=1e-6)
    assert set(found.public["found_targets"]) == {"centre", "scale"}
    # Errors of size 1 in a range of 100.
    assert found.public["found_error_cap"] == pytest.approx(0.02, rel=0.2)


def centre_phase(sigma, bins=64):
    (phase,) = (p for p in planned().phases if isinstance(p, TargetCentre))
    return replace(phase, noise=replace(phase.noise, sigma=sigma), bins=bins)


def test_most_targets_are_found_and_outliers_are_not_followed():
    rng = np.random.default_rng(0)
    y = np.clip(0.3 + 0.1 * rng.normal(size=10_000), -1, 1)
    y[:2000] = -1.0
    found = centre_phase(20.0).summary(centre_phase(20.0).release(y, SeededNoise(rng)), len(y))
    assert found.centre == pytest.approx(0.3, abs=0.05)
    # The middle half of all targets is a wider part of those that are no outliers.
    assert 0.1 <= found.scale <= 0.2
    lost = centre_phase(1e5)
    for _ in range(20):
        anywhere = lost.summary(lost.release(y, SeededNoise(rng)), len(y))
        assert -1.0 <= anywhere.centre <= 1.0
        assert 0.0 < anywhere.scale <= 1.5
    for bins in (0, 10_000, True):
        with pytest.raises(en.InputError, match="bins"):
            centre_phase(1.0, bins)


def test_the_cap_goes_where_errors_fill_it_as_wanted():
    rng = np.random.default_rng(1)
    errors = 0.01 * rng.normal(size=5000)
    cap = TrackedCap(2.0, 0.5, 0.0)
    for _ in range(100):
        cap.follow(float(np.mean(np.minimum((errors / cap.value) ** 2, 1.0))))
    cap.settle()
    assert cap.value == pytest.approx(0.0103, rel=0.05)
    low, high = TrackedCap(1e-9, 0.5, 0.0), TrackedCap(1e9, 0.5, 0.0)
    for _ in range(50):
        low.follow(-1e9)
        high.follow(1e9)
    assert (low.value, high.value) == pytest.approx((1e-6, 2.0))
    untouched = TrackedCap(0.5, 0.5, 0.0)
    untouched.settle()
    assert untouched.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    "bounds",
    [
        en.FeatureBounds((1.0,) * 4, (1.0,) * 4),
        en.FeatureBounds((0.0,) * 4, (1.0, 0.0, 0.0, 1e9)),
        en.FeatureBounds(-5.0, 5.0, clip=0.1, binary=[0]),
        en.FeatureBall(1e-3, 1e6),
        en.PrivateBounds(within=(-1e6, 1e6)),
    ],
)
@pytest.mark.parametrize("n", [2, 60, 3000])
@pytest.mark.parametrize("task", TASKS)
def test_any_domain_gives_a_finite_model_that_verifies(bounds, n, task):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 4)) * [1, 1, 1e-3, 1e9], 1e12 * rng.normal(size=n)
    fitted = planned(n, task=task, bounds=bounds).run(X, y, random_state=0)
    assert np.isfinite(fitted.coef).all()
    assert np.isfinite(fitted.noise).all()
    assert np.isfinite(fitted.intercept)
    fitted.certificate.verify()


def test_a_ridge_and_a_radius_shorten_the_parameter():
    X, y = records(3000)
    free, ridged, balled = (
        np.linalg.norm(planned(3000, 4.0, **more).run(X, y, random_state=0).w)
        for more in ({}, {"ridge": 10.0}, {"radius": 0.05})
    )
    assert ridged < 0.2 * free
    assert balled <= 0.05 + 1e-9 < free


def test_the_path_is_a_phase_of_the_library():
    assert isinstance(planned().phases[-1], ResidualDescent)
    assert planned().noise_per_coefficient > 0.0
