"""The middle of a list of errors, and their spread, as most of them have it: wild ones do not count."""

from __future__ import annotations

import numpy as np

from entrenous.arrays import Array

_QUARTILES = 1.349
"""Distance of the quartiles of normal errors, in standard deviations."""
_WIDTH, _ROUNDS, _SETTLED = 1.65, 50, 1e-9
"""Errors beyond so many spreads fade."""


def spread_of(errors: Array) -> float:
    """Standard deviation of normal errors that have these quartiles."""
    low, high = np.quantile(errors, [0.25, 0.75])
    return float(high - low) / _QUARTILES


def middle_of(errors: Array) -> float:
    """From the median to where as much pulls from either side, errors far away fading: near the mode."""
    at, width = float(np.median(errors)), _WIDTH * spread_of(errors)
    if not width > 0.0:
        return at
    for _ in range(_ROUNDS):
        weights = np.exp(-np.square(np.clip((errors - at) / width, -1e6, 1e6)) / 2.0)
        total = float(weights.sum())
        if not total > 0.0:
            break
        moved = float(weights @ errors) / total - at
        at += moved
        if abs(moved) <= _SETTLED * width:
            break
    return at
