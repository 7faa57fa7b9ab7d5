"""Projected gradients for fits without privacy, where a Lagrange multiplier does not replace the domain."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from entrenous.arrays import Array
from entrenous.engine.progress import Progress
from entrenous.problem.problem import Problem

_STEEPEST = 2.0**60
"""Beyond this curvature the objective bends less than floating point shows."""

Objective = Callable[[Array], tuple[float, Array]]
"""Value and gradient at a parameter."""


def projected_minimum(
    problem: Problem,
    objective: Objective,
    start: Array,
    tolerance: float,
    max_iter: int,
    progress: Progress,
) -> tuple[Array, int]:
    """The minimiser of an objective over the problem's domain and how many iterations it took.

    Accelerated projected gradients (FISTA) with backtracking, restarted whenever the momentum points uphill; without
    momentum, so to a stationary point, where the surrogate is not convex. Ends when a step, divided by its length,
    has no entry above `tolerance`.
    """
    w = problem.domain.project(start)
    z, momentum = w, 1.0
    value, gradient = objective(z)
    curvature = _curvature(objective, z, gradient)
    for iteration in range(1, max_iter + 1):
        while True:
            ahead = problem.domain.project(z - gradient / curvature)
            step = ahead - z
            value_ahead, gradient_ahead = objective(ahead)
            promised = value + float(np.sum(gradient * step)) + curvature / 2.0 * float(np.sum(step * step))
            if value_ahead <= promised + 1e-14 * abs(value) or curvature > _STEEPEST:
                break
            curvature *= 2.0
        progress(iteration, max_iter)
        if float(np.abs(step).max(initial=0.0)) * curvature <= tolerance:
            return ahead, iteration
        uphill = float(np.sum((z - ahead) * (ahead - w))) > 0.0
        if uphill or not problem.surrogate.convex:
            # A fresh start may also find that steps can be longer here.
            w = z = ahead
            momentum, curvature = 1.0, curvature * 0.7
            value, gradient = value_ahead, gradient_ahead
            continue
        momentum_ahead = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        z = ahead + (momentum - 1.0) / momentum_ahead * (ahead - w)
        w, momentum = ahead, momentum_ahead
        value, gradient = objective(z)
    return w, max_iter


def _curvature(objective: Objective, w: Array, gradient: Array) -> float:
    """A first guess of the smoothness: how the gradient changes along a short step down."""
    length = float(np.linalg.norm(gradient))
    if length == 0.0:
        return 1.0
    short = 1e-4
    _, moved = objective(w - short / length * gradient)
    return max(float(np.linalg.norm(moved - gradient)) / short, 1e-8)
