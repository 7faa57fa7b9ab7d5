"""Sparse tables in the estimators: the dense result and certificate, no dense table, clear refusals."""

import json
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import entrenous as en
from entrenous.planners.planning import plan
from entrenous.planners.row_needs import algorithms_without_array, takes_rows_without_array

RNG = np.random.default_rng(0)
N, D = 400, 8
DENSE = RNG.integers(1, 4, (N, D)) * (RNG.random((N, D)) < 0.2)
DENSE = np.column_stack([DENSE[:, 1:], np.zeros(N)]).astype(float)
SPARSE = sparse.csr_array(DENSE)
Y = (DENSE[:, 0] - DENSE[:, 1] + RNG.normal(size=N) > 0).astype(int)
FORMS = [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_array]


@pytest.fixture(autouse=True)
def _seeds_are_meant():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        yield


GRID = 1e-4
"""Sums of single records take rows cut to a grid, dense ones and sparse ones each in their own way."""


def same(first, second, tolerance=1e-10):
    # Some coefficients here are 30: what matters is small beside the largest.
    for name in ("coef_", "intercept_", "coef_noise_"):
        one, other = np.asarray(getattr(first, name)), np.asarray(getattr(second, name))
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * max(1.0, np.abs(first.coef_).max()))
    assert (first.certificate_ is None) == (second.certificate_ is None)
    if first.certificate_ is not None:
        one, other = (json.loads(model.plan_.certificate().to_json()) for model in (first, second))
        assert one == other


RANKING = algorithms_without_array("auc")


@pytest.mark.parametrize("algorithm", RANKING)
@pytest.mark.parametrize(
    "bounds", [(0, 3), (-1, 2), en.FeatureBounds(0, 3, clip=1.2), en.FeatureBall(4.0), en.FeatureBall(2.0, 0.5)]
)
def test_a_private_fit_is_the_dense_one(algorithm, bounds):
    made = [
        en.AUCClassifier(epsilon=1.0, algorithm=algorithm, bounds=bounds, ridge=0.1, random_state=0).fit(X, Y)
        for X in (DENSE, SPARSE)
    ]
    nearness = GRID if algorithm in ("logistic-gd", "moments") else 1e-10
    same(*made, nearness)
    np.testing.assert_allclose(made[1].decision_function(SPARSE), made[0].decision_function(DENSE), atol=nearness)
    np.testing.assert_array_equal(made[1].predict(SPARSE), made[1].predict(DENSE))
    assert made[1].score(SPARSE, Y) == pytest.approx(made[0].score(DENSE, Y), abs=1e-3 * nearness**0.25)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from(["hinge", "logistic", "smoothed-hinge"]), st.sampled_from([None, 1.3])
)
def test_random_tables_and_boxes(seed, surrogate, clip):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 60)), int(rng.integers(1, 9))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.random())
    low, high = -rng.random(d) * (rng.random(d) < 0.6), rng.random(d) * (rng.random(d) < 0.6)
    domain = en.FeatureBounds(low, high, clip=clip)
    # Not a radius of 1: at its rim margins would lie exactly at the kink of the hinge, where either slope is right.
    settings_ = {"algorithm": "noisy-gd", "surrogate": surrogate, "bounds": domain, "delta": 1e-5, "random_state": seed}
    settings_["radius"] = 1.7
    y = rng.integers(0, 2, n)
    same(*(en.AUCClassifier(**settings_).fit(table, y) for table in (X, sparse.csr_array(X))))


