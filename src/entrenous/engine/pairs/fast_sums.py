"""Loss and slopes over all pairs of one-dimensional scores in linear time: logistic, sigmoid and Welsch's surrogate.

The score axis is cut into cells, and a kernel ``k(s - s')`` between two cells is a polynomial of degree 7 in each
place, so a cell acts through its power moments (a fast multipole method in one dimension: Greengard and Rokhlin 1987;
interpolated kernels: Fong and Darve 2009). The matrices between cells depend on their offset only.

* *Error.* Interpolation in p Chebyshev points of a cell of half-width a errs by at most ``4 M rho^-p / (1 - 1/rho)``, M
  the largest modulus on the ellipse with semi-axes ``a (rho +- 1/rho) / 2`` (Trefethen, *Approximation Theory and
  Approximation Practice*, Theorem 8.2). The poles of logistic and sigmoid lie at distance pi: with a <= 1/8, rho comes
  near 50 and ``50^-8 = 3e-14``; the sigmoid's slope has them twice, and comes to 1e-12. For the Gaussian, which has
  none, the p-th derivative at 0 gives ``2 (a/2)^p / (2^(p/2) (p/2)!) = 5e-15`` with a <= 1/16 and p = 8.
* *Far cells.* Beyond a margin of 4 the logistic is eight terms of ``log(1 + e^-t) = sum_m (-1)^(m-1) e^(-mt) / m``,
  the rest below ``e^-32 = 1.3e-14`` of the first. The sigmoid is the logistic's slope with its sign turned, and the
  rest of its own slope 9 times that. Each term is separable and travels along the axis as one number, so wide scores
  cost nothing but their cells. A Gaussian beyond 9 bandwidths is below ``3e-18`` and left out.
* *Small sums.* The error of these two is relative for every pair of cells, all terms have one sign, and so losses and
  slopes of well separated classes keep their digits until they underflow. Welsch's slopes are exact up to
  ``1e-14 / bandwidth`` per pair; where all errors lie within one cell, the cell shrinks to them.
* *Scores* are cut at multiples of a power of two, which rounds nothing, wherever zero is.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from entrenous.arrays import AnyArray, Array, Codes
from entrenous.engine.pairs.fast_sums_kernel import (
    TERMS,
    add_far,
    add_near,
    cells_of,
    evaluate,
    far_pairs,
    moments,
    occupied,
)
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Score
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Reparametrised, Surrogate
from entrenous.problem.surrogates.bounded import Sigmoid, Welsch
from entrenous.problem.surrogates.convex import Logistic
from entrenous.problem.surrogates.spelling import SURROGATES

_LOGISTIC_WIDTH, _LOGISTIC_REACH, _RATES = 1.0 / 4.0, 4.0, 8
_GAUSSIAN_WIDTH, _GAUSSIAN_REACH = 1.0 / 8.0, 9.0
_PAIRS_PER_CELL = 256
"""What a cell costs, in pairs of the tiles of ``all_pairs``: with fewer pairs than that the tiles win."""


def has_fast_sum(problem: Problem) -> bool:
    """Whether the problem's scores are one-dimensional and its surrogate is one of those."""
    kinds: dict[type[Score], tuple[type[Surrogate], ...]] = {
        LinearDifference: (Logistic, Sigmoid),
        ErrorDifference: (Welsch,),
    }
    return type(_unwrapped(problem.loss)[0]) in kinds.get(type(problem.score), ())


def fast_sums(problem: Problem, scores: Array, y: AnyArray, out: Array | None = None) -> tuple[float, Array] | None:
    """The loss summed over the counted ordered pairs, and its derivative by every score.

    `scores` are the records' scores in ranking, their errors in error entropy. `out` takes the derivatives; it may be
    the scores themselves, which costs no memory. None where the tiles have to do it: no
    fast sum, few pairs, scores that are not finite or so wide that cells cannot be counted.
    """
    base, inner, outer = _unwrapped(problem.loss)
    if type(problem.score) is LinearDifference and type(base) is Logistic:
        return ranking_sums("logistic", scores, y == 1, y == 0, inner, outer, out=out)
    if type(problem.score) is LinearDifference and type(base) is Sigmoid:
        return ranking_sums("sigmoid", scores, y == 1, y == 0, inner / base.width, outer, out=out)
    if type(problem.score) is ErrorDifference and type(base) is Welsch:
        return welsch_sums(scores, inner / base.bandwidth, outer, out=out)
    return None


