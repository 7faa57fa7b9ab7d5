"""Uniform numbers that are known by one random word each: the compiled steps that all exact noise is made of.

A uniform number is known by its first 64 binary digits, one word. Two that agree in all of them, or a rounding that
needs more, leave a draw undecided; the walk then stops, and `exact_uniforms` goes on with more digits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

NO, YES, UNDECIDED, OUT_OF_WORDS = 0, 1, 2, 3
MOST = 1 << 31
"""Scales are below this, so that products with half a word fit into one."""

_LOW = np.uint64((1 << 32) - 1)
_HALF_WORD = np.uint64(32)
_ONE = np.uint64(1)
_ROUND = np.uint64(1 << 31)


@njit(cache=True)
def falls_evenly(words, place, last, x, thinned, even):  # type: ignore[no-untyped-def]
    """Whether uniforms fall from `last` on an even number of times before one rises; `even` is the start's parity.

    If thinned, a fall counts only with a coin and a further uniform below x. Returns the answer and the next place.
    """
    while True:
        if place + 3 > len(words):
            return OUT_OF_WORDS, place
        u = words[place]
        place += 1
        if u == last:
            return UNDECIDED, place
        if u > last:
            return (YES if even else NO), place
        if thinned:
            coin, v = words[place] & _ONE, words[place + 1]
            place += 2
            if v == x:
                return UNDECIDED, place
            if coin == 0 or v > x:
                return (YES if even else NO), place
        even = not even
        last = u


@njit(cache=True)
def signed(words, place, scale, k, x):  # type: ignore[no-untyped-def]
    """``round(scale (k + x))`` with a coin for its sign: YES or not, the number, the next place."""
    if place >= len(words):
        return OUT_OF_WORDS, np.int64(0), place
    negative = words[place] & _ONE
    # floor(scale x + 1/2) in 128 bits: x is more than its word says, by less than one unit of the last digit.
    low = np.uint64(scale) * (x & _LOW)
    high = np.uint64(scale) * (x >> _HALF_WORD) + (low >> _HALF_WORD) + _ROUND
    rest = ((high & _LOW) << _HALF_WORD) | (low & _LOW)
    if rest > ~np.uint64(scale):
        return UNDECIDED, np.int64(0), place
    value = np.int64(scale) * np.int64(k) + np.int64(high >> _HALF_WORD)
    return YES, (-value if negative else value), place + 1
