"""The capped gradient of errors of contiguous rows in one pass, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from entrenous.engine.rows.capped_kernel import BLOCK, SPLIT
from entrenous.engine.rows.exact_sums import SLOPE_GRID

_WHOLE = 1.0 / SLOPE_GRID
_FADING = 1.0 / (2.0 * math.e)


@njit(cache=True, error_model="numpy")
def whole_pull(error, cap, fades):  # type: ignore[no-untyped-def]
    """The slope of an error in caps, cut towards zero, and how much of the squared cap it fills, rounded up.

    Both in whole numbers of `SLOPE_GRID`. Lemma 23 needs a slope that is no larger than the root of what is filled, so
    one is cut and the other gets a unit more than it has.
    """
    share = error / cap
    square = share * share
    # Beyond the largest number of float64 the exponential is 0 as well.
    pull = share * math.exp(-_FADING * square) if fades else min(max(share, -1.0), 1.0)
    return math.trunc(min(max(pull, -1.0), 1.0) * _WHOLE), math.ceil(min(square + SLOPE_GRID, 1.0) * _WHOLE)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def residual_sum(X, w, intercept, y, cap, fades):  # type: ignore[no-untyped-def]
    """``sum_i a_i x_i`` in large and small digits, ``sum_i a_i`` and ``sum_i u_i^2``, all in whole slopes.

    As `capped_kernel.capped_sum`, and exact for the same reason.
    """
    n, d = X.shape
    high, low, part, slope = np.zeros(d), np.zeros(d), np.empty(d), np.empty(BLOCK)
    level, filled = 0.0, 0.0
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        for i in range(rows):
            row = X[start + i]
            score = 0.0
            for k in range(d):
                score += np.float64(row[k]) * w[k]
            slope[i] = score
        for i in range(rows):
            slope[i], square = whole_pull(y[start + i] - slope[i] - intercept, cap, fades)
            filled += square
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
    return high, low, level, filled
