"""Normal noise rounded to whole numbers, drawn exactly from random bits: no logarithm, no table, no rounding error.

The method is von Neumann's, as Karney (2016) uses it for the normal law. Proof: ``docs/proofs.md``, *Exact noise*.
"""

from __future__ import annotations

from collections.abc import Iterator

from entrenous.arrays import Codes
from entrenous.privacy.exact_normal_kernel import fill_rounded_normals
from entrenous.privacy.exact_uniforms import WIDTH, Digits, Source, Uniform, drawn, falls_evenly, signed

_WORDS_PER_DRAW = 24


def rounded_normals(scale: int, size: int, words: Source) -> Codes:
    """``round(scale Z)`` for independent standard normal Z, exactly; `words` gives so many random 64-bit words."""
    return drawn(fill_rounded_normals, one_rounded_normal, scale, size, words, _WORDS_PER_DRAW)


def one_rounded_normal(scale: int, digits: Digits, width: int = WIDTH) -> int:
    """The same draw with as many digits as it takes; it uses the words in the order of the compiled walk."""

    def one_in_root_e() -> bool:
        u = Uniform(digits, width)
        return u.digit(0) >> (width - 1) == 1 or falls_evenly(digits, u, u, False, False)

    def tries() -> Iterator[tuple[int, Uniform]]:
        """Distances from 0; the first one is accepted."""
        while True:
            k = 0
            while one_in_root_e():
                k += 1
            if not all(one_in_root_e() for _ in range(k * (k - 1))):
                continue
            x = Uniform(digits, width)
            if all(falls_evenly(digits, x, x, False, True) for _ in range(k)) and falls_evenly(
                digits, x, x, True, True
            ):
                yield k, x

    return signed(digits, scale, *next(tries()))
