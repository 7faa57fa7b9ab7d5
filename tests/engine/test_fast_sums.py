"""The linear-time sums against the double sum in extended precision, wherever the scores are and however wide."""

from __future__ import annotations

import math

import numpy as np
import pytest

from entrenous.engine.pairs.all_pairs import all_pairs_gradient, all_pairs_objective
from entrenous.engine.pairs.fast_sums import fast_sums, has_fast_sum, ranking_sums, welsch_sums
from entrenous.engine.pairs.fast_sums_kernel import occupied
from entrenous.engine.rows.registry import rows_of
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference
from entrenous.problem.parameter_domains import L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Reparametrised
from entrenous.problem.surrogates.bounded import Sigmoid, Welsch
from entrenous.problem.surrogates.convex import Hinge, Logistic

RELATIVE = 1e-11
SCALINGS = [(1.0, 1.0), (2.0, 2.0), (0.5, 3.0), (0.3, 0.7), (1.9, 1.0), (-1.3, 1.0), (1e-4, 1.0)]


def _scores():
    rng = np.random.default_rng(3)
    n = 400
    return {
        "normal": rng.normal(size=n),
        "range 500": rng.uniform(-250.0, 250.0, size=n),
        "range 1e6": rng.uniform(-5e5, 5e5, size=n),
        "outliers": np.concatenate([rng.normal(size=n - 3), [1e6, -1e6, 1e9]]),
        "clusters": rng.choice([0.0, 0.5, 30.0, 100.0], size=n) + 1e-6 * rng.normal(size=n),
        "two values": rng.integers(0, 2, size=n) * 1.0,
        "narrow": 1e-6 * rng.normal(size=n),
        "far from zero": 1e8 + 3.0 * rng.normal(size=n),
        "on the cuts": rng.integers(-40, 40, size=n) / 4.0,
        "equal": np.full(n, 0.3),
        "two records": np.array([0.3, -1.1]),
    }


SCORES = _scores()


def _labels(n: int):
    labels = np.random.default_rng(n).integers(0, 2, size=n)
    labels[:2] = [1, 0]
    return labels


def _ranking_definition(kernel, scores, y, inner, outer):
    margins = np.subtract.outer(scores[y == 1], scores[y == 0]).astype(np.longdouble) * np.longdouble(inner)
    decay = np.exp(-np.abs(margins))
    wrong = np.where(margins > 0.0, decay, 1.0) / (1.0 + decay)
    if kernel == "logistic":
        values, slopes = np.log1p(decay) + np.maximum(0.0, -margins), -wrong
    else:
        values, slopes = wrong, -decay / (1.0 + decay) ** 2
    gradient = np.zeros(len(scores), dtype=np.longdouble)
    gradient[y == 1] = slopes.sum(axis=1)
    gradient[y == 0] = -slopes.sum(axis=0)
    return outer * values.sum(), outer * inner * gradient


def _welsch_definition(scores, inner, outer):
    margins = np.subtract.outer(scores, scores).astype(np.longdouble) * np.longdouble(inner)
    square = margins * margins / 2.0
    return -outer * np.expm1(-square).sum(), 2.0 * outer * inner * (margins * np.exp(-square)).sum(axis=1)


over_kernels = pytest.mark.parametrize("kernel", ["logistic", "sigmoid"])


@over_kernels
@pytest.mark.parametrize(("inner", "outer"), SCALINGS)
@pytest.mark.parametrize("kind", SCORES)
def test_ranking(kind, inner, outer, kernel):
    scores = SCORES[kind]
    y = _labels(len(scores))
    loss, gradient = ranking_sums(kernel, scores, y == 1, y == 0, inner, outer, always=True)
    expected_loss, expected = _ranking_definition(kernel, scores, y, inner, outer)
    assert loss == pytest.approx(float(expected_loss), rel=RELATIVE)
    # Every weight is relatively exact, the smallest too, until it is so small that a double loses digits.
    np.testing.assert_allclose(gradient, expected.astype(float), rtol=RELATIVE, atol=1e-290)


@over_kernels
@pytest.mark.parametrize("gap", [5.0, 20.0, 50.0, 200.0, 600.0, -50.0, -600.0])
def test_separated_classes_keep_their_digits(gap, kernel):
    y = _labels(300)
    scores = np.random.default_rng(5).normal(size=300) + gap * y
    loss, gradient = ranking_sums(kernel, scores, y == 1, y == 0, always=True)
    expected_loss, expected = _ranking_definition(kernel, scores, y, 1.0, 1.0)
    assert loss == pytest.approx(float(expected_loss), rel=RELATIVE, abs=0.0)
    np.testing.assert_allclose(gradient, expected.astype(float), rtol=RELATIVE, atol=0.0)


@over_kernels
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_no_pairs(label, kernel):
    y = np.full(300, label)
    loss, gradient = ranking_sums(kernel, SCORES["normal"][:300], y == 1, y == 0, always=True)
    assert loss == 0.0
    assert not gradient.any()


@over_kernels
def test_records_on_neither_side_count_nothing(kernel):
    scores = SCORES["normal"]
    y = np.random.default_rng(1).integers(0, 3, size=len(scores))
    loss, gradient = ranking_sums(kernel, scores, y == 1, y == 0, always=True)
    kept = y < 2
    expected_loss, expected = _ranking_definition(kernel, scores[kept], y[kept], 1.0, 1.0)
    assert loss == pytest.approx(float(expected_loss), rel=RELATIVE)
    np.testing.assert_allclose(gradient[kept], expected.astype(float), rtol=RELATIVE)
    assert not gradient[~kept].any()


