"""Count, sums and second moments of two classes of rows: what tables add up to, and what can be merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entrenous.arrays import Array
from entrenous.problem.symmetric import from_coordinates, to_coordinates


@dataclass(frozen=True)
class ClassMoments:
    """Event count, class sums and class second moments; n is public. Index 0: non-events, 1: events."""

    n: int
    events: float
    sums: Array
    seconds: Array

    def __add__(self, other: ClassMoments) -> ClassMoments:
        """The moments of both tables together."""
        return ClassMoments(
            self.n + other.n, self.events + other.events, self.sums + other.sums, self.seconds + other.seconds
        )

    def weighted(self, weights: tuple[float, float, float]) -> Array:
        """One flat vector, isometric up to the weights: the thing that Lemma 8 bounds."""
        a, b, c = weights
        flat_seconds = to_coordinates(self.seconds).ravel()
        return np.concatenate([[a * self.events], b * self.sums.ravel(), c * flat_seconds])

    @classmethod
    def from_weighted(cls, flat: Array, weights: tuple[float, float, float], n: int, n_features: int) -> ClassMoments:
        """The inverse of `weighted`."""
        a, b, c = weights
        sums = flat[1 : 1 + 2 * n_features].reshape(2, n_features) / b
        seconds = from_coordinates(flat[1 + 2 * n_features :].reshape(2, -1) / c)
        return cls(n, float(flat[0]) / a, sums, seconds)
