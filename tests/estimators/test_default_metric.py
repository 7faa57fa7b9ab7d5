"""The default metric: from labels and from listed pairs, in privately found units."""

import json
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import entrenous as en
from entrenous.files.onnx_export import to_onnx

DIGITS, TARGET = load_digits(return_X_y=True)
BITS = (0.0, 16.0)


def two_blobs(n=400, d=4, seed=0):
    """Two classes that differ in the first of d columns, whose units have nothing in common."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = rng.normal(size=(n, d))
    X[:, 0] += 2.0 * y
    return X * 10.0 ** np.arange(d), y, tuple(zip(*((-5.0 * 10.0**j, 5.0 * 10.0**j) for j in range(d)), strict=True))


def fit(X, y, bounds, how="labels", **settings):
    settings = {"epsilon": 4.0, "random_state": 0} | settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        model = en.MahalanobisLearner(bounds=bounds, **settings)
        if how == "labels":
            return model.fit(X, y)
        rows = np.arange(len(X))
        pairs = np.column_stack([rows, np.roll(rows, 1)])
        return model.fit_pairs(X, pairs, y[pairs[:, 0]] == y[pairs[:, 1]])


def told_apart(model, X, y):
    """AUC of "same class?" over all pairs of rows."""
    first, second = np.triu_indices(len(X), 1)
    return roc_auc_score(y[first] == y[second], model.pair_score(np.stack([X[first], X[second]], axis=1)))


def test_digits_are_told_apart_and_shuffled_labels_are_not():
    train, test, truth = DIGITS[:1400], DIGITS[1400:1700], TARGET[1400:1700]
    ask = {"bounds": BITS, "classes": range(10)}
    learnt = told_apart(fit(train, TARGET[:1400], **ask), test, truth)
    shuffled = told_apart(fit(train, np.random.default_rng(0).permutation(TARGET[:1400]), **ask), test, truth)
    box = en.FeatureBounds(*BITS).for_features(64)
    inside = box.to_internal(test)
    first, second = np.triu_indices(len(test), 1)
    plain = roc_auc_score(truth[first] == truth[second], -np.linalg.norm(inside[first] - inside[second], axis=1))
    assert learnt > plain + 0.04
    assert learnt > shuffled + 0.08
    assert told_apart(fit(train, TARGET[:1400], epsilon=None, **ask), test, truth) > learnt


@pytest.mark.parametrize("how", ["labels", "pairs"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_direction_that_matters_gets_the_weight(how, seed):
    X, y, bounds = two_blobs(n=3000, seed=seed)
    model = fit(X, y, bounds, how, random_state=seed)
    spread = model.bounds_.unit
    W = model.get_mahalanobis_matrix() * np.outer(spread, spread)
    assert W[0, 0] > 3.0 * np.diag(W)[1:].max()
    assert model.certificate_.verify().epsilon <= 4.0 + 1e-9


@pytest.mark.parametrize("how", ["labels", "pairs"])
def test_the_certificate_lists_every_stage(how):
    X, y, bounds = two_blobs(n=3000)
    model = fit(X, y, bounds, how)
    certificate = en.PrivacyCertificate.from_json(model.certificate_.to_json())
    lemmas = [mechanism.lemma for mechanism in certificate.mechanisms]
    assert lemmas == ["Lemma 11", "Lemma 15", {"labels": "Lemma 20", "pairs": "Lemma 21"}[how]]
    said = certificate.verify().reservations
    assert all("seeded" in text or "assumed" in text for text in said)
    assert "5 %" in certificate.public["stages"]
    assert "found_bounds" in certificate.public
    assert en.Plan.from_json(model.plan_.to_json()) == model.plan_
    content = json.loads(certificate.to_json())
    for lemma in lemmas:
        short = content | {"mechanisms": [m for m in content["mechanisms"] if m["lemma"] != lemma]}
        with pytest.raises(en.PrivacyError):
            en.PrivacyCertificate.from_json(json.dumps(short)).verify()


def test_the_task_decides_which_lemmas_a_certificate_of_moments_needs():
    X, y, bounds = two_blobs()
    ranking = en.AUCClassifier(4.0, algorithm="moments", bounds=bounds, random_state=0)
    with pytest.warns(en.PrivacyWarning):
        ranking.fit(X, y)
    content = json.loads(fit(X, y, bounds).certificate_.to_json())
    forged = json.loads(ranking.certificate_.to_json())
    forged["problem"], forged["public"]["parameter_domain"] = content["problem"], "frobenius"
    with pytest.raises(en.PrivacyError, match="Lemma 20 or Lemma 21"):
        en.PrivacyCertificate.from_json(json.dumps(forged)).verify()
    content["public"]["labelled_moments"]["weights"] = [0.71, 1.0, 3.0]
    with pytest.raises(en.PrivacyError, match="sensitivity"):
        en.PrivacyCertificate.from_json(json.dumps(content)).verify()
    content["public"]["labelled_moments"]["weights"] = [0.71, -1.0, 0.7]
    with pytest.raises(en.PrivacyError, match="public numbers"):
        en.PrivacyCertificate.from_json(json.dumps(content)).verify()


@pytest.mark.parametrize("epsilon", [0.1, 4.0, None])
@pytest.mark.parametrize(
    "labels", [np.zeros(12, dtype=int), np.arange(12) % 2, np.full(12, 9), np.arange(12) % 10], ids=str
)
def test_absent_classes_and_few_records_do_no_harm(labels, epsilon):
    if epsilon is None and len(set(labels.tolist())) == 1:
        pytest.skip("without privacy one class is refused")
    for n in (2, 3, 12):
        if epsilon is None and len(set(labels[:n].tolist())) == 1:
            continue
        model = fit(DIGITS[:n], labels[:n], BITS, classes=range(10), epsilon=epsilon)
        mapped = model.transform(DIGITS[:20])
        assert np.isfinite(mapped).all()
        assert np.linalg.norm(model.get_mahalanobis_matrix()) > 0.0


@pytest.mark.parametrize("how", ["labels", "pairs"])
@pytest.mark.parametrize("epsilon", [1.0, None])
def test_constant_columns(how, epsilon):
    X, y, (low, high) = two_blobs(d=3)
    X[:, 1] = 7.0
    declared = fit(X, y, ((low[0], 7.0, low[2]), (high[0], 7.0, high[2])), how, epsilon=epsilon)
    np.testing.assert_array_equal(declared.components_[:, 1], 0.0)
    assert np.isfinite(fit(X, y, (low, high), how, epsilon=epsilon).components_).all()
    nothing = fit(
        np.full((50, 2), 3.0), np.arange(50) % 4 // 2, en.FeatureBounds((3.0, 3.0), (3.0, 3.0)), how, epsilon=epsilon
    )
    np.testing.assert_array_equal(nothing.transform(np.zeros((4, 2))), 0.0)
    assert np.isfinite(fit(np.full((50, 2), 3.0), np.arange(50) % 4 // 2, None, how, epsilon=None).components_).all()


@pytest.mark.parametrize("how", ["labels", "pairs"])
@pytest.mark.parametrize("algorithm", ["auto", "noisy-gd"])
def test_few_components(how, algorithm, tmp_path):
    X, y, bounds = two_blobs(n=2000)
    whole, low = (fit(X, y, bounds, how, algorithm=algorithm, n_components=k) for k in (None, 2))
    assert low.components_.shape == (2, 4)
    assert low.transform(X).shape == (2000, 2)
    assert list(low.get_feature_names_out()) == ["mahalanobislearner0", "mahalanobislearner1"]
    if algorithm == "auto":
        assert told_apart(low, X[:300], y[:300]) > told_apart(whole, X[:300], y[:300]) - 0.05
    again = en.load(en.save(low, tmp_path / "low"))
    np.testing.assert_array_equal(again.transform(X), low.transform(X))
    assert again.n_components == 2
    with pytest.raises(en.InputError, match="from 1 to the number of features, 4"):
        fit(X, y, bounds, how, n_components=5)


def test_n_components_belongs_to_metrics():
    with pytest.raises(en.InputError, match="directions a metric has"):
        en.plan("auto", n=100, n_features=3, epsilon=1.0, n_components=2)


@pytest.mark.parametrize("epsilon", [1.0, None])
def test_new_rows_are_clipped_as_training_rows_were(epsilon, tmp_path):
    X, y, bounds = two_blobs(n=1500)
    model = fit(X, y, bounds, epsilon=epsilon)
    far = np.concatenate([X[:20], 50.0 * X[:20]])
    drawn = model.bounds_.origin + model.bounds_.unit * model.bounds_.to_internal(far)
    expected = drawn @ model.components_.T
    np.testing.assert_allclose(model.transform(far), expected, rtol=1e-9, atol=1e-9)
    gaps = np.linalg.norm(expected[:20] - expected[20:], axis=1)
    pairs = np.stack([far[:20], far[20:]], axis=1)
    np.testing.assert_allclose(model.pair_distance(pairs), gaps, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(model.pair_score(pairs), -gaps, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose([model.get_metric()(a, b) for a, b in pairs], gaps, rtol=1e-8, atol=1e-9)
    again = en.load(en.save(model, tmp_path / "metric"))
    np.testing.assert_array_equal(again.transform(far), model.transform(far))
    assert again.bounds_ == model.bounds_
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(to_onnx(model))
    np.testing.assert_allclose(session.run(["transformed"], {"X": far})[0], expected, rtol=1e-9, atol=1e-9)


def test_searched_and_found_bounds_are_taken():
    X, y, (low, high) = two_blobs(n=3000)
    loose = en.FeatureBounds(tuple(20.0 * side for side in low), tuple(20.0 * side for side in high))
    model = fit(X, y, en.PrivateBounds(loose))
    assert [m.lemma for m in model.plan_.mechanisms][-1] == "Lemma 20"
    assert model.certificate_.verify().epsilon <= 4.0 + 1e-9
    assert told_apart(model, X[:300], y[:300]) > 0.6
    assert told_apart(fit(X, y, model.bounds_), X[:300], y[:300]) > 0.6


def test_a_whitened_domain_keeps_its_distances():
    """What an earlier fit found may mix columns: the map to the user's units must unmix them."""
    X, y, bounds = two_blobs(n=800)
    ranking = en.AUCClassifier(4.0, bounds=bounds, options={"whiten": 0.1}, random_state=0)
    with pytest.warns(en.PrivacyWarning):
        domain = ranking.fit(X, y).bounds_
    assert domain.mixes_columns
    model = fit(X, y, domain)
    inside = domain.origin + 1e-3 * domain.unit * np.random.default_rng(0).normal(size=(9, 4))
    gaps, mapped = inside[1:] - inside[:-1], model.transform(inside)
    squares = np.einsum("ni,ij,nj->n", gaps, model.get_mahalanobis_matrix(), gaps)
    np.testing.assert_allclose(np.square(mapped[1:] - mapped[:-1]).sum(axis=1), squares, rtol=1e-6)


