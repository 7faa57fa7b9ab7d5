"""Where the minimiser of the all-pairs objective goes without one of its records, to first order (Kang et al., eq. 4).

Rows are read without noise: for diagnostics of fits without privacy only. With ``g_i`` the gradient of all ordered
pairs that record i is in and H the Hessian of the objective, ridge included, leaving it out moves the minimiser by
``H^-1 (g_i - mean g) / ((n - 1)(n - 2))`` up to terms of second order: ``docs/influence.md`` has the derivation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.weighted_sums import curvature_sums, slope_sums
from entrenous.errors import AssumptionError, InputError
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Interval
from entrenous.problem.symmetric import from_coordinates, to_coordinates

_TILE = 1 << 17
"""Pairs that are held at once."""
_ARRIVED = 0.05
"""How much of a usual change the way to the minimiser may be: beyond that the fit did not arrive, or had other rows."""
_STABILITY_WORK, _FEWEST_PAIRS = 1 << 24, 1000
"""Products of a record and a pair that the estimate of the stability may cost, and how many pairs it takes anyhow."""


class Changes(NamedTuple):
    """In internal units, coordinates of a parameter in the columns."""

    change: Array
    stability: Array
    """Of each record: the mean over ordered pairs of how much their loss moves."""
    pairs: int
    """Pairs in that mean."""


def predicted_changes(problem: Problem, w: Array, X: Array, y: AnyArray) -> Changes:
    """The change of the minimiser w by leaving out each record in turn.

    With d features, ranking and error entropy cost O(n log n + n d^2) and the product of cells in `weighted_sums`. A
    metric, of ``D = d(d + 1)/2`` coordinates, costs D Hessian-vector products of O(n^2 d) in tiles.
    """
    n = len(X)
    _need_interior(problem, w)
    _need_second_derivative(problem, w, X, y)
    own, total = (_metric_sums if isinstance(problem.score, Mahalanobis) else _linear_sums)(problem, w, X, y)
    hessian = total / (n * (n - 1)) + problem.ridge * np.eye(len(total))
    try:
        factor = cho_factor(hessian)
    except np.linalg.LinAlgError:
        raise AssumptionError(
            "influence needs a strict minimum, where the Hessian is positive definite",
            "a Hessian that is not, of a loss that is not convex",
            "Fit with a larger ridge or a wider surrogate.",
        ) from None
    mean = own.mean(axis=0)
    change: Array = cho_solve(factor, (own - mean).T / ((n - 1) * (n - 2))).T
    here = problem.score.to_coordinates(w)
    # Every pair is in two records' sums, so the gradient of all pairs is half of the sum of `own`.
    rest = np.linalg.norm(cho_solve(factor, mean / (2.0 * (n - 1)) + problem.ridge * here))
    if not rest <= _ARRIVED * np.sqrt(np.mean(np.sum(change * change, axis=1))) + 1e-12 * np.linalg.norm(here):
        raise InputError(
            "X and y must be the rows of the fit, and the fit must have reached its minimum",
            "a parameter that is not the minimiser on these rows",
            "Pass what fit got; leave max_iter=None.",
        )
    return Changes(change, *_stability(problem, w, X, y, change))


def _need_interior(problem: Problem, w: Array) -> None:
    active = problem.domain.norm(w) >= problem.domain.radius * (1.0 - 1e-6)
    if problem.score.positive and not active:
        values = np.linalg.eigvalsh(w)
        active = bool(values[0] <= 1e-9 * values[-1])
    if active:
        raise AssumptionError(
            "influence needs a minimiser inside the parameter's domain: at its edge the constraint moves it too",
            f"one at the edge of the {problem.domain.name} domain",
            "Fit with a larger radius; a metric also needs full rank: leave out features that tell no classes apart.",
        )


def _need_second_derivative(problem: Problem, w: Array, X: Array, y: AnyArray) -> None:
    if isinstance(problem.score, Mahalanobis):
        far = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
        most = 4.0 * far * far * float(np.linalg.norm(w)) + problem.score.threshold
        reached = Interval(-most, most)
    else:
        places = _places(problem, w, X, y)
        most = float(places.max() - places.min())
        reached = Interval(-most, most)
    if not np.isfinite(problem.loss.smoothness(reached)):
        raise AssumptionError(
            "influence needs a surrogate with a bounded second derivative on the margins of the fit",
            f"surrogate={problem.surrogate}",
            "Use logistic, square or smoothed-hinge(width=0.5).",
        )


def _places(problem: Problem, w: Array, X: Array, y: AnyArray) -> Array:
    """What margins are differences of: scores in ranking, errors in regression."""
    places: Array = X @ w
    return y - places if isinstance(problem.score, ErrorDifference) else places


def _linear_sums(problem: Problem, w: Array, X: Array, y: AnyArray) -> tuple[Array, Array]:
    """Each record's gradient over all ordered pairs that it is in, and the Hessian summed over all ordered pairs."""
    places = _places(problem, w, X, y)
    # Differences of rows do not see the mean; without it they keep more digits.
    X = X - X.mean(axis=0)
    own, total = np.zeros_like(X), np.zeros((X.shape[1], X.shape[1]))
    if isinstance(problem.score, LinearDifference):
        first, second, towards = y == 1, y == 0, 1.0
    else:
        first = second = np.ones(len(X), dtype=bool)
        towards = -1.0
    # A record is the first of some pairs and the second of others: there the margin turns its sign.
    for these, those, sign in ((first, second, 1.0), (second, first, -1.0)):
        rows = np.column_stack([np.ones(np.count_nonzero(those)), X[those]])
        at = (problem.loss, sign * places[these], sign * places[those], rows)
        slopes, curvatures = slope_sums(*at), curvature_sums(*at)
        own[these] += towards * sign * (slopes[:, :1] * X[these] - slopes[:, 1:])
        total += X[these].T @ (curvatures[:, :1] * X[these] - curvatures[:, 1:])
    return own, (total + total.T) / 2.0


