"""Methods of this library: less noise for the same privacy than any published algorithm at practical epsilon."""

from __future__ import annotations

import math
import numbers

from entrenous.engine.phases.descent import Descent
from entrenous.engine.phases.listed_pairs import ListedDescent
from entrenous.engine.phases.moment_release import MomentRelease
from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.planners.assumptions import (
    need_bounded_domain,
    need_bounded_slopes,
    need_gaussian,
    steps_from,
)
from entrenous.planners.non_private import non_private_plan
from entrenous.planners.pair_lists import ASSUMED, pair_list_from
from entrenous.planners.registry import algorithm
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.lemmas.gradients import (
    LEMMA_2,
    LEMMA_12,
    all_pairs_gradient_sensitivity,
    listed_pairs_gradient_sensitivity,
)
from entrenous.privacy.lemmas.statistics import LEMMA_8, class_moments_sensitivity
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.problem.features.domain import INTERNAL_DIAMETER
from entrenous.problem.problem import Problem

CITATION = "entrenous"

_WEIGHTS = (1.0, 1.0, 0.7)
"""Count, sums, second moments. 2c^2 < b^2, so the sums alone set the sensitivity 2b and the rest rides for free."""
_SHRINKAGE = 0.5
"""Chosen, like the weights, by held-out AUC on breast_cancer, diabetes, german, debrecen and a part of ijcnn1."""


def _noise_to_signal(budget: Budget, n: int, dimension: int) -> float:
    """Norm of the noise that one noisy gradient of slope 1 would carry if it were the only release."""
    return INTERNAL_DIAMETER * math.sqrt(dimension) / (n * mu_for(budget.epsilon, budget.delta))


def _radius(budget: Budget, n: int, dimension: int) -> float | None:
    """While noise decides, a small ball keeps the slope (so the noise) low; with more signal the ball may grow."""
    if not budget.is_private or budget.is_pure:
        return None
    return min(50.0, max(0.5, 0.02 / _noise_to_signal(budget, n, dimension)))


def _steps(budget: Budget, n: int, dimension: int) -> int:
    """Few steps while noise decides (each one splits the budget), more as the gradient becomes readable."""
    return min(100, max(5, round(_noise_to_signal(budget, n, dimension) ** -0.5)))


@algorithm(
    "moments",
    CITATION,
    "one noisy release of class moments, then least squares",
    cost="one pass, n d^2",
    lemmas=(LEMMA_8,),
    tasks=("auc",),
    needs=("square surrogate",),
    surrogates=("square",),
    surrogate="square",
    radius=lambda budget, n, dimension: None,
)
def moments(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    weights: tuple[float, float, float] = _WEIGHTS,
    shrinkage: float = _SHRINKAGE,
) -> Plan:
    """Sufficient statistics: one noisy release of class counts, sums and second moments, then least squares.

    The square surrogate's minimiser over all pairs depends on the rows only through these moments, so one
    Gaussian release (Lemma 8) buys the whole fit, the threshold included; no pair is ever formed. `weights` share the
    noise between count, sums and second moments; `ridge` and `shrinkage` (in units of the noise's own spread) are
    added to the covariance and cost nothing. Cost: one pass, ``O(n d^2)``. Approximate privacy.

    >>> import entrenous as en
    >>> plan = en.plan("moments", n=1000, n_features=5, epsilon=1.0, delta=1e-6)
    >>> print(plan.pair_gradients, plan.mechanisms[0].lemma)
    0 Lemma 8
    """
    if max_iter is not None:
        raise InputError("moments takes no steps", f"max_iter={max_iter}", "Leave max_iter=None.")
    if not (len(weights) == 3 and all(isinstance(w, numbers.Real) and 0.0 < w < float("inf") for w in weights)):
        raise InputError("weights must be three positive numbers", repr(weights), f"The default is {_WEIGHTS}.")
    if not (isinstance(shrinkage, numbers.Real) and 0.0 <= shrinkage < float("inf")):
        raise InputError("shrinkage must be a number >= 0", repr(shrinkage), f"The default is {_SHRINKAGE}.")
    # In units of the class sums: multiplying all three would multiply release, bound and noise alike.
    a, b, c = (float(w) / float(weights[1]) for w in weights)
    noise = None
    if budget.is_private:
        need_gaussian("moments", budget)
        noise = calibrated(budget, class_moments_sensitivity(problem.diameter / 2.0, (a, b, c)))
    return Plan(
        "moments",
        CITATION,
        problem,
        budget,
        n,
        phases=(MomentRelease((a, b, c), noise, float(shrinkage)),),
    )


@algorithm(
    "noisy-gd",
    CITATION,
    "noisy exact gradients over all pairs",
    cost="a few dozen full gradients",
    lemmas=(LEMMA_2, LEMMA_12),
    needs=("bounded slopes",),
    radius=_radius,
)
def noisy_gd(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    listed_pairs: tuple[int, int] | None = None,
) -> Plan:
    """Full-batch descent with Gaussian noise on the exact all-pairs gradient, the later half of the iterates averaged.

    Lemma 2 (``c1 R/n`` for ranking, four times below the papers' generic ``4G/n``) and exact Gaussian composition. Any
    surrogate with bounded slopes, convex or not. Steps and radius follow from the noise-to-signal ratio
    ``R sqrt(p)/(n mu)``: 5 steps in a ball of radius 1/2 where noise decides, up to 100 in a ball of 50. Cost: one
    gradient over all pairs per step. Approximate privacy.

    A metric may be learnt from a public list of pairs instead: ``listed_pairs=(m, k)`` for m pairs, no record in more
    than k of them (Lemma 12).

    >>> import entrenous as en
    >>> plan = en.plan("noisy-gd", n=1000, n_features=5, epsilon=1.0, delta=1e-6, surrogate="hinge")
    >>> round(plan.mechanisms[0].l2_sensitivity, 4)
    0.002
    """
    listed = None if listed_pairs is None else pair_list_from(problem, n, listed_pairs)
    if not budget.is_private:
        return non_private_plan("noisy-gd", CITATION, problem, n, max_iter, listed)
    need_gaussian("noisy-gd", budget)
    need_bounded_domain("noisy-gd", problem)
    need_bounded_slopes("noisy-gd", problem)
    # One record has k/m of a listed gradient and 2/n of the full one, so a list is worth 2m/k records.
    worth = n if listed is None else max(2, 2 * listed.pairs // listed.most)
    steps = steps_from(max_iter, _steps(budget, worth, problem.dimension))
    step_size = problem.domain.radius / (problem.lipschitz * steps**0.5)
    if problem.ridge > 0.0:
        # A longer one would overshoot the ridge's own minimum and blow the noise up.
        step_size = min(step_size, 1.0 / problem.ridge)
    average_from = (steps + 1) // 2
    phase: Descent
    if listed is None:
        noise = calibrated(budget, all_pairs_gradient_sensitivity(problem, n), count=steps)
        phase = Descent(steps, step_size, average_from, gradient_noise=noise)
    else:
        noise = calibrated(budget, listed_pairs_gradient_sensitivity(problem, listed), count=steps)
        phase = ListedDescent(steps, step_size, average_from, gradient_noise=noise, listed=listed)
    return Plan(
        "noisy-gd",
        CITATION,
        problem,
        budget,
        n,
        phases=(phase,),
        remarks={} if listed is None else {"assumed": ASSUMED},
    )
