"""Sums over all pairs by sorting, against every pair in turn and against tiles."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_pairs, name_of, random_parameter, random_rows

from entrenous.engine.pairs import all_pairs as engine
from entrenous.engine.pairs.all_pairs import all_pairs_gradient, all_pairs_objective
from entrenous.engine.pairs.sorted_pairs import sorted_sum
from entrenous.engine.rows.registry import rows_of
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference
from entrenous.problem.parameter_domains import L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Reparametrised
from entrenous.problem.surrogates.convex import Hinge, Logistic, SmoothedHinge, Square, SquaredHinge

SORTED = [
    Hinge(),
    SquaredHinge(),
    Square(),
    SmoothedHinge(width=0.5),
    SmoothedHinge(width=1e-3),
    SmoothedHinge(width=50.0),
    Reparametrised(Hinge(), inner=2.0, outer=2.0),
    Reparametrised(Reparametrised(SmoothedHinge(width=0.3), inner=0.5, outer=3.0), inner=0.25, outer=0.5),
    Reparametrised(SquaredHinge(), inner=4.0, outer=0.7),
]


def ranking(surrogate, n_features=1, **settings):
    return Problem(LinearDifference(), surrogate, L2Ball(1.0), n_features, **settings)


def pair_by_pair(surrogate, scores, y):
    """Sum of the losses, its derivative by every score, and per score the sum of the slopes' sizes."""
    losses, weight = [], [[] for _ in scores]
    for i in np.flatnonzero(y == 1):
        margins = scores[i] - scores[y == 0]
        losses.extend(surrogate.value(margins))
        for j, slope in zip(np.flatnonzero(y == 0), surrogate.derivative(margins), strict=True):
            weight[i].append(slope)
            weight[j].append(-slope)
    size = np.array([math.fsum(map(abs, terms)) for terms in weight])
    return math.fsum(losses), np.array([math.fsum(terms) for terms in weight]), size


def check(surrogate, scores, y):
    """Rows that are scores and unit vectors at once, so that the gradient shows the weight of every record."""
    scores, y = np.asarray(scores, dtype=float), np.asarray(y)
    n = len(scores)
    X = np.column_stack([scores, np.eye(n)])
    w = np.eye(n + 1)[0]
    total, gradient = sorted_sum(ranking(surrogate, n + 1), rows_of(X).scores(w), rows_of(X), y, want_value=True)
    expected, weight, size = pair_by_pair(surrogate, scores, y)
    assert total == pytest.approx(expected, rel=1e-12, abs=1e-300)
    assert np.all(np.abs(gradient[1:] - weight) <= 1e-12 * size)
    alone = sorted_sum(ranking(surrogate, n + 1), rows_of(X).scores(w), rows_of(X), y, want_value=False)[1]
    assert np.array_equal(alone, gradient)


def spread(kind, rng, n):
    y = rng.integers(0, 2, n)
    normal = rng.normal(size=n)
    cases = {
        "random": (normal, y),
        "narrow": (0.01 * normal, y),
        "ties": (rng.integers(-3, 4, n) / 2.0, y),
        "constant": (np.full(n, 0.3), y),
        "events only": (normal, np.ones(n, dtype=int)),
        "others only": (normal, np.zeros(n, dtype=int)),
        "one event": (normal, np.arange(n) == n // 2),
        "huge": (1e6 * normal, y),
        "far from 0": (1e6 + normal.round(3), y),
        "tiny": (1e-300 * normal, y),
        "subnormal": (5e-324 * rng.integers(0, 9, n), y),
        "outliers": (np.where(np.arange(n) % 50 == 7, 1e9 * normal, normal), y),
        "geometric": (np.sign(normal) * 10.0 ** rng.uniform(-200, 3, n), y),
        "separated": (y * 5.0 + rng.uniform(0, 1, n), y),
        "upside down": (y * -5.0 + normal, y),
        "margins of exactly 1": (y.astype(float), y),
        "whole margins": (rng.integers(-5, 6, n).astype(float), y),
        "a ladder": (np.arange(n) / 4.0, y),
        "float labels": (normal, y.astype(float)),
    }
    return cases if kind is None else cases[kind]


@pytest.mark.parametrize("kind", list(spread(None, np.random.default_rng(0), 2)))
@pytest.mark.parametrize("surrogate", SORTED, ids=name_of)
def test_sorting_gives_what_every_pair_in_turn_gives(surrogate, kind):
    rng = np.random.default_rng(3)
    for n in (2, 3, 17, 150):
        check(surrogate, *spread(kind, rng, n))


SCORES = st.floats(-1e8, 1e8) | st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
"""Any score, and often one whose margins hit the kink."""


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-1e8, 1e8) | st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0]), st.booleans()), min_size=2
    ),
    st.sampled_from(SORTED),
)
def test_any_scores(records, surrogate):
    check(surrogate, [score for score, _ in records], np.array([label for _, label in records], dtype=int))


