"""Coordinates of the minimiser: what they undo, and that they change the path only."""

import numpy as np
import pytest

from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.progress import current_listener
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.solvers import whitening as coordinates
from entrenous.engine.solvers.minimiser import minimise
from entrenous.engine.solvers.whitening import whitening
from entrenous.problem.pair_scores import LinearDifference
from entrenous.problem.parameter_domains import WholeSpace
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.convex import Logistic


def correlated(n=400, units=(1e-3, 1.0, 1e5, 1.0)):
    """Correlated rows in mixed units."""
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(n, 4)) @ (np.eye(4) + 0.9 * np.triu(np.ones((4, 4)), 1))
    X = mixed * units
    return X - X.mean(axis=0), (mixed[:, 0] + rng.normal(size=n) > 0.5).astype(int)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_covariance_and_ridge_become_the_identity(ridge):
    X, _ = correlated()
    at = whitening(rows_of(X), np.zeros(X.shape[1]))(ridge)
    curvature = X.T @ X / len(X) + ridge * np.eye(4)
    np.testing.assert_allclose(at.outwards @ curvature @ at.outwards.T, np.eye(4), atol=1e-8)


@pytest.mark.parametrize("most", [500, 0])
def test_parameters_come_back_and_gradients_obey_the_chain_rule(most, monkeypatch):
    monkeypatch.setattr(coordinates, "_MOST_CORRELATED", most)
    X, _ = correlated()
    at = whitening(rows_of(X), np.zeros(X.shape[1]))(0.0)
    rng = np.random.default_rng(1)
    v, gradient = rng.normal(size=4), rng.normal(size=4)
    np.testing.assert_allclose(at.of(at.parameter(v)), v, rtol=1e-9)
    np.testing.assert_allclose(at.gradient(gradient) @ v, gradient @ at.parameter(v), rtol=1e-9)


def test_constant_and_repeated_columns_stay_finite():
    X, _ = correlated()
    X = np.column_stack([X, X[:, 0], np.zeros(len(X))])
    at = whitening(rows_of(X), np.zeros(X.shape[1]))(0.0)
    assert np.abs(at.outwards * np.r_[1e-3, 1.0, 1e5, 1.0, 1e-3, 1.0]).max() < 1e3


@pytest.mark.parametrize("most", [500, 0])
@pytest.mark.parametrize("value", [0.1, 2.3, -123456.7])
def test_a_constant_feature_has_no_coefficient(value, most, monkeypatch):
    """Its mean is off by rounding, which is no spread: divided by it, the coefficient would be noise."""
    monkeypatch.setattr(coordinates, "_MOST_CORRELATED", most)
    X, y = correlated(n=383)
    X = np.column_stack([X, np.full(len(X), value)])
    problem = Problem(LinearDifference(), Logistic(), WholeSpace(), 5)
    w, _ = minimise(problem, rows_of(X), y, problem.start(), 1e-8, 1000, current_listener())
    assert abs(w[4] * value) < 1e-9


@pytest.mark.parametrize("most", [500, 0])
def test_the_minimiser_is_one_whatever_the_coordinates(most, monkeypatch):
    monkeypatch.setattr(coordinates, "_MOST_CORRELATED", most)
    X, y = correlated()
    problem = Problem(LinearDifference(), Logistic(), WholeSpace(), 4)
    w, steps = minimise(problem, rows_of(X), y, problem.start(), 1e-8, 1000, current_listener())
    gradient = all_pairs_gradient(problem, w, rows_of(X), y)
    assert steps < 1000
    assert np.abs(gradient / X.std(axis=0)).max() < 1e-7


def test_undoing_correlations_takes_fewer_steps(monkeypatch):
    X, y = correlated()
    problem = Problem(LinearDifference(), Logistic(), WholeSpace(), 4)
    steps = []
    for most in (500, 0):
        monkeypatch.setattr(coordinates, "_MOST_CORRELATED", most)
        steps.append(minimise(problem, rows_of(X), y, problem.start(), 1e-8, 1000, current_listener())[1])
    assert steps[0] < steps[1]


def test_a_constant_gets_no_coefficient():
    """What centring leaves of a constant is rounding, which must not become a direction to search in."""
    X, y = correlated()
    X = np.column_stack([X, np.full(len(X), 0.1), np.full(len(X), 1e6 / 3.0)])
    problem = Problem(LinearDifference(), Logistic(), WholeSpace(), 6)
    w, _ = minimise(problem, rows_of(X), y, problem.start(), 1e-8, 1000, current_listener())
    assert w[4:].tolist() == [0.0, 0.0]