def _metric_sums(problem: Problem, w: Array, X: Array, y: AnyArray) -> tuple[Array, Array]:
    """As `_linear_sums`, in the coordinates of symmetric matrices, in tiles of pairs."""
    assert isinstance(problem.score, Mahalanobis)
    n, d = X.shape
    X = X - X.mean(axis=0)
    squares = to_coordinates(X[:, :, None] * X[:, None, :])
    directions = list(zip(*np.tril_indices(d), strict=True))
    own, total = np.empty((n, len(directions))), np.zeros((len(directions), len(directions)))
    mapped = X @ w
    lengths = np.einsum("ij,ij->i", mapped, X)
    step = max(1, _TILE // n)
    for start in range(0, n, step):
        tile = slice(start, start + step)
        tau = np.where(y[tile, None] == y[None, :], 1.0, -1.0)
        distances = lengths[tile, None] - 2.0 * mapped[tile] @ X.T + lengths[None, :]
        margins = tau * (problem.score.threshold - distances)
        # Both orders of a pair pay alike. A record's pair with itself has no difference and adds nothing.
        slopes = -2.0 * tau * problem.loss.derivative(margins)
        crossed = X[tile, :, None] * (slopes @ X)[:, None, :]
        own[tile] = slopes.sum(axis=1)[:, None] * squares[tile] + slopes @ squares
        own[tile] -= to_coordinates(crossed + crossed.transpose(0, 2, 1))
        curvatures = problem.loss.curvature(margins)
        for number, (a, b) in enumerate(directions):
            moved = (X[tile, a, None] - X[None, :, a]) * (X[tile, b, None] - X[None, :, b])
            moved *= curvatures * (1.0 if a == b else np.sqrt(2.0))
            cross = X[tile].T @ (moved @ X)
            product = (X[tile].T * moved.sum(axis=1)) @ X[tile] + (X.T * moved.sum(axis=0)) @ X - cross - cross.T
            total[number] += to_coordinates(product)
    return own, (total + total.T) / 2.0


def _stability(problem: Problem, w: Array, X: Array, y: AnyArray, change: Array) -> tuple[Array, int]:
    """The mean over ordered pairs of ``|<change_i, gradient of the pair's loss>|``: over all pairs, or some of many."""
    n = len(X)
    if isinstance(problem.score, LinearDifference):
        first, second = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    else:
        first = second = np.arange(n)
    n_pairs = len(first) * len(second)
    some = max(_FEWEST_PAIRS, _STABILITY_WORK // n)
    if n_pairs <= some:
        one, other = np.divmod(np.arange(n_pairs), len(second))
    else:
        # Fixed, so that the figure can be repeated.
        draw = np.random.default_rng(0)
        one, other = draw.integers(0, len(first), some), draw.integers(0, len(second), some)
    # A pair of a record with itself, where that can be drawn, has no gradient and is no ordered pair.
    i, j = first[one], second[other]
    score = problem.score
    assert isinstance(score, LinearDifference | Mahalanobis | ErrorDifference)
    pair = (X[i], X[j], y[i], y[j])
    gradients = score.feature(*pair)
    if isinstance(score, Mahalanobis):
        gradients = to_coordinates(gradients)
    gradients = gradients * problem.loss.derivative(score.margin(w, *pair))[:, None]
    sums = np.empty(n)
    step = max(1, _TILE // len(i))
    for start in range(0, n, step):
        sums[start : start + step] = np.abs(change[start : start + step] @ gradients.T).sum(axis=1)
    return sums / len(i) * (n_pairs / (n * (n - 1))), len(i)


def as_parameters(problem: Problem, change: Array) -> Array:
    """Coordinates as parameters: matrices for a metric."""
    return from_coordinates(change) if isinstance(problem.score, Mahalanobis) else change
