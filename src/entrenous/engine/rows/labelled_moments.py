"""Counts and sums of any number of classes, and one second moment of all rows: what a metric is computed from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.rows.rows import Rows
from entrenous.problem.symmetric import from_coordinates, to_coordinates


@dataclass(frozen=True)
class LabelledMoments:
    """Of n rows: how many each class has, its sum, and ``sum x x^T`` over all of them."""

    n: int
    counts: Array
    sums: Array
    second: Array

    @classmethod
    def of(cls, X: Rows, y: AnyArray, classes: int) -> LabelledMoments:
        """Those of rows whose labels are codes from 0 to `classes` - 1; a class may be empty."""
        counts = np.bincount(np.asarray(y, dtype=np.int64), minlength=classes).astype(float)
        sums = np.zeros((classes, X.shape[1]))
        for code in np.flatnonzero(counts):
            sums[code] = X.take(y == code).sum()
        return cls(len(X), counts, sums, X.second_moments())

    def weighted(self, weights: tuple[float, float, float]) -> Array:
        """One flat vector, isometric up to the weights: the thing that Lemma 20 bounds."""
        a, b, c = weights
        return np.concatenate([a * self.counts, b * self.sums.ravel(), c * to_coordinates(self.second)])

    def from_weighted(self, flat: Array, weights: tuple[float, float, float]) -> LabelledMoments:
        """The moments that such a vector says, of tables of the same shape."""
        a, b, c = weights
        counts, sums, second = np.split(flat, np.cumsum([self.counts.size, self.sums.size]))
        return LabelledMoments(self.n, counts / a, sums.reshape(self.sums.shape) / b, from_coordinates(second / c))
