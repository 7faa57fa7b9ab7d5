"""Least-squares ranking from class moments: the square surrogate's minimiser needs no pair.

Over all pairs ``(1 - <w, x_i - x_j>)^2`` depends on the rows only through each class's count, mean and covariance;
its minimiser has the direction of ``(Cov_+ + Cov_- + lam I)^-1 (m_+ - m_-)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from entrenous.arrays import AnyArray, Array, row_blocks
from entrenous.engine.sparse_rows import Rows, SparseRows

_SMALLEST_CLASS = 0.01
"""Released class counts are clamped to at least this share of n (and one record): noise can make them negative."""


@dataclass(frozen=True)
class ClassMoments:
    """Event count, class sums and class second moments; n is public. Index 0: non-events, 1: events."""

    n: int
    events: float
    sums: Array
    seconds: Array

    @classmethod
    def of(cls, X: Rows, y: AnyArray) -> ClassMoments:
        """The exact moments of the rows."""
        d = X.shape[1]
        sums, seconds = np.zeros((2, d)), np.zeros((2, d, d))
        # By blocks, because the rows of a class are a copy; of a sparse table, whose blocks would cost more, the whole.
        parts = [(X, y)] if isinstance(X, SparseRows) else ((X[block], y[block]) for block in row_blocks(X))
        for part, labels in parts:
            for code in (0, 1):
                rows = part[labels == code]
                sums[code] += rows.sum(axis=0)
                seconds[code] += second_moments(rows)
        return cls(len(X), float(np.count_nonzero(y == 1)), sums, seconds)

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


def second_moments(rows: Rows) -> Array:
    """``sum_i x_i x_i^T``."""
    return rows.second_moments() if isinstance(rows, SparseRows) else rows.T @ rows


def ranking_from_moments(
    moments: ClassMoments, *, ridge: float, noise_in_moments: float, shrinkage: float
) -> tuple[Array, float]:
    """Direction and intercept from (released) moments: post-processing, so free.

    `noise_in_moments` is the sd of the noise on a diagonal second-moment entry. A symmetric noise matrix of that size
    has eigenvalues up to about ``sd * sqrt(2 d)``; that times `shrinkage` joins the ridge, so that directions which are
    noise are not inverted. The threshold is halfway between the class means.
    """
    n, d = moments.n, moments.sums.shape[1]
    floor = max(1.0, _SMALLEST_CLASS * n) if noise_in_moments > 0.0 else 1.0
    events = float(np.clip(moments.events, floor, n - floor))
    counts = np.array([n - events, events])
    means = moments.sums / counts[:, None]
    covariance = np.zeros((d, d))
    for second, mean, count in zip(moments.seconds, means, counts, strict=True):
        covariance += second / count - np.outer(mean, mean)
    # The noise of the two classes' matrices is independent; half of d off-diagonal entries have sd s/sqrt(2).
    spread = noise_in_moments * float(np.hypot(1.0 / counts[0], 1.0 / counts[1])) * np.sqrt(2.0 * d)
    w = _solve(covariance, means[1] - means[0], ridge + shrinkage * spread)
    return w, -float(w @ (means[0] + means[1])) / 2.0


def _solve(covariance: Array, difference: Array, ridge: float) -> Array:
    """``(PSD part of covariance + ridge I)^+ difference``, in coordinates that give each feature unit variance."""
    variance = np.maximum(np.diag(covariance), 0.0) + ridge
    scale = np.where(variance > 0.0, np.sqrt(variance), 1.0)
    values, vectors = eigh(_psd(covariance) / np.outer(scale, scale) + np.diag(ridge / scale**2))
    keep = values > len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=keep & (values > 0.0))
    solution: Array = vectors @ (inverse * (vectors.T @ (difference / scale))) / scale
    return solution


def _psd(matrix: Array) -> Array:
    values, vectors = eigh(matrix)
    repaired: Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return repaired


def _triangle(n_features: int) -> tuple[AnyArray, AnyArray, Array]:
    """Lower triangle and the sqrt(2) that makes its off-diagonal entries isometric coordinates."""
    rows, columns = np.tril_indices(n_features)
    return rows, columns, np.where(rows == columns, 1.0, np.sqrt(2.0))
