"""Rows with ramps without writing the ramps out, compiled.

An entry lies in one ramp of its column: those below it are 1, those above 0. So an entry is stored as its position
among the ramps, a whole number of ramps and a part of one, and a score looks up what the whole ones add. That takes the
time and twice the memory of the columns alone, however many ramps there are.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_FREE_ORDER = {"reassoc", "contract", "nsz"}


@njit(cache=True, error_model="numpy")
def into_shaped(X, low, high, origin, scale, columns, edges, middles, heights, shortened, V, T, factor):  # type: ignore[no-untyped-def]
    """Fills V with internal entries, T with positions among the ramps, and `factor` with what draws the row in.

    The norm is that of the stored numbers, ramps included; `shortened` leaves room for rounding.
    """
    n, d = X.shape
    ramps = len(heights)
    for i in range(n):
        squares = 0.0
        for k in range(d):
            V[i, k] = (min(max(X[i, k], low[k]), high[k]) - origin[k]) * scale[k]
            squares += np.float64(V[i, k]) ** 2
        for c in range(len(columns)):
            value = np.float64(V[i, columns[c]])
            position = 0.0
            for q in range(ramps):
                position += min(max((value - edges[q]) / (edges[q + 1] - edges[q]), 0.0), 1.0)
            T[i, c] = position
            place = np.float64(T[i, c])
            for q in range(ramps):
                squares += ((min(max(place - q, 0.0), 1.0) - middles[q]) * heights[q]) ** 2
        factor[i] = shortened / max(math.sqrt(squares), 1.0)


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
def shaped_scores(V, T, factor, w, at_edges, scores):  # type: ignore[no-untyped-def]
    """Fills `scores` with factor (V w + what the ramps add).

    `at_edges` is what the ramps of a shaped column add at each of their edges, the last one twice. Indices without a
    sign need no check for negative ones.
    """
    n, d = V.shape
    columns, edges = at_edges.shape
    added = at_edges.ravel()
    for i in range(n):
        score = V.dtype.type(0.0)
        for k in range(d):
            score += V[i, k] * w[k]
        for c in range(columns):
            whole = np.uint32(T[i, c])
            edge = np.uint32(c * edges) + whole
            before = added[edge]
            score += before + (T[i, c] - np.float32(whole)) * (added[edge + np.uint32(1)] - before)
        scores[i] = factor[i] * score


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
def add_shaped(V, T, factor, weights, straight, whole_sums, part_sums):  # type: ignore[no-untyped-def]
    """Adds ``weights factor V`` to `straight`, and to the sums of each shaped column the weights of its entries.

    Both sums are by the number of whole ramps: of the weights, and of the weights times the part of the next ramp.
    Returns the sum of the weights times their factors.
    """
    n, d = V.shape
    columns, places = whole_sums.shape
    wholes, parts = whole_sums.ravel(), part_sums.ravel()
    total = 0.0
    for i in range(n):
        weight = weights[i] * factor[i]
        total += weight
        for k in range(d):
            straight[k] += weight * V[i, k]
        for c in range(columns):
            whole = np.uint32(T[i, c])
            place = np.uint32(c * places) + whole
            wholes[place] += weight
            parts[place] += weight * (T[i, c] - np.float32(whole))
    return total


@njit(cache=True, error_model="numpy")
def signed_slopes(scores, intercept, y, event, other, cap):  # type: ignore[no-untyped-def]
    """Turns scores into capped slopes with the sign of their record, in place; returns their sum."""
    level = 0.0
    for i in range(len(scores)):
        sign = 1.0 if y[i] == 1 else -1.0
        weight = event if sign > 0.0 else other
        scores[i] = sign * min(weight / (1.0 + math.exp(sign * (scores[i] + intercept))), cap)
        level += scores[i]
    return level


@njit(cache=True, error_model="numpy")
def shaped_capped_sum(V, T, factor, w, at_edges, intercept, y, event, other, cap, rows):  # type: ignore[no-untyped-def]
    """The sums of `add_shaped` with capped slopes for weights, block by block, and the sum of these slopes."""
    n, d = V.shape
    columns, places = len(at_edges), at_edges.shape[1] - 1
    straight, part = np.zeros(d), np.empty(d)
    whole_sums, part_sums = np.zeros((columns, places)), np.zeros((columns, places))
    weights = np.empty(rows)
    total, level = 0.0, 0.0
    for start in range(0, n, rows):
        block = slice(start, min(start + rows, n))
        slopes = weights[: block.stop - block.start]
        shaped_scores(V[block], T[block], factor[block], w, at_edges, slopes)
        level += signed_slopes(slopes, intercept, y[block], event, other, cap)
        part[:] = 0.0
        total += add_shaped(V[block], T[block], factor[block], slopes, part, whole_sums, part_sums)
        for k in range(d):
            straight[k] += part[k]
    return straight, whole_sums, part_sums, total, level
