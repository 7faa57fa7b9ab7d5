"""Rows clipped into a domain and cut to a grid, compiled: one pass, no second table."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from entrenous.problem.features.domain import ROW_GRID

_HUGE = 1e100
"""Entries beyond this are divided by the largest before they are squared."""
_LARGEST = 1e150
"""Entries are cut off here: a narrow axis in a wide range makes larger ones."""
_PER_UNIT = 1.0 / ROW_GRID
_LONGEST = _PER_UNIT * _PER_UNIT
"""The square of norm 1, in whole numbers."""
_SHORTER = 1.0 - 2.0**-20


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def into_grid(X, low, high, origin, scale, row, out):  # type: ignore[no-untyped-def]
    """Fills `out` with the rows of X in internal units, cut towards zero to multiples of `ROW_GRID`.

    The squared norm of what is stored is a sum of whole numbers below 2^53, so it is exact, and so is the test that it
    is at most 1. A row that rounding has made too long is shortened. `row` is room for one row in float64.
    """
    n, d = X.shape
    for i in range(n):
        largest, squares = 0.0, 0.0
        for k in range(d):
            value = (min(max(X[i, k], low[k]), high[k]) - origin[k]) * scale[k]
            value = min(max(value, -_LARGEST), _LARGEST)
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
        factor = _PER_UNIT / max(norm, 1.0)
        while True:
            squares = 0.0
            for k in range(d):
                value = np.trunc(row[k] * factor)
                out[i, k] = value * ROW_GRID
                squares += value * value
            if squares <= _LONGEST:
                break
            factor *= _SHORTER
