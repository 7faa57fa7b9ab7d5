"""Normal noise rounded to whole numbers, drawn exactly: the compiled walk. `exact_normal` says why it is exact.

A uniform number is known by its first 64 binary digits, one word. Two that agree in all of them, or a rounding that
needs more, leave the draw undecided; the walk then stops, and `exact_normal` goes on with more digits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

NO, YES, UNDECIDED, OUT_OF_WORDS = 0, 1, 2, 3
MOST = 1 << 31
"""Scales are below this, so that products with half a word fit into one."""

_HALF = np.uint64(1 << 63)
_LOW = np.uint64((1 << 32) - 1)
_HALF_WORD = np.uint64(32)
_ONE = np.uint64(1)
_ROUND = np.uint64(1 << 31)


@njit(cache=True)
def _falls_evenly(words, place, last, x, thinned, even):  # type: ignore[no-untyped-def]
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
def _one_in_root_e(words, place):  # type: ignore[no-untyped-def]
    """YES with probability ``exp(-1/2)``."""
    if place >= len(words):
        return OUT_OF_WORDS, place
    u = words[place]
    place += 1
    if u >= _HALF:
        return YES, place
    return _falls_evenly(words, place, u, u, False, False)


@njit(cache=True)
def _distance(words, place):  # type: ignore[no-untyped-def]
    """A try at ``|Z| = k + x``: YES or not, k, the word of x, the next place."""
    k = 0
    while True:
        answer, place = _one_in_root_e(words, place)
        if answer == NO:
            break
        if answer != YES:
            return answer, k, _HALF, place
        k += 1
    for _ in range(k * (k - 1)):
        answer, place = _one_in_root_e(words, place)
        if answer != YES:
            return answer, k, _HALF, place
    if place >= len(words):
        return OUT_OF_WORDS, k, _HALF, place
    x = words[place]
    place += 1
    for _ in range(k):
        answer, place = _falls_evenly(words, place, x, x, False, True)
        if answer != YES:
            return answer, k, x, place
    answer, place = _falls_evenly(words, place, x, x, True, True)
    return answer, k, x, place


@njit(cache=True)
def fill_rounded_normals(words, scale, values):  # type: ignore[no-untyped-def]
    """Fills `values` with ``round(scale Z)``, Z standard normal, as far as it gets.

    Returns how many are filled, the place of the first word that is left, and whether the next draw is undecided; its
    words begin at that place.
    """
    place = 0
    for i in range(len(values)):
        begin = place
        while True:
            answer, k, x, place = _distance(words, place)
            if answer == YES and place >= len(words):
                answer = OUT_OF_WORDS
            if answer != NO:
                break
        if answer != YES:
            return i, begin, answer == UNDECIDED
        negative = words[place] & _ONE
        place += 1
        # floor(scale x + 1/2) in 128 bits: x is more than its word says, by less than one unit of the last digit.
        low = np.uint64(scale) * (x & _LOW)
        high = np.uint64(scale) * (x >> _HALF_WORD) + (low >> _HALF_WORD) + _ROUND
        rest = ((high & _LOW) << _HALF_WORD) | (low & _LOW)
        if rest > ~np.uint64(scale):
            return i, begin, True
        value = np.int64(scale) * np.int64(k) + np.int64(high >> _HALF_WORD)
        values[i] = -value if negative else value
    return len(values), place, False
