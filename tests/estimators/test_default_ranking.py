"""What a user gets from `AUCClassifier()` with nothing chosen: accuracy, probabilities, several classes, precision."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import entrenous as en
from entrenous.engine.phases.calibrate import Calibrate

pytestmark = pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")

RNG = np.random.default_rng(0)
N = 20_000
X = RNG.normal(size=(N, 5)) * [1.0, 3.0, 0.2, 1.0, 10.0] + [0.0, 5.0, 0.0, -2.0, 30.0]
SCORE = X[:, 0] - 0.3 * (X[:, 1] - 5.0) + 2.0 * X[:, 2] - 2.0
Y = (RNG.random(N) < expit(SCORE)).astype(int)
BOUNDS = ([-10, -20, -10, -20, -100], [10, 30, 10, 20, 200])


def test_it_is_close_to_the_best_linear_ranking_from_wide_ranges():
    best = roc_auc_score(Y, SCORE)
    model = en.AUCClassifier(1.0, bounds=BOUNDS, random_state=0).fit(X, Y)
    assert model.plan_.algorithm == "logistic-gd"
    assert model.score(X, Y) > best - 0.01
    assert en.AUCClassifier(None).fit(X, Y).score(X, Y) > best - 0.003


def test_probabilities_are_those_of_the_events():
    model = en.AUCClassifier(1.0, bounds=BOUNDS, random_state=0).fit(X, Y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert abs(p[:, 1].mean() - Y.mean()) < 0.02
    assert np.abs(p[:, 1] - expit(SCORE)).mean() < 0.05
    np.testing.assert_array_equal(model.predict(X), (p[:, 1] > 0.5).astype(int))
    assert roc_auc_score(Y, p[:, 1]) == pytest.approx(model.score(X, Y), abs=1e-9)
    assert model.event_share_[0] == pytest.approx(Y.mean(), abs=0.02)
    assert model.certificate_.public["found_event_share"] == model.event_share_[0]


def test_calibration_makes_noisy_probabilities_those_of_the_events(tmp_path):
    """A ridge makes them too timid, as a descent that noise has stopped early does."""
    arguments = {"bounds": BOUNDS, "ridge": 0.01, "random_state": 0}
    plain = en.AUCClassifier(1.0, **arguments).fit(X, Y)
    model = en.AUCClassifier(1.0, options={"calibrate": 0.02}, **arguments).fit(X, Y)
    far = [np.abs(one.predict_proba(X)[:, 1] - expit(SCORE)).mean() for one in (plain, model)]
    assert far[1] < 0.8 * far[0]
    slope, shift = model.log_odds_map_[0]
    assert slope > 1.1
    assert model.certificate_.public["found_log_odds_map"] == {"slope": slope, "shift": shift}
    assert plain.log_odds_map_.tolist() == [[1.0, 0.0]]
    # One threshold, one ranking, one file.
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X), (p > 0.5).astype(int))
    assert roc_auc_score(Y, p) == pytest.approx(model.score(X, Y), abs=1e-9)
    again = en.load(en.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert (model.coef_noise_ > 0.0).all()
    assert model.certificate_.verify().epsilon <= 1.0


def test_calibration_of_sparse_tables_is_that_of_dense_ones():
    words = sparse.random(3000, 40, density=0.1, format="csr", random_state=0)
    labels = (np.asarray(words[:, :20].sum(axis=1)).ravel() > 1.0).astype(int)
    arguments = {"bounds": (0, 1), "options": {"calibrate": 0.1}, "random_state": 0}
    dense, thin = (en.AUCClassifier(4.0, **arguments).fit(table, labels) for table in (words.toarray(), words))
    np.testing.assert_allclose(thin.log_odds_map_, dense.log_odds_map_, atol=1e-3)
    np.testing.assert_allclose(thin.predict_proba(words), dense.predict_proba(words), atol=1e-3)


def test_several_classes_are_calibrated_each_on_its_share(tmp_path):
    labels = Y + (X[:, 3] > -2.0)
    options = {"calibrate": 0.05}
    model = en.AUCClassifier(2.0, bounds=BOUNDS, classes=(0, 1, 2), options=options, random_state=0).fit(X, labels)
    assert all(isinstance(plan.phases[-1], Calibrate) for plan in model.plans_)
    whole = sum(mechanism.gdp for mechanism in model.certificate_.mechanisms)
    assert [plan.phases[-1].mechanism.gdp / whole for plan in model.plans_] == pytest.approx([0.05 / 3] * 3, rel=1e-6)
    assert len({tuple(pair) for pair in model.log_odds_map_}) == 3
    assert model.certificate_.verify().epsilon <= 2.0
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(labels) / N, atol=0.05)
    again = en.load(en.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(X), p)


def test_a_part_says_that_another_found_its_domain():
    """A reader of one class's certificate must not take its domain for declared."""
    labels = Y + (X[:, 3] > -2.0)
    joint = en.AUCClassifier(2.0, bounds=BOUNDS, classes=(0, 1, 2), random_state=0).fit(X, labels).certificate_
    first, second, third = (en.PrivacyCertificate.from_dict(part) for part in joint.public["parts"])
    assert "domain_found_by_part" not in first.public
    for part in (second, third):
        assert part.public["domain_found_by_part"] == 1
        assert "part 1 of the composition, which pays for it" in str(part)
        assert any("read the composition" in text for text in part.verify().reservations)
    verified = joint.verify()
    assert not any("read the composition" in text for text in verified.reservations)
    assert "part 2 (logistic-gd): its domain is the one that part 1 found and pays for" in verified.checks
    # The same two parts without the first, or after another fit, are not covered.
    other = en.AUCClassifier(1.0, bounds=BOUNDS, random_state=1).fit(X, Y).certificate_
    for parts in ([second, third], [other, second]):
        with pytest.raises(en.PrivacyError, match="the one that part 1 found"):
            en.compose_certificates(parts).verify()


