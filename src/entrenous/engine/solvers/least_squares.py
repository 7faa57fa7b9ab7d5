"""Least-squares ranking from class moments: the square surrogate's minimiser needs no pair.

Over all pairs ``(1 - <w, x_i - x_j>)^2`` depends on the rows only through each class's count, mean and covariance;
its minimiser has the direction of ``(Cov_+ + Cov_- + lam I)^-1 (m_+ - m_-)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from entrenous.arrays import Array
from entrenous.engine.rows.class_moments import ClassMoments

_SMALLEST_CLASS = 0.01
"""Released class counts are clamped to at least this share of n (and one record): noise can make them negative."""
_FARTHEST = 3.0
"""Standard deviations of the scores beyond a class mean at which a threshold may lie."""
_NEGLIGIBLE = 1e-8
"""A ridge below this share of the largest variance does not settle which directions are rounding."""


@dataclass(frozen=True)
class MomentNoise:
    """Public sds of the noise on released moments: on the event count, entries of the sums, and second moments.

    That of the second moments is on a diagonal entry; an off-diagonal one has 1/sqrt(2) of it.
    """

    count: float
    sums: float
    seconds: float


@dataclass(frozen=True)
class Ranking:
    """What least squares makes of class moments."""

    w: Array
    intercept: float
    noise: Array
    """First-order sd that the noise on the moments gives each entry of `w`."""


def ranking_from_moments(
    moments: ClassMoments, *, ridge: float, noise: MomentNoise | None, shrinkage: float
) -> Ranking:
    """Direction, intercept and the direction's noise from (released) moments: post-processing, so free.

    A symmetric noise matrix with `noise.seconds` on its diagonal has eigenvalues up to about ``sd * sqrt(2 d)``; that
    times `shrinkage` joins the ridge, so that directions which are noise are not inverted. The threshold is where two
    normal distributions with the classes' means, shares and pooled variance are equally high.
    """
    n, d = moments.n, moments.sums.shape[1]
    floor = 1.0 if noise is None else max(1.0, _SMALLEST_CLASS * n)
    events = float(np.clip(moments.events, floor, n - floor))
    counts = np.array([n - events, events])
    means = moments.sums / counts[:, None]
    covariance = np.zeros((d, d))
    for second, mean, count in zip(moments.seconds, means, counts, strict=True):
        covariance += second / count - np.outer(mean, mean)
    difference = means[1] - means[0]
    if noise is None:
        w = _scaled_solve(covariance, covariance, difference, ridge)
        return Ranking(w, -_threshold(w, means, counts, moments.seconds), np.zeros(d))
    # The noise of the two classes' matrices is independent; half of d off-diagonal entries have sd s/sqrt(2).
    spread = shrinkage * noise.seconds * float(np.hypot(*(1.0 / counts))) * float(np.sqrt(2.0 * d))
    # Noise makes eigenvalues negative, which no covariance has: they count as 0.
    spectrum = Spectrum.of(covariance)
    if ridge + spread > _NEGLIGIBLE * float(np.max(np.abs(np.diag(covariance)))):
        w = spectrum.solve(difference, ridge + spread)
    else:
        w = _scaled_solve(covariance, spectrum.psd(), difference, ridge + spread)
    # The ridge follows the released counts, as ``hypot(1/n_0, 1/n_1)`` does.
    slope = spread * float(np.sum(np.array([1.0, -1.0]) / counts**3) / np.sum(1.0 / counts**2))
    free = floor < moments.events < n - floor
    variance = _from_second_moments_and_sums(spectrum, w, means, counts, ridge + spread, noise)
    if free:
        moved = _moved_by_an_event(spectrum, w, moments, means, counts, ridge + spread, slope)
        variance += (noise.count * moved) ** 2
    return Ranking(w, -_threshold(w, means, counts, moments.seconds), np.sqrt(variance))


def _threshold(w: Array, means: Array, counts: Array, seconds: Array) -> float:
    """The score at which an event is as likely as another record, if scores are normal in each class."""
    other, event = (float(mean @ w) for mean in means)
    halfway, apart = (other + event) / 2.0, event - other
    within = [
        float(w @ second @ w) / count - score**2
        for second, count, score in zip(seconds, counts, (other, event), strict=True)
    ]
    variance = max(float(np.dot(within, counts)) / float(counts.sum()), 0.0)
    if not apart > 0.0:
        return halfway
    # Where noise has made the classes next to equal, no threshold is farther out than the scores are.
    farthest = apart / 2.0 + _FARTHEST * float(np.sqrt(variance))
    shift = variance * float(np.log(counts[0] / counts[1])) / apart
    return halfway + float(np.clip(shift, -farthest, farthest))


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix whose negative eigenvalues count as 0."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, matrix: Array) -> Spectrum:
        return cls(*eigh(matrix, driver="evd"))

    def psd(self) -> Array:
        """The matrix without its negative part."""
        repaired: Array = (self.vectors * np.maximum(self.values, 0.0)) @ self.vectors.T
        return repaired

    def inverse(self, ridge: float) -> Array:
        """Eigenvalues of ``(psd + ridge I)^+``."""
        repaired = np.maximum(self.values, 0.0) + ridge
        keep = repaired > len(repaired) * np.finfo(float).eps * float(repaired[-1])
        return np.divide(1.0, repaired, out=np.zeros_like(repaired), where=keep)

    def solve(self, right: Array, ridge: float) -> Array:
        """``(psd + ridge I)^+ right``."""
        solution: Array = self.vectors @ (self.inverse(ridge) * (self.vectors.T @ right))
        return solution

    def sensitivities(self) -> Array:
        """How entries of a small change of the matrix, in the eigenvectors' coordinates, pass into its psd part.

        Those between two positive eigenvectors pass whole, those between two negative ones not at all, and those
        between a positive value p and a negative one q by the share ``p/(p - q)``.
        """
        first = int(np.searchsorted(self.values, 0.0, side="right"))
        below, above = self.values[:first], self.values[first:]
        passed = np.zeros((len(self.values), len(self.values)))
        passed[first:, first:] = 1.0
        passed[first:, :first] = above[:, None] / (above[:, None] - below)
        passed[:first, first:] = passed[first:, :first].T
        return passed


def _scaled_solve(covariance: Array, psd: Array, difference: Array, ridge: float) -> Array:
    """``(psd + ridge I)^+ difference``, in coordinates that give each feature unit variance.

    For matrices that may be singular: which directions are rounding must not depend on the features' units.
    """
    variance = np.maximum(np.diag(covariance), 0.0) + ridge
    scale = np.where(variance > 0.0, np.sqrt(variance), 1.0)
    values, vectors = eigh(psd / np.outer(scale, scale) + np.diag(ridge / scale**2))
    keep = values > len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=keep & (values > 0.0))
    solution: Array = vectors @ (inverse * (vectors.T @ (difference / scale))) / scale
    return solution


def _from_second_moments_and_sums(
    spectrum: Spectrum, w: Array, means: Array, counts: Array, ridge: float, noise: MomentNoise
) -> Array:
    """Variance of each entry of w from the noise on the second moments and sums, to first order (delta method).

    ``w = A^-1 delta`` moves by ``A^-1 (d delta - dA w)``. In the eigenvectors' coordinates, where the noise N of a
    second moment has the same law, ``(dA w)_i = sum_j P_ij N_ij w_j`` with P of `Spectrum.sensitivities`, so its
    covariance is ``s^2/2 (diag(P^2 w^2) + P^2 o w w^T)``; for P = 1 that is ``s^2/2 (||w||^2 I + w w^T)``. A class mean
    m moves ``delta`` and ``-m m^T``.

    It follows one release, so it varies with it; with the default shrinkage its median is within about a sixth of the
    sd over repeated releases, even where noise makes half of the eigenvalues negative. With ``shrinkage=0`` and no
    ridge it is far too small once noise is as large as the small eigenvalues: a first order does not see an inverse
    explode.
    """
    passed = spectrum.sensitivities()
    v = spectrum.vectors.T @ w
    seconds = noise.seconds**2 * float(np.sum(1.0 / counts**2)) / 2.0
    total = seconds * passed**2 * np.outer(v, v)
    diagonal = seconds * (passed**2 @ v**2)
    between = (passed * v**2) @ passed
    for sign, mean, count in zip((-1.0, 1.0), means, counts, strict=True):
        m = spectrum.vectors.T @ mean
        own = sign + passed @ (m * v)
        sums = (noise.sums / count) ** 2
        crossed = np.outer(own * v, m) * passed
        total += sums * (crossed + crossed.T + np.outer(m, m) * between)
        diagonal += sums * own**2
    total[np.diag_indices_from(total)] += diagonal
    spread = spectrum.vectors * spectrum.inverse(ridge)
    variance: Array = np.einsum("ij,ij->i", spread @ total, spread)
    # Rounding may leave a hair less than nothing where there is no noise.
    return np.maximum(variance, 0.0)


def _moved_by_an_event(
    spectrum: Spectrum, w: Array, moments: ClassMoments, means: Array, counts: Array, ridge: float, slope: float
) -> Array:
    """How w changes per event that the released count has more, to first order.

    What it moves in directions without a positive eigenvalue is left out: the count rescales a matrix, by far less than
    the noise that made those eigenvalues negative.
    """
    right = -slope * w
    for sign, second, mean, count in zip((-1.0, 1.0), moments.seconds, means, counts, strict=True):
        right += sign / count * (second @ w / count - 2.0 * mean * float(mean @ w) - sign * mean)
    inverse = np.where(spectrum.values > 0.0, spectrum.inverse(ridge), 0.0)
    moved: Array = spectrum.vectors @ (inverse * (spectrum.vectors.T @ right))
    return moved
