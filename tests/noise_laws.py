"""The laws of rounded noise to fifty digits, and chi-square tests of draws against them."""

from __future__ import annotations

import itertools
import random

import mpmath
import numpy as np
from scipy.stats import chi2

LEAST_P = 1e-6
"""A test whose p-value is below this has failed."""


def seeded_words(seed):
    generator = np.random.default_rng(seed)
    return lambda size: generator.integers(0, 2**64, size, dtype=np.uint64)


class FewBits:
    """Digits of two bits: uniforms agree in their first digit all the time, so draws are seldom decided at once."""

    def __init__(self, seed):
        self.generator = random.Random(seed)

    def __call__(self):
        return self.generator.getrandbits(2)

    further = __call__


def normal_cdf(z):
    return mpmath.ncdf(z)


def laplace_cdf(z):
    return mpmath.exp(z) / 2 if z < 0 else 1 - mpmath.exp(-z) / 2


def probabilities(cdf, scale, edges):
    """Of a rounded number below the first edge, between two, and from the last on."""
    with mpmath.workdps(50):
        inner = (cdf((int(edge) - mpmath.mpf(1) / 2) / scale) for edge in edges)
        below = [mpmath.mpf(0), *inner, mpmath.mpf(1)]
        return np.array([float(b - a) for a, b in itertools.pairwise(below)])


def p_of_counts(counts, expected):
    """Of a chi-square test: counts against what is expected of them."""
    assert expected.min() > 5.0
    return float(chi2.sf(np.sum(np.square(counts - expected) / expected), len(expected) - 1))


def p_value(draws, cdf, scale, edges):
    """Of a chi-square test: the draws against the law."""
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(edges) + 1)
    return p_of_counts(counts, probabilities(cdf, scale, edges) * len(draws))


def p_of_low_bits(draws):
    """Of a chi-square test: the last six binary digits of draws at a large scale, which are uniform."""
    return p_of_counts(np.bincount(draws & 63, minlength=64), np.full(64, len(draws) / 64.0))


def p_of_two_samples(first, second, edges):
    """Of a chi-square test: whether two samples of different sizes have one law."""
    counts = np.array(
        [np.bincount(np.searchsorted(edges, one, side="right"), minlength=len(edges) + 1) for one in (first, second)]
    )
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    assert expected.min() > 5.0
    return float(chi2.sf(np.sum(np.square(counts - expected) / expected), len(edges)))
