"""Huai, Wang, Miao, Xu, Zhang: Pairwise Learning with Differential Privacy Guarantees. AAAI 2020.

One pass over the records, each paired with all before it, on a strongly convex objective. The first T1 iterates are
random points that no record influences. ``calibration="paper"`` takes T1 and the noise as printed; taken literally T1
exceeds n in the published experiments, so that no record is ever used: a warning says so, and
``options={"warmup": ...}`` caps it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from entrenous.engine.phases.streaming import Streaming
from entrenous.engine.plan import Plan
from entrenous.errors import InputError, warn_of_privacy
from entrenous.planners.assumptions import (
    need_bounded_domain,
    need_convex,
    need_gaussian,
    need_smooth,
    need_strong_convexity,
)
from entrenous.planners.papers_form import in_papers_form
from entrenous.planners.registry import APPROXIMATE, PURE, algorithm
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.stream_lemmas import STREAM_LEMMAS, stream_bound
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.laplace import Laplace
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.problem.problem import Form, Problem
from entrenous.problem.streams.stream import Stream

CITATION = "Huai et al. 2020"

LEAST_WARMUP = 7
"""Steps before this record would be longer than the recursion of the paper allows."""


@algorithm(
    "offpairstrc",
    CITATION,
    "one pass, each record with all before it, noise on the mean of all iterates",
    cost="n^2/2 pairs",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
    needs=("smooth", "strongly convex"),
)
def offpairstrc(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    calibration: str = "tight",
    form: Form | None = None,
    warmup: int | None = None,
    index_seed: int,
) -> Plan:
    """OffPairStrC: the mean of all iterates with noise, strongly convex.

    ``eta_t = ((t-1)/(t-2)) 2/(alpha t)``. Tight: Lemma 10, warm-up 7. Printed:
    ``sigma^2 = 128 G^2 log^2(n) log(1.25/delta)/(alpha^2 n^2 eps^2)``; for pure privacy, which the paper does not
    treat, Laplace noise ``8 sqrt(p) G log(n)/(alpha n eps)``. Cost: ``n^2/2`` pair gradients. Needs a smooth
    surrogate and a ridge; pure or approximate privacy.

    >>> import entrenous as en
    >>> print(en.plan("offpairstrc", n=500, n_features=5, epsilon=1.0, ridge=0.1).mechanisms[0].lemma)
    Lemma 10
    """
    need_strong_convexity("offpairstrc", problem, "offpairc")
    return _offline("offpairstrc", problem, budget, n, calibration, form, warmup, index_seed)


@algorithm(
    "offpairc",
    CITATION,
    "offpairstrc with a ridge of its own, for losses that are only convex",
    cost="n^2/2 pairs",
    lemmas=STREAM_LEMMAS,
    privacy=PURE,
    needs=("smooth", "convex"),
)
def offpairc(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    calibration: str = "tight",
    form: Form | None = None,
    warmup: int | None = None,
    index_seed: int,
) -> Plan:
    """OffPairC: offpairstrc on the objective plus a ridge ``alpha = 1/sqrt(n)``, for convex losses.

    The printed constants become ``G + alpha C`` and ``L + alpha``. Cost and needs as offpairstrc, without the ridge.

    >>> import entrenous as en
    >>> en.plan("offpairc", n=400, n_features=5, epsilon=1.0).problem.ridge
    0.05
    """
    ridged = replace(problem, ridge=problem.ridge + n**-0.5)
    return _offline("offpairc", ridged, budget, n, calibration, form, warmup, index_seed)


@algorithm(
    "onpairstrc",
    CITATION,
    "one pass, each record with all before it, every iterate released with noise",
    cost="n^2/2 pairs",
    lemmas=STREAM_LEMMAS,
    privacy=APPROXIMATE,
    needs=("smooth", "strongly convex"),
    online=True,
)
def onpairstrc(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    calibration: str = "tight",
    form: Form | None = None,
    warmup: int | None = None,
    index_seed: int,
) -> Plan:
    """OnPairStrC: every iterate is released as it comes, with noise of sd ``sigma/t`` on the t-th.

    Tight: Lemma 10 for the whole sequence ``t w_t``, one Gaussian release. Printed:
    ``sigma_t^2 = 32 G^2 (n - T1)/(alpha^2 t^2 rho)``, ``rho + 2 sqrt(rho log(1/delta)) = eps``. The fitted model is the
    last iterate. Cost: ``n^2/2`` pair gradients. Needs a smooth surrogate and a ridge; approximate privacy.

    >>> import entrenous as en
    >>> en.plan("onpairstrc", n=500, n_features=5, epsilon=1.0, ridge=0.1).phases[0].stream.release
    'every iterate'
    """
    need_strong_convexity("onpairstrc", problem, "onpairc")
    return _online("onpairstrc", problem, budget, n, calibration, form, warmup, index_seed)


@algorithm(
    "onpairc",
    CITATION,
    "onpairstrc with a ridge of its own, for losses that are only convex",
    cost="n^2/2 pairs",
    lemmas=STREAM_LEMMAS,
    privacy=APPROXIMATE,
    needs=("smooth", "convex"),
    online=True,
)
def onpairc(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    calibration: str = "tight",
    form: Form | None = None,
    warmup: int | None = None,
    index_seed: int,
) -> Plan:
    """OnPairC: onpairstrc on the objective plus a ridge ``alpha = n^-1/4``, for convex losses.

    >>> import entrenous as en
    >>> en.plan("onpairc", n=625, n_features=5, epsilon=1.0).problem.ridge
    0.2
    """
    ridged = replace(problem, ridge=problem.ridge + n**-0.25)
    return _online("onpairc", ridged, budget, n, calibration, form, warmup, index_seed)


def _offline(
    name: str,
    problem: Problem,
    budget: Budget,
    n: int,
    calibration: str,
    form: Form | None,
    warmup: int | None,
    seed: int,
) -> Plan:
    problem, points, cautions = _prepared(name, problem, n, calibration, form, warmup)
    alpha = problem.strong_convexity
    stream = Stream(
        n - points, 2.0 / alpha, order="arrival", buffer=None, average="all", schedule="huai", warmup=points
    )
    noise: Mechanism | None = None
    if budget.is_private:
        bound = stream_bound(stream, problem, n, seed, 1)
        scale = 8.0 * _printed_lipschitz(name, problem) * math.log(n) / (alpha * n * budget.epsilon)
        if calibration == "tight":
            noise = calibrated(budget, bound)
        elif budget.is_pure:
            noise = Laplace(bound.with_l1(problem.dimension), math.sqrt(problem.dimension) * scale)
        else:
            noise = Gaussian(bound, scale * math.sqrt(2.0 * math.log(1.25 / budget.delta)))
    return _plan(name, problem, budget, n, calibration, stream, noise, seed, cautions)


def _online(
    name: str,
    problem: Problem,
    budget: Budget,
    n: int,
    calibration: str,
    form: Form | None,
    warmup: int | None,
    seed: int,
) -> Plan:
    problem, points, cautions = _prepared(name, problem, n, calibration, form, warmup)
    alpha = problem.strong_convexity
    stream = Stream(
        n - points,
        2.0 / alpha,
        order="arrival",
        buffer=None,
        average="last",
        schedule="huai",
        warmup=points,
        release="every iterate",
    )
    noise: Mechanism | None = None
    if budget.is_private:
        need_gaussian(name, budget)
        bound = stream_bound(stream, problem, n, seed, 1)
        if calibration == "tight":
            noise = calibrated(budget, bound)
        else:
            log_term = math.log(1.0 / budget.delta)
            rho = (math.sqrt(log_term + budget.epsilon) - math.sqrt(log_term)) ** 2
            # With no step at all one release remains.
            spread = 32.0 * max(1, n - points) / rho
            sigma = _printed_lipschitz(name, problem) / alpha * math.sqrt(spread)
            noise = Gaussian(bound, sigma)
    return _plan(name, problem, budget, n, calibration, stream, noise, seed, cautions)


def _prepared(
    name: str, problem: Problem, n: int, calibration: str, form: Form | None, warmup: int | None
) -> tuple[Problem, int, tuple[str, ...]]:
    """The problem in its form, the number of warm-up points, and what has to be said about them."""
    # The form first: it stretches the margins, and a surrogate can be smooth on the shorter ones only.
    problem = in_papers_form(problem, calibration, form)
    need_convex(name, problem)
    need_smooth(name, problem, "dp-sgd-output or noisy-gd")
    # The warm-up's random points are drawn from the domain.
    need_bounded_domain(name, problem)
    if warmup is not None and (isinstance(warmup, bool) or not isinstance(warmup, int) or warmup < 1):
        raise InputError("warmup must be an int >= 1", repr(warmup), f"{LEAST_WARMUP} is the least the paper allows.")
    if calibration == "tight":
        return problem, min(warmup or LEAST_WARMUP, n - 1), ()
    smoothness = problem.ordered_smoothness + problem.ridge
    printed = max(math.ceil(16.0 * (smoothness / problem.strong_convexity) ** 2), LEAST_WARMUP)
    points = printed if warmup is None else min(printed, warmup)
    if points < n:
        return problem, points, ()
    caution = (
        f"{name} as printed starts with T1 = {points} random points, but there are only n = {n} records: no record is "
        'used and the model is random. Cap it with options={"warmup": 7}.'
    )
    warn_of_privacy(caution)
    return problem, n, (caution,)


def _printed_lipschitz(name: str, problem: Problem) -> float:
    """G, or ``G + alpha C`` where the algorithm adds the ridge itself."""
    own_ridge = name in ("offpairc", "onpairc")
    return problem.lipschitz + (problem.ridge * problem.domain.radius if own_ridge else 0.0)


def _plan(
    name: str,
    problem: Problem,
    budget: Budget,
    n: int,
    calibration: str,
    stream: Stream,
    noise: Mechanism | None,
    seed: int,
    cautions: tuple[str, ...],
) -> Plan:
    phase = Streaming(stream, seed, 1, None, noise)
    return Plan(
        name,
        CITATION,
        problem,
        budget,
        n,
        phases=(phase,),
        calibration=calibration,
        warnings=cautions,
        index_seed=seed,
    )
