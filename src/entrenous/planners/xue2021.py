"""Xue, Yang, Huai, Wang: Differentially Private Pairwise Learning Revisited. IJCAI 2021.

``calibration="tight"`` scales the noise to Lemmas 2, 3 and 4 with exact accounting; ``"paper"`` prints the paper's
sigma, in the paper's form ``phi((y - y')<w, x - x'>)``, and lets the certificate say what that noise really gives.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Sequence

from entrenous.engine.phases.descent import Descent
from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError, InputError
from entrenous.planners.assumptions import (
    need_bounded_domain,
    need_bounded_slopes,
    need_convex,
    need_gaussian,
    need_smooth,
    need_strong_convexity,
    steps_from,
)
from entrenous.planners.non_private import non_private_plan
from entrenous.planners.papers_form import in_papers_form
from entrenous.planners.registry import PURE, algorithm
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.lemmas.descent import (
    LEMMA_3,
    LEMMA_4,
    convex_descent_sensitivity,
    strongly_convex_descent_sensitivity,
)
from entrenous.privacy.lemmas.gradients import LEMMA_2, all_pairs_gradient_sensitivity
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.laplace import Laplace
from entrenous.privacy.mechanisms.mechanism import EVERYWHERE, Mechanism, disjoint
from entrenous.problem.problem import Form, Problem

CITATION = "Xue et al. 2021"

_FEWEST_STEPS, _MOST_STEPS = 10, 1000
"""Of dpgdc: an average needs some iterates, and more than a thousand full gradients buy nothing."""


def _printed(budget: Budget, bound: Bound, reach: float, dimension: int, scope: str = EVERYWHERE) -> Mechanism:
    """The paper's output noise for what it takes as the sensitivity: `reach`.

    ``sqrt(2 ln(1.25/delta)) reach/eps``, or for pure privacy Laplace of ``sqrt(p) reach/eps`` per coordinate.
    """
    if budget.is_pure:
        scale = math.sqrt(dimension) * reach / budget.epsilon
        return Laplace(bound.with_l1(dimension), scale, scope=scope)
    classical = math.sqrt(2.0 * math.log(1.25 / budget.delta))
    return Gaussian(bound, classical * reach / budget.epsilon, scope=scope)


@algorithm(
    "dpgdsc",
    CITATION,
    "descent over all pairs, strongly convex, noise on the result",
    cost="(L/alpha) log n full gradients",
    lemmas=(LEMMA_3,),
    privacy=PURE,
    needs=("smooth", "strongly convex"),
)
def dpgdsc(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    calibration: str = "tight",
    form: Form | None = None,
) -> Plan:
    """Algorithm 1 (DPGDSC): full-batch descent on a strongly convex objective, noise on the last iterate.

    Theorem 1 with Lemma 3 in place of the paper's ``8G/(alpha n)``: the output moves at most ``D_full/alpha``.
    ``eta = 2/(L + alpha)``, ``T = ceil((L/alpha) log n)``. Cost: T gradients over all pairs. Needs a smooth surrogate
    and ``ridge > 0``; pure or approximate privacy.

    >>> import entrenous as en
    >>> plan = en.plan("dpgdsc", n=1000, n_features=5, epsilon=1.0, delta=0, ridge=0.1)
    >>> plan.mechanisms[0].kind
    'l2-laplace'
    """
    problem = in_papers_form(problem, calibration, form)
    need_convex("dpgdsc", problem)
    need_strong_convexity("dpgdsc", problem, "dpgdc2 or noisy-gd")
    need_smooth("dpgdsc", problem, "dpgdc2 or noisy-gd")
    if not budget.is_private:
        return non_private_plan("dpgdsc", CITATION, problem, n, max_iter)
    need_bounded_slopes("dpgdsc", problem)
    alpha = problem.strong_convexity
    # The paper knows the smoothness of one ordered pair; over all pairs it is smaller, so the steps can be longer.
    smoothness = (problem.ordered_smoothness if calibration == "paper" else problem.full_smoothness(n)) + problem.ridge
    step_size = 2.0 / (smoothness + alpha)
    steps = steps_from(max_iter, math.ceil(smoothness / alpha * math.log(n)))
    bound = strongly_convex_descent_sensitivity(
        all_pairs_gradient_sensitivity(problem, n),
        strong_convexity=alpha,
        smoothness=problem.full_smoothness(n) + problem.ridge,
        step_size=step_size,
        steps=steps,
    )
    if calibration == "tight":
        noise = calibrated(budget, bound)
    else:
        noise = _printed(budget, bound, 8.0 * problem.lipschitz / (alpha * n), problem.dimension)
    return Plan(
        "dpgdsc",
        CITATION,
        problem,
        budget,
        n,
        phases=(Descent(steps, step_size, average_from=steps, output_noise=noise),),
        calibration=calibration,
    )


@algorithm(
    "dpgdc",
    CITATION,
    "descent over all pairs, averaged, noise on the result",
    cost="10 to 1000 full gradients",
    lemmas=(LEMMA_4,),
    privacy=PURE,
    needs=("smooth", "convex"),
)
def dpgdc(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    calibration: str = "tight",
    form: Form | None = None,
) -> Plan:
    """DPGDC (the full version's appendix): full-batch descent, average of ``w_1..w_T``, noise on the average.

    Lemma 4: the average moves at most ``eta D_full (T + 1)/2`` for ``eta <= 2/L``; the paper prints ``4 G T eta/n``.
    Noise and progress both grow with the length ``s = eta T`` of the walk: the bound ``C^2/(2s)`` on what descent
    leaves undone and ``G D_full s/2`` times the noise's norm per unit of sensitivity balance at
    ``s = C/sqrt(G D_full norm)``, all of it public; C is the radius here, how far the start is from any
    parameter. T is the fewest steps of at most ``1/L`` that walk that far, between 10 and 1000. Cost: T gradients over
    all pairs. Needs a smooth convex surrogate; pure or approximate privacy.

    >>> import entrenous as en
    >>> plan = en.plan("dpgdc", n=1000, n_features=5, epsilon=1.0, delta=0)
    >>> print(plan.mechanisms[0].kind, plan.mechanisms[0].lemma)
    l2-laplace Lemma 4
    """
    problem = in_papers_form(problem, calibration, form)
    need_convex("dpgdc", problem)
    need_smooth("dpgdc", problem, "dpgdc2 or noisy-gd")
    if not budget.is_private:
        return non_private_plan("dpgdc", CITATION, problem, n, max_iter)
    need_bounded_domain("dpgdc", problem)
    gradient = all_pairs_gradient_sensitivity(problem, n)
    # The paper knows the smoothness of one ordered pair; over all pairs it is smaller, so the steps can be longer.
    smoothness = (problem.ordered_smoothness if calibration == "paper" else problem.full_smoothness(n)) + problem.ridge
    unit_noise = calibrated(budget, Bound(1.0, LEMMA_4)).rms(problem.dimension) * math.sqrt(problem.dimension)
    walk = problem.domain.radius / math.sqrt(problem.lipschitz * gradient.value * unit_noise)
    steps = steps_from(max_iter, min(_MOST_STEPS, max(_FEWEST_STEPS, math.ceil(walk * smoothness))))
    step_size = min(2.0 / smoothness if smoothness > 0.0 else math.inf, walk / steps)
    bound = convex_descent_sensitivity(
        gradient,
        smoothness=problem.full_smoothness(n) + problem.ridge,
        step_size=step_size,
        steps=steps,
        average_from=1,
    )
    if calibration == "tight":
        noise = calibrated(budget, bound)
    else:
        reach = 4.0 * problem.lipschitz * steps * step_size / n
        noise = _printed(budget, bound, reach, problem.dimension)
    return Plan(
        "dpgdc",
        CITATION,
        problem,
        budget,
        n,
        phases=(Descent(steps, step_size, average_from=1, output_noise=noise),),
        calibration=calibration,
    )


@algorithm(
    "dpgdc2",
    CITATION,
    "descent over all pairs, noise on every gradient, averaged",
    cost="up to n full gradients",
    lemmas=(LEMMA_2,),
)
def dpgdc2(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    calibration: str = "tight",
    form: Form | None = None,
) -> Plan:
    """Algorithm 2 (DPGDC2): full-batch descent with Gaussian noise on every gradient, average of ``w_0..w_T``.

    ``T = min(n, n^2 eps^2/(d log(1/delta)))``, ``eta = C/(G sqrt(T))``, C the diameter of the domain (Theorem 2 prints
    G/C; the units ask for C/G), and at most ``2/L`` where the surrogate is smooth.
    Lemma 2 and exact Gaussian composition; the printed sigma is too small above eps of about 1.2 where the generic
    sensitivity 4G/n is attained, and wasteful for ranking. Cost: T gradients over all pairs. Convex surrogates;
    approximate privacy only.

    >>> import entrenous as en
    >>> plan = en.plan("dpgdc2", n=1000, n_features=5, epsilon=1.0, delta=1e-6)
    >>> print(plan.steps, plan.mechanisms[0].lemma)
    1000 Lemma 2
    """
    problem = in_papers_form(problem, calibration, form)
    need_convex("dpgdc2", problem)
    if not budget.is_private:
        return non_private_plan("dpgdc2", CITATION, problem, n, max_iter)
    need_gaussian("dpgdc2", budget)
    need_bounded_domain("dpgdc2", problem)
    need_bounded_slopes("dpgdc2", problem)
    log_term = math.log(1.0 / budget.delta)
    affordable = n**2 * budget.epsilon**2 / (problem.dimension * log_term)
    steps = steps_from(max_iter, max(1, math.floor(min(n, affordable))))
    step_size = min(_diameter(problem) / (problem.lipschitz * math.sqrt(steps)), _longest_step(problem, n, calibration))
    bound = all_pairs_gradient_sensitivity(problem, n)
    noise: Mechanism
    if calibration == "tight":
        noise = calibrated(budget, bound, count=steps)
    else:
        sigma = 4.0 * problem.lipschitz * math.sqrt(1.25 * steps * log_term) / (n * budget.epsilon)
        noise = Gaussian(bound, sigma, count=steps)
    return Plan(
        "dpgdc2",
        CITATION,
        problem,
        budget,
        n,
        phases=(Descent(steps, step_size, average_from=0, gradient_noise=noise),),
        calibration=calibration,
    )


def epochs(n: int) -> tuple[tuple[int, int], ...]:
    """The parts of Algorithm 3 as slices of the records' order: ``k = floor(log2 n)``, ``n_i = floor(n/2^i)``.

    The last part takes all that is left. Every part has a pair, whatever n is: ``n >= 2^k``, so ``n_i >= 2`` for
    ``i < k``, and ``n/2^(k-1) >= 2`` or more is left for the last.
    """
    cuts = [0]
    for i in range(1, n.bit_length() - 1):
        cuts.append(cuts[-1] + n // 2**i)
    cuts.append(n)
    return tuple(itertools.pairwise(cuts))


@algorithm(
    "dpegd",
    CITATION,
    "epochs of descent on disjoint halving parts, noise on each result",
    cost="n/2 gradients over n/2 records, then halves",
    lemmas=(LEMMA_4,),
    privacy=PURE,
    needs=("smooth", "convex"),
)
def dpegd(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    index_seed: int,
    max_iter: int | None = None,
    calibration: str = "tight",
    form: Form | None = None,
    step_size: float | None = None,
) -> Plan:
    """Algorithm 3 (DPEGD): epochs of descent on disjoint, halving parts of the records, noise on each average.

    Part i of ``floor(log2 n)`` has ``n_i = floor(n/2^i)`` records (the last one all that is left). It takes n_i steps
    (`max_iter` steps, if given) of ``eta/4^i`` from the noised and projected result of the part before it.
    ``eta = (C/G) min(4/sqrt(n), eps/sqrt(p log(1/delta)))``, C the diameter of the domain, for pure privacy with
    ``eps/p`` (Theorem 3), or `step_size`; not as printed, it is cut to what Lemma 4 allows (``2/L`` on every part).
    Each record is in one part and the parts are drawn without looking at the records, so every part spends the whole
    budget (``docs/proofs.md``, "Disjoint phases"), on Lemma 4 with n_i in place of n. Cost: ``n^3/14`` pair gradients.
    Needs a smooth convex surrogate; pure or approximate privacy.

    >>> import entrenous as en
    >>> plan = en.plan("dpegd", n=1000, n_features=5, epsilon=1.0, delta=1e-6)
    >>> len(plan.phases), plan.mechanisms[0].scope, round(plan.epsilon, 6)
    (9, 'disjoint phase 1', 1.0)
    """
    problem = in_papers_form(problem, calibration, form)
    need_convex("dpegd", problem)
    need_smooth("dpegd", problem, "dpgdc2 or noisy-gd")
    if not budget.is_private:
        return non_private_plan("dpegd", CITATION, problem, n, max_iter)
    need_bounded_domain("dpegd", problem)
    shares = epochs(n)
    if step_size is None:
        if budget.is_pure:
            affordable = budget.epsilon / problem.dimension
        else:
            affordable = budget.epsilon / math.sqrt(problem.dimension * math.log(1.0 / budget.delta))
        step_size = _diameter(problem) / problem.lipschitz * min(4.0 / math.sqrt(n), affordable)
        if calibration == "tight":
            step_size = min(step_size, _longest_first_step(problem, shares))
    elif isinstance(step_size, bool) or not isinstance(step_size, numbers.Real) or not 0.0 < step_size < math.inf:
        raise InputError("step_size must be a number > 0", repr(step_size), "None is the rule of Theorem 3.")
    _need_short_steps(problem, float(step_size), shares)
    phases: list[Descent] = []
    for i, (start, stop) in enumerate(shares, start=1):
        records = stop - start
        steps, eta = steps_from(max_iter, records), float(step_size) / 4.0**i
        bound = convex_descent_sensitivity(
            all_pairs_gradient_sensitivity(problem, records),
            smoothness=problem.full_smoothness(records) + problem.ridge,
            step_size=eta,
            steps=steps,
            average_from=1,
        )
        if calibration == "tight":
            noise = calibrated(budget, bound, scope=disjoint(i))
        else:
            noise = _printed(budget, bound, 4.0 * problem.lipschitz * eta, problem.dimension, disjoint(i))
        phases.append(Descent(steps, eta, average_from=1, output_noise=noise, share=(start, stop)))
    return Plan(
        "dpegd",
        CITATION,
        problem,
        budget,
        n,
        phases=tuple(phases),
        calibration=calibration,
        index_seed=index_seed,
    )


def _diameter(problem: Problem) -> float:
    """The paper's ``||C||_2``: the diameter of the constraint set, twice the radius."""
    return 2.0 * problem.domain.radius


def _longest_step(problem: Problem, n: int, calibration: str) -> float:
    """``2/L``, which Algorithm 2 asks of every step; no limit where the surrogate is a straight line or has a kink."""
    # The paper knows the smoothness of one ordered pair; over all pairs it is smaller, so the steps can be longer.
    smoothness = (problem.ordered_smoothness if calibration == "paper" else problem.full_smoothness(n)) + problem.ridge
    return 2.0 / smoothness if 0.0 < smoothness < math.inf else math.inf


def _longest_first_step(problem: Problem, shares: Sequence[tuple[int, int]]) -> float:
    """The largest eta for which ``eta/4^i <= 2/L`` on every part."""
    smoothness = [problem.full_smoothness(stop - start) + problem.ridge for start, stop in shares]
    return min((4.0**i * 2.0 / each for i, each in enumerate(smoothness, start=1) if each > 0.0), default=math.inf)


def _need_short_steps(problem: Problem, step_size: float, shares: Sequence[tuple[int, int]]) -> None:
    """An error unless every part's steps are at most ``2/L``; it states the largest eta for which that is so."""
    largest = _longest_first_step(problem, shares)
    if step_size > largest:
        raise AssumptionError(
            f"dpegd needs steps of at most 2/L on every part: eta <= {largest:.6g}",
            f"eta = {step_size:.6g}",
            f"Set options={{'step_size': {largest * (1.0 - 1e-5):.6g}}} or less, or a smaller radius.",
        )
