"""The minimiser of the all-pairs objective over a domain, to a tolerance. For fits without privacy only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq, minimize

from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.all_pairs import all_pairs_objective
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.engine.solvers.fista import projected_minimum
from entrenous.engine.solvers.whitening import whitening
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Surrogate, base_of
from entrenous.problem.surrogates.bounded import Sigmoid
from entrenous.problem.surrogates.convex import Hinge, SmoothedHinge

_SMOOTHING = 1e-3
"""Width of the parabola that stands in for the hinge's kink: the objective is off by at most half of it."""

_LEAST_GAIN = 1e-5
"""Share of the first loss that an iteration has to save where there is no minimiser to arrive at."""


def minimise(
    problem: Problem,
    X: Rows,
    y: AnyArray,
    start: Array,
    tolerance: float,
    max_iter: int,
    progress: Progress,
) -> tuple[Array, int]:
    """The minimiser and how many iterations it took.

    L-BFGS in coordinates in which the features have unit spread and no correlation (`whitening`), until no entry of
    the gradient there exceeds `tolerance`. A sigmoid without a ridge has no minimiser: its loss falls for ever, a
    little, as the parameter grows. It is followed as long as that is worth an iteration.
    When the minimiser leaves the ball, the ball's multiplier is a ridge: the one that puts the minimiser on the sphere
    is found by root search. Matrices, and balls that a surrogate without convexity leaves, go by projected gradients.
    """
    problem = replace(problem, surrogate=differentiable(problem.surrogate))
    centre = X.mean()
    centred = X.minus(centre)

    def over_all_pairs(w: Array) -> tuple[float, Array]:
        return all_pairs_objective(problem, w, centred, y)

    if problem.score.positive:
        return projected_minimum(problem, over_all_pairs, start, tolerance, max_iter, progress)
    coordinates_for = whitening(centred, centre)
    iterations = 0
    best = start

    def solve(ridge: float) -> Array:
        nonlocal iterations, best
        ridged = replace(problem, ridge=ridge)
        coordinates = coordinates_for(ridge)

        def objective(v: Array) -> tuple[float, Array]:
            value, gradient = all_pairs_objective(ridged, coordinates.parameter(v), centred, y)
            return value, coordinates.gradient(gradient)

        def count(_: Array) -> None:
            nonlocal iterations
            iterations += 1
            progress(min(iterations, max_iter), max_iter)

        begin, least_gain = coordinates.of(best), 0.0
        if ridge == 0.0 and isinstance(base_of(problem.surrogate), Sigmoid):
            least_gain = _LEAST_GAIN * objective(begin)[0]
        found = minimize(
            objective,
            begin,
            jac=True,
            method="L-BFGS-B",
            callback=count,
            # SciPy's ftol is a difference, as losses below 1 count as 1 there.
            options={"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "gtol": tolerance, "ftol": least_gain},
        )
        best = coordinates.parameter(np.asarray(found.x))
        return best

    w = solve(problem.ridge)
    radius = problem.domain.radius
    if float(np.linalg.norm(w)) > radius:
        if not problem.surrogate.convex:
            w, more = projected_minimum(problem, over_all_pairs, w, tolerance, max_iter, progress)
            return w, iterations + more
        w = on_the_sphere(solve, problem.ridge, radius)
    return problem.domain.project(w), max(1, iterations)


def on_the_sphere(solve: Callable[[float], Array], ridge: float, radius: float) -> Array:
    """The minimiser on the sphere: the one whose ridge, found by root search, is the ball's multiplier."""

    def excess(log_multiplier: float) -> float:
        return math.log(max(float(np.linalg.norm(solve(ridge + math.exp(log_multiplier)))), 1e-300) / radius)

    low, high = -2.0, 0.0
    while excess(high) > 0.0:
        low, high = high, high + 4.0
    while excess(low) < 0.0:
        low, high = low - 4.0, low
    return solve(ridge + math.exp(brentq(excess, low, high, xtol=1e-9, rtol=1e-12)))


def differentiable(surrogate: Surrogate) -> Surrogate:
    """The surrogate itself, or a smooth stand-in for the hinge."""
    return SmoothedHinge(width=_SMOOTHING) if isinstance(surrogate, Hinge) else surrogate
