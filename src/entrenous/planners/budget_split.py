"""How the algorithm shares one budget with what comes before it (`PrivateBounds`) and after it (an intercept).

Gaussian releases compose to ``mu^2 = mu_b^2 + mu_a^2``, so a share of the budget is a share of ``mu^2`` and nothing is
lost by splitting; pure releases add their epsilons. Where the algorithm is priced in another way (secret samples), its
budget is what the accountant leaves of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from entrenous.engine.phases.find_bounds import ROUNDS, FindBounds
from entrenous.engine.phases.intercept import CLIP, InterceptRelease
from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.privacy.accounting import total_epsilon
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import epsilon_of, mu_for
from entrenous.privacy.lemmas.statistics import clipped_mean_sensitivity, feature_histograms_sensitivity
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.laplace import L2Laplace, Laplace
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.problem.features.private_bounds import PrivateBounds

_SAFE = 1e-9
"""Relative step to the safe side, so that rounding in two root searches cannot add up to more than the budget."""
_PRECISION = 1e-5
"""Of the algorithm's epsilon where it has to be searched for: every look is a whole plan."""
_LOOKS = 12


def find_bounds(share: float, budget: Budget, asked: PrivateBounds, *, draws_in: bool = True) -> FindBounds:
    """The search for bounds inside loose ranges, with noise for its share of the budget."""
    search = FindBounds(asked.within, share, None, only=asked.only, draws_in=draws_in)
    if not budget.is_private:
        return search
    bound = feature_histograms_sensitivity(search.columns.size)
    noise: Mechanism
    if budget.is_pure:
        # Per bin, this is less noise than the l2 mechanism's: one record moves 2 d of the counts, not all of them.
        assert bound.l1 is not None
        noise = Laplace(bound, ROUNDS * bound.l1 / (share * budget.epsilon), count=ROUNDS)
    else:
        mu = math.sqrt(share / ROUNDS) * mu_for(budget.epsilon, budget.delta)
        noise = Gaussian(bound.l2_only(), bound.value / mu, count=ROUNDS)
    return replace(search, noise=noise)


def rest_of(budget: Budget, share: float) -> Budget:
    """What is left to an algorithm whose noise is of the same kind."""
    if share == 0.0 or not budget.is_private:
        return budget
    if budget.is_pure:
        return Budget((1.0 - share) * budget.epsilon * (1.0 - _SAFE), 0.0)
    left = epsilon_of(math.sqrt(1.0 - share) * mu_for(budget.epsilon, budget.delta), budget.delta) * (1.0 - _SAFE)
    if left <= 0.0:
        raise InputError(
            "the algorithm needs a budget of its own",
            f"share={share:g} of epsilon={budget.epsilon:g} at delta={budget.delta:g}",
            "Use a smaller share, or a smaller delta.",
        )
    return Budget(left, budget.delta)


def intercept_release(share: float, budget: Budget, n: int) -> InterceptRelease:
    """The release of an intercept, with noise for its share of the budget."""
    bound = clipped_mean_sensitivity(n, CLIP)
    if budget.is_pure:
        return InterceptRelease(share, L2Laplace(bound, bound.value / (share * budget.epsilon)))
    mu = math.sqrt(share) * mu_for(budget.epsilon, budget.delta)
    return InterceptRelease(share, Gaussian(bound, bound.value / mu))


def on_the_rest(others: Sequence[Mechanism], share: float, budget: Budget, planned: Callable[[Budget], Plan]) -> Plan:
    """The algorithm's plan on what the other releases leave of the budget."""
    rest = rest_of(budget, share)
    made = planned(rest)
    if not others:
        return made

    def spent(plan: Plan) -> float:
        return total_epsilon((*others, *plan.mechanisms), budget.delta)

    def excess(log_epsilon: float) -> float:
        return math.log(spent(planned(Budget(math.exp(log_epsilon), rest.delta))) / budget.epsilon)

    if spent(made) > budget.epsilon or any(m.secret_sample for m in made.mechanisms):
        made = planned(Budget(math.exp(_root(excess, math.log(rest.epsilon))), rest.delta))
    return made


def _root(excess: Callable[[float], float], start: float) -> float:
    """The log epsilon at which next to nothing is left over, by secants, from below.

    The start itself where less epsilon does not spend less: such a planner ignores its budget, and the accountant's
    check of the finished plan says so.
    """
    at, over, slope = start, excess(start), 1.0
    for _ in range(_LOOKS):
        if -_PRECISION <= over <= 0.0:
            return at
        following = at - (over + _PRECISION / 2.0) / slope
        change = excess(following) - over
        if change * (following - at) <= 0.0:
            break
        slope = change / (following - at)
        at, over = following, over + change
    return at if over <= 0.0 else start
