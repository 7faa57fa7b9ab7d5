"""The public numbers of a list of pairs: how many there are, and in how many of them one record can be."""

from __future__ import annotations

from dataclasses import dataclass

from entrenous.errors import InputError
from entrenous.registry import part


@part
@dataclass(frozen=True)
class PairList:
    """`pairs` listed pairs of different records, no record in more than `most` of them; repetitions count each time.

    Which records were paired is public: who compares records because of their labels tells something about them.
    """

    pairs: int
    most: int

    def __post_init__(self) -> None:
        whole = all(isinstance(k, int) and not isinstance(k, bool) for k in (self.pairs, self.most))
        if not whole or not 1 <= self.most <= self.pairs:
            raise InputError(
                "a list of pairs needs two ints, 1 <= most <= pairs",
                f"pairs={self.pairs!r}, most={self.most!r}",
                "Count the pairs, and the pairs of the record that is in most of them.",
            )

    def checked_for(self, n: int) -> PairList:
        """This list, if n records can make it: every pair has two ends, and each record has at most `most` of them."""
        if 2 * self.pairs > n * self.most:
            raise InputError(
                f"{self.pairs} pairs of {n} records put some record into at least {-(-2 * self.pairs // n)} of them",
                f"most={self.most}",
                "Count the pairs of the record that is in most of them.",
            )
        return self
