"""Laws of every pair score: the fast all-pairs sums are the definition, and the analytic constants are bounds."""

import math
from dataclasses import replace

import numpy as np
import oracles
import pytest
from oracles import ALL_SCORES, problem_name, problems, random_labels, random_parameter, random_rows

from entrenous.engine.pairs import all_pairs as engine
from entrenous.engine.pairs.all_pairs import all_pairs_gradient, all_pairs_objective
from entrenous.engine.phases.descent import Descent
from entrenous.engine.phases.phase import Released
from entrenous.engine.rows.registry import rows_of
from entrenous.privacy.noise import SeededNoise
from entrenous.problem.pair_scores import LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.convex import Logistic, SmoothedHinge, Square

PROBLEMS = list(problems(n_features=3, ridge=0.2))
over_problems = pytest.mark.parametrize("problem", PROBLEMS, ids=problem_name)
over_scores = pytest.mark.parametrize("score", ALL_SCORES, ids=repr)


def records(problem, rng, n):
    return random_rows(rng, n, problem.n_features), random_labels(rng, problem.score, n)


def one_pair_gradient(problem, w, x, x2, y, y2):
    """Gradient of `problem.loss` for one counted ordered pair."""
    rows, labels = (x[None], x2[None]), (np.array([y]), np.array([y2]))
    slope = problem.loss.derivative(problem.score.margin(w, *rows, *labels))[0]
    return slope * problem.score.feature(*rows, *labels)[0]


def test_every_registered_score_is_a_case():
    assert {score.task for score in ALL_SCORES} == {"auc", "metric", "error-entropy"}


@over_problems
def test_all_pairs_is_the_double_loop(problem):
    rng = np.random.default_rng(5)
    for n in (2, 3, 7):
        X, y = records(problem, rng, n)
        w = random_parameter(rng, problem)
        value, gradient = all_pairs_objective(problem, w, rows_of(X), y)
        true_value, true_gradient = oracles.all_pairs(problem, w, X, y)
        assert abs(value - true_value) <= 1e-12 * (1.0 + abs(true_value))
        assert np.linalg.norm(gradient - true_gradient) <= 1e-12 * problem.lipschitz
        assert gradient.shape == w.shape
        np.testing.assert_array_equal(all_pairs_gradient(problem, w, rows_of(X), y), gradient)


class OwnLogistic(Logistic):
    """A surrogate that compiled code does not know: all pairs go in NumPy's tiles."""


@pytest.mark.parametrize("tile", [1, 7, 20, 61])
@pytest.mark.parametrize(
    "problem", list(problems(n_features=3, ridge=0.2, surrogates=[OwnLogistic()])), ids=problem_name
)
def test_tiles_do_not_matter(problem, tile, monkeypatch):
    rng = np.random.default_rng(6)
    X, y = records(problem, rng, 13)
    w = random_parameter(rng, problem)
    whole_value, whole_gradient = all_pairs_objective(problem, w, rows_of(X), y)
    monkeypatch.setattr(engine, "_TILE", tile)
    assert len(list(engine._tiles(13, 13))) > 1
    value, gradient = all_pairs_objective(problem, w, rows_of(X), y)
    assert value == pytest.approx(whole_value, rel=1e-13)
    np.testing.assert_allclose(gradient, whole_gradient, rtol=0, atol=1e-13 * problem.lipschitz)


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if math.isfinite(p.pair_smoothness)], ids=problem_name)
def test_gradient_is_the_difference_quotient(problem):
    rng = np.random.default_rng(7)
    X, y = records(problem, rng, 6)
    w = random_parameter(rng, problem)
    gradient = all_pairs_gradient(problem, w, rows_of(X), y)
    step = 1e-5
    for _ in range(4):
        direction = rng.normal(size=w.shape)
        direction /= np.linalg.norm(direction)
        ahead, behind = (all_pairs_objective(problem, w + s * step * direction, rows_of(X), y)[0] for s in (1.0, -1.0))
        # The second derivative may jump (hinges), so the quotient is only first order there.
        rounding = step * problem.pair_smoothness + 1e-9
        assert abs((ahead - behind) / (2.0 * step) - float((gradient * direction).sum())) <= rounding


@over_problems
def test_one_class_has_no_ranking_gradient_and_never_fails(problem):
    rng = np.random.default_rng(8)
    X, _ = records(problem, rng, 4)
    w = random_parameter(rng, problem)
    for label in (0, 1):
        value, gradient = all_pairs_objective(replace(problem, ridge=0.0), w, rows_of(X), np.full(4, label))
        assert math.isfinite(value)
        assert np.isfinite(gradient).all()
        if problem.task == "auc":
            assert value == 0.0
            assert not gradient.any()


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
def test_ranking_counts_one_order(form):
    problem = Problem(LinearDifference(), Logistic(), L2Ball(1.0), 1, form=form)
    X, y = np.array([[1.0], [-1.0]]), np.array([1, 0])
    w = np.array([0.3])
    margin = 0.6
    paid = math.log1p(math.exp(-margin)) / 2 if form == "indicator" else math.log1p(math.exp(-2 * margin))
    assert all_pairs_objective(problem, w, rows_of(X), y)[0] == pytest.approx(paid, rel=1e-14)


