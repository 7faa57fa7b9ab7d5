"""Sums ``sum_j k(a_i - b_j) v_j`` for all i at once, k the slope of a surrogate or its second derivative.

With rows of features for the ``v_j`` these are what every record's own gradient and a Hessian are made of. Three ways:

* *A slope made of straight pieces* (the hinge family, the square): on each piece the sum needs prefix sums of ``v_j``
  and of ``b_j v_j`` over sorted places. One sort, then O(n d).
* *A slope without kinks* (logistic, sigmoid, Welsch): the axis is cut into cells, k is interpolated in 12 Chebyshev
  points of each of two cells, so a cell acts through 12 rows. O(n d), and a product of cells with cells which grows
  with the spread of the places and not with n. A cell's half-width is a quarter of the surrogate's unit. Logistic and
  sigmoid have their poles at distance pi, so the error falls like ``25^-12 = 2e-17`` times a constant (the bound in
  ``fast_sums``); for Welsch's second derivative the 12th derivative gives 1e-14.
* *Anything else*, and few records: in tiles, O(n^2 d).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from entrenous.arrays import Array
from entrenous.problem.surrogates.base import Reparametrised, Surrogate
from entrenous.problem.surrogates.bounded import Sigmoid, Welsch
from entrenous.problem.surrogates.convex import Logistic, SmoothedHinge, Square, SquaredHinge

_POINTS = 12
_TILE = 1 << 18
"""Entries of k that are held at once."""


def slope_sums(loss: Surrogate, places: Array, sources: Array, rows: Array) -> Array:
    """``sum_j phi'(places_i - sources_j) rows_j``, one row per place."""
    return _sums(loss, loss.derivative, 1, places, sources, rows)


def curvature_sums(loss: Surrogate, places: Array, sources: Array, rows: Array) -> Array:
    """``sum_j phi''(places_i - sources_j) rows_j``, one row per place."""
    return _sums(loss, loss.curvature, 2, places, sources, rows)


def _sums(
    loss: Surrogate, kernel: Callable[[Array], Array], order: int, places: Array, sources: Array, rows: Array
) -> Array:
    pieces = straight_pieces(loss)
    if pieces is not None:
        return _by_pieces(pieces, order, places, sources, rows)
    unit = _unit_of(loss)
    if unit is not None:
        at, of = _cut(places, unit / 2.0), _cut(sources, unit / 2.0)
        if 4 * at.nodes.size * of.nodes.size < places.size * sources.size:
            between = _tiled(kernel, at.nodes, of.nodes, of.weights.T @ rows)
            found: Array = at.weights @ between
            return found
    return _tiled(kernel, places, sources, rows)


def _tiled(kernel: Callable[[Array], Array], places: Array, sources: Array, rows: Array) -> Array:
    found = np.empty((len(places), rows.shape[1]))
    step = max(1, _TILE // max(1, len(sources)))
    for start in range(0, len(places), step):
        tile = places[start : start + step, None] - sources[None, :]
        found[start : start + step] = kernel(tile) @ rows
    return found


class Pieces(NamedTuple):
    """A slope that is ``levels[k] + rises[k] t`` between ``ends[k - 1]`` and ``ends[k]``; beyond the last, the last."""

    ends: Array
    levels: Array
    rises: Array


def straight_pieces(loss: Surrogate) -> Pieces | None:
    """The pieces of phi', from left to right; ``None`` where it is not made of straight ones."""
    base, inner, outer = _unwrapped(loss)
    # Exact types: a subclass may define another function.
    if type(base) is SmoothedHinge:
        ends, levels, rises = [1.0 - base.width, 1.0], [-1.0, -1.0 / base.width, 0.0], [0.0, 1.0 / base.width, 0.0]
    elif type(base) is SquaredHinge:
        ends, levels, rises = [1.0], [-2.0, 0.0], [2.0, 0.0]
    elif type(base) is Square:
        ends, levels, rises = [], [-2.0], [2.0]
    else:
        return None
    scale = outer * inner
    return Pieces(np.array(ends) / inner, scale * np.array(levels), scale * inner * np.array(rises))


def _by_pieces(pieces: Pieces, order: int, places: Array, sources: Array, rows: Array) -> Array:
    # From the middle of the sources, so that large places cancel before they are multiplied.
    middle = float(np.median(sources))
    places, sources = places - middle, sources - middle
    sequence = np.argsort(sources, kind="stable")
    ordered, rows = sources[sequence], rows[sequence]
    sums = _prefix_sums(rows)
    firsts = _prefix_sums(ordered[:, None] * rows)
    found = np.zeros((len(places), rows.shape[1]))
    # A margin above an end is a source below ``place - end``: the pieces from left to right are sources from the top.
    top = np.full(len(places), len(sources))
    for k, (level, rise) in enumerate(zip(pieces.levels, pieces.rises, strict=True)):
        last = k == len(pieces.ends)
        bottom = np.zeros_like(top) if last else np.searchsorted(ordered, places - pieces.ends[k], side="right")
        within = sums[top] - sums[bottom]
        if order == 2:
            found += rise * within
        elif level != 0.0 or rise != 0.0:
            found += (level + rise * places)[:, None] * within - rise * (firsts[top] - firsts[bottom])
        top = bottom
    return found


def _prefix_sums(rows: Array) -> Array:
    return np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])


class _Cells(NamedTuple):
    nodes: Array
    """Chebyshev points of all cells that somebody is in."""
    weights: csr_array
    """One row per place, which interpolates from the nodes."""


_CHEBYSHEV = np.cos((np.arange(_POINTS) + 0.5) * np.pi / _POINTS)


def _cut(places: Array, width: float) -> _Cells:
    cells = np.floor(places / width)
    occupied, index = np.unique(cells, return_inverse=True)
    inside = np.clip(2.0 * (places / width - cells) - 1.0, -1.0, 1.0)
    polynomials = np.cos(np.arange(_POINTS) * np.arccos(inside)[:, None])
    at_nodes = np.cos(np.outer(np.arange(_POINTS), np.arccos(_CHEBYSHEV))) * (2.0 / _POINTS)
    at_nodes[0] /= 2.0
    columns = index[:, None] * _POINTS + np.arange(_POINTS)
    starts = np.arange(len(places) + 1) * _POINTS
    shape = (len(places), occupied.size * _POINTS)
    weights = csr_array(((polynomials @ at_nodes).ravel(), columns.ravel(), starts), shape=shape)
    return _Cells(((occupied[:, None] + (_CHEBYSHEV + 1.0) / 2.0) * width).ravel(), weights)


def _unit_of(loss: Surrogate) -> float | None:
    """The length on which an analytic slope bends; ``None`` for a slope that may have kinks."""
    base, inner, _ = _unwrapped(loss)
    if type(base) is Logistic:
        return 1.0 / inner
    if type(base) is Sigmoid:
        return base.width / inner
    return base.bandwidth / inner if type(base) is Welsch else None


def _unwrapped(loss: Surrogate) -> tuple[Surrogate, float, float]:
    inner = outer = 1.0
    while isinstance(loss, Reparametrised):
        inner, outer, loss = inner * loss.inner, outer * loss.outer, loss.base
    return loss, inner, outer
