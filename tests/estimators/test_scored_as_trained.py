"""What training does to a row, scoring does to a row: clipped into the same domain, in memory, in files and in ONNX."""

import warnings

import numpy as np
import onnxruntime
import pytest
from scipy import sparse
from test_altered_models import put_together, taken_apart

import entrenous as en
from entrenous.engine.codec import encode
from entrenous.files.onnx_export import to_onnx

RNG = np.random.default_rng(0)
N, D = 400, 3
X = RNG.normal(size=(N, D))
Y = (X[:, 0] - X[:, 1] + RNG.normal(size=N) > 0).astype(int)
DIRECTIONS = RNG.normal(size=(40, D))
ROWS = np.concatenate([0.2 * DIRECTIONS, 3.0 * DIRECTIONS, 1e8 * DIRECTIONS, 1e200 * DIRECTIONS])
"""Inside, outside, far outside and beyond what can be squared."""
BOUNDS = {
    "box": (-1.0, 2.0),
    "box with a constant": ((-1.0, 0.5, -2.0), (2.0, 0.5, 2.0)),
    "box with clip": en.FeatureBounds(-2, 2, clip=1.1),
    "ball": en.FeatureBall(1.5, (0.1, 0.0, -0.2)),
    "far from zero": en.FeatureBounds((-1.0, -1.0, 1e7 - 1.0), (1.0, 1.0, 1e7 + 1.0), clip=1.2),
    "private": en.PrivateBounds(within=(-50, 50)),
}
CASES = pytest.mark.parametrize("bounds", BOUNDS.values(), ids=list(BOUNDS))


@pytest.fixture(autouse=True)
def _seeds_are_meant():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        yield


def scored_by_onnx(estimator, rows):
    session = onnxruntime.InferenceSession(to_onnx(estimator), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows}), strict=True))


def close(first, second):
    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12 * np.abs(second).max())


def rounding(domain):
    """How far, in internal units, a clipped row may move when it is written in the user's: far from zero, farther."""
    return max(1e-12, 1e-15 * np.abs(domain.origin * domain.scale).max())


def by_hand(clf, rows):
    """Literally: into the box, into the ball, then the linear score."""
    domain = clf.bounds_
    low, high = (np.broadcast_to(side, D) for side in domain.ends())
    unit, origin, coef = domain.unit, domain.origin, clf.coef_[0]
    scores = []
    for row in rows:
        numbers = zip(row, low, high, origin, unit, strict=True)
        inner = np.array([(min(max(x, a), b) - o) / u if u else 0.0 for x, a, b, o, u in numbers])
        largest = max(1.0, np.abs(inner).max())
        norm = largest * np.sqrt(np.sum((inner / largest) ** 2))
        scores.append((unit * coef) @ (inner / max(1.0, norm)) + (coef @ origin + clf.intercept_[0]))
    return np.array(scores)


def ranking(bounds, **settings):
    return en.AUCClassifier(4.0, bounds=bounds, random_state=0, **settings).fit(X, Y)


@CASES
def test_a_row_scores_as_the_clipped_row(bounds, tmp_path):
    clf = ranking(bounds)
    found, clipped = clf.decision_function(ROWS), clf.bounds_.clipped(ROWS)
    close(found, by_hand(clf, ROWS))
    size = rounding(clf.bounds_) * max(np.abs(found).max(), np.abs(clf.coef_[0] * clf.bounds_.unit).max())
    np.testing.assert_allclose(found, clf.decision_function(clipped), rtol=0, atol=size)
    np.testing.assert_allclose(found, clipped @ clf.coef_[0] + clf.intercept_[0], rtol=0, atol=size)
    np.testing.assert_array_equal(clf.predict(ROWS), clf.predict(clipped))
    labels = RNG.integers(0, 2, len(ROWS))
    assert clf.score(ROWS, labels) == pytest.approx(clf.score(clipped, labels), abs=1e-3)
    assert np.abs(found).max() < 1e-3 * np.abs(ROWS @ clf.coef_[0] + clf.intercept_[0]).max()
    # One row alone has the score that it has among others.
    np.testing.assert_array_equal([clf.decision_function(row[None])[0] for row in ROWS], found)
    again = en.load(en.save(clf, tmp_path / "model"))
    np.testing.assert_array_equal(again.decision_function(ROWS), found)


