"""Which algorithm ``"auto"`` takes: a function of public numbers, never of rows."""

from __future__ import annotations

from entrenous.errors import AssumptionError
from entrenous.planners.registry import algorithm_named, algorithms
from entrenous.privacy.budget import Budget
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.surrogates.bounded import Welsch
from entrenous.problem.surrogates.convex import Logistic, Square
from entrenous.problem.tasks.task import Task


def choose(budget: Budget, surrogate: Surrogate | None, ridge: float, task: Task) -> str:
    """Pure privacy: noise on the result of descent. Otherwise a descent on single records in private units where the
    surrogate is open or is its own, class moments for a metric and for least squares, else noisy gradients, else the
    first algorithm that covers the task and takes the surrogate.
    """
    if budget.is_pure and (surrogate is None or surrogate.convex) and algorithm_named("dpgdsc").covers(task):
        if ridge <= 0.0:
            raise AssumptionError(
                "algorithm='auto' takes dpgdsc for pure privacy (delta=0), which needs ridge > 0",
                "ridge=0",
                "Set ridge=0.01, or use delta=None (1/n**2).",
            )
        return "dpgdsc"
    usual = (
        ("logistic-gd", surrogate is None or (not task.score.pairwise and isinstance(surrogate, Logistic))),
        ("residual-gd", surrogate is None or isinstance(surrogate, Square | Welsch)),
        ("moments", surrogate is None or isinstance(surrogate, Square)),
        ("noisy-gd", True),
    )
    for name, suits in usual:
        record = algorithm_named(name, task)
        if suits and record.covers(task) and record.takes(surrogate):
            return name
    covering = [record for record in algorithms() if record.covers(task)]
    return next((record.name for record in covering if record.takes(surrogate)), covering[0].name)
