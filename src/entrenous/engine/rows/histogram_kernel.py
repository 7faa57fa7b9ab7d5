"""Histograms of columns in one pass over contiguous rows, compiled."""

from __future__ import annotations

from numba import njit


@njit(cache=True, error_model="numpy")
def add_counts(X, columns, least, most, origin, unit, low, high, counts):  # type: ignore[no-untyped-def]
    """Adds to `counts`, a row per column, how many values fall into each equal bin from low to high.

    Values are clipped from `least` to `most` and taken in half-widths, as `Rows.histograms` says.
    """
    bins = counts.shape[1]
    for i in range(X.shape[0]):
        for j in range(len(columns)):
            value = (min(max(X[i, columns[j]], least[j]), most[j]) - origin[j]) / unit[j]
            place = (value - low[j]) / (high[j] - low[j]) * bins
            counts[j, int(min(max(place, 0.0), bins - 1.0))] += 1.0