def test_the_stated_noise_is_the_spread_of_the_matrix():
    X, y, bounds = two_blobs(n=2000)
    plan = en.plan(
        "moments", task="metric", n=2000, n_features=4, epsilon=1.0, bounds=bounds, options={"standardise": 0.0}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        runs = [plan.run(X, y, random_state=seed) for seed in range(40)]
    spread = float(np.sqrt(np.mean(np.var([run.w for run in runs], axis=0, ddof=1))))
    stated = float(np.median([run.noise[0, 0] for run in runs]))
    assert 0.5 < stated / spread < 2.0
    free = en.plan("moments", task="metric", n=2000, n_features=4, epsilon=None).run(X, y)
    assert not free.noise.any()


@pytest.mark.parametrize("domain", ["frobenius", "nuclear"])
def test_radius_is_the_norm_of_the_matrix(domain):
    X, y, bounds = two_blobs()
    unit = np.outer(*2 * [fit(X, y, bounds, domain=domain, radius=3.0).bounds_.unit])
    W = fit(X, y, bounds, domain=domain, radius=3.0).get_mahalanobis_matrix() * unit
    norm = np.linalg.norm(W) if domain == "frobenius" else np.trace(W)
    assert norm == pytest.approx(3.0)


def test_a_ridge_leads_to_the_plain_distance():
    X, y, bounds = two_blobs(n=2000)
    model = fit(X, y, bounds, ridge=1e6)
    W = model.get_mahalanobis_matrix() * np.outer(model.bounds_.unit, model.bounds_.unit)
    np.testing.assert_allclose(W, 0.5 * np.eye(4), atol=0.01)
