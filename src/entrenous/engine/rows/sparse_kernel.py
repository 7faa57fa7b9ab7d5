"""Passes over the stored entries of sparse rows, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

_EPS = float(np.finfo(np.float64).eps)


@njit(cache=True, error_model="numpy")
def into_unit_ball(starts, columns, entries, low, high, zero, scale, shift, stored, factor):  # type: ignore[no-untyped-def]
    """Fills `stored` with the clipped and scaled entries, less what a zero becomes, and `factor` so that ``factor_i
    (stored_i + shift)`` has norm at most 1: the map of a public domain (docs/proofs.md, clipping and internal units).

    A row of m stored entries has the squared norm ``sum (stored + shift)^2`` over them plus ``sum shift^2`` over the
    rest, which is the sum over all features less the sum over the row's own. These round by at most m + 8 half units of
    ``sum (stored + shift)^2`` and m + 4 of the sum over all features. The guard adds more than that, so the norm that
    a row is divided by is never below its own.
    """
    whole = 0.0
    lost = 0.0
    for j in range(len(shift)):
        # Two-sum: the total over all features stays exact to a unit, however many there are.
        term = shift[j] * shift[j]
        new = whole + term
        shown = new - whole
        lost += (whole - (new - shown)) + (term - shown)
        whole = new
    whole += lost
    for i in range(len(factor)):
        start, stop = starts[i], starts[i + 1]
        largest = 1.0
        for k in range(start, stop):
            j = columns[k]
            stored[k] = (min(max(entries[k], low[j]), high[j]) - zero[j]) * scale[j]
            largest = max(largest, abs(stored[k] + shift[j]))
        # Dividing by the largest entry first keeps the norm of enormous rows finite.
        own, replaced = 0.0, 0.0
        for k in range(start, stop):
            c = shift[columns[k]]
            t = (stored[k] + c) / largest
            own += t * t
            replaced += c * c
        guard = (stop - start + 16) * _EPS
        rest = max(whole - replaced, 0.0) + guard * whole
        norm = largest * np.sqrt((own + rest / largest / largest) * (1.0 + guard))
        factor[i] = 1.0 / norm if norm > 1.0 else 1.0


@njit(cache=True, error_model="numpy")
def add_second_moments(starts, columns, entries, weight, total):  # type: ignore[no-untyped-def]
    """Adds ``sum_i weight_i e_i e_i^T``, e_i the stored entries of row i, to a square table."""
    for i in range(len(weight)):
        start, stop = starts[i], starts[i + 1]
        for a in range(start, stop):
            row = total[columns[a]]
            c = weight[i] * entries[a]
            for b in range(start, stop):
                row[columns[b]] += c * entries[b]
