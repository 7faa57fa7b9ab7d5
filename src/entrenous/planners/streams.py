"""What the planners of streaming algorithms share: step sizes, and a plan with noise on the averaged result."""

from __future__ import annotations

import math
import numbers

from entrenous.engine.phases.streaming import Streaming
from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError, InputError
from entrenous.planners.assumptions import need_bounded_slopes, need_convex
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.stream_lemmas import stream_bound
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.problem.problem import Problem
from entrenous.problem.streams.stream import Stream


def largest_step(problem: Problem) -> float:
    """``2/L`` with the smoothness of one pair, ridge included; no limit where the surrogate is not smooth."""
    smoothness = problem.ordered_smoothness + problem.ridge
    return 2.0 / smoothness if 0.0 < smoothness < math.inf else math.inf


def step_from(step_size: float | None, default: float) -> float:
    """The user's step size, or the planner's."""
    if step_size is None:
        if not default < math.inf:
            raise AssumptionError(
                "steps that are a share of the domain need a bounded one",
                "radius=inf",
                "Set radius=1.0, or options={'step_size': ...}.",
            )
        return default
    if isinstance(step_size, bool) or not isinstance(step_size, numbers.Real) or not 0.0 < float(step_size) < math.inf:
        raise InputError("step_size must be a positive number", repr(step_size), "None lets the algorithm choose.")
    return float(step_size)


def streaming_plan(
    name: str,
    citation: str,
    problem: Problem,
    budget: Budget,
    n: int,
    stream: Stream,
    index_seed: int,
    printed_sigma: float | None = None,
) -> Plan:
    """One stream over all records; with a budget, noise on its average, tight or as printed."""
    need_bounded_slopes(name, problem)
    if budget.is_private:
        need_convex(name, problem)
    if problem.ridge * stream.step_size > 1.0:
        raise InputError(
            "a stream with a ridge needs step_size * ridge <= 1",
            f"{stream.step_size:.4g} * {problem.ridge:.4g}",
            "Use a smaller step size.",
        )
    noise: Mechanism | None = None
    if budget.is_private:
        bound = stream_bound(stream, problem, n, index_seed, 1)
        noise = calibrated(budget, bound) if printed_sigma is None else Gaussian(bound, printed_sigma)
    phase = Streaming(stream, index_seed, 1, None, noise)
    return Plan(
        name,
        citation,
        problem,
        budget,
        n,
        phases=(phase,),
        calibration="tight" if printed_sigma is None else "paper",
        index_seed=index_seed,
    )
