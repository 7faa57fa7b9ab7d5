"""Laplace noise rounded to whole numbers, drawn exactly from random bits: no logarithm, no table, no rounding error.

The method is the one that von Neumann (1951) invented for it. Proof: ``docs/proofs.md``, *Exact noise*.
"""

from __future__ import annotations

from entrenous.arrays import Codes
from entrenous.privacy.exact_laplace_kernel import fill_rounded_laplaces
from entrenous.privacy.exact_uniforms import WIDTH, Digits, Source, Uniform, drawn, falls_evenly, signed

_WORDS_PER_DRAW = 6


def rounded_laplaces(scale: int, size: int, words: Source) -> Codes:
    """``round(scale L)`` for independent standard Laplace L, exactly; `words` gives so many random 64-bit words."""
    return drawn(fill_rounded_laplaces, one_rounded_laplace, scale, size, words, _WORDS_PER_DRAW)


def one_rounded_laplace(scale: int, digits: Digits, width: int = WIDTH) -> int:
    """The same draw with as many digits as it takes; it uses the words in the order of the compiled walk."""
    k = 0
    while not falls_evenly(digits, x := Uniform(digits, width), x, False, True):
        k += 1
    return signed(digits, scale, k, x)
