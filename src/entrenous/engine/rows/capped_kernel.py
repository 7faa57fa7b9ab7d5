"""The capped gradient of contiguous rows in one pass, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from entrenous.engine.rows.exact_sums import SLOPE_GRID

BLOCK = 256
"""Rows whose scores and terms are worked on together: they stay in the cache, and their sum is exact."""
SPLIT = 1024.0
"""Where sums over blocks are divided into large and small digits."""
_WHOLE = 1.0 / SLOPE_GRID


@njit(cache=True, error_model="numpy")
def whole_slope(score, is_event, event, other):  # type: ignore[no-untyped-def]
    """``min(weight sigma(-s score), 1)`` with the sign s of the record, in whole numbers of `SLOPE_GRID`.

    The weights `event` and `other` are in units of the cap.
    """
    sign = 1.0 if is_event else -1.0
    weight = event if is_event else other
    return sign * math.floor(min(weight / (1.0 + math.exp(sign * score)), 1.0) * _WHOLE)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def capped_sum(X, w, intercept, y, event, other):  # type: ignore[no-untyped-def]
    """``sum_i a_i x_i`` and ``sum_i a_i`` for whole slopes a_i: each row is read once, for its score and for the sum.

    All terms are whole numbers of a unit and no partial sum has more than 53 digits, so the order of addition does not
    matter. The first sum comes in two parts, large digits and small ones.
    """
    n, d = X.shape
    high, low, part, slope = np.zeros(d), np.zeros(d), np.empty(d), np.empty(BLOCK)
    level = 0.0
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        for i in range(rows):
            row = X[start + i]
            score = 0.0
            for k in range(d):
                score += np.float64(row[k]) * w[k]
            slope[i] = score
        for i in range(rows):
            slope[i] = whole_slope(slope[i] + intercept, y[start + i] == 1, event, other)
        part[:] = 0.0
        for i in range(rows):
            a = slope[i]
            row = X[start + i]
            for k in range(d):
                part[k] += a * row[k]
            level += a
        for k in range(d):
            large = math.floor(part[k] / SPLIT) * SPLIT
            high[k] += large
            low[k] += part[k] - large
    return high, low, level
