"""Ramps that tile a column's usual range, with the numbers that centre and scale them: public, by the normal law."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from entrenous.arrays import Array

_REACH = 2.25
"""Standard deviations from the mean that the ramps cover."""
_WEIGHT = 0.5
"""Size of a ramp's entry beside the column's own, which has standard deviation 1. Less makes shapes that bend less."""
_LEAST_SPREAD = 0.3
"""Ramps in the tails, which hardly vary, are scaled as if they varied by this much: few records are there."""


class Ramps(NamedTuple):
    """In standard deviations of the column: where ramps begin and end, their means, and the size of their entries."""

    edges: Array
    middles: Array
    heights: Array

    @property
    def square(self) -> float:
        """What the ramps of one column add to the squared length of a usual row, where its own entry adds 1."""
        return _WEIGHT**2 * len(self.heights)


def normal_ramps(count: int) -> Ramps:
    """So many ramps of equal width, for a column that is normal with mean 0 and standard deviation 1.

    >>> normal_ramps(3).middles.round(3).tolist()
    [0.915, 0.5, 0.085]
    """
    edges = np.linspace(-_REACH, _REACH, count + 1)
    width = edges[1] - edges[0]
    beyond = norm.sf(edges)
    # E max(z - e, 0) and its square's mean, at each edge: a ramp is the difference of two of these over its width.
    first = norm.pdf(edges) - edges * beyond
    second = (1.0 + edges**2) * beyond - edges * norm.pdf(edges)
    means = (first[:-1] - first[1:]) / width
    squares = (second[:-1] - second[1:] - 2.0 * width * first[1:]) / width**2
    spread = np.sqrt(squares - means**2)
    return Ramps(edges, means, _WEIGHT / np.maximum(spread, _LEAST_SPREAD))
