"""Normal noise rounded to whole numbers, drawn exactly from random bits: no logarithm, no table, no rounding error.

The method is von Neumann's, as Karney (2016) uses it for the normal law. Proof: ``docs/proofs.md``, *Exact noise*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from entrenous.arrays import Codes
from entrenous.privacy.exact_normal_kernel import MOST, fill_rounded_normals
from entrenous.privacy.random_words import Words

_WORDS_PER_DRAW = 24
"""A little more than a draw takes on average."""
_TOGETHER = 1 << 13
"""Draws whose words are made together: 1.5 MB."""
_WIDTH = 64

Source = Callable[[int], Words]


def rounded_normals(scale: int, size: int, words: Source) -> Codes:
    """``round(scale Z)`` for independent standard normal Z, exactly; `words` gives so many random 64-bit words."""
    values = np.empty(size, dtype=np.int64)
    done, left = 0, np.empty(0, dtype=np.uint64)
    while done < size:
        left = np.concatenate([left, words(_WORDS_PER_DRAW * min(size - done, _TOGETHER) + _WIDTH)])
        undecided = True
        while undecided and done < size:
            place = 0
            if scale < MOST:
                filled, place, undecided = fill_rounded_normals(left, scale, values[done:])
                done += filled
            left = left[place:]
            if undecided and done < size:
                digits = Digits(left, words)
                values[done] = one_rounded_normal(scale, digits)
                done, left = done + 1, digits.rest()
    return values


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


class _Uniform:
    """A uniform number of which as many digits are drawn as somebody asks for."""

    def __init__(self, first: int, further: Callable[[], int], width: int) -> None:
        self._digits, self._further, self.width = [first], further, width

    def digit(self, k: int) -> int:
        while len(self._digits) <= k:
            self._digits.append(self._further())
        return self._digits[k]

    def __lt__(self, other: _Uniform) -> bool:
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


def one_rounded_normal(scale: int, digits: Digits, width: int = _WIDTH) -> int:
    """The same draw with as many digits as it takes; it uses the words in the order of the compiled walk."""

    def uniform() -> _Uniform:
        return _Uniform(digits(), digits.further, width)

    def falls_evenly(last: _Uniform, x: _Uniform, thinned: bool, even: bool) -> bool:
        while (u := uniform()) < last:
            if thinned:
                coin, v = digits() & 1, uniform()
                if not (v < x and coin):
                    break
            even, last = not even, u
        return even

    def one_in_root_e() -> bool:
        u = uniform()
        return u.digit(0) >> (width - 1) == 1 or falls_evenly(u, u, False, False)

    def tries() -> Iterator[tuple[int, _Uniform]]:
        """Distances from 0; the first one is accepted."""
        while True:
            k = 0
            while one_in_root_e():
                k += 1
            if not all(one_in_root_e() for _ in range(k * (k - 1))):
                continue
            x = uniform()
            if all(falls_evenly(x, x, False, True) for _ in range(k)) and falls_evenly(x, x, True, True):
                yield k, x

    k, x = next(tries())
    negative = digits() & 1
    value = scale * k + x.floor_of(scale)
    return -value if negative else value