@pytest.mark.parametrize("surrogate", SORTED, ids=name_of)
def test_at_the_kink_the_slope_is_the_right_one(surrogate):
    inner = 1.0 / surrogate.inner if isinstance(surrogate, Reparametrised) else 1.0
    if isinstance(surrogate, Reparametrised) and isinstance(surrogate.base, Reparametrised):
        inner /= surrogate.base.inner
    problem = ranking(surrogate)
    X, y = np.array([[inner], [0.0]]), np.array([1, 0])
    value, gradient = all_pairs_objective(problem, np.ones(1), rows_of(X), y)
    assert value == 0.0
    assert gradient == 0.0
    # One step of floating point below the kink, the hinge pulls in full.
    X[0, 0] = np.nextafter(inner, 0.0)
    expected = surrogate.derivative(X[0])[0] * X[0] / 2.0
    np.testing.assert_allclose(all_pairs_gradient(problem, np.ones(1), rows_of(X), y), expected, rtol=1e-12)


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
@pytest.mark.parametrize("surrogate", SORTED, ids=name_of)
def test_rows_of_several_features_against_the_double_loop(surrogate, form):
    rng = np.random.default_rng(5)
    problem = ranking(surrogate, 4, ridge=0.3, form=form)
    X, y = random_rows(rng, 30, 4), rng.integers(0, 2, 30)
    w = random_parameter(rng, problem)
    value, gradient = all_pairs(problem, w, X, y)
    for rows in (X, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        fast = all_pairs_objective(problem, w, rows_of(rows), y)
        assert fast[0] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(fast[1], gradient, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(all_pairs_gradient(problem, w, rows_of(rows), y), gradient, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("surrogate", SORTED, ids=name_of)
def test_thousands_of_rows_against_tiles(surrogate):
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(5000, 3)), rng.integers(0, 2, 5000)
    w = np.array([0.6, -0.3, 0.2])
    total, gradient = sorted_sum(ranking(surrogate, 3), rows_of(X).scores(w), rows_of(X), y, want_value=True)
    tiled, slow = engine._tiled_sum(ranking(surrogate, 3), w, rows_of(X), y)
    assert total == pytest.approx(tiled, rel=1e-12)
    np.testing.assert_allclose(gradient, slow, rtol=1e-12, atol=1e-12 * np.abs(slow).max())


def test_what_cannot_be_sorted_is_left_to_tiles():
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(6, 2)), np.array([0, 1] * 3), np.ones(2)

    class Same(Hinge):
        """A subclass may be another function."""

    for problem in (
        ranking(Logistic(), 2),
        ranking(Same(), 2),
        Problem(ErrorDifference(), Square(), L2Ball(1.0), 2),
    ):
        assert sorted_sum(problem, rows_of(X).scores(w), rows_of(X), y, want_value=True) is None
    X[0, 0] = math.inf
    assert sorted_sum(ranking(Hinge(), 2), rows_of(X).scores(w), rows_of(X), y, want_value=True) is None


@pytest.mark.parametrize("surrogate", [Hinge(), SquaredHinge()], ids=str)
def test_a_million_rows_keep_twelve_digits(surrogate):
    """Against prefix sums in extended precision over each class, which share no code with the compiled walk."""
    n, d = 1_000_000, 3
    rng = np.random.default_rng(1)
    rows, labels, w = rng.normal(size=(n, d)), rng.integers(0, 2, n), rng.normal(size=d)
    problem = Problem(LinearDifference(), surrogate, L2Ball(10.0), d)
    scores = (rows @ w).astype(np.longdouble)
    events, others = scores[labels == 1], scores[labels == 0]

    def sums(own, other, sign):
        """Of each own record's pairs with gap = 1 - sign (own - other) > 0: how many, the sum of gaps, of squares."""
        order = np.sort(sign * other)
        powers = [np.concatenate([[np.longdouble(0)], np.cumsum(order**k)]) for k in (1, 2)]
        place = np.searchsorted(order, sign * own - 1, side="right")
        count = (len(order) - place).astype(np.longdouble)
        first, second = (power[-1] - power[place] for power in powers)
        base = 1 - sign * own
        return count, count * base + first, count * base**2 + 2 * base * first + second

    by_event, by_other = sums(events, others, 1), sums(others, events, -1)
    squared = isinstance(surrogate, SquaredHinge)
    value = by_event[2].sum() if squared else by_event[1].sum()
    slopes = np.empty(n, np.longdouble)
    slopes[labels == 1] = -2 * by_event[1] if squared else -by_event[0]
    slopes[labels == 0] = 2 * by_other[1] if squared else by_other[0]
    gradient = np.array([(rows[:, k].astype(np.longdouble) * slopes).sum() for k in range(d)])
    pairs = np.longdouble(n) * (n - 1)
    found, moved = engine.all_pairs_objective(problem, w, rows_of(rows), labels)
    assert abs(found - value / pairs) <= 1e-12 * abs(value / pairs)
    assert np.abs(moved - gradient / pairs).max() <= 1e-12 * np.abs(gradient / pairs).max()
