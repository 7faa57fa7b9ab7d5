"""Normal noise rounded to whole numbers, drawn exactly: the compiled walk. `exact_normal` says why it is exact."""

from __future__ import annotations

import numpy as np
from numba import njit

from entrenous.privacy.exact_uniforms_kernel import NO, OUT_OF_WORDS, UNDECIDED, YES, falls_evenly, signed

_HALF = np.uint64(1 << 63)


@njit(cache=True)
def _one_in_root_e(words, place):  # type: ignore[no-untyped-def]
    """YES with probability ``exp(-1/2)``."""
    if place >= len(words):
        return OUT_OF_WORDS, place
    u = words[place]
    place += 1
    if u >= _HALF:
        return YES, place
    return falls_evenly(words, place, u, u, False, False)


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
        answer, place = falls_evenly(words, place, x, x, False, True)
        if answer != YES:
            return answer, k, x, place
    answer, place = falls_evenly(words, place, x, x, True, True)
    return answer, k, x, place


@njit(cache=True)
def fill_rounded_normals(words, scale, values):  # type: ignore[no-untyped-def]
    """Fills `values` with ``round(scale Z)``, Z standard normal, as far as it gets.

    Returns how many are filled, the place of the first word that is left, and whether the next draw is undecided; its
    words begin at that place.
    """
    place = 0
    for i in range(len(values)):
        begin, answer = place, NO
        while answer == NO:
            answer, k, x, place = _distance(words, place)
        if answer == YES:
            answer, values[i], place = signed(words, place, scale, k, x)
        if answer != YES:
            return i, begin, answer == UNDECIDED
    return len(values), place, False
