"""Saved models: equal after loading, safe to load, refused when damaged."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

import entrenous as en
from entrenous.files.model_files import certificate_in

X, Y = make_classification(200, 3, n_informative=2, n_redundant=1, random_state=1)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
RANGES = {"a": (-5, 5), "b": (-5, 5), "c": (-5, 5)}


@pytest.mark.parametrize(
    "settings",
    [
        {"bounds": RANGES},
        {"bounds": en.FeatureBounds(-5, 5, clip=1.2)},
        {"bounds": en.FeatureBall(4.0, (0.0, 0.0, 1.0)), "algorithm": "dpgdsc", "ridge": 0.1, "delta": 0},
        {"bounds": ([-5] * 3, np.full(3, 5)), "surrogate": "smoothed-hinge(width=0.2)", "options": {}},
        {"bounds": (-5, 5), "classes": ("no", "yes")},
        {"epsilon": None},
    ],
)
def test_a_model_comes_back_as_it_was(settings, tmp_path):
    labels = np.array(settings["classes"])[Y] if "classes" in settings else Y
    clf = en.AUCClassifier(**settings).fit(FRAME, labels)
    again = en.load(en.save(clf, tmp_path / "model.entrenous"))
    np.testing.assert_array_equal(again.decision_function(FRAME), clf.decision_function(FRAME))
    np.testing.assert_array_equal(again.predict(FRAME), clf.predict(FRAME))
    assert again.score(FRAME, labels) == clf.score(FRAME, labels)
    assert again.plan_ == clf.plan_
    assert again.certificate_ == clf.certificate_
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.n_iter_ == clf.n_iter_
    with pytest.raises(ValueError, match="feature names"):
        again.predict(FRAME.rename(columns={"a": "z"}))
    if clf.certificate_ is not None:
        again.certificate_.verify()
        assert again.fit(FRAME, labels).plan_.certificate() == clf.plan_.certificate()


def test_the_seed_is_not_in_the_file(tmp_path):
    with pytest.warns(en.PrivacyWarning):
        clf = en.AUCClassifier(bounds=(-5, 5), random_state=271828182).fit(X, Y)
    path = en.save(clf, tmp_path / "model")
    assert b"271828182" not in path.read_bytes()
    assert en.load(path).random_state is None
    assert en.load(path).certificate_.seeded


def test_no_row_is_in_the_file(tmp_path):
    path = en.save(en.AUCClassifier(bounds=(-5, 5)).fit(X, Y), tmp_path / "model")
    content = path.read_bytes()
    for value in X[:20].ravel():
        assert np.float64(value).tobytes() not in content
        assert repr(float(value)).encode() not in content


def test_every_flipped_byte_and_every_cut_is_noticed(tmp_path):
    path = en.save(en.AUCClassifier(bounds=(-5, 5)).fit(X, Y), tmp_path / "model")
    content = path.read_bytes()
    damaged = tmp_path / "damaged"
    for position in range(0, len(content), 97):
        damaged.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        with pytest.raises(en.InputError, match="loading needs"):
            en.load(damaged)
        damaged.write_bytes(content[:position])
        with pytest.raises(en.InputError, match="loading needs"):
            en.load(damaged)


def test_newer_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"entrenous-model/3\n" + bytes(100))
    with pytest.raises(en.InputError, match=r"format 3.*Upgrade"):
        en.load(path)
    path.write_bytes(b"\x80\x04\x95")
    with pytest.raises(en.InputError, match="something else"):
        en.load(path)
    with pytest.raises(en.InputError, match="No such file"):
        en.load(tmp_path / "nowhere")


def test_only_fitted_estimators_are_saved(tmp_path):
    with pytest.raises(en.InputError, match="fit first"):
        en.save(en.AUCClassifier(), tmp_path / "model")
    with pytest.raises(en.InputError, match="AUCClassifier"):
        en.save("model", tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.1},
        {"delta": 1e-3},
        {"coef_": np.ones((1, 4))},
        {"coef_": np.full((1, 3), np.nan)},
        {"certificate_": None},
        {"bounds_": None},
        {"classes_": np.array([0, 1, 2])},
    ],
)
def test_what_was_changed_after_the_fit_is_not_saved(change, tmp_path):
    """It would be refused when it is loaded, by somebody else and too late."""
    clf = en.AUCClassifier(bounds=(-5, 5)).fit(X, Y)
    vars(clf).update(change)
    with pytest.raises(en.InputError, match=r"saving needs"):
        en.save(clf, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_certificates_are_found_in_models_and_in_json(tmp_path):
    clf = en.AUCClassifier(bounds=(-5, 5)).fit(X, Y)
    model = en.save(clf, tmp_path / "model")
    text = tmp_path / "certificate.json"
    text.write_text(clf.certificate_.to_json())
    assert certificate_in(model) == certificate_in(text) == clf.certificate_
