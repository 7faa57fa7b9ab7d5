"""A public list of pairs as an option of planners, and what its certificates assume."""

from __future__ import annotations

from entrenous.errors import AssumptionError, InputError
from entrenous.problem.pair_list import PairList
from entrenous.problem.problem import Problem

ASSUMED = "which records are paired is public: no label had a say in it"
"""What a certificate says of a list of pairs, because nobody can recompute it."""


def pair_list_from(problem: Problem, n: int, numbers: tuple[int, int]) -> PairList:
    """The list of the option ``listed_pairs=(pairs, most)``, if n records can make it."""
    if not problem.score.listed_pairs:
        raise AssumptionError(
            "only a metric is learnt from listed pairs", f"task={problem.task!r}", "Leave listed_pairs out."
        )
    if not isinstance(numbers, tuple | list) or len(numbers) != 2:
        raise InputError("listed_pairs must be two ints (pairs, most)", repr(numbers), "For example (500, 4).")
    return PairList(*numbers).checked_for(n)
