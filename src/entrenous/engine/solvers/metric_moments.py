"""A metric from noisy moments: whiten what varies within classes, then weigh what tells them apart.

Everything here reads released numbers and public ones, so that it costs no privacy. With within-class variance 1 in
every direction and between-class variance b, the log-likelihood ratio of "one class" is minus the squared distance with
weight ``b/(1 + b)``. Noise draws all of it towards the plain distance. The constants were chosen on letter and digits.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from entrenous.arrays import Array
from entrenous.engine.rows.labelled_moments import LabelledMoments

RAREST = 0.005
"""Share of the records, or of the pairs, that a class, or the similar pairs, are taken to have at least."""
PLAIN, _PLAIN_SHARE = 0.2, 0.3
"""Weight of the plain distance beside that of a direction in which classes differ most, which is 1; less where its
squares over all directions would come to more than this times the directions in which classes can differ at all. The
second was chosen on letter and digits with two classes, after a first look at breast cancer."""
_LEAST_VARIANCE = 0.2
"""Least variance of a direction, in mean variances."""
_LEAST_TRACE = 0.05
"""Least mean square length of rows of norm up to 1, if noise says less."""
_LEAST_BETWEEN = 0.02
"""Least share of the variance that is taken to lie between classes."""


class MomentNoise(NamedTuple):
    """Sds of the noise on counts, sums and second moment (on its diagonal; off it ``1/sqrt(2)`` of that)."""

    counts: float = 0.0
    sums: float = 0.0
    second: float = 0.0


def metric_from_moments(moments: LabelledMoments, noise: MomentNoise, ridge: float, rank: int | None) -> Array:
    """The matrix of the squared distance; `ridge` is added to the variance within classes.

    Of `rank` directions at most: those in which classes differ most.
    """
    n, d = moments.n, moments.sums.shape[1]
    counts = class_sizes(moments.counts, n)
    share, mean = counts / n, moments.sums.sum(axis=0) / n
    around = np.square(noise.sums / counts)
    total = moments.second / n - np.outer(mean, mean) + len(counts) * (noise.sums / n) ** 2 * np.eye(d)
    variance, basis = true_variances(total, noise.second / n)
    means = (moments.sums / counts[:, None] - mean) @ basis
    # A prior for the class means: they vary where rows vary. Half-way shrinkage keeps their size right on average.
    between = float(share @ np.square(means).sum(axis=1)) - float(share @ around) * d
    prior = variance * min(max(between / float(variance.sum()), _LEAST_BETWEEN), 1.0)
    trust = prior / (prior + around[:, None])
    drawn = means * np.sqrt(trust)
    spread = (drawn.T * share) @ drawn
    within = np.diag(variance - share @ (trust * around[:, None])) - spread
    known = float((share @ trust) @ prior / prior.sum())
    plain = min(PLAIN, math.sqrt(_PLAIN_SHARE * (len(counts) - 1) / d)) + (1.0 - known) ** 2
    return weighed(within, spread, basis, edge(noise.second / n, d) + ridge, plain, rank)


def class_sizes(counts: Array, n: int) -> Array:
    """Noisy counts made positive, with the public sum n."""
    # The sum is public, so what they have too much of is noise.
    sizes = np.maximum(counts + (n - counts.sum()) / counts.size, max(1.0, RAREST * n))
    scaled: Array = sizes * (n / sizes.sum())
    return scaled


def edge(noise: float, d: int) -> float:
    """The largest eigenvalue of symmetric noise with this sd on the diagonal."""
    return noise * math.sqrt(2.0 * d)


def true_variances(matrix: Array, noise: float) -> tuple[Array, Array]:
    """Variances along the eigenvectors of a noisy covariance, and these vectors.

    Noise pushes eigenvalues apart. What an eigenvector's variance is without it follows from where the other
    eigenvalues are (Bun, Allez, Bouchaud and Potters, 2016, for additive noise): its expectation, where d is large.
    """
    values, vectors = np.linalg.eigh(matrix)
    d = values.size
    found = values
    if noise > 0.0:
        off_diagonal = noise**2 / 2.0
        gaps = values[:, None] - values
        # Its own gap is 0 and adds nothing; the second term keeps close neighbours from deciding alone.
        found = values - 2.0 * off_diagonal * (gaps / (np.square(gaps) + off_diagonal)).sum(axis=1)
    return np.maximum(found, _LEAST_VARIANCE * max(float(values.sum()), _LEAST_TRACE) / d), vectors


def weighed(within: Array, between: Array, basis: Array, blur: float, plain: float, rank: int | None) -> Array:
    """The matrix, from the variance within and between classes in this basis.

    `blur` is added to what is whitened: below it noise decides. `plain` is the weight of the plain distance.
    """
    values, vectors = np.linalg.eigh(within)
    least = 1e-6 * max(float(values[-1]), 1e-12)
    whitening = vectors / np.sqrt(np.maximum(values, 0.0) + max(blur, least))
    strength, turned = np.linalg.eigh(whitening.T @ between @ whitening)
    strength = np.maximum(strength, 0.0)
    weights = np.sqrt(strength / (1.0 + strength)) + plain
    if rank is not None:
        # Sorted upwards.
        weights[: max(0, weights.size - rank)] = 0.0
    root = basis @ whitening @ (turned * weights)
    matrix: Array = root @ root.T
    return matrix