@pytest.mark.parametrize("settings", [{"bounds": (0, 3)}, {}], ids=["bounds", "none"])
@pytest.mark.parametrize("algorithm", ["moments", "noisy-gd"])
def test_a_fit_without_privacy_is_the_dense_one(algorithm, settings):
    dense, thin = (
        en.AUCClassifier(None, algorithm=algorithm, ridge=0.01, **settings).fit(X, Y) for X in (DENSE, SPARSE)
    )
    # The twin of noisy-gd stops at a gradient of 1e-8.
    same(dense, thin, 1e-10 if algorithm == "moments" else 1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_every_format_goes_in(form):
    wanted = en.AUCClassifier(bounds=(0, 3), random_state=0).fit(DENSE, Y)
    same(en.AUCClassifier(bounds=(0, 3), random_state=0).fit(form(DENSE.astype(np.float32)), Y), wanted, GRID)


@pytest.mark.parametrize("algorithm", ["moments", "noisy-gd", "logistic-gd"])
def test_private_bounds(algorithm):
    """Histograms of a sparse table are those of the written-out one."""
    settings = {"algorithm": algorithm, "bounds": en.PrivateBounds(within=(-10, 10)), "random_state": 0}
    same(*(en.AUCClassifier(4.0, **settings).fit(X, Y) for X in (DENSE, SPARSE)), GRID)


def test_repeated_places_are_added_and_the_table_is_left_alone():
    halves = sparse.csr_matrix((np.repeat(SPARSE.data, 2) / 2, np.repeat(SPARSE.indices, 2), 2 * SPARSE.indptr))
    halves.resize(SPARSE.shape)
    before = halves.nnz
    same(*(en.AUCClassifier(bounds=(0, 3), random_state=0).fit(X, Y) for X in (halves, DENSE)), GRID)
    assert halves.nnz == before


def test_several_classes():
    labels = Y + 2 * (DENSE[:, 2] > 1)
    settings = {"algorithm": "noisy-gd", "bounds": (0, 3), "classes": (0, 1, 2, 3), "random_state": 0}
    same(*(en.AUCClassifier(**settings).fit(X, labels) for X in (DENSE, SPARSE)))


@pytest.mark.parametrize("epsilon", [2.0, None])
def test_error_entropy(epsilon):
    targets = DENSE @ np.arange(D) + RNG.normal(size=N)
    settings = {"epsilon": epsilon, "bounds": (0, 3), "target_bounds": (0, 60), "max_iter": 20, "random_state": 0}
    made = [en.ErrorEntropyRegressor(**settings).fit(X, targets) for X in (DENSE, SPARSE)]
    same(*made, GRID)
    np.testing.assert_allclose(made[1].predict(SPARSE), made[1].predict(DENSE), rtol=1e-12)


@pytest.mark.parametrize("epsilon", [2.0, None])
def test_single_records(epsilon):
    targets = DENSE @ np.arange(D) + RNG.normal(size=N)
    settings = {"epsilon": epsilon, "bounds": (0, 3), "random_state": 0}
    same(*(en.PointwiseRegressor(target_bounds=(0, 60), **settings).fit(X, targets) for X in (DENSE, SPARSE)), GRID)
    same(*(en.PointwiseClassifier(**settings).fit(X, Y) for X in (DENSE, SPARSE)), GRID)


def test_nothing_is_written_out():
    """A table that would take 8 GB is fitted in a small multiple of its stored entries."""
    n, d, per_row = 200_000, 5_000, 5
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, d // per_row, (n, per_row)) + np.arange(per_row) * (d // per_row), axis=1)
    X = sparse.csr_array((np.ones(n * per_row), columns.ravel(), np.arange(n + 1) * per_row), shape=(n, d))
    y = (columns[:, 0] < 500).astype(int)
    clf = en.AUCClassifier(algorithm="noisy-gd", bounds=(0, 1), max_iter=3)
    tracemalloc.start()
    try:
        clf.fit(X, y).decision_function(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6


def test_bounds_without_zero_are_taken():
    """Zeros that are not stored are clipped like any other entry."""
    settings = {"algorithm": "noisy-gd", "bounds": (1, 3), "random_state": 0}
    same(*(en.AUCClassifier(**settings).fit(X, Y) for X in (DENSE, SPARSE)))


def test_missing_entries_are_refused():
    holes = SPARSE.copy()
    holes.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        en.AUCClassifier(bounds=(0, 3)).fit(holes, Y)
    made = plan("moments", n=N, n_features=D, epsilon=1.0, bounds=(0, 3))
    with pytest.raises(en.InputError, match="NaN or infinity"):
        made.run(holes, Y)
    with pytest.raises(en.InputError, match="this plan is for 400 rows"):
        made.run(SPARSE[:10], Y[:10])
    with pytest.raises(en.InputError, match="rows of 8 features"):
        made.run(SPARSE[:, :3], Y)


@pytest.mark.parametrize("record", en.algorithms(), ids=lambda a: a.name)
def test_other_algorithms_name_those_that_take_sparse_tables(record):
    task = record.tasks[0]
    targets = {"target_bounds": (0, 1)} if task in ("error-entropy", "pointwise-regression") else {}
    epsilons = [1.0, None] if "approximate" in record.privacy or "pure" in record.privacy else [None]
    for epsilon in epsilons:
        made = plan(record.name, task=task, n=N, n_features=D, epsilon=epsilon, bounds=(0, 3), ridge=0.1, **targets)
        takes = task != "metric" and all(phase.takes_sparse for phase in made.phases)
        assert takes == takes_rows_without_array(record.name, task)
        if not takes:
            ways_out = r"Use one of (logistic|residual)-gd|Choose (another task|fewer features), or use X.toarray"
            with pytest.raises(en.InputError, match=ways_out) as told:
                made.run(SPARSE, Y)
            assert str(told.value).count("moments") <= 1


def test_refusals_of_the_estimators():
    with pytest.raises(en.InputError, match="reads dense rows, one by one"):
        en.AUCClassifier(algorithm="onpairc", bounds=(0, 3)).partial_fit(SPARSE, Y, n_total=N)
    with pytest.raises(en.InputError, match="a metric reads dense rows"):
        plan("noisy-gd", task="metric", n=N, n_features=D, epsilon=1.0, bounds=(0, 3)).run(SPARSE, Y)
    with pytest.raises(TypeError, match="dense data is required"):
        en.MahalanobisLearner(bounds=(0, 3)).fit(SPARSE, Y)
    with pytest.raises(en.InputError, match=r"dpsgd-pointwise reads dense rows, one by one.*Use one of logistic-gd"):
        en.PointwiseClassifier(algorithm="dpsgd-pointwise", bounds=(0, 3)).fit(SPARSE, Y)


def test_scikit_learns_tag_says_which_settings_take_sparse_tables():
    takes = [en.AUCClassifier(), en.AUCClassifier(algorithm="noisy-gd"), en.ErrorEntropyRegressor()]
    takes += [en.AUCClassifier(bounds=en.PrivateBounds(within=(0, 1))), en.PointwiseClassifier()]
    takes.append(en.PointwiseRegressor())
    others = [
        en.AUCClassifier(algorithm="sgd-pair"),
        en.PointwiseClassifier(algorithm="dpsgd-pointwise"),
        en.MahalanobisLearner(),
    ]
    assert all(e.__sklearn_tags__().input_tags.sparse for e in takes)
    assert not any(e.__sklearn_tags__().input_tags.sparse for e in others)
