"""How far what a machine computes may be from what a lemma is about: bounds on rounding, from public numbers.

Noise is drawn exactly and releases are rounded to a public grid, so what is left is the value itself. It is computed in
float64. Sums over single records are exact (`engine.rows.exact_sums`) and rounded a few times at the end. Sums over
pairs, descents and streams round all along. Two neighbouring tables then move apart by at most ``D + 2e``, D the
lemma's bound and e the bound of this file, and the noise is longer by that share.

Proof: ``docs/proofs.md``, *Rounding*.
"""

from __future__ import annotations

import math

import numpy as np

from entrenous.problem.problem import Problem
from entrenous.problem.streams.stream import Stream

UNIT = 2.0**-52
"""Twice what one operation of float64 rounds, as a share of its result."""
_OF_EXACT_SUMS = 2.0**-36
"""What exact sums round when they are turned into a release, as a share of its largest norm."""
_OF_PAIR_SUMS = 2.0**16
"""What a fast sum over pairs leaves out (1e-12 of it), and all that is rounded a fixed number of times, in units."""


def exact_sum_error(largest: float) -> float:
    """The error of a release whose sums are exact; `largest` bounds its l2 norm."""
    return _OF_EXACT_SUMS * largest


def pair_sum_error(problem: Problem, terms: int) -> float:
    """The error of a mean gradient over pairs or records: no record or sum is added to more than `terms` times."""
    gradient = max(problem.slopes) * problem.score.feature_norm(problem.diameter)
    share = (4.0 * terms + 4.0 * problem.n_features + _OF_PAIR_SUMS) * UNIT
    return problem.score.counted_orders * gradient * share


def descent_error(problem: Problem, n: int, *, steps: int, step_size: float) -> float:
    """The error of what full-batch descent returns: a smooth loss, so steps do not drive two runs apart."""
    gradient = pair_sum_error(problem, n) + problem.score.counted_orders * _of_scores(problem, steps, step_size)
    per_step = step_size * gradient + _of_step(problem, steps, step_size)
    kept = float(steps)
    if problem.strong_convexity > 0.0:
        kept = min(kept, 1.0 / (step_size * problem.strong_convexity))
    return kept * per_step + (steps + 4.0) * UNIT * _farthest(problem, steps, step_size)


def stream_error(problem: Problem, stream: Stream, n: int) -> float:
    """The error of what a stream returns, or of the whole list of iterates where it releases every one."""
    # The steps of a schedule do not grow after the third.
    steps, longest = stream.steps, float(stream.step_sizes(1, min(3, stream.steps)).max(initial=0.0))
    if steps == 0 or longest == 0.0:
        return UNIT * _farthest(problem, 1, longest)
    partners = stream.buffer if stream.buffer is not None else n
    pair = problem.lipschitz * (4.0 * partners + 16.0 * problem.n_features + 64.0) * UNIT
    # Steps that smoothness is used for are at most 2 over that of an ordered pair. At others a slope may jump, which
    # costs distance, not a gradient's error (see the proof).
    margins = 2.0 + min(longest * problem.pair_smoothness, 4.0)
    scores = margins * _of_margins(problem) * _farthest(problem, steps, longest)
    per_step = longest * pair + scores + _of_step(problem, steps, longest)
    error = steps * per_step + (steps + 4.0) * UNIT * _farthest(problem, steps, longest)
    return error * (float(np.linalg.norm(stream.turns())) if stream.release == "every iterate" else 1.0)


def _farthest(problem: Problem, steps: int, step_size: float) -> float:
    """The largest norm of an iterate: the domain's radius, or in the whole space what so many steps from 0 reach."""
    if math.isfinite(problem.domain.radius):
        return problem.domain.radius
    return steps * step_size * problem.score.counted_orders * problem.lipschitz / problem.order_share


def _of_margins(problem: Problem) -> float:
    """The error of a pair's margin, per unit of the parameter's norm and of its feature's."""
    return (4.0 * problem.n_features + 16.0) * UNIT


def _of_scores(problem: Problem, steps: int, step_size: float) -> float:
    """What margins that are rounded do to the gradient of a pair, by smoothness."""
    return problem.pair_smoothness * _of_margins(problem) * _farthest(problem, steps, step_size)


def _of_step(problem: Problem, steps: int, step_size: float) -> float:
    """What one step and its projection round: an eigendecomposition where the parameter is a matrix."""
    length = step_size * problem.score.counted_orders * problem.lipschitz / problem.order_share
    moved = _farthest(problem, steps, step_size) + length
    return (64.0 * problem.n_features + 256.0) * UNIT * (1.0 + step_size * problem.ridge) * moved
