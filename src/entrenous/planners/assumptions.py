"""What theorems need, checked while planning: the errors depend on public numbers only."""

from __future__ import annotations

import math
import numbers

from entrenous.errors import AssumptionError, InputError
from entrenous.planners.registry import algorithms
from entrenous.privacy.budget import Budget
from entrenous.problem.problem import Problem


def need_convex(name: str, problem: Problem) -> None:
    """A convex loss: a convex surrogate of a score that is affine in the parameter."""
    if not problem.convex:
        raise AssumptionError(
            f"{name} needs a convex surrogate",
            f"surrogate={problem.surrogate}",
            "Use noisy-gd or kang-gp, whose proofs need no convexity, or a convex surrogate such as logistic.",
        )


def need_strong_convexity(name: str, problem: Problem, alternative: str) -> None:
    """A ridge > 0."""
    if problem.strong_convexity <= 0.0:
        raise AssumptionError(
            f"{name} needs strong convexity > 0", f"ridge={problem.ridge:g}", f"Set ridge=0.01, or use {alternative}."
        )


def need_smooth(name: str, problem: Problem, alternative: str) -> None:
    """A surrogate whose derivative is Lipschitz on the reachable margins."""
    if not math.isfinite(problem.pair_smoothness):
        raise AssumptionError(
            f"{name} needs a smooth surrogate",
            f"surrogate={problem.surrogate}",
            f'Use "logistic" or "smoothed-hinge(width=0.5)", or {alternative}, which take it as it is.',
        )


def need_bounded_slopes(name: str, problem: Problem) -> None:
    """A finite domain, or a surrogate whose slope is bounded on the whole line."""
    if not math.isfinite(sum(problem.slopes)):
        raise AssumptionError(
            f"{name} needs bounded gradients",
            f"surrogate={problem.surrogate} on an unbounded domain",
            "Set radius, or use the logistic or hinge surrogate.",
        )


def need_bounded_domain(name: str, problem: Problem) -> None:
    """A finite radius, where the step size is a share of it."""
    if not math.isfinite(problem.domain.radius):
        raise AssumptionError(f"{name} needs a bounded domain", f"domain={problem.domain.name!r}", "Set radius=1.0.")


def need_gaussian(name: str, budget: Budget) -> None:
    """Delta > 0, for algorithms whose noise is Gaussian."""
    if budget.is_pure:
        pure = ", ".join(a.name for a in algorithms() if "pure" in a.privacy)
        raise AssumptionError(
            f"{name} adds Gaussian noise and needs delta > 0",
            "delta=0",
            f"Use delta=None (1/n**2), or for pure privacy one of: {pure}.",
        )


def steps_from(max_iter: int | None, default: int) -> int:
    """The user's number of steps, or the planner's."""
    if max_iter is None:
        return max(1, default)
    if isinstance(max_iter, bool) or not isinstance(max_iter, numbers.Integral) or max_iter < 1:
        raise InputError("max_iter must be an int >= 1", repr(max_iter), "None lets the algorithm choose.")
    return int(max_iter)
