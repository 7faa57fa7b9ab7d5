"""Yang et al.: Stability and Differential Privacy of SGD for Pairwise Learning with Non-Smooth Loss. AISTATS 2021.

Each record is paired with all records before it. ``calibration="paper"`` prints equation (5).
"""

from __future__ import annotations

import math

from entrenous.engine.plan import Plan
from entrenous.planners.assumptions import need_gaussian, steps_from
from entrenous.planners.registry import PURE, algorithm
from entrenous.planners.streams import step_from, streaming_plan
from entrenous.privacy.budget import NO_PRIVACY, Budget
from entrenous.privacy.lemmas.stream_lemmas import STREAM_LEMMAS
from entrenous.problem.problem import Problem
from entrenous.problem.streams.stream import Stream

CITATION = "Yang et al. 2021, AISTATS"


def _stream(problem: Problem, n: int, max_iter: int | None, step_size: float | None) -> Stream:
    """T = n steps of ``(C/G) T^-3/4``; the theorems' ``T = n^2, eta ~ n^-3/2`` is the case `max_iter` = n^2."""
    steps = steps_from(max_iter, n)
    natural = problem.domain.radius / problem.lipschitz * steps**-0.75
    return Stream(steps, step_from(step_size, natural), buffer=None, average="before")


@algorithm(
    "sgd-all-previous",
    CITATION,
    "SGD, each record with all before it",
    cost="n^2/2 pairs",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
)
def sgd_all_previous(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    step_size: float | None = None,
    index_seed: int,
) -> Plan:
    """Algorithm 1: SGD that pairs a random record with all drawn before it, mean of the iterates. Not private.

    Any convex surrogate. ``T = n``, ``eta = (C/G) T^-3/4``. Cost: ``T^2/2`` pair gradients. Its private version is
    dp-sgd-output, which this becomes with a budget.

    >>> import entrenous as en
    >>> en.plan("sgd-all-previous", n=100, n_features=5, epsilon=None).pair_gradients
    5050
    """
    stream = _stream(problem, n, max_iter, step_size)
    return streaming_plan("sgd-all-previous", CITATION, problem, budget, n, stream, index_seed)


@algorithm(
    "dp-sgd-output", CITATION, "sgd-all-previous with noise on its result", cost="n^2/2 pairs", lemmas=STREAM_LEMMAS
)
def dp_sgd_output(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    step_size: float | None = None,
    calibration: str = "tight",
    index_seed: int,
) -> Plan:
    """Algorithm 2: Algorithm 1 with Gaussian noise on its result; non-smooth surrogates allowed.

    Tight: Lemma 6 (or 5) on the pairs that were drawn, so no share of delta pays for how often a record is drawn.
    Printed: ``sigma^2 = 8 eta^2 G^2 ln(2.5/delta)/eps^2 (T + 3 T^2 ln^2(eT) ln^2(2/delta)/n^2)``, which is a factor e
    short of what the paper's own proof asks for. Cost: ``T^2/2`` pair gradients. Approximate privacy.

    >>> import entrenous as en
    >>> plan = en.plan("dp-sgd-output", n=100, n_features=5, epsilon=1.0, surrogate="hinge")
    >>> print(plan.mechanisms[0].lemma)
    Lemma 6
    """
    stream = _stream(problem, n, max_iter, step_size)
    if not budget.is_private:
        return streaming_plan("dp-sgd-output", CITATION, problem, NO_PRIVACY, n, stream, index_seed)
    need_gaussian("dp-sgd-output", budget)
    printed = None
    if calibration == "paper":
        T, eta = stream.steps, stream.step_size
        spread = T + 3.0 * (T * math.log(math.e * T) * math.log(2.0 / budget.delta) / n) ** 2
        printed = eta * problem.lipschitz * math.sqrt(8.0 * math.log(2.5 / budget.delta) * spread) / budget.epsilon
    return streaming_plan("dp-sgd-output", CITATION, problem, budget, n, stream, index_seed, printed)
