"""Rankings of several classes on one budget."""

import math
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score

import entrenous as en
from entrenous.privacy.gaussian_dp import mu_for

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def fit(epsilon=4.0, labels=Y, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        chosen = {"bounds": (0, 8), "classes": (0, 1, 2), "random_state": 0} | settings
        return en.AUCClassifier(epsilon, **chosen).fit(X, labels)


def test_without_privacy_each_class_is_its_own_ranking():
    clf = en.AUCClassifier(None).fit(X, Y)
    assert clf.coef_.shape == (3, 4)
    assert clf.decision_function(X).shape == (150, 3)
    for k in range(3):
        alone = en.AUCClassifier(None).fit(X, k == Y)
        np.testing.assert_allclose(clf.coef_[k], alone.coef_[0], rtol=1e-9)
    columns = clf.decision_function(X).T
    assert clf.score(X, Y) == pytest.approx(np.mean([roc_auc_score(k == Y, s) for k, s in enumerate(columns)]))
    assert clf.score(X, Y) > 0.9
    assert np.mean(clf.predict(X) == Y) > 0.7
    assert clf.certificate_ is None


@pytest.mark.parametrize("algorithm", ["moments", "noisy-gd", "dp-localized-sgd", "sgd-previous"])
def test_the_budget_is_shared_out_and_accounted_together(algorithm):
    clf = fit(algorithm=algorithm)
    certificate = clf.certificate_
    assert certificate.epsilon == certificate.claimed_epsilon == 4.0
    assert certificate.verify().epsilon == pytest.approx(4.0, rel=1e-6)
    each = mu_for(4.0, certificate.delta) / math.sqrt(3.0)
    for made in clf.plans_:
        assert mu_for(made.budget.epsilon, made.budget.delta) == pytest.approx(each, rel=1e-6)
    assert len(certificate.public["parts"]) == 3


def test_pure_budgets_and_secret_samples():
    pure = fit(2.0, delta=0, ridge=0.1)
    assert [made.budget.epsilon for made in pure.plans_] == pytest.approx([2.0 / 3.0] * 3)
    assert pure.certificate_.verify().epsilon == pytest.approx(2.0)
    sampled = fit(2.0, algorithm="dpsgd-pairwise", max_iter=10)
    assert sampled.certificate_.verify().epsilon <= 2.0


def test_noise_is_not_the_same_for_every_class():
    clf = fit(0.01, algorithm="noisy-gd", max_iter=1)
    assert abs(np.corrcoef(clf.coef_[0], clf.coef_[1])[0, 1]) < 0.999
    np.testing.assert_array_equal(clf.coef_, fit(0.01, algorithm="noisy-gd", max_iter=1).coef_)


def test_words_files_and_repetition(tmp_path):
    clf = fit(labels=NAMES[Y], classes=tuple(NAMES))
    assert set(clf.predict(X)) <= set(NAMES)
    again = en.load(en.save(clf, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert again.plans_ == clf.plans_
    assert again.certificate_.to_dict() == clf.certificate_.to_dict()


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
@pytest.mark.parametrize("epsilon", [None, 4.0])
def test_portions_do_not_matter(epsilon):
    order = np.random.default_rng(0).permutation(150)
    # With a radius: without one and without privacy `fit` takes it from all rows, which `partial_fit` cannot.
    settings = {"bounds": (0, 8), "classes": (0, 1, 2), "random_state": 0, "algorithm": "ogd-previous", "radius": 1.0}
    whole = en.AUCClassifier(epsilon, **settings).fit(X[order], Y[order])
    parts = en.AUCClassifier(epsilon, **settings)
    for start in range(0, 150, 40):
        rows = order[start : start + 40]
        parts.partial_fit(X[rows], Y[rows], n_total=150)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12, atol=1e-12)
    assert parts.certificate_ == whole.certificate_


def test_refusals():
    with pytest.raises(en.InputError, match="public classes"):
        fit(labels=np.where(Y == 2, 7, Y))
    with pytest.raises(en.AssumptionError, match="several classes"):
        fit(algorithm="dpgdc2", calibration="paper")
    with pytest.raises(en.InputError, match="public classes"):
        fit(classes=None)
