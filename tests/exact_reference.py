"""Another way to draw rounded noise, slow and in rational numbers alone: inversion of the distribution.

It shares nothing with the library. Random bits of a uniform number are drawn until the interval in which it lies is
inside one cell of the distribution function, whose bounds are fractions from series with a proved remainder.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

START, MORE = 64, 64
"""Binary digits to begin with, and how many to add while nothing is decided."""


def outward(low, high, bits):
    """The same interval with shorter fractions: its ends on multiples of ``2^-bits``, farther out."""
    unit = 1 << bits
    return Fraction(math.floor(low * unit), unit), Fraction(math.ceil(high * unit), unit)


def alternating(terms, bits):
    """Bounds of a sum whose terms change sign and, from some place on, shrink to 0; closer than ``2^-bits``.

    Leibniz: once the sizes fall for good, the limit is between any two sums in a row. Each pair of `terms` is a term
    and whether all sizes fall from it on.
    """
    total = Fraction(0)
    for term, falling in terms:
        before, total = total, total + term
        if falling and abs(term) < Fraction(1, 1 << bits):
            return min(before, total), max(before, total)
    raise AssertionError("a series ended")


def exp_terms(x):
    """Of ``exp(-x)``: a term is the one before times ``-x/n``, so sizes fall from ``n > x`` on."""
    n, term = 0, Fraction(1)
    while True:
        yield term, n > x
        n += 1
        term *= -x / n


def arctan_terms(m):
    """Of ``arctan(1/m)``."""
    n, power = 0, Fraction(1, m)
    while True:
        yield (-1) ** n * power / (2 * n + 1), True
        n += 1
        power /= m * m


def normal_terms(z):
    """Of the integral of ``exp(-t^2/2)`` from 0 to z: ``(-1)^n z^(2n+1)/(2^n n! (2n+1))``.

    A size is at most ``z^2/(2n)`` times the one before, so they fall from ``2n > z^2`` on.
    """
    n, term = 0, z
    while True:
        yield term / (2 * n + 1), 2 * n > z * z
        n += 1
        term *= -z * z / (2 * n)


@lru_cache
def root_two_pi(bits):
    """Bounds of ``sqrt(2 pi)``, by Machin: ``pi = 16 arctan(1/5) - 4 arctan(1/239)``."""
    a, b = alternating(arctan_terms(5), bits + 8), alternating(arctan_terms(239), bits + 8)
    low, high = 32 * a[0] - 8 * b[1], 32 * a[1] - 8 * b[0]
    unit = 1 << 2 * bits
    return Fraction(math.isqrt(math.floor(low * unit)), 1 << bits), Fraction(
        math.isqrt(math.ceil(high * unit)) + 1, 1 << bits
    )


def normal_cdf_bounds(z, bits):
    """Of the standard normal at a fraction z, a little wider than ``2^-bits``."""
    if z < 0:
        low, high = normal_cdf_bounds(-z, bits)
        return 1 - high, 1 - low
    integral, root = alternating(normal_terms(z), bits), root_two_pi(bits + 4)
    return outward(Fraction(1, 2) + max(integral[0], 0) / root[1], Fraction(1, 2) + integral[1] / root[0], bits + 4)


def laplace_cdf_bounds(z, bits):
    """Of the standard Laplace law at a fraction z."""
    if z < 0:
        low, high = laplace_cdf_bounds(-z, bits)
        return 1 - high, 1 - low
    low, high = alternating(exp_terms(z), bits)
    return outward(1 - high / 2, 1 - low / 2, bits + 4)


class Reference:
    """Draws ``round(scale Z)``, Z of the law with these bounds; `bits` gives so many random bits."""

    def __init__(self, cdf_bounds, scale, bits):
        self._bits = bits
        self._below = lru_cache(maxsize=None)(lambda k, digits: cdf_bounds(Fraction(2 * k - 1, 2 * scale), digits))

    def draw(self):
        known, digits, k = self._bits(START), START, 0
        while True:
            low, high = Fraction(known, 1 << digits), Fraction(known + 1, 1 << digits)
            while high <= self._below(k, digits)[0]:
                k -= 1
            while low >= self._below(k + 1, digits)[1]:
                k += 1
            if low >= self._below(k, digits)[1] and high <= self._below(k + 1, digits)[0]:
                return k
            known, digits = (known << MORE) | self._bits(MORE), digits + MORE
