"""Rows clipped into a domain and stored in float32, compiled: one pass, no second table."""

from __future__ import annotations

import math

from numba import njit

from entrenous.problem.features.domain import TO_SINGLE

_HUGE = 1e100
"""Entries beyond this are divided by the largest before they are squared."""


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def into_single(X, low, high, origin, scale, row, out):  # type: ignore[no-untyped-def]
    """Fills `out` with the rows of X in internal units, shortened by as much as rounding could lengthen them.

    `row` is room for one row in float64.
    """
    n, d = X.shape
    for i in range(n):
        largest, squares = 0.0, 0.0
        for k in range(d):
            value = (min(max(X[i, k], low[k]), high[k]) - origin[k]) * scale[k]
            row[k] = value
            squares += value * value
            largest = max(largest, abs(value))
        if largest > _HUGE:
            squares = 0.0
            for k in range(d):
                share = row[k] / largest
                squares += share * share
            norm = largest * math.sqrt(squares)
        else:
            norm = math.sqrt(squares)
        factor = (1.0 - TO_SINGLE) / max(norm, 1.0)
        for k in range(d):
            out[i, k] = row[k] * factor