def test_thresholds_of_moments_are_paid_for_too():
    model = en.AUCClassifier(4.0, algorithm="moments", bounds=BOUNDS, random_state=0).fit(X, Y)
    assert abs(model.predict(X).mean() - (SCORE > 0).mean()) < 0.05
    assert (model.predict(X) == Y).mean() > ((SCORE > 0) == Y).mean() - 0.03


def test_who_has_no_probabilities_says_who_has():
    for model in (
        en.AUCClassifier(1.0, algorithm="moments", bounds=BOUNDS).fit(X, Y),
        en.AUCClassifier(None).fit(X, Y),
    ):
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match=r'has no predict_proba here: .*algorithm="logistic-gd"'):
            model.predict_proba(X)
    assert hasattr(en.AUCClassifier(1.0, bounds=BOUNDS), "predict_proba")
    assert not hasattr(en.AUCClassifier(None), "predict_proba")
    with pytest.raises(AttributeError, match="a fit without privacy ranks without probabilities"):
        en.AUCClassifier(None).predict_proba(X)
    with pytest.raises(AttributeError, match='surrogate="logistic", the default, has one'):
        en.PointwiseClassifier(1.0, surrogate="hinge").predict_proba(X)


def test_who_needs_all_records_says_who_does_not():
    for estimator in (en.AUCClassifier(1.0, bounds=BOUNDS), en.MahalanobisLearner(1.0, algorithm="noisy-gd")):
        assert not hasattr(estimator, "partial_fit")
        with pytest.raises(AttributeError, match=r"has no partial_fit here: .*entrenous.algorithms\(\) lists"):
            estimator.partial_fit(X, Y)
    online = en.AUCClassifier(1.0, bounds=BOUNDS, algorithm="ogd-previous")
    assert online.partial_fit.__doc__ == en.AUCClassifier.partial_fit.__doc__


