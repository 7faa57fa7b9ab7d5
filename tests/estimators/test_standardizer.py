"""The scaler of private pipelines: its range is kept, its price is stated, and it composes."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline

import entrenous as en

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3)) * [1.0, 20.0, 0.1] + [5.0, -100.0, 0.0]
WITHIN = {"a": (-100, 100), "b": (-1000, 1000), "c": (-5, 5)}
TABLE = pd.DataFrame(X, columns=list("abc"))


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_it_standardises(epsilon):
    scaler = en.PrivateStandardizer(WITHIN, epsilon=epsilon)
    scaled = scaler.fit_transform(TABLE)
    assert np.abs(scaled).max() <= 3.0
    assert np.abs(scaled.mean(axis=0)).max() < 0.4
    assert np.abs(np.log(scaled.std(axis=0))).max() < 0.7
    assert list(scaler.get_feature_names_out()) == list("abc")
    assert (scaler.certificate_ is None) == (epsilon is None)
    far = scaler.transform(pd.DataFrame([[1e9, -1e9, 0.0]], columns=list("abc")))
    assert 3.0 - 1e-12 < np.abs(far).max() <= 3.0


def test_its_certificate_is_checked_and_composes():
    rows, labels = make_classification(2000, 3, n_redundant=0, random_state=0)
    scaler = en.PrivateStandardizer(within=(-1000, 1000), epsilon=0.3)
    clf = en.AUCClassifier(0.7, bounds=en.PrivateStandardizer.output_bounds(3))
    make_pipeline(scaler, clf).fit(rows, labels)
    assert scaler.certificate_.verify().epsilon == pytest.approx(0.3)
    both = en.compose_certificates([scaler.certificate_, clf.certificate_])
    assert 0.7 < both.epsilon < 1.0
    both.verify()
    assert clf.certificate_.warnings == ()
    again = en.PrivacyCertificate.from_json(scaler.certificate_.to_json())
    assert again.to_dict() == scaler.certificate_.to_dict()


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(epsilon=0.1),
        lambda c: c["mechanisms"][0].update(l2_sensitivity=0.1, sigma=1.0),
        lambda c: c["mechanisms"][0].update(count=1),
        lambda c: c["mechanisms"][0].update(lemma="Lemma 2"),
        lambda c: c["problem"].update(R=1.0),
        lambda c: c["public"].pop("private_bounds"),
    ],
)
def test_a_false_certificate_is_refused(change):
    content = copy.deepcopy(en.PrivateStandardizer(WITHIN, epsilon=0.3).fit(TABLE).certificate_.to_dict())
    change(content)
    with pytest.raises(en.PrivacyError):
        en.PrivacyCertificate.from_dict(content).verify()


def test_refusals():
    with pytest.raises(en.PrivacyError, match="bounds"):
        en.PrivateStandardizer().fit(X)
    with pytest.raises(en.InputError, match="numbers"):
        en.PrivateStandardizer((0, 1)).fit([["low"], ["high"]])
    with pytest.raises(en.InputError, match="epsilon"):
        en.PrivateStandardizer((0, 1), epsilon=-1).fit(X)


def test_constants_stay_constant():
    scaler = en.PrivateStandardizer({"a": (0, 10), "b": (-200, 0), "c": (7, 7)}).fit(TABLE)
    assert scaler.scale_[2] == 0.0
    assert (scaler.transform(TABLE)[:, 2] == 0.0).all()


@pytest.mark.parametrize("epsilon", [None, 0.3])
def test_it_is_saved_and_shows_its_price(epsilon, tmp_path):
    scaler = en.PrivateStandardizer(WITHIN, epsilon=epsilon).fit(TABLE)
    again = en.load(en.save(scaler, tmp_path / "scaler"))
    np.testing.assert_array_equal(again.transform(TABLE), scaler.transform(TABLE))
    assert again.certificate_ == scaler.certificate_
    assert again.bounds_ == scaler.bounds_
    assert ("epsilon = 0.3" if epsilon else "not private") in repr(scaler)
    with pytest.raises(en.InputError, match="fitted"):
        en.save(en.PrivateStandardizer(WITHIN), tmp_path / "x")