def ranking_sums(
    kernel: str,
    scores: Array,
    events: AnyArray,
    others: AnyArray,
    inner: float = 1.0,
    outer: float = 1.0,
    *,
    always: bool = False,
    out: Array | None = None,
) -> tuple[float, Array] | None:
    """``sum of outer * k(inner (s_i - s_j))``, i over the events and j over the others, and its gradient.

    The kernel k is "logistic", ``log(1 + e^-t)``, or "sigmoid", ``1 / (1 + e^t)``. `events` and `others` are masks.
    `always` cuts into cells even where the tiles of ``all_pairs`` are faster.
    """
    pairs = float(np.count_nonzero(events)) * float(np.count_nonzero(others))
    grid = _cut(scores, inner, _LOGISTIC_WIDTH, False, math.inf if always else pairs / _PAIRS_PER_CELL)
    if grid is None:
        return None
    # 0 for events, 1 for others, -1 for neither.
    side = others.astype(np.int8)
    side *= 2
    side += events
    side -= 1
    event, other = sums = moments(*grid.points, side, 2, len(grid.where))
    near = math.ceil(_LOGISTIC_REACH / grid.width)
    local = np.zeros_like(sums)
    loss = add_near(grid.where, near, event, other, False, *_near_tables(kernel, grid.width, near), *local)
    rising, falling = _exponentials(grid.width)
    axis = grid.where, near, grid.width
    right, wrong = _far_series(kernel)
    loss += add_far(*axis, True, other, event, rising, falling, *right, local[0])
    loss += add_far(*axis, True, event, other, rising, falling, *wrong, local[1])
    # The same pairs of cells, seen from their left ends: slopes only, their loss is in already.
    add_far(*axis, False, other, event, falling, rising, *wrong, local[0])
    add_far(*axis, False, event, other, falling, rising, *right, local[1])
    local *= outer * inner
    local[1] *= -1.0
    return outer * loss, evaluate(*grid.points, side, local, np.empty(len(scores)) if out is None else out)


def welsch_sums(
    scores: Array, inner: float = 1.0, outer: float = 1.0, *, always: bool = False, out: Array | None = None
) -> tuple[float, Array] | None:
    """``sum of outer * (1 - e^(-(inner (s_i - s_j))^2 / 2))`` over ordered pairs, and its gradient; as above."""
    if len(scores) and float(scores.min()) == float(scores.max()) and math.isfinite(scores[0]):
        return 0.0, np.zeros(len(scores))
    pairs = float(len(scores)) ** 2
    grid = _cut(scores, inner, _GAUSSIAN_WIDTH, True, math.inf if always else pairs / _PAIRS_PER_CELL)
    if grid is None:
        return None
    side = np.zeros(len(scores), dtype=np.int8)
    (sums,) = moments(*grid.points, side, 1, len(grid.where))
    # Where the cell has shrunk to the scores there are three cells at most.
    near = math.ceil(_GAUSSIAN_REACH / max(grid.width, _GAUSSIAN_WIDTH / 2.0))
    local = np.zeros((2, *sums.shape))
    loss = add_near(grid.where, near, sums, sums, True, *_near_tables("welsch", grid.width, near), *local)
    loss += far_pairs(grid.where, near, sums[:, 0])
    gradient = outer * inner * (local[:1] - local[1:])
    return outer * loss, evaluate(*grid.points, side, gradient, np.empty(len(scores)) if out is None else out)


def _unwrapped(surrogate: Surrogate) -> tuple[Surrogate, float, float]:
    inner = outer = 1.0
    while isinstance(surrogate, Reparametrised):
        inner, outer, surrogate = inner * surrogate.inner, outer * surrogate.outer, surrogate.base
    return surrogate, inner, outer


class _Grid(NamedTuple):
    """Cells of one width, measured in margins: where they are, and how to find the points in them."""

    width: float
    where: Codes
    points: tuple[Array, float, int, Codes]
    """Scores, cells per score, the first cell and, where empty cells are left out, each point's index in `where`."""


