"""Loss and gradient over all pairs, exactly: by sorting, by linear-time sums, or in tiles, as the surrogate allows.

Ranking with a surrogate of the hinge family or the square costs one sort of the scores (`sorted_pairs`); the logistic
and error entropy have linear-time sums (`fast_sums`); metrics go in compiled tiles (`metric_tiles`). What is left, such
as a user's own surrogate, goes in NumPy's tiles: scores are one-dimensional for the linear tasks, so a pair costs one
derivative and the features enter once per record; for the Mahalanobis score the tile is a Gram matrix. Memory is one
tile, whatever n is; the other sums take some numbers per record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.fast_sums import fast_sums, has_fast_sum
from entrenous.engine.pairs.metric_tiles import metric_sum
from entrenous.engine.pairs.sorted_pairs import sorted_sum
from entrenous.engine.rows.rows import Rows
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis, Score
from entrenous.problem.problem import Problem

_TILE = 1 << 18
"""Pairs per tile: 2 MB of float64, inside a core's cache."""


def all_pairs_objective(problem: Problem, w: Array, X: Rows, y: AnyArray) -> tuple[float, Array]:
    """``F(w)`` and its gradient: mean over the ``n(n-1)`` ordered pairs of any kind of rows, plus the ridge."""
    n = len(y)
    ridge = problem.ridge
    total, gradient = _compiled_sum(problem, w, X, y, want_value=True) or _tiled_sum(problem, w, X, y)
    return total / (n * (n - 1)) + ridge / 2.0 * float(np.sum(w * w)), gradient / (n * (n - 1)) + ridge * w


def all_pairs_gradient(problem: Problem, w: Array, X: Rows, y: AnyArray) -> Array:
    """The gradient of `all_pairs_objective`, which costs half as much in tiles."""
    n = len(y)
    found = _compiled_sum(problem, w, X, y, want_value=False)
    gradient = found[1] if found else _sum_of(problem)(problem, w, X, y, lambda margins, self_margin: None)
    return gradient / (n * (n - 1)) + problem.ridge * w


def _tiled_sum(problem: Problem, w: Array, X: Rows, y: AnyArray) -> tuple[float, Array]:
    """The sum of the losses over all ordered pairs, without the ridge, and its gradient."""
    total = 0.0

    def add_values(margins: Array, self_margin: float | None) -> None:
        nonlocal total
        total += float(problem.loss.value(margins).sum())
        if self_margin is not None:
            # A square tile holds the records' pairs with themselves, which are no pairs.
            total -= len(margins) * float(problem.loss.value(np.array([self_margin]))[0])

    gradient = _sum_of(problem)(problem, w, X, y, add_values)
    return total, gradient


def _compiled_sum(problem: Problem, w: Array, X: Rows, y: AnyArray, *, want_value: bool) -> tuple[float, Array] | None:
    """Total loss and its gradient where compiled code knows the surrogate, and it pays."""
    kind = type(problem.score)
    if kind not in _SUMS:
        return None
    if kind is Mahalanobis:
        return metric_sum(problem, w, X.array(), y, want_value=want_value)
    scores = X.scores(w)
    if not has_fast_sum(problem):
        return sorted_sum(problem, scores, X, y, want_value=want_value)
    error = kind is ErrorDifference
    places = y - scores if error else scores
    found = fast_sums(problem, places, y, out=places)
    if found is None:
        return None
    total, weight = found
    return total, X.weighted_sum(-weight if error else weight)


_Visit = Callable[[Array, float | None], None]
"""Sees the margins of every tile, and the margin of a record with itself where the tile holds such pairs."""


def _ranking_sum(problem: Problem, w: Array, X: Rows, y: AnyArray, visit: _Visit) -> Array:
    scores = X.scores(w)
    events, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    weight = np.zeros(len(X))
    for rows in _tiles(len(events), len(others)):
        margins = scores[events[rows], None] - scores[None, others]
        visit(margins, None)
        slopes = problem.loss.derivative(margins)
        weight[events[rows]] = slopes.sum(axis=1)
        weight[others] -= slopes.sum(axis=0)
    return X.weighted_sum(weight)


def _error_sum(problem: Problem, w: Array, X: Rows, y: AnyArray, visit: _Visit) -> Array:
    errors = y - X.scores(w)
    weight = np.zeros(len(X))
    for rows in _tiles(len(X), len(X)):
        margins = errors[rows, None] - errors[None, :]
        visit(margins, 0.0)
        slopes = problem.loss.derivative(margins)
        weight[rows] -= slopes.sum(axis=1)
        weight += slopes.sum(axis=0)
    return X.weighted_sum(weight)


def _metric_sum(problem: Problem, w: Array, rows: Rows, y: AnyArray, visit: _Visit) -> Array:
    X = rows.array()
    threshold: float = problem.score.threshold  # type: ignore[attr-defined]
    mapped = X @ w
    squares = np.einsum("ij,ij->i", mapped, X)
    gradient = np.zeros_like(w)
    for tile in _tiles(len(X), len(X)):
        distances = squares[tile, None] - 2.0 * (mapped[tile] @ X.T) + squares[None, :]
        tau = np.where(y[tile, None] == y[None, :], 1.0, -1.0)
        margins = tau * (threshold - distances)
        visit(margins, threshold)
        slopes = -tau * problem.loss.derivative(margins)
        # sum_ij s_ij (x_i - x_j)(x_i - x_j)^T, expanded so that the work is matrix products.
        cross = X[tile].T @ (slopes @ X)
        gradient += (X[tile].T * slopes.sum(axis=1)) @ X[tile] + (X.T * slopes.sum(axis=0)) @ X - cross - cross.T
    return gradient


def _definition_sum(problem: Problem, w: Array, X: Rows, y: AnyArray, visit: _Visit) -> Array:
    """A score without a form of its own: margins and features of all ordered pairs, some records at a time."""
    score: Any = problem.score
    rows, labels = X.array(), np.asarray(y)
    gradient = np.zeros_like(w)
    for first in range(len(rows)):
        others = np.flatnonzero((np.arange(len(rows)) != first) & (score.counts(labels[first : first + 1], labels) > 0))
        pair = (np.repeat(rows[first : first + 1], len(others), axis=0), rows[others])
        pair_labels = (np.repeat(labels[first : first + 1], len(others)), labels[others])
        margins = score.margin(w, *pair, *pair_labels)
        visit(margins, None)
        slopes = problem.loss.derivative(margins)
        gradient += np.tensordot(slopes, score.feature(*pair, *pair_labels), axes=1)
    return gradient


_Sum = Callable[[Problem, Array, Rows, AnyArray, _Visit], Array]
_SUMS: dict[type[Score], _Sum] = {
    LinearDifference: _ranking_sum,
    Mahalanobis: _metric_sum,
    ErrorDifference: _error_sum,
}
"""By exact type: a score of a user's own goes by its definition."""


def _sum_of(problem: Problem) -> _Sum:
    return _SUMS.get(type(problem.score), _definition_sum)


def _tiles(height: int, width: int) -> Iterator[slice]:
    step = max(1, _TILE // max(1, width))
    return (slice(start, start + step) for start in range(0, height, step))
