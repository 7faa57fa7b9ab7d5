"""Count, sums and second moments of two classes of rows: what tables add up to, and what can be merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entrenous.arrays import AnyArray, Array


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
        rows, columns, stretch = _triangle(self.sums.shape[1])
        flat_seconds = (self.seconds[:, rows, columns] * stretch).ravel()
        return np.concatenate([[a * self.events], b * self.sums.ravel(), c * flat_seconds])

    @classmethod
    def from_weighted(cls, flat: Array, weights: tuple[float, float, float], n: int, n_features: int) -> ClassMoments:
        """The inverse of `weighted`."""
        a, b, c = weights
        rows, columns, stretch = _triangle(n_features)
        sums = flat[1 : 1 + 2 * n_features].reshape(2, n_features) / b
        entries = flat[1 + 2 * n_features :].reshape(2, rows.size) / (c * stretch)
        seconds = np.zeros((2, n_features, n_features))
        seconds[:, rows, columns] = entries
        seconds[:, columns, rows] = entries
        return cls(n, float(flat[0]) / a, sums, seconds)


def _triangle(n_features: int) -> tuple[AnyArray, AnyArray, Array]:
    """Lower triangle and the sqrt(2) that makes its off-diagonal entries isometric coordinates."""
    rows, columns = np.tril_indices(n_features)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))
