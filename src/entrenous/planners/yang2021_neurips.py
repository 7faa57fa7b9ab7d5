"""Yang et al.: Simple Stochastic and Online Gradient Descent Algorithms for Pairwise Learning. NeurIPS 2021.

Each record is paired with the one before it. The private versions add noise to the averaged result, scaled to the pairs
that were drawn (Lemmas 5 and 6); ``calibration="paper"`` prints the paper's sigma.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from entrenous.engine.phases.streaming import Streaming
from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError, InputError
from entrenous.planners.assumptions import (
    need_bounded_domain,
    need_bounded_slopes,
    need_convex,
    need_gaussian,
    need_smooth,
    steps_from,
)
from entrenous.planners.registry import PURE, algorithm
from entrenous.planners.streams import largest_step, step_from, streaming_plan
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.stream_bounds import RECURSION_STEPS
from entrenous.privacy.lemmas.stream_lemmas import STREAM_LEMMAS, stream_bound
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.mechanism import Mechanism, disjoint
from entrenous.problem.problem import Problem
from entrenous.problem.streams.stream import Stream

CITATION = "Yang et al. 2021, NeurIPS"

MOST_STEPS = 5_000_000
"""Theorem 1 asks for n^2 steps without smoothness; beyond this many they are left to `max_iter`."""


@algorithm(
    "sgd-previous",
    CITATION,
    "SGD, each record with the previous one",
    cost="n pairs (smooth), else n^2",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
)
def sgd_previous(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    step_size: float | None = None,
    buffer: int = 1,
    order: str = "with-replacement",
    index_seed: int,
) -> Plan:
    """Algorithm 1: SGD that pairs a random record with the previous one, ``sum eta_t w_{t-2} / sum eta_t``.

    Smooth surrogates (Theorem 2): T = n, ``eta = (C/G) T^-1/2``, at most ``2/L``. Others (Theorem 1): ``T = n^2`` (at
    most 5,000,000), ``eta = (C/G) T^-3/4``. `buffer` keeps the last s records instead of one (Remark 7). The paper's
    algorithm is not private; with a budget, noise on the average makes it so (Lemma 5 or 6). Cost: T pair gradients
    per place in the buffer.

    ``order="arrival"`` takes the records as they come instead of drawing them, once each, so T = n - 1. It can be fed
    in chunks, in memory that does not grow with n, and a record meets two others at most, so there is less noise with a
    smooth surrogate; without smoothness (Lemma 6) there is more. The paper's rates are for records in random order: a
    table that is sorted should be shuffled before.

    >>> import entrenous as en
    >>> en.plan("sgd-previous", n=1000, n_features=5, epsilon=None).pair_gradients
    1000
    """
    if order not in ("with-replacement", "arrival"):
        raise InputError('order must be "with-replacement" or "arrival"', repr(order), "The first is the paper's.")
    smooth = math.isfinite(problem.pair_smoothness)
    if order == "arrival":
        steps = min(n - 1, steps_from(max_iter, n - 1))
    else:
        steps = steps_from(max_iter, n if smooth else min(n**2, MOST_STEPS))
    natural = problem.domain.radius / problem.lipschitz * steps ** (-0.5 if smooth else -0.75)
    size = step_from(step_size, min(natural, largest_step(problem)))
    stream = Stream(steps, size, "arrival" if order == "arrival" else "with-replacement", _buffer(buffer))
    return streaming_plan("sgd-previous", CITATION, problem, budget, n, stream, index_seed)


@algorithm(
    "ogd-previous",
    CITATION,
    "one pass, each record with the previous one",
    cost="n pairs",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
    online=True,
)
def ogd_previous(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    step_size: float | None = None,
    buffer: int = 1,
    index_seed: int,
) -> Plan:
    """Algorithm 2: one pass in order of arrival, each record paired with the one before it.

    ``eta_t = (C/G) t^-1/2``, at most ``2/L`` for a smooth surrogate. Not private in the paper; with a budget, noise on
    the average (Lemma 5 or 6). Cost: n - 1 pair gradients per place in the buffer.

    >>> import entrenous as en
    >>> en.plan("ogd-previous", n=1000, n_features=5, epsilon=None).steps
    999
    """
    steps = min(n - 1, steps_from(max_iter, n - 1))
    natural = problem.domain.radius / problem.lipschitz
    size = step_from(step_size, min(natural, largest_step(problem)))
    stream = Stream(steps, size, order="arrival", decay=0.5, buffer=_buffer(buffer))
    return streaming_plan("ogd-previous", CITATION, problem, budget, n, stream, index_seed)


@algorithm(
    "dp-localized-sgd",
    CITATION,
    "SGD in phases on disjoint records, noise after each",
    cost="n log(4/delta) pairs",
    lemmas=STREAM_LEMMAS,
    needs=("convex", "smooth"),
)
def dp_localized_sgd(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    calibration: str = "tight",
    index_seed: int,
) -> Plan:
    """Algorithm 3: phases on disjoint records, half as many and steps a quarter as long each time.

    The paper has ``ceil(log2 n)`` of them; the last ones would have fewer than two of the ``n_k = n/2^k`` records, so
    no pair, and are left out: 8 phases for n = 1000. Phase k runs Algorithm 1 for ``ceil(n_k log(4/delta))`` steps from
    the last release, then adds noise. ``eta`` as in Theorem 10. A record is in one phase, so the dearest phase is the
    price. Tight: Lemma 5 on the pairs that were drawn; printed: ``sigma_k = 12 G eta_k log(4/delta) sqrt(2
    log(2.5/delta))/eps``. Cost: ``n log(4/delta)`` pair gradients. Needs a smooth convex surrogate; approximate
    privacy. Steps longer than ``2/L`` are an error with a budget, because no lemma covers them; without one they are
    cut to it.

    >>> import entrenous as en
    >>> plan = en.plan("dp-localized-sgd", n=1000, n_features=5, epsilon=1.0)
    >>> len(plan.phases), plan.mechanisms[0].scope
    (8, 'disjoint phase 1')
    """
    need_smooth("dp-localized-sgd", problem, "sgd-previous or dp-sgd-output")
    need_convex("dp-localized-sgd", problem)
    need_bounded_slopes("dp-localized-sgd", problem)
    if budget.is_private:
        need_gaussian("dp-localized-sgd", budget)
    delta, epsilon = (budget.delta, budget.epsilon) if budget.is_private else (1.0 / n**2, math.inf)
    log_steps, log_noise = math.log(4.0 / delta), math.sqrt(2.0 * math.log(2.5 / delta))
    diameter = 2.0 * problem.domain.radius
    by_noise = epsilon / (12.0 * log_steps * log_noise * math.sqrt(problem.dimension))
    eta = diameter / problem.lipschitz * min(log_steps / math.sqrt(n), by_noise)
    phases = []
    for k, (start, size) in enumerate(_halves(n), start=1):
        eta_k = eta / 4.0**k
        if not budget.is_private:
            eta_k = min(eta_k, largest_step(problem))
        elif eta_k > largest_step(problem):
            raise AssumptionError(
                f"dp-localized-sgd needs steps of at most 2/L = {largest_step(problem):.4g}",
                f"{eta_k:.4g} in phase {k}",
                "Use a smaller radius, or a surrogate with less curvature.",
            )
        stream = Stream(math.ceil(size * log_steps), eta_k)
        noise: Mechanism | None = None
        if budget.is_private:
            bound = stream_bound(stream, problem, size, index_seed, k)
            if calibration == "tight":
                noise = calibrated(budget, bound, scope=disjoint(k))
            else:
                sigma = 12.0 * problem.lipschitz * eta_k * log_steps * log_noise / epsilon
                noise = Gaussian(bound, sigma, scope=disjoint(k))
        phases.append(Streaming(stream, index_seed, k, (start, start + size), noise))
    return Plan(
        "dp-localized-sgd",
        CITATION,
        problem,
        budget,
        n,
        phases=tuple(phases),
        calibration=calibration,
        index_seed=index_seed,
    )


@algorithm(
    "localized-nonsmooth",
    CITATION,
    "regularised SGD in phases on disjoint records, noise after each",
    cost="n pairs",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
    surrogate="hinge",
)
def localized_nonsmooth(problem: Problem, budget: Budget, n: int, *, index_seed: int) -> Plan:
    """Algorithm 4: phases on disjoint records, each a regularised problem around the last release; ``n_k`` steps each.

    Phase k takes strongly convex SGD steps ``2/(lam (t + 1))`` on random pairs for
    ``F_k(w) + ||w - w_{k-1}||^2/(eta_k n_k)``, ``lam = 2/(eta_k n_k)``, and averages. The paper's appendix is not
    public; this is the phased regularised scheme it describes. Not private in the paper; with a budget,
    noise after each phase (Lemma 10). Any convex surrogate. Cost: n pair gradients.

    >>> import entrenous as en
    >>> en.plan("localized-nonsmooth", n=1000, n_features=5, epsilon=None, surrogate="hinge").pair_gradients
    993
    """
    return _localized_regularised("localized-nonsmooth", problem, budget, n, index_seed, lambda size: size)


@algorithm(
    "dp-localized-nonsmooth",
    CITATION,
    "localized-nonsmooth with n_k^2 steps a phase, so that little is left unfinished",
    cost="n^2/3 pairs",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
    surrogate="hinge",
)
def dp_localized_nonsmooth(problem: Problem, budget: Budget, n: int, *, index_seed: int) -> Plan:
    """Algorithm 5: localized-nonsmooth with ``n_k^2`` steps a phase, so that what SGD leaves unfinished is small.

    The exact minimiser of a phase moves at most ``2 G eta_k``, but SGD does not reach it; the noise is scaled to the
    iterates themselves (Lemma 10 on the pairs that were drawn). Any convex surrogate; approximate or pure privacy.
    Cost: ``n^2/3`` pair gradients, at most ``1e8/n_k`` a phase.

    >>> import entrenous as en
    >>> plan = en.plan("dp-localized-nonsmooth", n=200, n_features=5, epsilon=1.0, surrogate="hinge")
    >>> print(plan.mechanisms[0].lemma, plan.mechanisms[0].scope)
    Lemma 10 disjoint phase 1
    """

    def steps(size: int) -> int:
        # Lemma 10 walks through every step for every record; this keeps it within what it walks.
        return min(size**2, max(size, RECURSION_STEPS // size))

    return _localized_regularised("dp-localized-nonsmooth", problem, budget, n, index_seed, steps)


def _localized_regularised(
    name: str, problem: Problem, budget: Budget, n: int, index_seed: int, steps_of: Callable[[int], int]
) -> Plan:
    need_convex(name, problem)
    need_bounded_domain(name, problem)
    by_noise = math.inf
    if budget.is_private:
        p = problem.dimension
        by_noise = budget.epsilon / (p if budget.is_pure else math.sqrt(p * math.log(1.0 / budget.delta)))
    eta = 2.0 * problem.domain.radius / problem.lipschitz * min(4.0 / math.sqrt(n), by_noise)
    phases = []
    for k, (start, size) in enumerate(_halves(n), start=1):
        ridge = 2.0 * 4.0**k / (eta * size)
        total = ridge + problem.ridge
        stream = Stream(steps_of(size), 2.0 / total, order="random-pairs", schedule="inverse", average="before")
        noise = None
        if budget.is_private:
            bound = stream_bound(stream, replace(problem, ridge=total), size, index_seed, k)
            noise = calibrated(budget, bound, scope=disjoint(k))
        phases.append(Streaming(stream, index_seed, k, (start, start + size), noise, ridge))
    return Plan(
        name,
        CITATION,
        problem,
        budget,
        n,
        phases=tuple(phases),
        index_seed=index_seed,
    )


def _halves(n: int) -> Iterator[tuple[int, int]]:
    """Start and size of the phases' shares: a half, a quarter, ... of the records, two at least."""
    start = 0
    for k in range(1, math.ceil(math.log2(n)) + 1):
        # Two or three records make one phase.
        size = n if n < 4 else n // 2**k
        if size < 2 or start + size > n:
            return
        yield start, size
        start += size


def _buffer(size: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise InputError("buffer must be an int >= 1", repr(size), "1 pairs a record with the previous one.")
    return size
