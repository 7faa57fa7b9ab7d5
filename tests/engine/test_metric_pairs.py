"""Metric sums over all pairs in compiled tiles, against the double loop and against NumPy's tiles."""

import numpy as np
import pytest
from oracles import ALL_SURROGATES, all_pairs, name_of, random_parameter, random_rows
from threadpoolctl import threadpool_info, threadpool_limits

from entrenous.engine.pairs import all_pairs as engine
from entrenous.engine.pairs import metric_tiles as metric_pairs
from entrenous.engine.pairs.all_pairs import all_pairs_gradient, all_pairs_objective
from entrenous.engine.rows.registry import rows_of
from entrenous.problem.pair_scores import Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Reparametrised
from entrenous.problem.surrogates.convex import Hinge, Logistic

over_surrogates = pytest.mark.parametrize("surrogate", ALL_SURROGATES, ids=name_of)


def metric(surrogate, n_features=4, radius=4.0, **settings):
    return Problem(Mahalanobis(), surrogate, FrobeniusPSD(radius), n_features, **settings)


def agree(found, expected):
    """Two values and gradients are the same up to rounding."""
    assert abs(found[0] - expected[0]) <= 1e-12 * (1.0 + abs(expected[0]))
    np.testing.assert_allclose(found[1], expected[1], rtol=0, atol=1e-12 * np.linalg.norm(expected[1]))


@over_surrogates
def test_tiles_of_any_size_give_the_double_loop(surrogate, monkeypatch):
    rng = np.random.default_rng(2)
    problem = metric(surrogate, ridge=0.3)
    X, y = random_rows(rng, 23, 4), rng.integers(0, 3, 23)
    w = random_parameter(rng, problem)
    expected = all_pairs(problem, w, X, y)
    for tile in (1, 2, 5, 22, 23, 128):
        monkeypatch.setattr(metric_pairs, "TILE", tile)
        agree(all_pairs_objective(problem, w, rows_of(X), y), expected)


@over_surrogates
def test_hundreds_of_rows_against_the_numpy_tiles(surrogate):
    rng = np.random.default_rng(3)
    problem = metric(surrogate, n_features=6)
    n = 300
    assert n > 2 * metric_pairs.TILE
    X, y = random_rows(rng, n, 6), rng.integers(0, 2, n)
    w = random_parameter(rng, problem)
    agree(metric_pairs.metric_sum(problem, w, X, y, want_value=True), engine._tiled_sum(problem, w, rows_of(X), y))


def test_the_gradient_alone_is_the_same_to_the_last_bit_and_every_time():
    rng = np.random.default_rng(4)
    problem = metric(Logistic())
    X, y = random_rows(rng, 300, 4), rng.integers(0, 2, 300)
    w = random_parameter(rng, problem)
    first = all_pairs_gradient(problem, w, rows_of(X), y)
    np.testing.assert_array_equal(first, first.T)
    for _ in range(3):
        np.testing.assert_array_equal(all_pairs_gradient(problem, w, rows_of(X), y), first)
        np.testing.assert_array_equal(all_pairs_objective(problem, w, rows_of(X), y)[1], first)


@over_surrogates
def test_a_record_is_no_pair_with_itself(surrogate):
    # All records alike: every pair pays the value at the threshold, and no slope can move anything.
    problem = metric(surrogate)
    X, w = np.tile([0.5, -0.1, 0.3, 0.7], (150, 1)), np.eye(4)
    value, gradient = all_pairs_objective(problem, w, rows_of(X), np.zeros(150))
    assert value == pytest.approx(float(surrogate.value(np.array([Mahalanobis.threshold]))[0]), rel=1e-12, abs=1e-15)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-12)


def test_rows_and_labels_in_any_layout():
    rng = np.random.default_rng(5)
    problem = metric(Hinge())
    X, codes = random_rows(rng, 40, 4), rng.integers(0, 3, 40)
    w = random_parameter(rng, problem)
    expected = all_pairs(problem, w, X, codes)
    for rows in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        for y in (codes, codes.astype(float) - 0.5, np.array(["a", "b", "c"])[codes]):
            agree(all_pairs_objective(problem, w, rows_of(rows), y), expected)


def test_only_the_symmetric_part_of_a_matrix_counts():
    rng = np.random.default_rng(6)
    problem = metric(Logistic())
    X, y, w = random_rows(rng, 9, 4), rng.integers(0, 2, 9), rng.normal(size=(4, 4))
    agree(all_pairs_objective(problem, w, rows_of(X), y), all_pairs(problem, w, X, y))


def test_replacing_a_record_turns_no_slope_of_the_other_pairs():
    # Unlike labels and two coordinates apart is a margin of exactly 1, the hinge's kink. A new last record moves the
    # mean, which must not decide on which side of the kink the other pairs fall.
    rng = np.random.default_rng(7)
    n = 300
    X, y = rng.integers(0, 2, size=(n, 3)) / 2.0, rng.integers(0, 2, n)
    problem, w = metric(Hinge(), n_features=3), 4.0 * np.eye(3)
    before = all_pairs_gradient(problem, w, rows_of(X), y)
    for record in random_rows(rng, 5, 3):
        replaced = np.vstack([X[:-1], record])
        change = all_pairs_gradient(problem, w, rows_of(replaced), y) - before
        squared_lengths = sum(np.square(last - X[:-1]).sum() for last in (X[-1], record))
        assert np.linalg.norm(change) <= 2.0 * squared_lengths / (n * (n - 1))


def test_a_surrogate_of_ones_own_goes_in_numpy_tiles():
    class Doubled(Hinge):
        def value(self, t):
            return 2.0 * super().value(t)

        def derivative(self, t):
            return 2.0 * super().derivative(t)

    rng = np.random.default_rng(8)
    X, y = random_rows(rng, 30, 4), rng.integers(0, 2, 30)
    for surrogate in (Doubled(), Reparametrised(Doubled(), inner=2.0, outer=0.5)):
        problem = metric(surrogate)
        w = random_parameter(rng, problem)
        assert metric_pairs.metric_sum(problem, w, X, y, want_value=True) is None
        agree(all_pairs_objective(problem, w, rows_of(X), y), all_pairs(problem, w, X, y))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_rounding_at_most(threads, monkeypatch):
    """And nothing at all from one call to the next: who adds what is fixed."""
    monkeypatch.setattr(metric_pairs, "_WORTH_A_WORKER", 1)
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(700, 4)) / 3.0, rng.integers(0, 3, 700)
    problem, w = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 4), np.eye(4) / 4.0
    expected = engine.all_pairs_objective(problem, w, rows_of(X), y)
    with threadpool_limits(threads):
        value, gradient = engine.all_pairs_objective(problem, w, rows_of(X), y)
        again = engine.all_pairs_objective(problem, w, rows_of(X), y)
        limits = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    assert max(limits) == threads  # given back as they were
    assert value == again[0]
    np.testing.assert_array_equal(gradient, again[1])
    assert value == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-15)
