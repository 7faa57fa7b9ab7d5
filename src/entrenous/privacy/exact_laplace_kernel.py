"""Laplace noise rounded to whole numbers, drawn exactly: the compiled walk. `exact_laplace` says why it is exact."""

from __future__ import annotations

import numpy as np
from numba import njit

from entrenous.privacy.exact_uniforms_kernel import NO, OUT_OF_WORDS, UNDECIDED, YES, falls_evenly, signed

_ZERO = np.uint64(0)


@njit(cache=True)
def _distance(words, place):  # type: ignore[no-untyped-def]
    """``|L| = k + x``: YES or why not, k, the word of x, the next place. A uniform that is not kept adds 1."""
    k = 0
    while True:
        if place >= len(words):
            return OUT_OF_WORDS, k, _ZERO, place
        x = words[place]
        answer, place = falls_evenly(words, place + 1, x, x, False, True)
        if answer != NO:
            return answer, k, x, place
        k += 1


@njit(cache=True)
def fill_rounded_laplaces(words, scale, values):  # type: ignore[no-untyped-def]
    """Fills `values` with ``round(scale L)``, L standard Laplace, as far as it gets.

    Returns what `fill_rounded_normals` does.
    """
    place = 0
    for i in range(len(values)):
        begin = place
        answer, k, x, place = _distance(words, place)
        if answer == YES:
            answer, values[i], place = signed(words, place, scale, k, x)
        if answer != YES:
            return i, begin, answer == UNDECIDED
    return len(values), place, False