@CASES
@pytest.mark.parametrize("labels", [Y, Y + (X[:, 2] > 0)], ids=["two classes", "three"])
def test_onnx_clips_too(bounds, labels):
    clf = en.AUCClassifier(4.0, bounds=bounds, classes=tuple(range(labels.max() + 1)), random_state=0).fit(X, labels)
    found = scored_by_onnx(clf, ROWS)
    close(found["score"], clf.decision_function(ROWS))
    np.testing.assert_array_equal(found["label"], clf.predict(ROWS))


def test_classes_that_find_bounds_of_their_own_are_scored_in_them(tmp_path):
    labels = Y + (X[:, 2] > 0)
    bounds = en.PrivateBounds(within=(-50, 50))
    settings = {"algorithm": "moments", "classes": (0, 1, 2), "random_state": 0}
    clf = en.AUCClassifier(4.0, bounds=bounds, **settings).fit(X, labels)
    assert len(set(clf.all_bounds_)) == 3
    found = clf.decision_function(ROWS)
    for k, domain in enumerate(clf.all_bounds_):
        close(found[:, k], domain.clipped(ROWS) @ clf.coef_[k] + clf.intercept_[k])
    again = en.load(en.save(clf, tmp_path / "model"))
    assert again.all_bounds_ == clf.all_bounds_
    np.testing.assert_array_equal(again.decision_function(ROWS), found)
    np.testing.assert_array_equal(again.predict(ROWS), clf.predict(ROWS))


@CASES
def test_a_metric_clips_both_rows(bounds, tmp_path):
    learner = en.MahalanobisLearner(4.0, bounds=bounds, random_state=0).fit(X, Y)
    clipped = learner.bounds_.clipped(ROWS)
    mapped = learner.transform(ROWS)
    close(mapped, clipped @ learner.components_.T)
    close(scored_by_onnx(learner, ROWS)["transformed"], mapped)
    np.testing.assert_array_equal(en.load(en.save(learner, tmp_path / "model")).transform(ROWS), mapped)
    pairs = np.stack([ROWS[:-1], ROWS[1:]], axis=1)
    distances = learner.pair_distance(pairs)
    of_clipped = learner.pair_distance(np.stack([clipped[:-1], clipped[1:]], axis=1))
    np.testing.assert_allclose(distances, of_clipped, rtol=0, atol=10 * rounding(learner.bounds_))
    np.testing.assert_array_equal(learner.pair_score(pairs), -distances)
    metric = learner.get_metric()
    np.testing.assert_allclose([metric(u, v) for u, v in pairs], distances, rtol=1e-12, atol=1e-300)
    assert np.isfinite(distances).all()


@CASES
def test_regressions_and_classifiers_from_single_records(bounds, tmp_path):
    settings = {"bounds": bounds, "random_state": 0, "max_iter": 10}
    models = [
        en.PointwiseClassifier(**settings).fit(X, Y),
        en.PointwiseRegressor(**settings, target_bounds=(-3, 3)).fit(X, X[:, 0]),
        en.ErrorEntropyRegressor(**settings, target_bounds=(-3, 3)).fit(X, X[:, 0]),
    ]
    for model in models:
        score = getattr(model, "decision_function", model.predict)
        found = score(ROWS)
        size = rounding(model.bounds_) * max(1.0, np.abs(found).max())
        plain = model.bounds_.clipped(ROWS) @ np.ravel(model.coef_) + model.intercept_
        np.testing.assert_allclose(found, plain, rtol=0, atol=size)
        again = en.load(en.save(model, tmp_path / "model"))
        np.testing.assert_array_equal(getattr(again, score.__name__)(ROWS), found)


