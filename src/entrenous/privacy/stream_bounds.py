"""How far one record can move what a stream returns: the best of Lemmas 5, 6 and 10 that applies."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from entrenous.parts.problem import Problem
from entrenous.parts.streams import Stream
from entrenous.privacy.realised_path import Contraction
from entrenous.privacy.sensitivity import (
    nonsmooth_stream_sensitivity,
    pair_gradient_sensitivity,
    smooth_stream_sensitivity,
    strongly_convex_stream_sensitivity,
)
from entrenous.privacy.window_path import nonsmooth_window_exposure, second_is_worst, smooth_window_exposure

RECURSION_STEPS = 10**8
"""Lemma 10 walks through all steps for every record; beyond this many the other two must do."""


@lru_cache(maxsize=256)
def stream_sensitivity(stream: Stream, problem: Problem, n: int, seed: int, phase: int) -> tuple[float, str]:
    """The sensitivity on the pairs that the seed draws among n records, and the lemma that gives it.

    Lemma 6 needs convexity only; Lemma 5 a smooth surrogate and short steps; Lemma 10 a ridge. The smallest counts. A
    stream that releases every iterate is priced by Lemma 10 alone, in units of ``t w_t``. Cached: planning, running and
    verifying ask the same question.
    """
    stream = stream.checked_for(n)
    share = problem.order_share
    across = share * pair_gradient_sensitivity(problem, same_iterate=False)
    same = share * pair_gradient_sensitivity(problem, same_iterate=True)
    drift = share * sum(problem.slopes) * problem.score.feature_norm(problem.diameter)
    smoothness = problem.ordered_smoothness + problem.ridge
    every = stream.release == "every iterate"
    contracts = every or (problem.ridge > 0.0 and n * stream.steps <= RECURSION_STEPS)
    bounds: list[tuple[float, str]] = []
    if not every and second_is_worst(stream, drift, across):
        longest = float(stream.step_sizes(1, 1)[0])
        if longest * problem.ridge <= 1.0:
            bounds.append((nonsmooth_window_exposure(stream, drift, across), "Lemma 6"))
            if longest * smoothness <= 2.0:
                bounds.append((same * smooth_window_exposure(stream), "Lemma 5"))
        if not contracts:
            return _positive(*min(bounds))
    pairing, eta, weights = stream.pairing(n, seed, phase), stream.step_sizes(), stream.weights()
    longest = float(eta.max(initial=0.0))
    if not every and not bounds and longest * problem.ridge <= 1.0:
        rough = nonsmooth_stream_sensitivity(across, drift=drift, pairing=pairing, n=n, step_sizes=eta, weights=weights)
        bounds.append((rough, "Lemma 6"))
        if longest > 0.0 and longest * smoothness <= 2.0:
            smooth = smooth_stream_sensitivity(
                same, smoothness=smoothness, pairing=pairing, n=n, step_sizes=eta, weights=weights
            )
            bounds.append((smooth, "Lemma 5"))
    if contracts:
        step = Contraction(
            problem.ridge, 2.0 / (smoothness + problem.ridge), drift, same, across, 2.0 * problem.domain.radius
        )
        turns = np.concatenate([[0.0], stream.turns()])
        none = np.zeros_like(weights)
        moved = strongly_convex_stream_sensitivity(
            step=step,
            pairing=pairing,
            n=n,
            step_sizes=eta,
            average=none if every else weights,
            sequence=turns if every else none,
        )
        bounds.append((moved, "Lemma 10"))
    return _positive(*min(bounds))


def _positive(bound: float, lemma: str) -> tuple[float, str]:
    """The average of very short streams is the public start; a mechanism still needs a positive number."""
    return max(bound, 1e-12), lemma
