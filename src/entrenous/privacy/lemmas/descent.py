"""How far one record can move what full-batch descent returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from entrenous.errors import AssumptionError
from entrenous.privacy.lemmas.bound import Bound, lemma
from entrenous.privacy.lemmas.gradients import all_pairs_gradient_sensitivity
from entrenous.privacy.lemmas.rounding import descent_error
from entrenous.problem.problem import Problem

LEMMA_3, LEMMA_4 = "Lemma 3", "Lemma 4"


def strongly_convex_descent_sensitivity(
    gradient: Bound, *, strong_convexity: float, smoothness: float, step_size: float, steps: int
) -> Bound:
    """Lemma 3: how far the last iterate of full-batch projected gradient descent moves, strongly convex.

    ``(D/alpha)(1 - (1 - eta alpha)^T)`` for ``eta <= 2/(L + alpha)``, where alpha and L both include the ridge, and D
    bounds the gradient.

    Proof: ``docs/proofs.md``, Lemma 3.
    """
    if strong_convexity <= 0.0:
        raise AssumptionError(f"{LEMMA_3} needs strong convexity > 0", f"{strong_convexity}", "Set ridge > 0.")
    check_step(step_size, 2.0 / (smoothness + strong_convexity), "2/(L + alpha)")
    shrink = -math.expm1(steps * math.log1p(-step_size * strong_convexity)) if step_size * strong_convexity < 1 else 1.0
    numbers = {"steps": steps, "step_size": step_size}
    return Bound(gradient.value / strong_convexity * shrink, LEMMA_3, numbers=numbers)


def convex_descent_sensitivity(
    gradient: Bound, *, smoothness: float, step_size: float, steps: int, average_from: int
) -> Bound:
    """Lemma 4: how far the average of ``w_m..w_T`` (m = `average_from`) of full-batch descent moves, convex and smooth.

    ``eta D (T + m)/2`` for ``eta <= 2/L`` (L over all pairs, a ridge included): the last iterate (m = T) moves
    ``T eta D``, the average of all ``w_0..w_T`` half of that.

    Proof: ``docs/proofs.md``, Lemma 4.
    """
    check_step(step_size, 2.0 / smoothness if smoothness > 0.0 else math.inf, "2/L_full")
    numbers = {"steps": steps, "step_size": step_size, "average_from": average_from}
    return Bound(step_size * gradient.value * (steps + average_from) / 2.0, LEMMA_4, numbers=numbers)


def check_step(step_size: float, largest: float, rule: str) -> None:
    """An error unless a step is positive and at most as long as the proof allows."""
    if not 0.0 < step_size <= largest * (1.0 + 1e-12):
        raise AssumptionError(
            f"the stability proof needs a positive step size of at most {rule} = {largest:.6g}",
            f"{step_size:.6g}",
            "Use a smaller step size, a smaller radius, or a surrogate with less curvature.",
        )


def need_convex_problem(problem: Problem) -> None:
    """An error where iterates of two runs may drift apart: noise on a result needs convexity."""
    if not problem.convex:
        raise AssumptionError(
            "noise on a result needs a convex loss: a convex surrogate of a score that is affine in the parameter",
            f"{problem.surrogate} for {problem.task}",
            "Do not rely on it.",
        )


@lemma(LEMMA_3)
def _last_iterate(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    need_convex_problem(problem)
    if numbers.get("average_from", numbers["steps"]) != numbers["steps"]:
        raise ValueError("the last iterate, not an average")
    bound = strongly_convex_descent_sensitivity(
        all_pairs_gradient_sensitivity(problem, n),
        strong_convexity=problem.strong_convexity,
        smoothness=problem.full_smoothness(n) + problem.ridge,
        step_size=numbers["step_size"],
        steps=numbers["steps"],
    )
    return _with_rounding(bound, problem, n, numbers)


@lemma(LEMMA_4)
def _average(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    need_convex_problem(problem)
    if numbers["average_from"] > numbers["steps"]:
        raise ValueError("an average that begins before the last step")
    bound = convex_descent_sensitivity(
        all_pairs_gradient_sensitivity(problem, n),
        smoothness=problem.full_smoothness(n) + problem.ridge,
        step_size=numbers["step_size"],
        steps=numbers["steps"],
        average_from=numbers["average_from"],
    )
    return _with_rounding(bound, problem, n, numbers)


def _with_rounding(bound: Bound, problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    return replace(bound, error=descent_error(problem, n, steps=numbers["steps"], step_size=numbers["step_size"]))
