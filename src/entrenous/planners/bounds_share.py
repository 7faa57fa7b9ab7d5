"""How `PrivateBounds` and the algorithm after it share one budget.

Gaussian releases compose to ``mu^2 = mu_b^2 + mu_a^2``, so a share of the budget is a share of ``mu^2`` and nothing is
lost by splitting; pure releases add their epsilons. Where the algorithm is priced in another way (secret samples), its
budget is what the accountant leaves of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from entrenous.engine.bounds_release import ROUNDS, BoundsRelease
from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.privacy.accounting import total_epsilon
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import epsilon_of, mu_for
from entrenous.privacy.mechanisms import Mechanism
from entrenous.privacy.sensitivity import feature_histograms_sensitivity

_LEMMA = "Lemma 11"
_SAFE = 1e-9
"""Relative step to the safe side, so that rounding in two root searches cannot add up to more than the budget."""
_PRECISION = 1e-5
"""Of the algorithm's epsilon where it has to be searched for: every look is a whole plan."""
_LOOKS = 12


def bounds_release(share: float, budget: Budget, n_features: int) -> BoundsRelease:
    """The search for bounds on this many varying features, with noise for its share of the budget."""
    if not budget.is_private:
        return BoundsRelease(share, None)
    l2 = feature_histograms_sensitivity(n_features, norm=2)
    if budget.is_pure:
        # Per bin, this is less noise than the l2 mechanism's: one record moves 2 d of the counts, not all of them.
        l1 = feature_histograms_sensitivity(n_features, norm=1)
        scale = ROUNDS * l1 / (share * budget.epsilon)
        mechanism = Mechanism("laplace", l2, _LEMMA, scale=scale, l1_sensitivity=l1, count=ROUNDS)
    else:
        mu = math.sqrt(share / ROUNDS) * mu_for(budget.epsilon, budget.delta)
        mechanism = Mechanism("gaussian", l2, _LEMMA, sigma=l2 / mu, count=ROUNDS)
    return BoundsRelease(share, mechanism)


def rest_of(budget: Budget, share: float) -> Budget:
    """What is left to an algorithm whose noise is of the same kind."""
    if not budget.is_private:
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


def with_bounds(release: BoundsRelease, budget: Budget, planned: Callable[[Budget], Plan]) -> Plan:
    """The algorithm's plan on the rest of the budget, after the search for bounds."""
    rest = rest_of(budget, release.share)
    made = planned(rest)
    if release.mechanism is None:
        return replace(made, bounds_release=release)
    first = release.mechanism

    def spent(plan: Plan) -> float:
        return total_epsilon((first, *plan.mechanisms), budget.delta)

    def excess(log_epsilon: float) -> float:
        return math.log(spent(planned(Budget(math.exp(log_epsilon), rest.delta))) / budget.epsilon)

    if spent(made) > budget.epsilon or any(m.is_sampled for m in made.mechanisms):
        made = planned(Budget(math.exp(_root(excess, math.log(rest.epsilon))), rest.delta))
    return replace(made, budget=budget, mechanisms=(first, *made.mechanisms), bounds_release=release)


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
