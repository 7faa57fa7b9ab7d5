"""Attacks on Lemma 12: an adversary picks rows, flags, the new record, the new flags of its pairs and the parameter."""

import itertools

import numpy as np
import pytest
from oracles import NAMED_SURROGATES, problem_name, problems, random_rows

from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.phases.listed_pairs import ListedDescent, listed_objective, pair_list_of
from entrenous.engine.phases.phase import Released
from entrenous.engine.rows.registry import rows_of
from entrenous.errors import AssumptionError, InputError
from entrenous.privacy.lemmas.gradients import all_pairs_gradient_sensitivity, listed_pairs_gradient_sensitivity
from entrenous.privacy.noise import SeededNoise
from entrenous.problem.pair_list import PairList
from entrenous.problem.pair_scores import LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.convex import Hinge

pytestmark = pytest.mark.attack

CLOSE = 0.95
LISTS = {
    "one pair": [(0, 1)],
    "star": [(0, 1), (0, 2), (3, 0), (0, 4)],
    "ring": [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
    "repeated": [(0, 1), (1, 0), (0, 1), (2, 3), (3, 4)],
    "uneven": [(0, 1), (0, 2), (0, 3), (1, 2), (3, 4), (2, 4)],
}
METRICS = [p for r in (0.3, 1.5) for p in problems(radius=r, scores=[Mahalanobis()])]


class Violation(AssertionError):  # noqa: N818
    """A replacement moved the gradient farther than the lemma allows."""


def gradient(problem, w, X, pairs, flags):
    """The gradient of the phase that runs."""
    phase = ListedDescent(1, 1.0, 1, listed=pair_list_of(pairs, len(X)))
    return phase.gradient(problem, w, rows_of(X), np.column_stack([pairs, flags]))


def lemma_12(problem, pairs, *, share=1.0, tries=60, seed=46):
    """The largest ratio of a change to the bound; the replaced record is the one in most pairs."""
    rng, d = np.random.default_rng(seed), problem.n_features
    pairs = np.array(pairs)
    n = int(pairs.max()) + 1
    i = int(np.bincount(pairs.ravel()).argmax())
    mine = (pairs == i).any(axis=1)
    bound = share * listed_pairs_gradient_sensitivity(problem, pair_list_of(pairs, n)).value
    axis = np.eye(d)[0]
    largest = 0.0
    cases = itertools.product((0, 1, None), (0.0, 1e-3, 1.0, None), (axis, -axis, None))
    for flag, size, x_new in [*cases, *((None, None, None) for _ in range(tries))]:
        X = random_rows(rng, n, d)
        flags = rng.integers(0, 2, len(pairs))
        if flag is not None:
            X[:], X[i], flags[:] = -axis, axis, flag
        other, turned = X.copy(), flags.copy()
        other[i] = random_rows(rng, 1, d)[0] if x_new is None else x_new
        turned[mine] = 1 - flags[mine] if rng.random() < 0.8 else rng.integers(0, 2, mine.sum())
        if size is None:
            w = problem.domain.project(rng.normal(size=(d, d)) * problem.domain.radius)
        else:
            w = size * problem.domain.radius * np.outer(axis, axis)
        change = gradient(problem, w, X, pairs, flags) - gradient(problem, w, other, pairs, turned)
        ratio = float(np.linalg.norm(change)) / bound
        if ratio > 1.0 + 1e-9:
            raise Violation(f"ratio {ratio!r}")
        largest = max(largest, ratio)
    return largest


@pytest.mark.parametrize("problem", METRICS, ids=problem_name)
def test_lemma_12(problem):
    for pairs in LISTS.values():
        assert lemma_12(problem, pairs) > 0.1


@pytest.mark.parametrize("pairs", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("d", [1, 3])
def test_lemma_12_is_attained_by_the_hinge(pairs, d):
    problem = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), d)
    assert lemma_12(problem, pairs) >= CLOSE
    for share in (0.5, 0.99):
        with pytest.raises(Violation):
            lemma_12(problem, pairs, share=share)


def test_every_surrogate_is_attacked():
    assert {str(p.surrogate) for p in METRICS} == {str(s) for s in NAMED_SURROGATES}


