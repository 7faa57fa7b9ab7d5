"""Kinds of rows: whoever defines one in a file of their own gets it through plans and estimators."""

import warnings

import numpy as np
import pytest
from own.toy_rows import BlockRows, Blocks, blocks
from scipy import sparse

import entrenous as en
from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.rows.registry import is_registered_own, rows_of
from entrenous.engine.rows.sparse import SparseRows
from entrenous.problem.features.box import FeatureBounds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] - X[:, 1] + RNG.normal(size=300) > 0).astype(int)


@pytest.fixture(autouse=True)
def _seeds_are_meant():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        yield


@pytest.mark.parametrize("epsilon", [1.0, None])
@pytest.mark.parametrize("algorithm", ["moments", "noisy-gd", "dpgdsc"])
def test_a_kind_of_ones_own_is_fitted_and_scored_as_an_array(algorithm, epsilon):
    settings = {"epsilon": epsilon, "algorithm": algorithm, "bounds": (-2, 2), "ridge": 0.1, "random_state": 0}
    own, dense = (en.AUCClassifier(**settings).fit(table, Y) for table in (blocks(X), X))
    # Without privacy a minimiser stops at a tolerance, wherever rounding lets it. Private moments of an array are those
    # of rows on a grid, which a kind of one's own need not have.
    tolerance = 1e-12 if (algorithm == "moments") != (epsilon is not None) else 1e-5
    np.testing.assert_allclose(own.coef_, dense.coef_, rtol=0, atol=tolerance)
    np.testing.assert_allclose(own.intercept_, dense.intercept_, rtol=0, atol=tolerance)
    assert own.n_features_in_ == 4
    assert not hasattr(own, "feature_names_in_")
    np.testing.assert_allclose(own.decision_function(blocks(X)), own.decision_function(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(own.predict(blocks(X)), own.predict(X))
    assert own.score(blocks(X), Y) == own.score(X, Y)


def test_a_kind_of_ones_own_in_a_regression():
    settings = {"bounds": (-2, 2), "target_bounds": (-3, 3), "max_iter": 5, "random_state": 0}
    own, dense = (en.ErrorEntropyRegressor(**settings).fit(table, X[:, 0]) for table in (blocks(X), X))
    # An array is cut to a grid.
    np.testing.assert_allclose(own.coef_, dense.coef_, rtol=0, atol=1e-5)
    np.testing.assert_allclose(own.predict(blocks(X)), dense.predict(X), rtol=0, atol=1e-5)


def test_what_needs_an_array_refuses_a_kind_without_one():
    with pytest.raises(
        en.InputError, match=r"one by one, got a table in blocks. Use one of logistic-gd, moments.*concat"
    ):
        en.AUCClassifier(algorithm="sgd-pair", bounds=(-2, 2)).fit(blocks(X), Y)
    with pytest.raises(en.InputError, match="a metric reads dense rows, got a table in blocks"):
        en.MahalanobisLearner(bounds=(-2, 2)).fit(blocks(X), Y)
    rows = rows_of(blocks(X))
    for asked in (rows.array, rows.ranges):
        with pytest.raises(en.InputError, match="one by one, got a table in blocks"):
            asked()


def test_bad_tables_of_ones_own_are_refused():
    holes = X.copy()
    holes[7, 2] = np.nan
    clf = en.AUCClassifier(bounds=(-2, 2))
    with pytest.raises(en.InputError, match="finite"):
        clf.fit(blocks(holes), Y)
    with pytest.raises(en.InputError, match="2 rows or more"):
        clf.fit(Blocks([X[:1]]), Y[:1])
    with pytest.raises(en.InputError, match="one label per row"):
        clf.fit(blocks(X), Y[:-1])
    clf.fit(blocks(X), Y)
    with pytest.raises(en.InputError, match="for 4 features, got 3"):
        clf.decision_function(blocks(X[:, :3]))


def test_later_kinds_are_asked_first_and_ours_last():
    assert isinstance(rows_of(X), DenseRows)
    assert isinstance(rows_of(sparse.csr_array(X)), SparseRows)
    assert isinstance(rows_of(blocks(X)), BlockRows)
    assert [is_registered_own(table) for table in (X, sparse.csr_array(X), X.tolist())] == [False] * 3
    assert is_registered_own(blocks(X))
    assert is_registered_own(rows_of(blocks(X)))
    assert not is_registered_own(rows_of(X))
    rows = rows_of(X)
    assert rows_of(rows) is rows


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array, blocks])
def test_every_kind_gives_the_same_sums(kind):
    domain = FeatureBounds(-1.0, 2.0, clip=1.0).for_features(4)
    rows, internal = rows_of(kind(X)).inside(domain), domain.to_internal(X)
    w, v = RNG.normal(size=4), RNG.normal(size=300)
    close = {"rtol": 1e-12, "atol": 1e-12}
    for ours, theirs in ((rows, internal), (rows.minus(w), internal - w), (rows.take(Y == 1), internal[Y == 1])):
        assert ours.shape == theirs.shape
        assert len(ours) == len(theirs)
        assert ours.all_finite()
        np.testing.assert_allclose(ours.scores(w), theirs @ w, **close)
        np.testing.assert_allclose(ours.weighted_sum(v[: len(ours)]), theirs.T @ v[: len(ours)], **close)
        np.testing.assert_allclose(ours.sum(), theirs.sum(axis=0), **close)
        np.testing.assert_allclose(ours.mean(), theirs.mean(axis=0), **close)
        np.testing.assert_allclose(ours.second_moments(), theirs.T @ theirs, **close)
    np.testing.assert_allclose(rows.minus(rows.mean()).spread(), internal.std(axis=0), **close)
    moments, exact = rows.class_moments(Y), rows_of(internal).class_moments(Y)
    parts = [rows.take(np.arange(300) % 2 == k).class_moments(Y[np.arange(300) % 2 == k]) for k in (0, 1)]
    for found in (moments, parts[0] + parts[1]):
        assert (found.n, found.events) == (exact.n, exact.events)
        np.testing.assert_allclose(found.sums, exact.sums, **close)
        np.testing.assert_allclose(found.seconds, exact.seconds, **close)


def test_an_array_is_not_copied():
    assert rows_of(X).array() is X
    assert rows_of(np.asfortranarray(X)).array().flags.c_contiguous
    low, high = rows_of(X).ranges()
    np.testing.assert_array_equal([low, high], [X.min(axis=0), X.max(axis=0)])


@pytest.mark.parametrize("algorithm", ["moments", "logistic-gd"])
def test_bounds_are_found_without_an_array(algorithm):
    """Columns come as scores of unit vectors, so that any kind of rows can be counted."""
    settings = {"algorithm": algorithm, "bounds": en.PrivateBounds(within=(-9, 9)), "random_state": 0}
    own, dense = (en.AUCClassifier(4.0, **settings).fit(table, Y) for table in (blocks(X), X))
    np.testing.assert_allclose(own.coef_, dense.coef_, rtol=1e-5, atol=1e-5)
