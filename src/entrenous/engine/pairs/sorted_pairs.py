"""Ranking over all pairs of events and others without visiting them: by sorting, or by moments for the square."""

from __future__ import annotations

import math

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.sorted_kernel import hinge_sum, work_space
from entrenous.engine.pairs.surrogate_kernels import surrogate_code
from entrenous.engine.rows.rows import Rows
from entrenous.problem.pair_scores import LinearDifference
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Surrogate, base_of
from entrenous.problem.surrogates.convex import Hinge, SmoothedHinge, Square, SquaredHinge

_MOST_ROWS = 2**31 - 3
"""The kernel counts rows in 32 bits."""


def sorted_sum(
    problem: Problem, scores: Array, X: Rows, y: AnyArray, *, want_value: bool
) -> tuple[float, Array] | None:
    """The sum of the losses over all pairs and its gradient, or None where only tiles give them.

    `scores` are those of the rows; they are overwritten. Without `want_value` the first number means nothing.
    """
    base = base_of(problem.loss)
    # Exact types: a subclass may define another function.
    if type(problem.score) is not LinearDifference or type(base) not in (Hinge, SmoothedHinge, SquaredHinge, Square):
        return None
    _, _, inner, outer = surrogate_code(problem.loss)
    if not 0.0 < inner < math.inf or len(X) > _MOST_ROWS:
        return None
    if not np.isfinite(scores).all():
        return None
    if isinstance(base, Square):
        value, weight = _square_sum(scores, y == 1, y == 0, inner)
    else:
        width, curvature = _shape(base)
        space = work_space(len(X))
        value, weight = hinge_sum(scores, y == 1, y == 0, inner, width, curvature, want_value, *space), scores
    return outer * value, outer * X.weighted_sum(weight)


def _shape(base: Surrogate) -> tuple[float, float]:
    """Width of the parabola next to the kink, and its second derivative."""
    if isinstance(base, SmoothedHinge):
        return base.width, 1.0 / base.width
    return (math.inf, 2.0) if isinstance(base, SquaredHinge) else (0.0, 0.0)


def _square_sum(scores: Array, events: AnyArray, others: AnyArray, inner: float) -> tuple[float, Array]:
    """``sum (1 - inner (a - b))^2`` over events a and others b, and its derivative by every score.

    Around the class means the cross terms vanish and what is left is a sum of squares: nothing cancels.
    """
    weight = np.zeros(len(scores))
    a, b = scores[events], scores[others]
    if len(a) == 0 or len(b) == 0:
        return 0.0, weight
    # A class is measured from one of its own scores: differences of scores round by no more than they are.
    at_a, at_b = _middle(a), _middle(b)
    mean_a, mean_b = (a - at_a).mean(), (b - at_b).mean()
    gap = 1.0 - inner * ((at_a - at_b) + (mean_a - mean_b))
    spread = len(b) * np.square((a - at_a) - mean_a).sum() + len(a) * np.square((b - at_b) - mean_b).sum()
    weight[events] = -2.0 * inner * len(b) * (1.0 - inner * ((a - at_b) - mean_b))
    weight[others] = 2.0 * inner * len(a) * (1.0 - inner * ((at_a - b) + mean_a))
    return float(len(a) * len(b) * gap * gap + inner * inner * spread), weight


def _middle(scores: Array) -> float:
    """The score nearest to the mean."""
    return float(scores[np.abs(scores - scores.mean()).argmin()])
