"""The capped gradient of contiguous rows in one pass, compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_ROWS = 256
"""Rows whose scores and terms are worked on together: they stay in the cache, and rounding does not grow with n."""


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def capped_sum(X, w, intercept, y, event, other, cap):  # type: ignore[no-untyped-def]
    """`Rows.capped_sum`: each row is read once, for its score and for the sum, which is kept in float64."""
    n, d = X.shape
    total, part, slope = np.zeros(d), np.empty(d), np.empty(_ROWS)
    level = 0.0
    for start in range(0, n, _ROWS):
        rows = min(_ROWS, n - start)
        for i in range(rows):
            row = X[start + i]
            score = X.dtype.type(0.0)
            for k in range(d):
                score += row[k] * w[k]
            slope[i] = score
        for i in range(rows):
            sign = 1.0 if y[start + i] == 1 else -1.0
            weight = event if sign > 0.0 else other
            slope[i] = sign * min(weight / (1.0 + math.exp(sign * (slope[i] + intercept))), cap)
        part[:] = 0.0
        for i in range(rows):
            a = slope[i]
            row = X[start + i]
            for k in range(d):
                part[k] += a * row[k]
            level += a
        for k in range(d):
            total[k] += part[k]
    return total, level
