"""Means and variances drawn to what is likely, by as much as their known noise asks: it reads released numbers only.

All numbers are per column, in half-widths of the column's range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from entrenous.arrays import Array

_MEAN_VARIANCE = 0.15
"""Variance of columns' means around the centre of their ranges, as a guess."""
_VARIANCE = 0.1
"""Columns' variance, and its spread over columns, as a guess."""
_FLOOR = 2e-4
"""Least variance that a column is taken to have."""


def pulled(means: Array, noise: float) -> Array:
    """Means pulled to 0 by the share of noise in their squares (empirical Bayes)."""
    signal = max(float(np.mean(np.square(means))) - noise**2, 0.0)
    return means * signal / (signal + noise**2)


class Spread(NamedTuple):
    """Mean and standard deviation of every column, and how far noise may have moved the latter."""

    mean: Array
    sd: Array
    shorter: Array
    """The standard deviation, had the released variance been smaller by its noise."""
    longer: Array
    """Likewise, had it been larger."""


def spread_by_prior(means: Array, m_noise: float, squares: Array, q_noise: float) -> Spread:
    """The less is known the more mean and standard deviation are what a public guess says."""
    m = np.clip(means * _MEAN_VARIANCE / (_MEAN_VARIANCE + m_noise**2), -1.0, 1.0)
    v = np.clip(squares - m * m, 0.0, np.maximum(1.0 - m * m, 0.0) + 1e-9)
    noise = np.hypot(q_noise, 2.0 * m * m_noise)
    trust = _VARIANCE**2 / (_VARIANCE**2 + noise**2)
    v = trust * v + (1.0 - trust) * _VARIANCE
    return _with_noise(m, v, trust * noise, np.maximum(0.5 * noise * np.sqrt(trust), _FLOOR))


def spread_by_peers(means: Array, m_noise: float, squares: Array, q_noise: float) -> Spread:
    """Noisy variances are drawn to the mean over columns."""
    m = pulled(means, m_noise)
    v = squares - m * m
    noise = float(np.sqrt(q_noise**2 + 4.0 * np.mean(m * m) * m_noise**2))
    typical = float(np.clip(v.mean(), 0.01, 0.3))
    varied = max(float(v.var()) - noise**2, 0.0)
    trust = varied / (varied + noise**2)
    least = np.maximum(0.03 * typical, 0.7 * noise * np.sqrt(trust))
    shaken = np.full(v.size, np.hypot(trust * noise, noise / np.sqrt(v.size)))
    return _with_noise(m, typical + trust * (v - typical), shaken, least)


def _with_noise(mean: Array, variance: Array, noise: Array, least: Array | float) -> Spread:
    return Spread(mean, *(np.sqrt(np.maximum(variance + off, least)) for off in (0.0, -noise, noise)))
