"""Rows with ramps without writing the ramps out, compiled.

An entry lies in one ramp of its column: those below it are 1, those above 0. So an entry is stored as its position
among the ramps, a whole number of ramps and a part of one, and a score looks up what the whole ones add. That takes the
time and twice the memory of the columns alone, however many ramps there are. Everything stored is on a grid, so that
sums do not round (`exact_sums`).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from entrenous.engine.rows.capped_kernel import BLOCK, SPLIT, whole_slope
from entrenous.problem.features.domain import ROW_GRID

_FREE_ORDER = {"reassoc", "contract", "nsz"}
_PER_UNIT = 1.0 / ROW_GRID
PLACES = 2.0**16
"""Places within a ramp: with up to 100 ramps a position fits into float32."""
_SHORTER = 1.0 - 2.0**-40
"""More than rounding can take off a norm."""


@njit(cache=True, error_model="numpy")
def into_shaped(X, low, high, origin, scale, columns, edges, middles, heights, row, V, T, factor):  # type: ignore[no-untyped-def]
    """Fills V with internal entries, T with positions among the ramps, and `factor` with what draws the ramps in.

    The norm is that of the entries and of the ramps at the stored positions. V is drawn in already. Cutting towards
    zero, of V and of the factor, only shortens a row. `row` is room for one.
    """
    n, d = X.shape
    ramps = len(heights)
    for i in range(n):
        squares = 0.0
        for k in range(d):
            row[k] = (min(max(X[i, k], low[k]), high[k]) - origin[k]) * scale[k]
            squares += row[k] * row[k]
        for c in range(len(columns)):
            value = row[columns[c]]
            position = 0.0
            for q in range(ramps):
                position += min(max((value - edges[q]) / (edges[q + 1] - edges[q]), 0.0), 1.0)
            place = math.floor(position * PLACES) / PLACES
            T[i, c] = place
            for q in range(ramps):
                squares += ((min(max(place - q, 0.0), 1.0) - middles[q]) * heights[q]) ** 2
        drawn = _SHORTER / max(math.sqrt(squares), _SHORTER)
        for k in range(d):
            V[i, k] = math.trunc(row[k] * drawn * _PER_UNIT) * ROW_GRID
        factor[i] = math.floor(drawn * _PER_UNIT) * ROW_GRID


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
def shaped_scores(V, T, factor, w, at_edges, scores):  # type: ignore[no-untyped-def]
    """Fills `scores` with V w + factor times what the ramps add.

    `at_edges` is what the ramps of a shaped column add at each of their edges, the last one twice. Indices without a
    sign need no check for negative ones. Weights of few digits make both sums exact.
    """
    n, d = V.shape
    columns, edges = at_edges.shape
    added = at_edges.ravel()
    for i in range(n):
        score, bent = 0.0, 0.0
        for k in range(d):
            score += np.float64(V[i, k]) * w[k]
        for c in range(columns):
            whole = np.uint32(T[i, c])
            edge = np.uint32(c * edges) + whole
            before = added[edge]
            bent += before + np.float64(T[i, c] - np.float32(whole)) * (added[edge + np.uint32(1)] - before)
        scores[i] = score + factor[i] * bent


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
def add_shaped(V, T, factor, weights, cut, straight, whole_sums, part_sums):  # type: ignore[no-untyped-def]
    """Adds ``weights V`` to `straight`, and to the sums of each shaped column the weights of its entries.

    Both sums are by the number of whole ramps: of the weights times the rows' factors, and of these times the part of
    the next ramp. If `cut`, weights times factors are cut towards zero to whole numbers. Returns the sum of them.
    """
    n, d = V.shape
    columns, places = whole_sums.shape
    wholes, parts = whole_sums.ravel(), part_sums.ravel()
    total = 0.0
    for i in range(n):
        for k in range(d):
            straight[k] += weights[i] * V[i, k]
        weight = weights[i] * factor[i]
        if cut:
            weight = np.float64(math.trunc(weight))
        total += weight
        for c in range(columns):
            whole = np.uint32(T[i, c])
            place = np.uint32(c * places) + whole
            wholes[place] += weight
            parts[place] += weight * np.float64(T[i, c] - np.float32(whole))
    return total


@njit(cache=True, error_model="numpy")
def _move_digits(part, high, low):  # type: ignore[no-untyped-def]
    """Adds a block's sums to totals of large and small digits, and clears them."""
    for k in range(len(part)):
        large = math.floor(part[k] / SPLIT) * SPLIT
        high[k] += large
        low[k] += part[k] - large
        part[k] = 0.0


@njit(cache=True, error_model="numpy")
def shaped_capped_sum(V, T, factor, w, at_edges, intercept, y, event, other):  # type: ignore[no-untyped-def]
    """The sums of `add_shaped` with whole capped slopes for weights, block by block, and the sum of these slopes.

    The sums of weighted entries and of parts of ramps come as large digits and small ones.
    """
    n, d = V.shape
    columns, places = len(at_edges), at_edges.shape[1] - 1
    part, high, low = np.zeros(d), np.zeros(d), np.zeros(d)
    whole_sums, bent = np.zeros((columns, places)), np.zeros((columns, places))
    bent_high, bent_low = np.zeros((columns, places)), np.zeros((columns, places))
    weights = np.empty(BLOCK)
    total, level = 0.0, 0.0
    for start in range(0, n, BLOCK):
        block = slice(start, min(start + BLOCK, n))
        slopes = weights[: block.stop - block.start]
        shaped_scores(V[block], T[block], factor[block], w, at_edges, slopes)
        for i in range(len(slopes)):
            slopes[i] = whole_slope(slopes[i] + intercept, y[start + i] == 1, event, other)
            level += slopes[i]
        total += add_shaped(V[block], T[block], factor[block], slopes, True, part, whole_sums, bent)
        _move_digits(part, high, low)
        _move_digits(bent.ravel(), bent_high.ravel(), bent_low.ravel())
    return high, low, whole_sums, bent_high, bent_low, total, level
