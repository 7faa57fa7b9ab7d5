"""What a user gets from the regressors and `PointwiseClassifier` with nothing chosen: accuracy, files, edges."""

import numpy as np
import pytest
from regression_sets import MADE_UP, elevation
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import entrenous as en

pytestmark = pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")

SET = MADE_UP["the regression set"]
REGRESSORS = (en.ErrorEntropyRegressor, en.PointwiseRegressor)
PUBLIC = {"bounds": SET.bounds, "target_bounds": SET.target_bounds}
X, Y, W = SET.draw(0)


def off(model, true=W):
    return np.linalg.norm(model.coef_ - true) / np.linalg.norm(true), abs(model.intercept_)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_coefficients_and_intercept_are_learnt_privately(kind):
    found = []
    for seed in range(5):
        X, y, w = SET.draw(seed)
        found.append(off(kind(1.0, **PUBLIC, random_state=seed).fit(X, y), w))
    coef, intercept = np.mean(found, axis=0)
    assert coef <= 0.02
    assert intercept <= (0.01 if kind is en.ErrorEntropyRegressor else 0.08)


def test_without_privacy_outliers_move_nothing():
    """Twice as near as least squares, as the median error on clean rows; the intercept is not the mean error."""
    robust, square = en.ErrorEntropyRegressor(None).fit(X, Y), LinearRegression().fit(X, Y)
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1.0, 1.0, (4000, SET.d))
    clean = rows @ W + 0.3 * rng.normal(size=4000)
    errors = [np.median(np.abs(model.predict(rows) - clean)) for model in (robust, square)]
    assert errors[0] < errors[1] / 2.0
    coef, intercept = off(robust)
    assert coef < 0.01
    assert intercept < 0.02 < abs(square.intercept_)
    assert (robust.coef_noise_ == 0.0).all()


def test_without_privacy_other_outliers_and_no_outliers():
    rng = np.random.default_rng(2)
    for share, push in ((0.2, 10.0), (0.1, -50.0), (0.0, 0.0)):
        y = X @ W + 5.0 + 0.3 * rng.normal(size=SET.n)
        y[rng.random(SET.n) < share] += push
        model = en.ErrorEntropyRegressor(None).fit(X, y)
        coef, _ = off(model)
        assert coef < 0.01
        assert abs(model.intercept_ - 5.0) < 0.05
    exact = en.ErrorEntropyRegressor(None).fit(X[:200], X[:200] @ W + 1.0)
    np.testing.assert_allclose(exact.coef_, W, atol=1e-4)
    assert exact.intercept_ == pytest.approx(1.0, abs=1e-4)


def test_without_privacy_single_records_are_least_squares_and_logistic_regression():
    model, exact = en.PointwiseRegressor(None).fit(X, Y), LinearRegression().fit(X, Y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(exact.intercept_, abs=1e-6)
    labels = (np.random.default_rng(0).random(SET.n) < expit(2.0 * X[:, 0] - 1.0)).astype(int)
    clf = en.PointwiseClassifier(None).fit(X, labels)
    np.testing.assert_allclose(clf.coef_[0], [2.0, *[0.0] * 7], atol=0.15)
    assert clf.intercept_[0] == pytest.approx(-1.0, abs=0.1)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], expit(clf.decision_function(X)))
    short = en.PointwiseRegressor(None, radius=0.01, **PUBLIC).fit(X, Y)
    assert np.linalg.norm(short.coef_) < 0.5 * np.linalg.norm(exact.coef_)