@CASES
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_score_as_dense_ones(bounds, form):
    clf = ranking(bounds)
    rows = np.where(RNG.random(ROWS.shape) < 0.4, ROWS, 0.0)
    # Some of these domains do not contain 0, so that clipping moves entries that are not stored.
    close(clf.decision_function(form(rows)), clf.decision_function(rows))


@CASES
def test_rows_inside_are_clipped_to_themselves(bounds):
    domain = ranking(bounds).bounds_
    inside = domain.origin + domain.unit * 0.5 * DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
    inside = np.clip(inside, *domain.ends())
    np.testing.assert_array_equal(domain.clipped(inside), inside)
    clipped = domain.clipped(ROWS)
    moved = np.abs(domain.clipped(clipped) - clipped) * domain.scale
    assert moved.max() <= rounding(domain)
    assert np.linalg.norm((clipped - domain.origin) * domain.scale, axis=1).max() <= 1.0 + 10 * rounding(domain)


def test_corners_of_a_box_are_inside():
    for d in (2, 3, 5, 7):
        domain = en.FeatureBounds(tuple(RNG.normal(size=d) - 3), tuple(RNG.normal(size=d) + 3))
        corners = np.where(RNG.random((20, d)) < 0.5, *domain.ends())
        np.testing.assert_array_equal(domain.clipped(corners), corners)


@pytest.mark.parametrize("settings", [{}, {"algorithm": "noisy-gd", "ridge": 0.1}, {"algorithm": "sgd-pair"}])
def test_without_bounds_nothing_is_clipped(settings, tmp_path):
    clf = en.AUCClassifier(None, random_state=0, **settings).fit(X, Y)
    assert clf.bounds_ is None
    far = ROWS[:120]
    for model in (clf, en.load(en.save(clf, tmp_path / "model"))):
        close(model.decision_function(far), far @ clf.coef_[0] + clf.intercept_[0])
    close(scored_by_onnx(clf, far)["score"], far @ clf.coef_[0] + clf.intercept_[0])
    learner = en.MahalanobisLearner(None, algorithm="noisy-gd").fit(X, Y)
    close(learner.transform(far), far @ learner.components_.T)


def test_a_metric_from_moments_finds_its_own_bounds_without_privacy():
    learner = en.MahalanobisLearner(None).fit(X, Y)
    near = learner.bounds_.origin + 0.1 * learner.bounds_.unit * RNG.uniform(-1.0, 1.0, X.shape)
    near = np.clip(near, *learner.bounds_.ends())
    close(learner.transform(near), near @ learner.components_.T)
    assert np.abs(learner.transform(1e6 * X)).max() < 1e3


def test_the_box_of_units_in_older_files_does_not_clip(tmp_path):
    """Version 0.1.0 stored the box of a stream's units as its bounds, and clipped no row that was scored."""
    clf = en.AUCClassifier(None, algorithm="sgd-pair", random_state=0).fit(X, Y)
    wanted = clf.decision_function(ROWS[:120])
    path = en.save(clf, tmp_path / "model")
    header, blob = taken_apart(path)
    header["bounds"] = encode(en.FeatureBounds(X.min(axis=0), X.max(axis=0)))
    del header["all_bounds"]
    put_together(path, header, blob)
    again = en.load(path)
    assert again.bounds_ is None
    np.testing.assert_array_equal(again.decision_function(ROWS[:120]), wanted)


def test_declared_bounds_clip_without_privacy_too():
    clf = en.AUCClassifier(None, bounds=(-1, 1)).fit(X, Y)
    close(clf.decision_function(ROWS), clf.decision_function(np.clip(ROWS, -1, 1)))


def test_scoring_makes_no_second_table():
    import tracemalloc

    clf = ranking((-1.0, 2.0))
    table = RNG.normal(size=(200_000, D))
    tracemalloc.start()
    try:
        clf.decision_function(table)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.9 * table.nbytes
