"""Uniform numbers with as many random digits as somebody asks for, and von Neumann's walk on them.

Noise that is made of them needs no logarithm, no table and no rounding. Proof: ``docs/proofs.md``, *Exact noise*.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from entrenous.arrays import Codes
from entrenous.privacy.exact_uniforms_kernel import MOST
from entrenous.privacy.random_words import Words

WIDTH = 64
"""Binary digits of a word."""
_TOGETHER = 1 << 13
"""Draws whose words are made together: at most 1.5 MB."""

Source = Callable[[int], Words]
"""Gives so many random 64-bit words."""
Fill = Callable[[Words, int, Codes], tuple[int, int, bool]]
"""A compiled walk: how many values it filled, the first word that is left, whether the next draw is undecided."""


class Digits:
    """Digits for one draw: the words at hand, then new ones."""

    def __init__(self, at_hand: Words, words: Source) -> None:
        self._at_hand, self._words, self._used = at_hand, words, 0

    def __call__(self) -> int:
        """The first digits of a number that is new."""
        self._used += 1
        return int(self._at_hand[self._used - 1]) if self._used <= len(self._at_hand) else self.further()

    def further(self) -> int:
        """Further digits of a number that is known in part."""
        return int(self._words(1)[0])

    def rest(self) -> Words:
        """The words that were not used."""
        return self._at_hand[self._used :]


def drawn(
    fill: Fill, one: Callable[[int, Digits], int], scale: int, size: int, words: Source, words_per_draw: int
) -> Codes:
    """So many draws: by the compiled walk `fill`, and by `one` where that is undecided or the scale too large for it.

    `words_per_draw` is a little more than a draw takes on average.
    """
    values = np.empty(size, dtype=np.int64)
    done, left = 0, np.empty(0, dtype=np.uint64)
    while done < size:
        left = np.concatenate([left, words(words_per_draw * min(size - done, _TOGETHER) + WIDTH)])
        undecided = True
        while undecided and done < size:
            place = 0
            if scale < MOST:
                filled, place, undecided = fill(left, scale, values[done:])
                done += filled
            left = left[place:]
            if undecided and done < size:
                digits = Digits(left, words)
                values[done] = one(scale, digits)
                done, left = done + 1, digits.rest()
    return values


class Uniform:
    """A uniform number of which as many digits are drawn as somebody asks for."""

    def __init__(self, digits: Digits, width: int) -> None:
        self._digits, self._further, self.width = [digits()], digits.further, width

    def digit(self, k: int) -> int:
        """The k-th digit, of `width` bits."""
        while len(self._digits) <= k:
            self._digits.append(self._further())
        return self._digits[k]

    def __lt__(self, other: Uniform) -> bool:
        k = 0
        while self.digit(k) == other.digit(k):
            k += 1
        return self.digit(k) < other.digit(k)

    def floor_of(self, scale: int) -> int:
        """``floor(scale u + 1/2)``."""
        known, k = 0, 0
        while True:
            known = (known << self.width) | self.digit(k)
            k += 1
            bits = self.width * k
            least = scale * known + (1 << bits) // 2
            # The number is above its known digits, and below the next number of so many digits.
            if (least + scale - 1) >> bits == least >> bits:
                return least >> bits


def falls_evenly(digits: Digits, last: Uniform, x: Uniform, thinned: bool, even: bool) -> bool:
    """Whether uniforms fall from `last` on an even number of times before one rises, as in the compiled walk."""
    while (u := Uniform(digits, x.width)) < last:
        if thinned:
            coin, v = digits() & 1, Uniform(digits, x.width)
            if not (v < x and coin):
                break
        even, last = not even, u
    return even


def signed(digits: Digits, scale: int, k: int, x: Uniform) -> int:
    """``round(scale (k + x))`` with a coin for its sign."""
    negative = digits() & 1
    value = scale * k + x.floor_of(scale)
    return -value if negative else value
