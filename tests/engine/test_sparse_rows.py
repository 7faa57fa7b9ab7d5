"""Sparse rows with implicit centring are the dense rows: same map, same sums, norms at most 1."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_objective
from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.rows.sparse import canonical_csr
from entrenous.problem.features.ball import FeatureBall
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.pair_scores import LinearDifference
from entrenous.problem.parameter_domains import WholeSpace
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.spelling import surrogate_from


@st.composite
def tables(draw):
    """A domain whose ranges contain 0 (or are constants), and a dense table of mostly zeros, some of it outside."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 12))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, size=d) * (rng.random((n, d)) < draw(st.floats(0, 1)))
    if draw(st.booleans()):
        center = rng.normal(size=d) * draw(st.sampled_from([0.0, 1.0, 5.0]))
        return FeatureBall(draw(st.floats(0.5, 100.0)), tuple(center)), X
    low, high = -rng.exponential(size=d) * (rng.random(d) < 0.5), rng.exponential(size=d) * (rng.random(d) < 0.7)
    if draw(st.booleans()):
        low[0] = high[0] = 3.0
    return FeatureBounds(tuple(low), tuple(high), clip=draw(st.none() | st.floats(0.2, 5.0))), X


def written_out(rows):
    return np.column_stack([rows.scores(unit) for unit in np.eye(rows.shape[1])])


def exact_norms(rows):
    """Norms of ``stored + factor shift`` in sums that do not round."""
    written = rows.stored.toarray() + rows.factor[:, None] * rows.shift
    return np.array([math.sqrt(math.fsum(t * t for t in row)) for row in written])


@settings(deadline=None)
@given(tables())
def test_the_map_is_the_dense_one_and_norms_are_at_most_one(table):
    domain, X = table
    rows = rows_of(sparse.csr_array(X)).inside(domain)
    np.testing.assert_allclose(written_out(rows), domain.to_internal(X), rtol=0, atol=1e-10)
    assert exact_norms(rows).max() <= 1.0 + 1e-14
    assert np.linalg.norm(written_out(rows), axis=1).max() <= 1.0 + 1e-12


@settings(deadline=None)
@given(tables(), st.integers(0, 2**32 - 1))
def test_sums_are_those_of_the_dense_rows(table, seed):
    domain, X = table
    rng = np.random.default_rng(seed)
    rows, dense = rows_of(sparse.csr_array(X)).inside(domain), domain.to_internal(X)
    row, chosen = rng.normal(size=X.shape[1]), rng.random(len(X)) < 0.5
    for ours, theirs in [(rows, dense), (rows.minus(row), dense - row), (rows.take(chosen), dense[chosen])]:
        alike = DenseRows(theirs)
        assert len(ours) == len(theirs)
        assert ours.shape == theirs.shape
        w, v = rng.normal(size=X.shape[1]), rng.normal(size=len(theirs))
        for found in (ours, alike):
            np.testing.assert_allclose(found.scores(w), theirs @ w, rtol=0, atol=1e-10)
            np.testing.assert_allclose(found.weighted_sum(v), theirs.T @ v, rtol=0, atol=1e-10)
            np.testing.assert_allclose(found.sum(), theirs.sum(axis=0), rtol=0, atol=1e-10)
            np.testing.assert_allclose(found.second_moments(), theirs.T @ theirs, rtol=0, atol=1e-9)
        if len(theirs):
            # A variance below 1e-12 of the mean square counts as none.
            np.testing.assert_allclose(ours.spread(), theirs.std(axis=0), rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("surrogate", ["logistic", "hinge", "square", "squared-hinge"])
@pytest.mark.parametrize("n", [30, 3000])
def test_losses_and_gradients_over_all_pairs(surrogate, n):
    rng = np.random.default_rng(n)
    X, y = rng.random((n, 6)) * (rng.random((n, 6)) < 0.3), rng.integers(0, 2, n)
    domain = FeatureBounds((0.0,) * 6, (1.0,) * 6, clip=1.5)
    problem = Problem(LinearDifference(), surrogate_from(surrogate), WholeSpace(), n_features=6, ridge=0.1)
    rows, dense = rows_of(sparse.csr_array(X)).inside(domain), domain.to_internal(X)
    w = rng.normal(size=6)
    ours, theirs = (all_pairs_objective(problem, w, rows_of(table), y) for table in (rows, dense))
    assert ours[0] == pytest.approx(theirs[0], rel=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=0, atol=1e-12)
    ours, theirs = (rows_of(table).class_moments(y).weighted((1.0, 1.0, 0.7)) for table in (rows, dense))
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_enormous_entries_are_drawn_into_the_ball():
    X = np.array([[1e300, -1e300, 0.0], [1e-300, 0.0, 0.0], [0.0, 0.0, 1e200]])
    domain = FeatureBall(1e-3).for_features(3)
    rows = rows_of(sparse.csr_array(X)).inside(domain)
    np.testing.assert_allclose(written_out(rows), domain.to_internal(X), rtol=1e-13)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([300, 3000]))
def test_wide_rows_with_a_small_clipping_radius_stay_inside(seed, d):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.random((20, d)) * (rng.random((20, d)) < rng.random()))
    domain = FeatureBounds((0.0,) * d, (1.0,) * d, clip=0.7)
    rows = rows_of(X).inside(domain)
    assert exact_norms(rows).max() <= 1.0 + 1e-14
    np.testing.assert_allclose(written_out(rows), domain.to_internal(X.toarray()), rtol=0, atol=1e-10)


@pytest.mark.parametrize(("low", "high"), [((0.5, -1.0), (1.0, 1.0)), ((-1.0, -2.0), (1.0, -1.0))])
def test_a_range_without_zero_moves_zeros_that_are_not_stored(low, high):
    domain, X = FeatureBounds(low, high), np.eye(2)
    rows = rows_of(sparse.csr_array(X)).inside(domain)
    np.testing.assert_allclose(written_out(rows), domain.to_internal(X), rtol=0, atol=1e-14)
    np.testing.assert_allclose(rows.mean_squares(), rows_of(domain.to_internal(X)).mean_squares(), atol=1e-14)


@pytest.mark.parametrize("domain", [FeatureBall(1.0, (200.0, 0.0)), FeatureBounds((0.0, 0.0), (1.0, 1.0), clip=1e-3)])
def test_a_centre_far_from_zero_is_refused(domain):
    with pytest.raises(en.InputError, match="within 100 radii"):
        rows_of(sparse.csr_array(np.eye(2))).inside(domain)


def test_tables_of_other_forms_become_canonical_and_are_not_changed():
    entries, columns = np.array([1.0, 2.0, 3.0, 0.0]), np.array([1, 1, 0, 1])
    twice = sparse.csr_array((entries, columns, np.array([0, 3, 4])), shape=(2, 2))
    wanted = np.array([[3.0, 3.0], [0.0, 0.0]])
    long = sparse.csr_array(twice)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    for form in [twice, sparse.csr_matrix(twice), twice.tocsc(), twice.tocoo(), twice.astype(np.float32), long]:
        table = canonical_csr(form)
        assert table.has_canonical_format
        assert table.dtype == np.float64
        np.testing.assert_array_equal(table.toarray(), wanted)
    np.testing.assert_array_equal(twice.indices, columns)
    np.testing.assert_array_equal(twice.data, entries)
