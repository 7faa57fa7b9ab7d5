"""Lemmas 5, 6 and 10, registered: the bound of a stream as planners, plans and certificates use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from entrenous.privacy.lemmas.bound import Bound, lemma
from entrenous.privacy.lemmas.descent import need_convex_problem
from entrenous.privacy.lemmas.rounding import stream_error
from entrenous.privacy.lemmas.stream_bounds import stream_sensitivity
from entrenous.problem.problem import Problem
from entrenous.problem.streams.stream import Stream

LEMMA_5, LEMMA_6, LEMMA_10 = "Lemma 5", "Lemma 6", "Lemma 10"
STREAM_LEMMAS = (LEMMA_5, LEMMA_6, LEMMA_10)


def stream_bound(stream: Stream, problem: Problem, n: int, seed: int, phase: int) -> Bound:
    """The best of Lemmas 5, 6 and 10 that applies, on the pairs that the public seed draws among n records."""
    value, name = stream_sensitivity(stream, problem, n, seed, phase)
    numbers, error = {"stream": asdict(stream), "phase": phase, "index_seed": seed}, stream_error(problem, stream, n)
    return Bound(value, name, numbers=numbers, error=error)


@lemma(LEMMA_5)
@lemma(LEMMA_6)
@lemma(LEMMA_10)
def _on_the_drawn_pairs(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    need_convex_problem(problem)
    problem = replace(problem, ridge=problem.ridge + float(numbers.get("anchor_ridge", 0.0)))
    return stream_bound(Stream(**numbers["stream"]), problem, n, numbers["index_seed"], numbers["phase"])