@over_problems
@pytest.mark.parametrize("radius", [0.1, 1.0])
def test_reachable_margins_and_feature_norms(problem, radius):
    rng = np.random.default_rng(9)
    problem = replace(problem, domain=type(problem.domain)(radius))
    low, high = problem.margins
    largest_margin = largest_feature = 0.0
    for _ in range(100):
        X, y = records(problem, rng, 2)
        if rng.uniform() < 0.5:
            X = np.array([X[0], -X[0]]) / np.linalg.norm(X[0])
        w = random_parameter(rng, problem)
        if rng.uniform() < 0.3:
            # The worst case: the parameter in the direction of the pair.
            u = (X[0] - X[1]) / np.linalg.norm(X[0] - X[1])
            extreme = np.outer(u, u) if problem.task == "metric" else rng.choice([-1.0, 1.0]) * u
            w = problem.domain.project(problem.domain.radius * extreme)
        margin = problem.score.margin(w, X[:1], X[1:], y[:1], y[1:])[0]
        assert low - 1e-12 <= margin <= high + 1e-12
        feature = problem.score.feature(X[:1], X[1:], y[:1], y[1:])[0]
        largest_margin = max(largest_margin, abs(margin))
        largest_feature = max(largest_feature, np.linalg.norm(feature))
        gradient = oracles.ordered_pair_loss(problem, w, X[0], X[1], y[0], y[1])[1]
        assert np.linalg.norm(gradient) <= problem.lipschitz * (1.0 + 1e-12)
    bound = problem.score.feature_norm(problem.diameter)
    assert 0.99 * bound <= largest_feature <= bound * (1.0 + 1e-12)
    assert largest_margin >= 0.9 * high


@over_scores
@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_coordinates_are_isometric_and_onto(score, n_features):
    rng = np.random.default_rng(10)
    dimension = score.dimension(n_features)
    basis = [score.from_coordinates(row, n_features) for row in np.eye(dimension)]
    gram = np.array([[float((a * b).sum()) for a in basis] for b in basis])
    np.testing.assert_allclose(gram, np.eye(dimension), atol=1e-15)
    for _ in range(5):
        vector = rng.normal(size=dimension)
        parameter = score.from_coordinates(vector, n_features)
        assert parameter.shape == score.shape(n_features)
        assert np.linalg.norm(parameter) == pytest.approx(np.linalg.norm(vector), rel=1e-14)
    if isinstance(score, Mahalanobis):
        # Every pair's feature is symmetric, so it is a combination of the basis: nothing is left without noise.
        feature = score.feature(*rng.normal(size=(2, 1, n_features)), np.array([0]), np.array([1]))[0]
        spanned = sum(float((feature * b).sum()) * b for b in basis)
        np.testing.assert_allclose(spanned, feature, atol=1e-12)


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if math.isfinite(p.pair_smoothness)], ids=problem_name)
def test_smoothness_bounds_gradient_changes(problem):
    rng = np.random.default_rng(11)
    problem = replace(problem, ridge=0.0)
    for _ in range(25):
        n = int(rng.integers(2, 6))
        X, y = records(problem, rng, n)
        w, w2 = random_parameter(rng, problem), random_parameter(rng, problem)
        gap = np.linalg.norm(w - w2)
        change = all_pairs_gradient(problem, w, rows_of(X), y) - all_pairs_gradient(problem, w2, rows_of(X), y)
        assert np.linalg.norm(change) <= problem.full_smoothness(n) * gap * (1.0 + 1e-9) + 1e-14
        pair = (X[0], X[1], y[0], y[1])
        change = one_pair_gradient(problem, w, *pair) - one_pair_gradient(problem, w2, *pair)
        assert np.linalg.norm(change) <= problem.pair_smoothness * gap * (1.0 + 1e-9) + 1e-14


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
@pytest.mark.parametrize("n", [2, 4, 6])
def test_full_smoothness_is_attained_by_balanced_antipodes(form, n):
    problem = Problem(LinearDifference(), Square(), L2Ball(1.0), 2, form=form)
    X, y = np.tile([[1.0, 0.0], [-1.0, 0.0]], (n // 2, 1)), np.tile([1, 0], n // 2)
    w, w2 = np.array([0.7, 0.0]), np.array([-0.4, 0.0])
    change = all_pairs_gradient(problem, w, rows_of(X), y) - all_pairs_gradient(problem, w2, rows_of(X), y)
    assert np.linalg.norm(change) / 1.1 == pytest.approx(problem.full_smoothness(n), rel=1e-12)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(LinearDifference(), SmoothedHinge(), L2Ball(0.3), 2, ridge=0.1),
        Problem(LinearDifference(), Square(), L2Ball(0.5), 2, form="label-difference"),
        Problem(Mahalanobis(), Logistic(), FrobeniusPSD(0.4), 2),
    ],
    ids=problem_name,
)
@pytest.mark.parametrize("average_from", [0, 2, 4])
def test_descent_is_the_naive_loop(problem, average_from):
    rng = np.random.default_rng(12)
    X, y = records(problem, rng, 5)
    iterates = oracles.descent(problem, X, y, steps=4, step_size=0.3)
    phase = Descent(4, 0.3, average_from=average_from)
    released = phase.run(problem, rows_of(X), y, Released(problem.start()), SeededNoise(rng), lambda done, total: None)
    np.testing.assert_allclose(released.w, np.mean(iterates[average_from:], axis=0), rtol=0, atol=1e-13)
