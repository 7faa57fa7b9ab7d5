"""A metric from the noisy scatter of similar and of other pairs: as from moments of classes, without classes.

Half the mean ``d d^T`` of similar pairs is the variance within classes, that of all pairs the whole variance. Similar
pairs are few, so theirs is the noisy one: each of its entries is drawn to its share of the whole by as much as its
noise asks. Reads released and public numbers only. The constants were chosen on letter and digits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from entrenous.arrays import Array
from entrenous.engine.solvers.metric_moments import PLAIN, RAREST, edge, true_variances, weighed

_BLUR, _OF_SAMPLE = 0.5, 4.0
"""What is added before whitening: this times the noise's largest eigenvalue and, for the chance in so many pairs, this
times ``sqrt(d/pairs)`` of the mean variance."""
_NARROWEST, _LEAST_SHARE = 0.05, 0.1
"""Least share of a direction's variance that is within classes, and least of all directions together."""
_DOUBT = 0.02
"""Variance of entries, in units of the whole, by which those with little noise do not outvote the others."""


class Scatter(NamedTuple):
    """Sums of ``d d^T`` over similar and over other pairs, and how many pairs are similar, `alike`."""

    similar: Array
    other: Array
    alike: float


def metric_from_scatter(scatter: Scatter, pairs: int, noise: float, ridge: float, rank: int | None) -> Array:
    """The matrix of the squared distance; `noise` is the sd on the diagonals of the sums."""
    d = len(scatter.similar)
    count = min(max(scatter.alike, 1.0, RAREST * pairs), max(1.0, pairs - 1.0))
    whole = (scatter.similar + scatter.other) / (2.0 * pairs)
    variance, basis = true_variances(whole, noise * math.sqrt(2.0) / (2.0 * pairs))
    unit = np.sqrt(np.outer(variance, variance))
    # Entries on the diagonal have twice the variance of the others, with noise and without.
    twice = 1.0 + np.eye(d)
    found = basis.T @ scatter.similar @ basis / (2.0 * count)
    usual = min(max(float(np.trace(found)) / float(variance.sum()), _LEAST_SHARE), 1.0)
    beyond = found / unit - usual * np.eye(d)
    around = np.square(noise / (2.0 * count) / unit) * twice / 2.0
    votes = 1.0 / np.square(around / twice + _DOUBT)
    signal = max(float((votes * (np.square(beyond) - around) / twice).sum() / votes.sum()), 1e-6) * twice
    trust = signal / (signal + around)
    shares, turned = np.linalg.eigh(usual * np.eye(d) + trust * beyond)
    within = (turned * np.clip(shares, _NARROWEST, 1.0)) @ turned.T * unit
    known = float((trust * np.square(unit)).sum()) / float(variance.sum()) ** 2
    chance = _OF_SAMPLE * usual * float(variance.mean()) * math.sqrt(d / count)
    blur = _BLUR * math.hypot(edge(noise / (2.0 * count), d), chance)
    return weighed(within, np.diag(variance) - within, basis, blur + ridge, PLAIN + (1.0 - known) ** 2, rank)