def _cut(scores: Array, inner: float, widest: float, shrink: bool, most: float) -> _Grid | None:
    """The scores in cells at most `widest`, or None where more than `most` cells would be walked.

    With `shrink` the cells are no wider than the scores' range.
    """
    low, high = float(scores.min(initial=math.inf)), float(scores.max(initial=-math.inf))
    spread = abs(inner) * (high - low)
    if not 0.0 <= spread < math.inf:
        return None
    widest = min(widest, spread) if shrink else widest
    ratio = abs(inner) / widest if widest > 0.0 else math.inf
    if not 1e-290 < ratio < 1e290:
        return None
    per_cell = math.ldexp(1.0, math.ceil(math.log2(ratio)))
    first, last = low * per_cell, high * per_cell
    if not max(abs(first), abs(last)) < 2.0**61 or min(len(scores), last - first + 1.0) > most:
        return None
    if inner < 0.0:
        first, last = -last, -first
    start = math.floor(first)
    span = math.floor(last) - start + 1
    signed = math.copysign(per_cell, inner)
    if span <= max(1024, len(scores) // 4):
        where, index = np.arange(span), np.empty(0, dtype=np.int64)
    else:
        # Empty cells would outweigh the points: keep those that somebody is in.
        where, index = occupied(cells_of(scores, signed, start))
    return _Grid(abs(inner) / per_cell, where, (scores, signed, start, index))


_NODES = np.cos((np.arange(TERMS) + 0.5) * np.pi / TERMS)


@lru_cache(maxsize=1)
def _to_powers() -> Array:
    """From values at the Chebyshev points to coefficients of powers."""
    to_chebyshev = np.cos(np.outer(np.arange(TERMS), (np.arange(TERMS) + 0.5) * np.pi / TERMS)) * (2.0 / TERMS)
    to_chebyshev[0] /= 2.0
    powers = np.zeros((TERMS, TERMS))
    for k in range(TERMS):
        powers[: k + 1, k] = np.polynomial.chebyshev.cheb2poly(np.eye(TERMS)[k])[: k + 1]
    return powers @ to_chebyshev


@lru_cache(maxsize=16)
def _near_tables(kernel: str, width: float, near: int) -> tuple[Array, Array, Array]:
    """Slopes, slopes transposed and values transposed of the kernel between cells at offsets ``-near..near``."""
    offsets = np.arange(-near, near + 1)[:, None, None]
    margins = width * (offsets + (_NODES[:, None] - _NODES[None, :]) / 2.0)
    surrogate = SURROGATES[kernel]()
    turn = _to_powers()
    slopes, values = (turn @ kind(margins) @ turn.T for kind in (surrogate.derivative, surrogate.value))
    slopes_turned, values_turned = (np.ascontiguousarray(table.transpose(0, 2, 1)) for table in (slopes, values))
    return np.ascontiguousarray(slopes), slopes_turned, values_turned


@lru_cache(maxsize=2)
def _far_series(kernel: str) -> tuple[tuple[Array, Array, float, float], tuple[Array, Array, float, float]]:
    """What `add_far` needs of a kernel for pairs in the right order, and for those in the wrong one.

    The logistic of a wrong pair at distance t is ``t`` and the right one's, the sigmoid 1 less the right one's.
    """
    m = np.arange(1.0, _RATES + 1)
    if kernel == "logistic":
        values = (-1.0) ** (m - 1.0) / m
        return (values, -m * values, 0.0, 0.0), (values, m * values, 1.0, 0.0)
    values = (-1.0) ** (m - 1.0)
    return (values, -m * values, 0.0, 0.0), (-values, -m * values, 0.0, 1.0)


@lru_cache(maxsize=16)
def _exponentials(width: float) -> tuple[Array, Array]:
    """``e^(m width x / 2)`` for ``m = 1.._RATES`` in powers of x, and with the sign of x turned."""
    rates = np.arange(1, _RATES + 1)[:, None] * width / 2.0
    return np.exp(rates * _NODES) @ _to_powers().T, np.exp(-rates * _NODES) @ _to_powers().T
