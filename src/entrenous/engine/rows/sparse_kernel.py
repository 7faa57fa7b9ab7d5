"""Passes over the stored entries of sparse rows, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from entrenous.engine.rows.capped_kernel import whole_slope
from entrenous.engine.rows.residual_kernel import whole_pull
from entrenous.problem.features.domain import ROW_GRID

_EPS = float(np.finfo(np.float64).eps)
_PER_UNIT = 1.0 / ROW_GRID
_ROUNDING = 2.0**-40


@njit(cache=True, error_model="numpy")
def into_unit_ball(starts, columns, entries, low, high, zero, scale, shift, on_grid, stored, factor):  # type: ignore[no-untyped-def]
    """Fills `stored` with the clipped and scaled entries, less what a zero becomes, and `factor`, so that ``stored_i +
    factor_i shift`` has norm at most 1: the map of a public domain (docs/proofs.md, clipping and internal units).

    A row of m stored entries has the squared norm ``sum (stored + shift)^2`` over them plus ``sum shift^2`` over the
    rest, which is the sum over all features less the sum over the row's own. These round by at most m + 8 half units of
    ``sum (stored + shift)^2`` and m + 4 of the sum over all features. The guard adds more than that, so the norm that
    a row is divided by is never below its own.

    If `on_grid`, entries and factor are cut towards zero to multiples of `ROW_GRID`. That moves a row by at most
    ``ROW_GRID (sqrt(m) + ||shift||)`` and an entry by ``ROW_GRID (1 + ||shift||)``. Rows are shortened by so much
    beforehand, the second as a share of the smallest reach that entries may have, ``1/sqrt(d)``.
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
        room = 1.0 - (ROW_GRID * (np.sqrt(stop - start) + np.sqrt(whole)) + _ROUNDING) if on_grid else 1.0
        drawn = room / norm if norm > room else 1.0
        if on_grid:
            drawn = min(drawn, 1.0 - ROW_GRID * (1.0 + np.sqrt(whole)) * np.sqrt(len(shift)))
            for k in range(start, stop):
                stored[k] = np.trunc(stored[k] * drawn * _PER_UNIT) * ROW_GRID
            factor[i] = np.floor(drawn * _PER_UNIT) * ROW_GRID
        else:
            for k in range(start, stop):
                stored[k] *= drawn
            factor[i] = drawn


@njit(cache=True, error_model="numpy")
def add_second_moments(starts, columns, entries, split, high, low):  # type: ignore[no-untyped-def]
    """Adds ``sum_i e_i e_i^T``, e_i the stored entries of row i, to a square table of large and one of small digits."""
    for i in range(len(starts) - 1):
        start, stop = starts[i], starts[i + 1]
        for a in range(start, stop):
            large_row, small_row = high[columns[a]], low[columns[a]]
            for b in range(start, stop):
                term = entries[a] * entries[b]
                large = np.floor(term / split) * split
                large_row[columns[b]] += large
                small_row[columns[b]] += term - large


@njit(cache=True, error_model="numpy")
def add_weighted(starts, columns, entries, weight, split, high, low):  # type: ignore[no-untyped-def]
    """Adds ``sum_i weight_i e_i`` to a row of large and one of small digits."""
    for i in range(len(starts) - 1):
        for a in range(starts[i], starts[i + 1]):
            term = weight[i] * entries[a]
            large = np.floor(term / split) * split
            high[columns[a]] += large
            low[columns[a]] += term - large


@njit(cache=True, error_model="numpy")
def whole_slopes(scores, y, event, other):  # type: ignore[no-untyped-def]
    """Turns scores into whole capped slopes, in place."""
    for i in range(len(scores)):
        scores[i] = whole_slope(scores[i], y[i] == 1, event, other)


@njit(cache=True, error_model="numpy")
def whole_pulls(errors, cap, fades, filled):  # type: ignore[no-untyped-def]
    """Turns errors into whole slopes, in place; `filled` takes how much of the squared cap they fill."""
    for i in range(len(errors)):
        errors[i], filled[i] = whole_pull(errors[i], cap, fades)