def test_models_come_back_with_their_probabilities(tmp_path):
    model = en.AUCClassifier(1.0, bounds=BOUNDS).fit(X, Y)
    again = en.load(en.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.bounds_ == model.bounds_
    assert again.certificate_ == model.certificate_


def test_float32_tables_give_the_same_model_and_are_not_copied():
    single = X.astype(np.float32)
    one, two = (en.AUCClassifier(1.0, bounds=BOUNDS, random_state=0).fit(table, Y) for table in (X, single))
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(one.decision_function(single), two.decision_function(single), atol=1e-2)


def test_several_classes_share_ranges_and_scales():
    labels = Y + (X[:, 3] > -2.0)
    model = en.AUCClassifier(2.0, bounds=BOUNDS, classes=(0, 1, 2), random_state=0).fit(X, labels)
    stages = [[type(phase).__name__ for phase in plan.phases] for plan in model.plans_]
    assert stages[0] == ["EventShare", "Zoom", "Standardise", "CappedDescent"]
    assert stages[1] == stages[2] == ["EventShare", "CappedDescent"]
    assert len(set(model.all_bounds_)) == 1
    assert model.certificate_.epsilon == 2.0
    assert model.certificate_.verify().epsilon <= 2.0
    assert model.score(X, labels) > 0.8
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(labels) / N, atol=0.05)
    own = [mechanism.gdp for plan in model.plans_ for mechanism in plan.mechanisms]
    assert sum(own) == pytest.approx(sum(m.gdp for m in model.certificate_.mechanisms))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_the_estimate_of_the_noise_is_of_the_right_size(epsilon):
    """Of every coefficient, two of columns that are all but the same among them. Sixty fits know a spread to 10 %.

    So small a table has the least and the largest ratios: it is meant to be cautious.
    """
    rows, labels = X[:2000], Y[:2000]
    rows = np.column_stack([rows, rows[:, 0] + 0.05 * rows[:, 2]])
    bounds = ([*BOUNDS[0], -10], [*BOUNDS[1], 10])
    fits = [en.AUCClassifier(epsilon, bounds=bounds, random_state=s).fit(rows, labels) for s in range(60)]
    ratios = np.median([fit.coef_noise_[0] for fit in fits], axis=0) / np.std([fit.coef_[0] for fit in fits], axis=0)
    assert ratios.min() > 0.85, ratios
    assert 1.0 < np.median(ratios) < 5.5, ratios
    assert ratios.max() < 11.0, ratios


def test_scales_that_another_class_released_are_in_the_noise_of_every_class():
    labels = Y[:2000] + (X[:2000, 3] > -2.0)
    model = en.AUCClassifier(2.0, bounds=BOUNDS, classes=(0, 1, 2), random_state=0).fit(X[:2000], labels)
    # The same plan without scales to release: its noise is that of the gradients alone.
    alone = model.plans_[1].run(X[:2000], (labels == 1).astype(int), random_state=0)
    assert alone.scale_noise is None
    one, two = model.coef_noise_[1] * model.bounds_.unit, alone.noise * model.bounds_.unit
    assert np.ptp(one / two) > 0.01


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_tiny_tables_fit_and_say_nothing_else(rows):
    model = en.AUCClassifier(1.0, bounds=BOUNDS).fit(X[:rows], np.arange(rows) % 2)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_constants_and_one_feature():
    table = np.column_stack([X[:500, 0], np.full(500, 3.0)])
    model = en.AUCClassifier(4.0, bounds=([-10, 3], [10, 3])).fit(table, Y[:500])
    assert model.coef_[0, 1] == 0.0
    assert model.score(table, Y[:500]) > 0.6
    assert en.AUCClassifier(4.0, bounds=(-10, 10)).fit(table[:, :1], Y[:500]).coef_.shape == (1, 1)


@pytest.mark.real_data
def test_diabetes_from_wide_public_ranges():
    """Ranges of round numbers, 20 splits: 0.82 at epsilon 1 where `moments` has 0.76."""
    table = pd.read_parquet(Path(os.environ["ENTRENOUS_DATA"]) / "diabetes.parquet")
    ranges = {
        "pregnancies": (0, 20),
        "glucose": (0, 250),
        "blood_pressure": (0, 150),
        "skin_thickness": (0, 100),
        "insulin": (0, 1000),
        "bmi": (0, 70),
        "pedigree": (0, 3),
        "age": (20, 100),
    }
    y, rows = table["target"].to_numpy(), table[list(ranges)]
    scores = []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: int(0.8 * len(y))], order[int(0.8 * len(y)) :]
        model = en.AUCClassifier(1.0, bounds=ranges, random_state=seed).fit(rows.iloc[train], y[train])
        scores.append(model.score(rows.iloc[test], y[test]))
    assert np.mean(scores) > 0.80
