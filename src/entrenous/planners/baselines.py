"""Algorithms that the papers compare themselves with."""

from __future__ import annotations

from entrenous.engine.plan import Plan
from entrenous.parts.problem import Problem
from entrenous.parts.streams import Stream
from entrenous.planners.assumptions import steps_from
from entrenous.planners.registry import Algorithm, register, unit_radius
from entrenous.planners.streams import largest_step, step_from, streaming_plan
from entrenous.privacy.budget import Budget

SGD_PAIR = "Lei et al. 2020, NeurIPS"


def sgd_pair(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    step_size: float | None = None,
    index_seed: int,
) -> Plan:
    """SGD on a fresh random pair at every step, mean of the iterates.

    T = n, ``eta = (C/G) T^-1/2``, at most ``2/L`` for a smooth surrogate. Not private in its paper; with a budget,
    noise on the average (Lemma 5 or 6). Cost: T pair gradients.

    >>> import entrenous as en
    >>> en.plan("sgd-pair", n=1000, n_features=5, epsilon=None).steps
    1000
    """
    steps = steps_from(max_iter, n)
    natural = problem.domain.radius / problem.lipschitz * steps**-0.5
    size = step_from(step_size, min(natural, largest_step(problem)))
    stream = Stream(steps, size, order="random-pairs", average="before")
    return streaming_plan("sgd-pair", SGD_PAIR, problem, budget, n, stream, index_seed)


register(
    Algorithm(
        "sgd-pair",
        sgd_pair,
        SGD_PAIR,
        summary="SGD on random pairs",
        tasks=("auc", "metric"),
        privacy=("pure", "approximate", "none"),
        needs=("convex",),
        cost="n pairs",
        calibrations=("tight",),
        surrogates=None,
        default_surrogate="logistic",
        default_radius=unit_radius,
    )
)