def test_a_classifier_of_single_records_learns_privately_with_probabilities(tmp_path):
    p = expit(3.0 * X[:, 0] - 2.0)
    labels = (np.random.default_rng(0).random(SET.n) < p).astype(int)
    clf = en.PointwiseClassifier(1.0, bounds=SET.bounds, random_state=0).fit(X, labels)
    assert clf.plan_.algorithm == "logistic-gd"
    assert np.abs(clf.predict_proba(X)[:, 1] - p).mean() < 0.03
    np.testing.assert_array_equal(clf.predict(X), (clf.predict_proba(X)[:, 1] > 0.5).astype(int))
    assert clf.event_share_[0] == pytest.approx(labels.mean(), abs=0.02)
    assert clf.certificate_.verify().epsilon <= 1.0
    again = en.load(en.save(clf, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    calibrated = en.PointwiseClassifier(1.0, bounds=SET.bounds, options={"calibrate": 0.02}, random_state=0)
    assert np.abs(calibrated.fit(X, labels).predict_proba(X)[:, 1] - p).mean() < 0.03


@pytest.mark.parametrize("kind", REGRESSORS)
def test_models_are_saved_and_repeat_by_their_seed(kind, tmp_path):
    model = kind(1.0, **PUBLIC, random_state=3).fit(X, Y)
    again = en.load(en.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.certificate_ == model.certificate_
    same, other = clone(model).fit(X, Y), clone(model).set_params(random_state=4).fit(X, Y)
    # Sums of the same rows may be added in another order, depending on where they lie in memory.
    np.testing.assert_allclose(same.coef_, model.coef_, rtol=1e-12)
    assert not np.allclose(other.coef_, model.coef_, rtol=1e-6)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_float32_gives_the_same_model(kind):
    single, double = (kind(1.0, **PUBLIC, random_state=0).fit(X.astype(t), Y) for t in (np.float32, np.float64))
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-4)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_targets_outside_their_range_are_clipped(kind):
    inside = np.clip(Y, -2.0, 2.0)
    made = [kind(1.0, bounds=(-1, 1), target_bounds=(-2, 2), random_state=0).fit(X, y) for y in (Y, inside)]
    np.testing.assert_array_equal(made[0].coef_, made[1].coef_)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_edges(kind):
    """Two records, constant targets, constant columns: a finite model, whatever the rows hold."""
    tiny = kind(1.0, **PUBLIC, delta=1e-5).fit([[0.0], [1.0]], [1.0, 2.0])
    assert np.isfinite([*tiny.coef_, tiny.intercept_]).all()
    flat = kind(1.0, **PUBLIC, random_state=0).fit(X, np.full(SET.n, 7.0))
    assert np.abs(flat.predict(X) - 7.0).max() < 0.5
    still = np.column_stack([X, np.zeros(SET.n)])
    columns = en.FeatureBounds((*[-1.0] * SET.d, 0.0), (*[1.0] * SET.d, 0.0))
    assert kind(1.0, bounds=columns, target_bounds=SET.target_bounds).fit(still, Y).coef_[-1] == 0.0
    unsaid = kind(1.0, **PUBLIC, random_state=0).fit(still, Y)
    assert np.linalg.norm(unsaid.coef_[:-1] - W) < 0.1
    without = kind(None).fit(still[:300], Y[:300])
    assert np.isfinite(without.coef_).all()


@pytest.mark.parametrize("kind", REGRESSORS)
def test_wrong_input_is_refused_before_anything_is_spent(kind):
    with pytest.raises(en.PrivacyError, match="target_bounds"):
        kind(1.0, bounds=(-1, 1)).fit(X, Y)
    with pytest.raises(en.PrivacyError, match="bounds"):
        kind(1.0, target_bounds=(-1, 1)).fit(X, Y)
    holes = Y.copy()
    holes[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        kind(1.0, **PUBLIC).fit(X, holes)
    with pytest.raises(ValueError, match="NaN"):
        kind(1.0, **PUBLIC).fit(np.where(X > 0.999, np.nan, X), Y)
    with pytest.raises((ValueError, TypeError), match=r"string|numbers|str"):
        kind(1.0, **PUBLIC).fit(X[:3], ["a", "b", "c"])
    with pytest.raises(ValueError, match=r"minimum of 2|at least two|2 is required"):
        kind(1.0, **PUBLIC).fit(X[:1], Y[:1])
    with pytest.raises(en.EntrenousError, match="epsilon"):
        kind(0.0, **PUBLIC).fit(X, Y)


def test_a_bandwidth_of_ones_own_is_used():
    wide, narrow = (en.ErrorEntropyRegressor(4.0, bandwidth=h, **PUBLIC, random_state=0).fit(X, Y) for h in (30.0, 0.5))
    # A bandwidth beyond all outliers lets them pull.
    assert off(narrow)[1] < 0.02 < 0.2 < off(wide)[1]
    assert wide.plan_.phases[-1].bandwidth == pytest.approx(1.5)


def test_noise_is_stated_and_not_too_small():
    made = [en.ErrorEntropyRegressor(0.5, **PUBLIC, random_state=seed).fit(X[:4000], Y[:4000]) for seed in range(15)]
    ratio = np.mean([model.coef_noise_ for model in made], axis=0) / np.std([model.coef_ for model in made], axis=0)
    assert 1.0 < np.median(ratio) < 10.0


@pytest.mark.real_data
def test_elevation_is_predicted_as_well_as_without_privacy():
    """covtype, which decided no constant: within 0.03 of least squares at epsilon 1."""
    table = elevation()
    train, test = table.split(0)
    public = {"bounds": table.bounds, "target_bounds": table.target_bounds}
    model = en.PointwiseRegressor(1.0, **public, random_state=0).fit(table.rows[train], table.targets[train])
    free = LinearRegression().fit(table.rows[train], table.targets[train])
    reached = [each.score(table.rows[test], table.targets[test]) for each in (model, free)]
    assert reached[0] > reached[1] - 0.03