@pytest.mark.parametrize("n", [2, 3, 7])
def test_all_pairs_are_a_list_too(n):
    """The same objective, so the same gradient and the same sensitivity as Lemma 2."""
    problem = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 2, ridge=0.1)
    rng = np.random.default_rng(0)
    X, y, w = random_rows(rng, n, 2), rng.integers(0, 3, n), problem.domain.project(rng.normal(size=(2, 2)))
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    flags = y[pairs[:, 0]] == y[pairs[:, 1]]
    np.testing.assert_allclose(
        gradient(problem, w, X, pairs, flags), all_pairs_gradient(problem, w, rows_of(X), y), rtol=1e-12, atol=1e-14
    )
    listed = listed_pairs_gradient_sensitivity(problem, pair_list_of(pairs, n)).value
    assert listed == pytest.approx(all_pairs_gradient_sensitivity(problem, n).value, rel=1e-14)


def test_a_list_that_follows_the_labels_breaks_the_bound():
    """Sort the records by label and pair neighbours: every record is in one pair, but one label moves all of them."""
    problem = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 1)
    X = np.array([[1.0], [-1.0], [-1.0], [1.0]] * 4)

    def released(y):
        pairs = np.argsort(y, kind="stable").reshape(-1, 2)
        return gradient(problem, np.array([[1e-3]]), X, pairs, y[pairs[:, 0]] == y[pairs[:, 1]])

    labels = np.zeros(16, dtype=int)
    turned = labels.copy()
    turned[0] = 1
    bound = listed_pairs_gradient_sensitivity(problem, PairList(8, 1)).value
    assert np.linalg.norm(released(labels) - released(turned)) > 3.0 * bound


@pytest.mark.parametrize("tile", [1, 7, 1 << 18])
def test_the_gradient_is_the_sum_over_the_list(tile, monkeypatch):
    monkeypatch.setattr("entrenous.engine.phases.listed_pairs._TILE", tile)
    rng = np.random.default_rng(3)
    X = random_rows(rng, 6, 2)
    listed = np.column_stack([np.array([(0, 1), (1, 0), (2, 5), (5, 3), (4, 0)]), [1, 0, 0, 1, 0]])
    for problem in problems(radius=0.8, scores=[Mahalanobis()], ridge=0.2):
        w = problem.domain.project(rng.normal(size=(2, 2)))
        value, slope = 0.0, np.zeros((2, 2))
        for i, j, similar in listed:
            gap, tau = X[i] - X[j], 1.0 if similar else -1.0
            margin = np.array([tau * (1.0 - gap @ w @ gap)])
            value += problem.surrogate.value(margin)[0] / len(listed)
            slope -= tau * problem.surrogate.derivative(margin)[0] * np.outer(gap, gap) / len(listed)
        found = listed_objective(problem, w, X, listed)
        assert found[0] == pytest.approx(value + 0.1 * np.sum(w * w), rel=1e-12)
        np.testing.assert_allclose(found[1], slope + 0.2 * w, rtol=1e-11, atol=1e-14)


def test_lemma_12_in_numbers():
    problem = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 2)
    assert listed_pairs_gradient_sensitivity(problem, PairList(100, 4)).value == pytest.approx(4 * 8.0 / 100)
    assert listed_pairs_gradient_sensitivity(problem, PairList(1, 1)).value == pytest.approx(8.0)
    with pytest.raises(AssumptionError, match="metric"):
        listed_pairs_gradient_sensitivity(Problem(LinearDifference(), Hinge(), L2Ball(1.0), 2), PairList(3, 1))


@pytest.mark.parametrize("numbers", [(0, 0), (3, 4), (3, 0), (-1, 1), (3.0, 1), (True, True), ("3", 1)])
def test_impossible_lists_are_refused(numbers):
    with pytest.raises(InputError, match="1 <= most <= pairs"):
        PairList(*numbers)


def test_every_pair_has_two_ends():
    assert PairList(10, 4).checked_for(5) == PairList(10, 4)
    with pytest.raises(InputError, match="at least 4"):
        PairList(10, 3).checked_for(5)


def test_one_noisy_step_is_a_gradient_step():
    problem = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(5.0), 2)
    rng = np.random.default_rng(1)
    X = random_rows(rng, 4, 2)
    listed = np.array([(0, 1, 0), (2, 3, 1), (1, 2, 0)])
    phase = ListedDescent(1, 0.1, 1, listed=PairList(3, 2))
    w = problem.domain.project(rng.normal(size=(2, 2)))
    released = phase.run(problem, rows_of(X), listed, Released(w), SeededNoise(rng), lambda done, total: None)
    expected = problem.domain.project(w - 0.1 * listed_objective(problem, w, X, listed)[1])
    np.testing.assert_allclose(released.w, expected, rtol=1e-12)
