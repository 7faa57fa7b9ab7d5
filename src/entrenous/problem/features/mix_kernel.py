"""Rows times a matrix, compiled: a row comes out the same to the bit, whichever rows stand beside it."""

from __future__ import annotations

from numba import njit


@njit(cache=True, error_model="numpy")
def rows_times(X, matrix, out):  # type: ignore[no-untyped-def]
    """``out = X @ matrix`` for C-contiguous arrays; BLAS would add up in an order that depends on the other rows."""
    n, d = X.shape
    for i in range(n):
        row = out[i]
        row[:] = 0.0
        for k in range(d):
            value, line = X[i, k], matrix[k]
            for j in range(d):
                row[j] += value * line[j]
