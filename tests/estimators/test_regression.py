"""Error entropy and single records: scikit-learn's contract, the intercept's price, what they reach."""

import math
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.datasets import make_classification, make_regression
from sklearn.utils.estimator_checks import check_estimator

import entrenous as en
from entrenous.privacy.gaussian_dp import mu_for

X, Y = make_regression(2000, 3, noise=10.0, bias=40.0, random_state=0)
RANGES = {"bounds": (-4, 4), "target_bounds": (-400, 400)}


def failures(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 40
    return [result for result in results if result["status"] == "failed"]


@pytest.mark.parametrize(
    "estimator",
    [
        en.ErrorEntropyRegressor(None),
        en.PointwiseRegressor(None, random_state=0),
        en.PointwiseClassifier(None, random_state=0),
        en.PrivateStandardizer(epsilon=None),
        en.ErrorEntropyRegressor(bounds=(-10, 10), target_bounds=(-100, 100), random_state=0),
        en.PointwiseRegressor(bounds=(-10, 10), target_bounds=(-100, 100), random_state=0),
        en.PrivateStandardizer((-10, 10), random_state=0),
    ],
    ids=lambda e: f"{type(e).__name__}-{e.epsilon}",
)
def test_scikit_learns_checks_pass(estimator):
    assert [result["check_name"] for result in failures(estimator)] == []


def test_a_private_classifier_fails_only_for_undeclared_labels():
    failed = failures(en.PointwiseClassifier(bounds=(-10, 10), random_state=0))
    for result in failed:
        if result["check_name"] == "check_classifiers_one_label":  # ten records of one class: noise decides
            continue
        causes = [str(result["exception"]), str(result["exception"].__cause__), str(result["exception"].__context__)]
        assert any("public classes" in cause for cause in causes), result["check_name"]
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9):
        assert len(failed) <= 5


def test_error_entropy_ignores_outliers():
    """One target in ten is nonsense; least squares follows it, error entropy does not."""
    rng = np.random.default_rng(0)
    wild = np.where(rng.random(2000) < 0.1, 2000.0 * np.sign(X[:, 0]), Y)
    span = {"target_bounds": (-2000.0, 2000.0)}
    robust = en.ErrorEntropyRegressor(None, radius=3.0, bandwidth=100.0, bounds=(-4, 4), **span).fit(X, wild)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(2000)]), Y, rcond=None)[0]
    misled = np.linalg.lstsq(np.column_stack([X, np.ones(2000)]), wild, rcond=None)[0]
    assert np.linalg.norm(robust.coef_ - exact[:3]) < 0.2 * np.linalg.norm(misled[:3] - exact[:3])


def test_the_intercept_has_its_share_of_the_budget():
    model = en.ErrorEntropyRegressor(2.0, algorithm="kang-gp", **RANGES).fit(X, Y)
    gradients, level = model.plan_.mechanisms
    mu = mu_for(2.0, model.certificate_.delta)
    assert level.lemma == "Lemma 13"
    assert level.l2_sensitivity == pytest.approx(2.0 / 2000)
    assert level.gdp == pytest.approx(0.1 * mu**2)
    assert math.sqrt(level.gdp + gradients.gdp) == pytest.approx(mu, rel=1e-6)
    assert model.certificate_.verify().epsilon == pytest.approx(2.0, rel=1e-6)
    # Half of 40, the noise-free mean error, is 1000 times the noise.
    assert 20.0 < model.intercept_ < 60.0
    free = en.ErrorEntropyRegressor(2.0, algorithm="kang-gp", intercept_share=0.0, **RANGES).fit(X, Y)
    assert free.intercept_ == 0.0
    assert len(free.plan_.mechanisms) == 1


@pytest.mark.parametrize(
    "change", [lambda p: p["intercept"].update(clip=2.0), lambda p: p.update(intercept={"clip": "x"})]
)
def test_a_false_intercept_is_refused(change):
    content = en.ErrorEntropyRegressor(2.0, algorithm="kang-gp", **RANGES).fit(X, Y).certificate_.to_dict()
    content["public"] = {**content["public"], "intercept": dict(content["public"]["intercept"])}
    change(content["public"])
    with pytest.raises(en.PrivacyError):
        en.PrivacyCertificate.from_dict(content).verify()


def test_an_unpriced_intercept_is_refused():
    content = en.ErrorEntropyRegressor(2.0, algorithm="kang-gp", **RANGES).fit(X, Y).certificate_.to_dict()
    content["mechanisms"] = [m for m in content["mechanisms"] if m["lemma"] != "Lemma 13"]
    with pytest.raises(en.PrivacyError, match="intercept"):
        en.PrivacyCertificate.from_dict(content).verify()


def test_found_bounds_serve_a_regression():
    ranges = {"bounds": en.PrivateBounds(within=(-40, 40)), "target_bounds": (-400, 400)}
    model = en.ErrorEntropyRegressor(2.0, algorithm="kang-gp", max_iter=10, **ranges).fit(X, Y)
    assert model.score(X, Y) > 0.8
    assert [m.lemma for m in model.plan_.mechanisms] == ["Lemma 11", "Lemma 2", "Lemma 13"]
    model = en.ErrorEntropyRegressor(2.0, **ranges).fit(X, Y)
    assert model.score(X, Y) > 0.95
    assert [m.lemma for m in model.plan_.mechanisms] == ["Lemma 19", "Lemma 11", "Lemma 15", "Lemma 23"]
    assert model.certificate_.verify().epsilon == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_bounds": None}, "target_bounds"),
        ({"bounds": None}, "bounds"),
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"bandwidth": "wide"}, "bandwidth"),
        ({"intercept_share": -0.1}, "intercept_share"),
        ({"intercept_share": 1.0, "algorithm": "kang-gp"}, "share of the budget"),
        ({"intercept_share": 0.1}, "together with the coefficients"),
        ({"calibration": "paper"}, "calibration"),
        ({"delta": 0}, "delta"),
    ],
)
def test_wrong_requests(settings, message):
    with pytest.raises(en.EntrenousError, match=message):
        en.ErrorEntropyRegressor(**RANGES | settings).fit(X, Y)


@pytest.mark.parametrize("kind", [en.ErrorEntropyRegressor, en.PointwiseRegressor])
def test_regressors_are_saved(kind, tmp_path):
    model = kind(4.0, **RANGES, max_iter=5).fit(X, Y)
    again = en.load(en.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()


def test_probabilities_only_where_the_loss_is_logistic():
    rows, labels = make_classification(3000, 4, random_state=0)
    steps = {"algorithm": "dpsgd-pointwise", "max_iter": 100, "options": {"batch": 500, "step_size": 0.5}}
    for epsilon, settings in ((4.0, steps), (1.0, {}), (None, {})):
        clf = en.PointwiseClassifier(epsilon, bounds=(-5, 5), **settings).fit(rows, labels)
        np.testing.assert_allclose(clf.predict_proba(rows).sum(axis=1), 1.0)
        assert ((clf.predict_proba(rows)[:, 1] > 0.5) == clf.predict(rows)).all()
        assert clf.score(rows, labels) > (0.7 if settings else 0.85)
    assert not hasattr(en.PointwiseClassifier(surrogate="hinge"), "predict_proba")
