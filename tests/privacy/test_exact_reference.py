"""Exact noise against a second sampler that shares nothing with it: inversion in rational numbers."""

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from exact_reference import Reference, laplace_cdf_bounds, normal_cdf_bounds, root_two_pi
from noise_laws import LEAST_P, laplace_cdf, normal_cdf, p_of_two_samples, p_value, seeded_words

from entrenous.privacy.exact_laplace import rounded_laplaces
from entrenous.privacy.exact_normal import rounded_normals

DRAWS = 50_000
NORMAL = (normal_cdf_bounds, normal_cdf, rounded_normals, range(-9, 11))
LAPLACE = (laplace_cdf_bounds, laplace_cdf, rounded_laplaces, range(-18, 20))
over_laws = pytest.mark.parametrize(("bounds", "cdf", "fast", "edges"), [NORMAL, LAPLACE], ids=["normal", "laplace"])


def reference(bounds, scale, seed, size=DRAWS):
    source = Reference(bounds, scale, random.Random(seed).getrandbits)
    return np.array([source.draw() for _ in range(size)])


def between(bounds, value):
    """Whether a number of many digits lies between two fractions."""
    low, high = (mpmath.mpf(end.numerator) / end.denominator for end in bounds)
    return low <= value <= high


@over_laws
@pytest.mark.parametrize("bits", [20, 64, 150])
def test_rational_bounds_hold_the_distribution_function(bounds, cdf, fast, edges, bits):
    with mpmath.workdps(80):
        for z in [Fraction(2 * k - 1, 6) for k in range(-40, 42)] + [Fraction(0), Fraction(1, 10**6)]:
            found = bounds(z, bits)
            assert between(found, cdf(mpmath.mpf(z.numerator) / z.denominator))
            assert found[1] - found[0] <= Fraction(1, 2 ** (bits - 2))


@pytest.mark.parametrize("bits", [20, 150])
def test_the_constant_lies_between_its_bounds(bits):
    with mpmath.workdps(80):
        assert between(root_two_pi(bits), mpmath.sqrt(2 * mpmath.pi))


@over_laws
def test_the_two_samplers_have_one_law(bounds, cdf, fast, edges):
    slow = reference(bounds, 3, 1)
    assert p_value(slow, cdf, 3, edges) > LEAST_P
    assert p_of_two_samples(slow, fast(3, 1_000_000, seeded_words(7)), edges) > LEAST_P


@over_laws
def test_the_comparison_would_see_another_scale(bounds, cdf, fast, edges):
    """A tenth more of the scale: what 50,000 draws can tell."""
    slow = reference(bounds, 30, 2)
    wide = [10 * edge for edge in edges]
    assert p_of_two_samples(slow, fast(30, 1_000_000, seeded_words(8)), wide) > LEAST_P
    assert p_of_two_samples(slow, fast(33, 1_000_000, seeded_words(8)), wide) < LEAST_P


def test_the_comparison_would_see_the_other_law():
    slow = reference(laplace_cdf_bounds, 3, 3)
    assert p_of_two_samples(slow, rounded_normals(4, DRAWS, seeded_words(9)), range(-9, 11)) < LEAST_P


def test_bits_are_drawn_until_they_decide():
    """A uniform that agrees with an edge in 64 binary digits waits for more of them."""
    low, high = normal_cdf_bounds(Fraction(1, 2), 400)
    edge = int(low * 2**128)
    assert edge == int(high * 2**128)
    asked = []

    def given(end):
        digits = iter([edge >> 64, (edge & (2**64 - 1)) + end])
        return lambda size: asked.append(size) or next(digits)

    assert Reference(normal_cdf_bounds, 1, given(-1)).draw() == 0
    assert Reference(normal_cdf_bounds, 1, given(+1)).draw() == 1
    assert asked == [64, 64, 64, 64]
