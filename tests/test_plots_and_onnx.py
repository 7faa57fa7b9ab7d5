"""Pictures and graphs of what was released."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import entrenous as en
from entrenous.files.onnx_export import to_onnx
from entrenous.report.plots import plot_coefficients, plot_metric, plot_privacy_curve

mpl.use("Agg")
X, Y = load_iris(return_X_y=True, as_frame=True)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def ranking(labels=None, **settings):
    chosen = {"epsilon": 4.0, "bounds": (0, 8)} | settings
    return en.AUCClassifier(**chosen).fit(X, (Y > 0).astype(int) if labels is None else labels)


def scored(estimator, rows):
    session = onnxruntime.InferenceSession(to_onnx(estimator), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.asarray(rows, dtype=float)}), strict=True))


def test_coefficients_with_their_noise():
    clf = ranking()
    ax = plot_coefficients(clf)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] in set(X.columns)
    bars = [patch.get_width() for patch in ax.patches]
    scaled = clf.coef_[0] * clf.bounds_.unit
    np.testing.assert_allclose(sorted(bars), sorted(scaled))
    assert "epsilon = 4" in ax.get_title(loc="left")
    assert len(plot_coefficients(clf, most=2).patches) == 2
    plot_coefficients(en.AUCClassifier(None).fit(X, Y > 0))
    with pytest.raises(en.InputError, match="fitted"):
        plot_coefficients(en.AUCClassifier())


@pytest.mark.parametrize("algorithm", ["moments", "noisy-gd", "dpgdsc", "ogd-previous"])
def test_the_stated_noise_is_the_noise(algorithm):
    """Over many fits of the same rows, coefficients spread as `coef_noise_` says, where no projection bites."""
    more = {"epsilon": 8.0, "algorithm": algorithm, "ridge": 0.5, "radius": None if algorithm == "moments" else 50.0}
    if algorithm != "ogd-previous":
        more["max_iter"] = None if algorithm == "moments" else 20
    fits = [ranking(**more) for _ in range(150)]
    spread = np.std([clf.coef_[0] for clf in fits], axis=0)
    stated = np.median([clf.coef_noise_[0] for clf in fits], axis=0)
    # Gradient noise is stated as if the loss did not pull back, so it is an upper figure there.
    low, high = (0.2, 1.3) if algorithm == "noisy-gd" else (0.7, 1.4)
    assert (low * stated <= spread).all(), spread / stated
    assert (spread <= high * stated).all(), spread / stated


def test_a_metric_as_a_picture():
    learner = en.MahalanobisLearner(4.0, bounds=(0, 8), classes=(0, 1, 2)).fit(X, Y)
    ax = plot_metric(learner)
    unit = learner.bounds_.unit
    np.testing.assert_allclose(
        ax.images[0].get_array(), learner.get_mahalanobis_matrix() * np.outer(unit, unit), rtol=1e-9
    )
    with pytest.raises(en.InputError, match="MahalanobisLearner"):
        plot_metric(ranking())


def test_the_privacy_curve_passes_through_the_certificate():
    certificate = ranking().certificate_
    ax = plot_privacy_curve(certificate)
    deltas, epsilons = ax.lines[0].get_data()
    assert np.interp(np.log(certificate.delta), np.log(deltas), epsilons) == pytest.approx(4.0, rel=0.01)
    assert (np.diff(epsilons) <= 1e-12).all()
    pure = en.plan("dpgdsc", n=100, n_features=2, epsilon=1.0, delta=0, ridge=0.1).certificate()
    assert len(plot_privacy_curve({"one": certificate, "pure": pure}).lines) == 3
    with pytest.raises(en.InputError, match="certificates"):
        plot_privacy_curve({"none": None})


def test_onnx_scores_are_the_models():
    clf = ranking()
    found = scored(clf, X)
    np.testing.assert_allclose(found["score"], clf.decision_function(X), rtol=1e-12)
    np.testing.assert_array_equal(found["label"], clf.predict(X))


def test_onnx_knows_words_numbers_and_several_classes():
    words = np.array(["a", "b", "c"])[Y]
    for labels, classes in ((words, ("a", "b", "c")), (Y.to_numpy() * 10, (0, 10, 20)), (Y > 0, (False, True))):
        clf = ranking(np.asarray(labels), classes=classes)
        found = scored(clf, X)
        np.testing.assert_allclose(found["score"], clf.decision_function(X), rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(found["label"], clf.predict(X))


@pytest.mark.parametrize("calibrate", [0.0, 0.2])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_onnx_probabilities_are_the_models(classes, calibrate):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 3)) * [1.0, 5.0, 0.2]
    score = 2.0 * rows[:, 0] - 0.4 * rows[:, 1]
    labels = (score > 2.5).astype(int) + ((score < -1.0) * (len(classes) - 2))
    clf = en.AUCClassifier(4.0, bounds=(-10, 10), classes=classes, options={"calibrate": calibrate}).fit(rows, labels)
    assert (calibrate > 0.0) == bool((clf.log_odds_map_ != [1.0, 0.0]).all())
    far = np.vstack([rows, [[-1e9, 0.0, 0.0], [1e9, 1e9, -1e9]]])
    found, expected = scored(clf, far), clf.predict_proba(far)
    assert list(found) == ["label", "score", "probability"]
    np.testing.assert_allclose(found["probability"], expected if len(classes) > 2 else expected[:, 1], rtol=1e-9)
    np.testing.assert_array_equal(found["label"], clf.predict(far))


def test_onnx_of_a_model_without_a_link_has_no_probability():
    assert list(scored(ranking(algorithm="moments"), X)) == ["label", "score"]
    assert list(scored(en.AUCClassifier(None).fit(X, Y > 0), X)) == ["label", "score"]


@pytest.mark.parametrize("epsilon", [2.0, None])
def test_onnx_predictions_are_the_regressors(epsilon):
    rows = np.asarray(X, dtype=float)
    far = np.vstack([rows, 100.0 * rows[:5]])  # clipped in both
    for kind in (en.ErrorEntropyRegressor, en.PointwiseRegressor):
        model = kind(epsilon, bounds=(0, 8), target_bounds=(0, 8)).fit(rows, rows[:, 0] + 0.1 * rows[:, 1])
        np.testing.assert_allclose(scored(model, far)["prediction"], model.predict(far), rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["auto", "dpsgd-pointwise"])
def test_onnx_classifies_single_records(algorithm):
    model = en.PointwiseClassifier(4.0, bounds=(0, 8), algorithm=algorithm, max_iter=20).fit(X, (Y > 0).astype(int))
    found = scored(model, X)
    np.testing.assert_allclose(found["score"], model.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    np.testing.assert_allclose(found["probability"], model.predict_proba(X)[:, 1], rtol=1e-9)


def test_onnx_transforms_are_the_learners(tmp_path):
    learner = en.MahalanobisLearner(4.0, bounds=(0, 8), classes=(0, 1, 2)).fit(X, Y)
    np.testing.assert_allclose(scored(learner, X)["transformed"], learner.transform(X), rtol=1e-12)
    content = to_onnx(learner, tmp_path / "metric.onnx")
    assert (tmp_path / "metric.onnx").read_bytes() == content
    assert b"epsilon=4" in content
    with pytest.raises(en.InputError, match="fitted"):
        to_onnx(en.MahalanobisLearner())
    with pytest.raises(en.InputError, match="AUCClassifier, ErrorEntropyRegressor"):
        to_onnx(pd.DataFrame())
