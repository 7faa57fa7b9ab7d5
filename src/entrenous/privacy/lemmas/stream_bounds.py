"""How far one record can move what a stream returns: the best of Lemmas 5, 6 and 10 that applies."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from entrenous.errors import AssumptionError
from entrenous.privacy.lemmas.arrival_path import arrival_exposure, meets_all_before
from entrenous.privacy.lemmas.contraction import Contraction, nonsmooth_step
from entrenous.privacy.lemmas.gradients import pair_gradient_sensitivity
from entrenous.privacy.lemmas.reservoir_path import (
    draws_reservoir,
    nonsmooth_reservoir_exposure,
    smooth_reservoir_exposure,
)
from entrenous.privacy.lemmas.streams import (
    nonsmooth_stream_sensitivity,
    smooth_stream_sensitivity,
    strongly_convex_stream_sensitivity,
)
from entrenous.privacy.lemmas.window_path import nonsmooth_window_exposure, second_is_worst, smooth_window_exposure
from entrenous.problem.problem import Problem
from entrenous.problem.streams.stream import Stream

RECURSION_STEPS = 10**8
"""Lemma 10 on a list of pairs walks through all steps for every record; beyond this many the other two must do."""

MOST_STEPS = 10**8
"""The longest stream that is priced: a minute, and some bytes a step for the streams that list theirs."""

MOST_PRICED = 2 * 10**9
"""The pairs that are walked through, one by one, to price a stream: a minute."""

Priced = tuple[float, str]
"""A sensitivity and the name of its lemma."""


@lru_cache(maxsize=256)
def stream_sensitivity(stream: Stream, problem: Problem, n: int, seed: int, phase: int) -> tuple[float, str]:
    """The sensitivity on the pairs that the seed draws among n records, and the lemma that gives it.

    Lemma 6 needs convexity only; Lemma 5 a smooth surrogate and short steps; Lemma 10 a ridge. The smallest counts. A
    stream that releases every iterate is priced by Lemma 10 alone, in units of ``t w_t``. A stream that is too long to
    price is refused before anything is drawn. Cached: planning, running and verifying ask the same question.
    """
    stream = stream.checked_for(n)
    numbers = _Numbers(stream, problem, n)
    _check_work(stream, n, numbers)
    bounds = [*_without_ridge(stream, numbers, n, seed, phase), *_with_ridge(stream, numbers, n, seed, phase)]
    bound, lemma = min(bounds)
    # The average of very short streams is the public start; a mechanism still needs a positive number.
    return max(bound, 1e-12), lemma


class _Numbers:
    """The public numbers that the lemmas ask for, and which of the lemmas apply."""

    def __init__(self, stream: Stream, problem: Problem, n: int) -> None:
        share = problem.order_share
        self.across = share * pair_gradient_sensitivity(problem, same_iterate=False).value
        self.same = share * pair_gradient_sensitivity(problem, same_iterate=True).value
        self.drift = share * sum(problem.slopes) * problem.score.feature_norm(problem.diameter)
        self.smoothness = problem.ordered_smoothness + problem.ridge
        self.ridge, self.diameter = problem.ridge, 2.0 * problem.domain.radius
        # The steps of a schedule do not grow after the third.
        longest = float(stream.step_sizes(1, min(3, stream.steps)).max(initial=0.0))
        every = stream.release == "every iterate"
        self.convex = not every and longest * problem.ridge <= 1.0
        self.smooth = self.convex and longest > 0.0 and longest * self.smoothness <= 2.0
        walked = meets_all_before(stream) or n * stream.steps <= RECURSION_STEPS
        self.contracts = (every or problem.ridge > 0.0) and walked


def _check_work(stream: Stream, n: int, numbers: _Numbers) -> None:
    """Refuse what would take too long to price, and so to verify."""
    if not (numbers.convex or numbers.contracts):
        raise AssumptionError(
            f"only Lemma 10 covers this stream, for steps times records up to {RECURSION_STEPS:,}",
            f"{stream.steps:,} steps, {n:,} records",
            "Take fewer steps, or shorter ones and only their average.",
        )
    pairs = stream.pair_gradients()
    walked = 0 if stream.buffer is None or second_is_worst(stream, numbers.drift, numbers.across) else pairs
    if stream.steps > MOST_STEPS or walked > MOST_PRICED:
        raise AssumptionError(
            f"privacy of a stream is priced for {MOST_STEPS:,} steps and {MOST_PRICED:,} pairs at most",
            f"{stream.steps:,} steps, {pairs:,} pairs",
            "Take fewer steps (max_iter), or meet fewer records at each (buffer).",
        )


def _without_ridge(stream: Stream, numbers: _Numbers, n: int, seed: int, phase: int) -> list[Priced]:
    """Lemma 5 where it applies, else Lemma 6, which is never below it."""
    if not numbers.convex:
        return []
    if numbers.smooth:
        return [(_lemma_5(stream, numbers, n, seed, phase), "Lemma 5")]
    return [(_lemma_6(stream, numbers, n, seed, phase), "Lemma 6")]


def _lemma_5(stream: Stream, numbers: _Numbers, n: int, seed: int, phase: int) -> float:
    if second_is_worst(stream, numbers.drift, numbers.across):
        return numbers.same * smooth_window_exposure(stream)
    if draws_reservoir(stream):
        return numbers.same * smooth_reservoir_exposure(stream, seed, phase)
    eta, weights = stream.step_sizes(), stream.weights()
    if meets_all_before(stream):
        return arrival_exposure(stream.unpaired, eta, weights, None, nonsmooth_step(0.0, numbers.same))
    return smooth_stream_sensitivity(
        numbers.same,
        smoothness=numbers.smoothness,
        pairing=stream.pairing(n, seed, phase),
        n=n,
        step_sizes=eta,
        weights=weights,
    )


def _lemma_6(stream: Stream, numbers: _Numbers, n: int, seed: int, phase: int) -> float:
    drift, jump = numbers.drift, numbers.across
    if second_is_worst(stream, drift, jump):
        return nonsmooth_window_exposure(stream, drift, jump)
    if draws_reservoir(stream):
        return nonsmooth_reservoir_exposure(stream, seed, phase, drift, jump)
    eta, weights = stream.step_sizes(), stream.weights()
    if meets_all_before(stream):
        return arrival_exposure(stream.unpaired, eta, weights, None, nonsmooth_step(drift, jump))
    return nonsmooth_stream_sensitivity(
        jump, drift=drift, pairing=stream.pairing(n, seed, phase), n=n, step_sizes=eta, weights=weights
    )


def _with_ridge(stream: Stream, numbers: _Numbers, n: int, seed: int, phase: int) -> list[Priced]:
    """Lemma 10 where it applies."""
    if not numbers.contracts:
        return []
    step = Contraction(
        numbers.ridge,
        2.0 / (numbers.smoothness + numbers.ridge),
        numbers.drift,
        numbers.same,
        numbers.across,
        numbers.diameter,
    )
    eta, average, sequence = stream.step_sizes(), stream.weights(), None
    if stream.release == "every iterate":
        average, sequence = np.zeros_like(average), np.concatenate([[0.0], stream.turns()])
    if meets_all_before(stream):
        return [(arrival_exposure(stream.unpaired, eta, average, sequence, step), "Lemma 10")]
    moved = strongly_convex_stream_sensitivity(
        step=step,
        pairing=stream.pairing(n, seed, phase),
        n=n,
        step_sizes=eta,
        average=average,
        sequence=np.zeros_like(average) if sequence is None else sequence,
    )
    return [(moved, "Lemma 10")]
