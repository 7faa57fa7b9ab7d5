"""Centre and spread of features from noisy histograms. It reads what was released only, so it costs no privacy.

At a small budget most bins are noise, and quantiles or moments of them are noise too. What can be read off is which
normal distributions would look like this, and that is weighed here by their likelihood over all rounds; where a bin
stands out of the noise although no such distribution explains it (a second level, a lump at zero), the bin is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, softmax

from entrenous.arrays import Array

_CENTRES, _SPREADS = 65, 16
"""Normal distributions considered: their centres across the window, and spreads from half of it to half a bin."""
_MISFIT = 0.01
"""Share of the records by which a bin may differ from every normal distribution before that is evidence."""
_STANDS_OUT = 2.0
"""Standard deviations by which a bin has to differ from what the normals explain before the rest of it counts."""
_INSIDE, _DEVIATIONS = 0.95, 1.96
"""The spread is that of a normal distribution whose symmetric window for 95 % of the records is the same."""
_LUMP = 0.8
"""Share of the records in the last window that makes a lump of one bin at an end of the declared range, as an
indicator's zeros are. Where counts are readable, a column that only starts there has about half of its records in that
bin, or fewer."""


class Histograms(NamedTuple):
    """Noisy counts per feature in equal bins from `low` to `high`; the end bins also hold what lies beyond."""

    low: Array
    high: Array
    counts: Array


class Reading(NamedTuple):
    """What the counts say, per feature."""

    centre: Array
    spread: Array
    lump: Array
    """-1 or 1 where next to all records seem to be at that end of the declared range, else 0."""


def read_histograms(rounds: Sequence[Histograms], n: int, noise: float) -> Reading:
    """Centre and standard deviation per feature, looked for in the window of the last round.

    `noise` is the sd of the noise on every count. Where the noise is larger than all counts, the centre is that of the
    window and the spread is most of it. The declared range is from -1 to 1. A lump at one of its ends says nothing of
    the other values: a level that is rarer than the noise is hidden from every count, and one that is rarer than the
    spread's 5 % is not in the spread.
    """
    found = [
        _read_feature([(low[j], high[j], counts[j]) for low, high, counts in rounds], n, noise)
        for j in range(rounds[-1].low.size)
    ]
    return Reading(*np.array(found).T)


def _read_feature(rounds: Sequence[tuple[float, float, Array]], n: int, noise: float) -> tuple[float, float, float]:
    low, high, counts = rounds[-1]
    bins = counts.size
    centres = np.repeat(np.linspace(low, high, _CENTRES), _SPREADS)
    spreads = np.tile((high - low) * np.geomspace(0.5, 0.5 / bins, _SPREADS), _CENTRES)
    # Counts also vary as samples do, by at most sqrt(n).
    variance = noise**2 + n + (_MISFIT * n) ** 2
    log_likelihood = np.zeros(centres.size)
    for start, end, seen in rounds:
        shares = _bin_shares(np.linspace(start, end, seen.size + 1)[1:-1], centres, spreads)
        log_likelihood -= np.sum((seen - n * shares) ** 2, axis=1) / (2.0 * variance)
    explained = softmax(log_likelihood) @ shares
    # No bin holds more records than there are: noise beyond that stands out of nothing.
    rest = np.clip(counts / n, 0.0, 1.0) - explained
    believed = explained + np.sign(rest) * np.maximum(np.abs(rest) - _STANDS_OUT * np.sqrt(variance) / n, 0.0)
    believed = np.maximum(believed, 0.0)
    believed /= believed.sum()
    return (*_centre_and_spread(believed, low, high), _lump(believed, low, high))


def _lump(shares: Array, low: float, high: float) -> float:
    """Of what lies inside the window: the far end bin of a narrowed one also holds what is anywhere beyond."""
    if low <= -1.0 and shares[0] >= _LUMP * (1.0 if high >= 1.0 else shares[:-1].sum()):
        return -1.0
    return 1.0 if high >= 1.0 and shares[-1] >= _LUMP * (1.0 if low <= -1.0 else shares[1:].sum()) else 0.0


def _bin_shares(edges: Array, centres: Array, spreads: Array) -> Array:
    """Share of each normal distribution between the inner edges and beyond the outer ones."""
    below = ndtr((edges - centres[:, None]) / spreads[:, None])
    return np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=(0.0, 1.0)), axis=1)


def _centre_and_spread(shares: Array, low: float, high: float) -> tuple[float, float]:
    edges = np.linspace(low, high, shares.size + 1)
    centre = float(shares @ (edges[1:] + edges[:-1])) / 2.0
    below = np.concatenate([[0.0], np.cumsum(shares)])
    # What lies within w of the centre is linear in w between two distances of edges.
    reach = np.sort(np.abs(edges - centre))
    inside = np.interp(centre + reach, edges, below) - np.interp(centre - reach, edges, below)
    return centre, float(np.interp(_INSIDE, inside, reach)) / _DEVIATIONS