@pytest.mark.parametrize(("inner", "outer"), SCALINGS)
@pytest.mark.parametrize("kind", sorted(set(SCORES) - {"equal"}))
def test_welsch(kind, inner, outer):
    scores = SCORES[kind]
    loss, gradient = welsch_sums(scores, inner, outer, always=True)
    expected_loss, expected = _welsch_definition(scores, inner, outer)
    assert loss == pytest.approx(float(expected_loss), rel=RELATIVE)
    # Slopes beyond 9 bandwidths are left out.
    scale = max(float(np.abs(expected).max()), 1e-6 * abs(outer * inner))
    np.testing.assert_allclose(gradient, expected.astype(float), rtol=0.0, atol=RELATIVE * scale)


def test_many_records_against_a_sample_of_the_weights():
    rng = np.random.default_rng(11)
    n = 200_000
    scores = np.concatenate([rng.normal(size=n - 1000), rng.uniform(-300.0, 300.0, size=1000)])
    y = rng.integers(0, 2, size=n)
    _, weights = ranking_sums("logistic", scores, y == 1, y == 0)
    _, bounded = ranking_sums("sigmoid", scores, y == 1, y == 0)
    _, slopes = welsch_sums(scores)
    for i in (0, 1, 2, n - 3, n - 2, n - 1):
        sign = 1.0 if y[i] else -1.0
        margins = sign * (scores[i] - scores[y != y[i]])
        assert weights[i] == pytest.approx(sign * math.fsum(Logistic().derivative(margins)), rel=RELATIVE)
        assert bounded[i] == pytest.approx(sign * math.fsum(Sigmoid().derivative(margins)), rel=RELATIVE)
        expected = 2.0 * math.fsum(Welsch().derivative(scores[i] - scores))
        assert slopes[i] == pytest.approx(expected, rel=RELATIVE, abs=RELATIVE * np.abs(slopes).max())


@pytest.mark.parametrize("spread", [1, 10, 10**6, 2**60])
def test_occupied_cells_are_the_sorted_distinct_ones(spread):
    cells = np.random.default_rng(4).integers(0, spread, size=1000)
    where, index = occupied(cells)
    expected_where, expected_index = np.unique(cells, return_inverse=True)
    np.testing.assert_array_equal(where, expected_where)
    np.testing.assert_array_equal(index, expected_index)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_scores_that_cannot_be_cut_go_to_the_tiles(bad):
    scores = np.array([0.0, 1.0, bad])
    y = np.array([1, 0, 1])
    assert ranking_sums("logistic", scores, y == 1, y == 0, always=True) is None
    assert welsch_sums(scores, always=True) is None


@pytest.mark.parametrize("scores", [np.array([]), np.array([0.0, 5e-324])])
def test_welsch_leaves_scores_without_a_range_to_the_tiles(scores):
    assert welsch_sums(scores, always=True) is None


def test_welsch_of_equal_errors_is_zero():
    loss, gradient = welsch_sums(SCORES["equal"])
    assert loss == 0.0
    assert not gradient.any()


def test_few_pairs_go_to_the_tiles():
    y = np.array([1, 0, 1])
    assert ranking_sums("logistic", np.arange(3.0), y == 1, y == 0) is None
    assert welsch_sums(np.arange(3.0)) is None


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
@pytest.mark.parametrize(
    "surrogate",
    [Logistic(), Reparametrised(Logistic(), inner=0.5, outer=3.0), Sigmoid(), Sigmoid(0.2)],
    ids=str,
)
def test_ranking_takes_them(form, surrogate, monkeypatch):
    problem = Problem(LinearDifference(), surrogate, L2Ball(1.0), 3, ridge=0.1, form=form)
    rng = np.random.default_rng(2)
    _agrees_with_the_tiles(problem, rng.normal(size=(1500, 3)), _labels(1500), rng.normal(size=3), monkeypatch)


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 2.5])
def test_error_entropy_takes_them(bandwidth, monkeypatch):
    problem = Problem(ErrorDifference(), Welsch(bandwidth), L2Ball(1.0), 3, ridge=0.1)
    rng = np.random.default_rng(2)
    _agrees_with_the_tiles(problem, rng.normal(size=(1500, 3)), rng.normal(size=1500), rng.normal(size=3), monkeypatch)


def _agrees_with_the_tiles(problem, X, y, w, monkeypatch):
    errors = y - X @ w if problem.task == "error-entropy" else X @ w
    assert has_fast_sum(problem)
    assert fast_sums(problem, errors, y) is not None
    value, gradient = all_pairs_objective(problem, w, rows_of(X), y)
    np.testing.assert_array_equal(all_pairs_gradient(problem, w, rows_of(X), y), gradient)
    monkeypatch.setattr("entrenous.engine.pairs.all_pairs.has_fast_sum", lambda problem: False)
    expected_value, expected = all_pairs_objective(problem, w, rows_of(X), y)
    assert value == pytest.approx(expected_value, rel=RELATIVE)
    np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=RELATIVE * np.abs(expected).max())


def test_other_problems_have_none():
    problem = Problem(LinearDifference(), Hinge(), L2Ball(1.0), 3)
    assert not has_fast_sum(problem)
    assert fast_sums(problem, np.zeros(3), np.zeros(3)) is None
    assert not has_fast_sum(Problem(LinearDifference(), Welsch(), L2Ball(1.0), 3))
