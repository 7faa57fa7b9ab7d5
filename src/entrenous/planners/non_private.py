"""An iterative algorithm without privacy: the same objective, minimised to a tolerance."""

from __future__ import annotations

from entrenous.engine.phases.listed_pairs import ListedMinimise
from entrenous.engine.phases.minimum import Minimise, PointMinimise, RobustMinimise
from entrenous.engine.plan import Plan
from entrenous.planners.assumptions import steps_from
from entrenous.privacy.budget import NO_PRIVACY
from entrenous.problem.pair_list import PairList
from entrenous.problem.problem import Problem

TOLERANCE = 1e-8
"""Largest entry of the gradient, in coordinates that give each feature unit spread; up to 500 of them uncorrelated."""

_ITERATIONS = 1000


def non_private_plan(
    name: str, citation: str, problem: Problem, n: int, max_iter: int | None, listed: PairList | None = None
) -> Plan:
    """A plan without noise, on all pairs or on listed ones; where the loss is of single records, on these."""
    iterations = steps_from(max_iter, _ITERATIONS)
    usual = (Minimise if problem.score.pairwise else PointMinimise)(iterations, TOLERANCE)
    phase = usual if listed is None else ListedMinimise(iterations, TOLERANCE, listed=listed)
    return Plan(name, citation, problem, NO_PRIVACY, n, phases=(phase,))


def robust_plan(name: str, citation: str, problem: Problem, n: int, max_iter: int | None) -> Plan:
    """A plan without noise for pairs of errors whose bandwidth follows from the errors."""
    phase = RobustMinimise(steps_from(max_iter, _ITERATIONS), TOLERANCE)
    return Plan(name, citation, problem, NO_PRIVACY, n, phases=(phase,))
