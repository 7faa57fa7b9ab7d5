"""The capped gradient of errors of contiguous rows in one pass, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_ROWS = 256
"""Rows whose scores and terms are worked on together: they stay in the cache, and rounding does not grow with n."""
_FADING = 1.0 / (2.0 * math.e)


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def residual_sum(X, w, intercept, y, cap, fades):  # type: ignore[no-untyped-def]
    """`Rows.residual_sum`: each row is read once, for its score and for the sum, which is kept in float64."""
    n, d = X.shape
    total, part, slope = np.zeros(d), np.empty(d), np.empty(_ROWS)
    level, filled = 0.0, 0.0
    for start in range(0, n, _ROWS):
        rows = min(_ROWS, n - start)
        for i in range(rows):
            row = X[start + i]
            score = X.dtype.type(0.0)
            for k in range(d):
                score += row[k] * w[k]
            slope[i] = score
        for i in range(rows):
            error = y[start + i] - slope[i] - intercept
            square = (error / cap) * (error / cap)
            filled += min(square, 1.0)
            # Beyond the largest number of float64 the exponential is 0 as well.
            slope[i] = error * math.exp(-_FADING * square) if fades else min(max(error, -cap), cap)
        part[:] = 0.0
        for i in range(rows):
            a = slope[i]
            row = X[start + i]
            for k in range(d):
                part[k] += a * row[k]
            level += a
        for k in range(d):
            total[k] += part[k]
    return total, level, filled
