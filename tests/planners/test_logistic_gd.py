"""`logistic-gd`: which stages run, what they cost, what a certificate of them can and cannot claim."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import entrenous as en
from entrenous.engine.phases.calibrate import Calibrate
from entrenous.engine.phases.capped_descent import CappedDescent
from entrenous.engine.phases.event_share import EventShare
from entrenous.engine.phases.standardise import FindCentre, Standardise
from entrenous.engine.phases.whiten import Whiten
from entrenous.engine.phases.zoom import Zoom
from entrenous.engine.rows.registry import rows_of
from entrenous.errors import InputError
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.noise import SeededNoise

pytestmark = pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")

BOX = en.FeatureBounds((0.0,) * 6, (10.0,) * 6, binary=(4, 5))


def planned(n=1000, epsilon=1.0, bounds=BOX, **more):
    return en.plan("logistic-gd", n=n, n_features=6, epsilon=epsilon, delta=1e-6, bounds=bounds, **more)


def kinds(plan):
    return [type(phase) for phase in plan.phases]


def test_stages_follow_from_public_numbers():
    assert kinds(planned(60)) == [Standardise, CappedDescent]
    assert kinds(planned(1000)) == [EventShare, FindCentre, Standardise, CappedDescent]
    assert kinds(planned(50_000)) == [EventShare, Zoom, Standardise, CappedDescent]
    only_binary = replace(BOX, binary=tuple(range(6)))
    assert kinds(planned(50_000, bounds=only_binary)) == [EventShare, Standardise, CappedDescent]
    assert kinds(planned(50_000, bounds=en.FeatureBall(3.0))) == [EventShare, Standardise, CappedDescent]
    assert kinds(planned(50_000, options={"zoom": 0, "standardise": 0})) == [EventShare, CappedDescent]
    whitened = {"options": {"whiten": 0.1}}
    assert kinds(planned(1000, **whitened)) == [EventShare, FindCentre, Standardise, Whiten, CappedDescent]
    assert kinds(planned(50_000, **whitened)) == [EventShare, Zoom, Standardise, Whiten, CappedDescent]
    constant = en.FeatureBounds((1.0,) * 6, (1.0,) * 6)
    assert kinds(planned(1000, bounds=constant, **whitened)) == [EventShare, CappedDescent]
    assert kinds(planned(60, options={"calibrate": 0.02})) == [Standardise, CappedDescent, Calibrate]
    # Rows that are known to be short leave nothing to a second round.
    assert kinds(planned(1000, bounds=replace(BOX, clip=0.9))) == [EventShare, Standardise, CappedDescent]


def test_the_plan_says_in_words_what_it_does():
    text = str(planned(50_000))
    assert "share of events 1 %, ranges of 4 columns 5 %, means and scales in one round 10 %" in text
    assert "noisy gradients 84 % of the budget" in text
    assert "no share of events (too few records), ranges as declared" in str(planned(60))
    assert "in one round 10 %, whitening 20 %, 250 noisy" in str(planned(50_000, options={"whiten": 0.2}))
    assert "noisy gradients 82 %, calibration 2 % of the budget" in str(planned(50_000, options={"calibrate": 0.02}))


@pytest.mark.parametrize("calibrate", [0.0, 0.02])
@pytest.mark.parametrize("n", [60, 1000, 50_000])
@pytest.mark.parametrize("whiten", [0.0, 0.1])
def test_the_releases_spend_the_budget_and_nothing_is_left(n, whiten, calibrate):
    plan = planned(n, options={"whiten": whiten, "calibrate": calibrate})
    assert sum(m.gdp for m in plan.mechanisms) == pytest.approx(mu_for(1.0, 1e-6) ** 2, rel=1e-9)
    assert plan.epsilon == pytest.approx(1.0, rel=1e-9)
    assert plan.certificate().verify().outcome == "verified"


def test_the_number_of_steps_is_public_and_bounded():
    assert [planned(n).steps for n in (60, 1000, 10_000_000)] == [4, 22, 250]
    assert planned(1000, max_iter=7).steps == 7


WRONG_SHARES = [{"zoom": -0.1}, {"standardise": 1.0}, {"zoom": "much"}, {"zoom": True}, {"whiten": 1}]
WRONG_SHARES += [{"calibrate": -0.1}, {"calibrate": 1.0}, {"calibrate": "little"}, {"calibrate": True}]


@pytest.mark.parametrize("options", WRONG_SHARES)
def test_shares_are_checked(options):
    with pytest.raises(en.InputError, match="share of the budget"):
        planned(options=options)


def test_the_descent_needs_a_share_of_its_own():
    for options in ({"zoom": 0.5, "standardise": 0.5}, {"calibrate": 0.9}):
        with pytest.raises(en.InputError, match="share of the budget of its own"):
            planned(options=options)
    with pytest.raises(en.InputError, match=r"zoom=0\.05, standardise=0\.1, whiten=0\.9, calibrate=0"):
        planned(options={"whiten": 0.9})
    with pytest.raises(en.InputError, match=r"centred and scaled.*standardise=0"):
        planned(options={"whiten": 0.1, "standardise": 0.0})
    with pytest.raises(en.InputError, match="options must be among"):
        planned(options={"features": BOX})


def test_pure_privacy_is_refused_with_a_way_out():
    with pytest.raises(en.AssumptionError, match="dpgdsc"):
        en.plan("logistic-gd", n=100, n_features=2, epsilon=1.0, delta=0.0, bounds=(0, 1))


def test_a_plan_survives_json_and_runs_the_same():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 10, (1000, 6)), rng.integers(0, 2, 1000)
    plan = planned(options={"whiten": 0.1})
    again = en.Plan.from_json(plan.to_json())
    assert again == plan
    one, two = (p.run(X, y, random_state=3) for p in (plan, again))
    np.testing.assert_array_equal(one.w, two.w)
    assert one.certificate == two.certificate


def forged(change, n=50_000):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 10, (n, 6)), rng.integers(0, 2, n)
    plan = planned(n, options={"whiten": 0.1, "calibrate": 0.02})
    content = json.loads(plan.run(X, y, random_state=3).certificate.to_json())
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
        *(without(f"Lemma {k}") for k in (11, 15, 16, 17, 18, 19)),
        lambda c: of_lemma(c, "Lemma 15").update(l2_sensitivity=1e-5, sigma=1e-5),
        lambda c: c["public"]["standardise"].update(reach=0.01),
        lambda c: c["public"]["standardise"].update(weight=100.0),
        lambda c: c["public"].pop("standardise"),
        lambda c: c["public"]["domain"].update(binary=[0, 1, 2, 3, 4, 5]) or of_lemma(c, "Lemma 11").update(sigma=1.0),
        lambda c: of_lemma(c, "Lemma 11").update(l2_sensitivity=1.0, sigma=30.0),
        lambda c: of_lemma(c, "Lemma 19").update(l2_sensitivity=1.0, sigma=100.0),
        lambda c: (without("Lemma 19")(c), c["public"].pop("calibrate")),
        lambda c: c["public"]["found_log_odds_map"].update(slope=-1.0),
        lambda c: c["public"]["found_log_odds_map"].update(shift="none"),
        lambda c: c["public"].update(found_event_share=1.5),
        lambda c: without("Lemma 18")(c) or c["public"].pop("whiten"),
        lambda c: of_lemma(c, "Lemma 18").update(l2_sensitivity=2e-5),
        lambda c: without("Lemma 18")(c) or c["public"]["found_bounds"].update(whitening=5.0),
        lambda c: of_lemma(c, "Lemma 17").update(count=10),
        lambda c: of_lemma(c, "Lemma 17").update(sigma=50.0),
        lambda c: c["public"].update(steps=10**9),
        lambda c: c.update(algorithm="moments"),
        lambda c: c.update(epsilon=0.9, claimed_epsilon=0.9),
    ],
)
def test_a_false_certificate_is_refused(change):
    assert forged(lambda c: None).verify().outcome == "reservations"  # seeded
    with pytest.raises(en.PrivacyError):
        forged(change).verify()


def test_a_plan_whose_descent_has_less_noise_is_refused():
    plan = planned()
    descent = plan.phases[-1]
    for less in (
        replace(descent, noise=replace(descent.noise, sigma=1e-6)),
        replace(descent, total_steps=descent.total_steps + 1),
    ):
        with pytest.raises(en.PrivacyError):
            replace(plan, phases=(*plan.phases[:-1], less))
    spread = next(phase for phase in plan.phases if isinstance(phase, Standardise))
    for wrong in (replace(spread, weight=10.0 * spread.weight), replace(spread, reach=0.1 * spread.reach)):
        with pytest.raises(en.PrivacyError):
            replace(plan, phases=tuple(wrong if phase is spread else phase for phase in plan.phases))


def test_zooming_finds_where_the_records_are_and_leaves_indicators_alone():
    rng = np.random.default_rng(1)
    n = 50_000
    X = np.column_stack([rng.normal(7.0, 0.1, (n, 4)), rng.random((n, 2)) < [0.001, 0.5]])
    bounds = en.FeatureBounds((0.0,) * 6, (10.0,) * 4 + (1.0,) * 2, binary=(4, 5))
    zoom = next(phase for phase in planned(n, bounds=bounds).phases if isinstance(phase, Zoom))
    found = zoom.narrowed(zoom.release(rows_of(X), SeededNoise(rng)), n)
    low, high = found.ends()
    assert (low[:4] > 5.9).all()
    assert (high[:4] < 8.1).all()
    assert (low[:4] < 6.8).all()
    assert (high[:4] > 7.2).all()
    assert (low[4:].tolist(), high[4:].tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert found.binary == (4, 5)
    # Sparse rows are counted alike.
    from scipy import sparse

    np.testing.assert_array_equal(zoom.exact(rows_of(sparse.csr_array(X))), zoom.exact(rows_of(X)))


def test_zooming_leaves_no_declared_range():
    """Records at an end: the new range is centred on them, and rows are still clipped at the declared end."""
    rng = np.random.default_rng(4)
    n = 50_000
    X = np.minimum(np.abs(rng.normal(0.0, 0.5, (n, 6))), 10.0)
    bounds = en.FeatureBounds((0.0,) * 6, (10.0,) * 6)
    zoom = next(phase for phase in planned(n, bounds=bounds).phases if isinstance(phase, Zoom))
    found = zoom.narrowed(zoom.release(rows_of(X), SeededNoise(rng)), n)
    assert np.array(found.low).tolist() == [0.0] * 6
    assert (np.array(found.high) < 3.0).all()
    assert (np.array(found.center) < 1.0).all()
    model = en.AUCClassifier(1.0, bounds=bounds, random_state=0).fit(X, rng.integers(0, 2, n))
    below, least = model.decision_function(np.array([[-1e6] * 6, [0.0] * 6]))
    assert below == least


def test_counts_that_are_mostly_noise_change_no_range():
    zoom = next(phase for phase in planned(50_000).phases if isinstance(phase, Zoom))
    counts = np.random.default_rng(2).normal(size=(4, 32)) * zoom.noise.sigma
    assert zoom.narrowed(counts, 50_000).ends()[0].tolist() == BOX.sides()[0].tolist()


def test_standardised_rows_have_their_spread():
    rng = np.random.default_rng(3)
    n = 200_000
    X = rng.normal(5.0, [0.1, 0.5, 1.0, 1.5, 0.2, 0.7], (n, 6))
    bounds = en.FeatureBounds((0.0,) * 6, (10.0,) * 6)
    fitted = planned(n, 4.0, bounds, options={"zoom": 0}).run(X, rng.integers(0, 2, n), random_state=0)
    scale = np.array(fitted.bounds.axes) / math.sqrt(6)
    np.testing.assert_allclose(scale, X.std(axis=0), rtol=0.1)
    np.testing.assert_allclose(fitted.bounds.center, X.mean(axis=0), atol=0.05)
    assert np.linalg.norm(rows_of(X).inside_on_grid(fitted.bounds).array(), axis=1).max() <= 1.0


def test_directions_that_are_mostly_noise_keep_their_proportions():
    whiten = next(phase for phase in planned(60, options={"whiten": 0.1}).phases if isinstance(phase, Whiten))
    found = whiten.whitening(whiten.release(rows_of(np.zeros((60, 6))), SeededNoise(np.random.default_rng(0))))
    values = np.linalg.eigvalsh(found)
    assert values[-1] / values[0] < 2.5
    exact = replace(whiten, noise=replace(whiten.noise, sigma=1e-9))
    values = np.linalg.eigvalsh(exact.whitening(np.diag([0.5, 0.3, 0.1, 0.08, 0.01, 0.01])))
    assert 3.0 < values[-1] / values[0] < math.sqrt(50.0)


def test_rows_are_whitened_once():
    plan = planned(50_000, options={"zoom": 0.0, "whiten": 0.1})
    X = np.random.default_rng(0).uniform(0, 10, (50_000, 6))
    found = plan.run(X, np.arange(50_000) % 2, random_state=0).bounds
    with pytest.raises(en.InputError, match="keeps columns apart"):
        replace(plan, features=found, phases=(plan.phases[2], plan.phases[-1])).run(X, np.arange(50_000) % 2)


def test_a_ridge_and_a_radius_shorten_the_parameter():
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 10, (2000, 6))
    y = (X[:, 0] > 5).astype(int)
    free, ridged, balled = (
        np.linalg.norm(planned(2000, 4.0, **more).run(X, y, random_state=0).w)
        for more in ({}, {"ridge": 1.0}, {"radius": 0.5})
    )
    assert ridged < free
    assert balled <= 0.5 + 1e-9 < free


@pytest.mark.parametrize(
    "bounds",
    [
        en.FeatureBounds((1.0,) * 6, (1.0,) * 6),
        en.FeatureBounds((0.0,) * 6, (1.0, 0.0, 0.0, 0.0, 0.0, 1e9)),
        en.FeatureBounds(-5.0, 5.0, clip=0.1),
        en.FeatureBounds(-5.0, 5.0, clip=2.0, binary=[0, 1, 2]),
        en.FeatureBall(1e-3, 1e6),
        en.PrivateBounds(within=(-1e6, 1e6)),
    ],
)
@pytest.mark.parametrize("n", [60, 1000, 20_000])
@pytest.mark.parametrize("whiten", [0.0, 0.1])
def test_any_domain_gives_a_finite_model_that_verifies(bounds, n, whiten):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 6)) * [1, 1, 1, 1e3, 1e-3, 1e9], rng.integers(0, 2, n)
    fitted = planned(n, bounds=bounds, options={"whiten": whiten}).run(X, y, random_state=0)
    assert np.isfinite(fitted.coef).all()
    assert np.isfinite(fitted.intercept)
    fitted.certificate.verify()


def test_wide_tables_of_numbers_get_a_longer_descent():
    def stretch(d, binary=()):
        bounds = en.FeatureBounds((0.0,) * d, (1.0,) * d, binary=binary)
        return en.plan("logistic-gd", n=5000, n_features=d, epsilon=1.0, bounds=bounds).phases[-1].stretch

    assert stretch(16) == 1.0
    assert stretch(256) == pytest.approx(4.0)
    assert stretch(256, tuple(range(256))) == 1.0
    assert stretch(256, tuple(range(128))) == pytest.approx(2.0)


def test_several_classes_descend_as_far_as_one():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(900, 40))
    X[:, 20:] = X[:, 20:] > 0.5
    bounds = en.FeatureBounds((0.0,) * 40, (1.0,) * 40, binary=tuple(range(20, 40)))
    for options in ({}, {"whiten": 0.1}):
        clf = en.AUCClassifier(epsilon=4.0, bounds=bounds, classes=(0, 1, 2), options=options)
        clf.fit(X, rng.integers(0, 3, 900))
        # Found domains keep which columns are 0/1.
        assert len({made.phases[-1].stretch for made in clf.plans_}) == 1
        assert clf.plans_[0].phases[-1].stretch == pytest.approx((40 / 16) ** 0.25)


@pytest.mark.parametrize("stretch", [0.0, -1.0, float("nan"), float("inf")])
def test_a_descent_without_a_length_is_refused(stretch):
    made = en.plan("logistic-gd", n=500, n_features=3, epsilon=1.0, bounds=(0, 1)).phases[-1]
    with pytest.raises(InputError, match="stretch"):
        replace(made, stretch=stretch)
