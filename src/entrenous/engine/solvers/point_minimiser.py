"""The minimiser of a mean loss over single records, to a tolerance. For fits without privacy only."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from entrenous.arrays import AnyArray, Array
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.engine.solvers.minimiser import differentiable, on_the_sphere
from entrenous.engine.solvers.whitening import whitening
from entrenous.problem.point_scores import PointScore
from entrenous.problem.problem import Problem


def minimise_points(
    problem: Problem, X: Rows, y: AnyArray, tolerance: float, max_iter: int, progress: Progress
) -> tuple[Array, float, int]:
    """Coefficients, intercept and how many iterations they took; the ridge is on the coefficients only.

    L-BFGS in coordinates in which the features have unit spread and no correlation. Where the minimiser leaves the
    ball, a ridge puts it on the sphere.
    """
    score = problem.score
    assert isinstance(score, PointScore)
    loss = differentiable(problem.surrogate)
    n, centre = len(X), X.mean()
    centred = X.minus(centre)
    coordinates_for = whitening(centred, centre)
    iterations, best = 0, np.zeros(X.shape[1] + 1)

    def solve(ridge: float) -> Array:
        nonlocal iterations, best
        coordinates = coordinates_for(ridge)

        def objective(v: Array) -> tuple[float, Array]:
            w = coordinates.parameter(v[:-1])
            margins, turns = score.from_scores(centred.scores(w) + v[-1], y)
            slopes = turns * loss.derivative(margins)
            gradient = centred.weighted_sum(slopes) / n + ridge * w
            value = float(np.mean(loss.value(margins))) + ridge / 2.0 * float(w @ w)
            return value, np.append(coordinates.gradient(gradient), np.mean(slopes))

        def count(_: Array) -> None:
            nonlocal iterations
            iterations += 1
            progress(min(iterations, max_iter), max_iter)

        begin = np.append(coordinates.of(best[:-1]), best[-1])
        options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "gtol": tolerance, "ftol": 0.0}
        found = minimize(objective, begin, jac=True, method="L-BFGS-B", callback=count, options=options)
        best = np.append(coordinates.parameter(found.x[:-1]), found.x[-1])
        return best[:-1]

    w = solve(problem.ridge)
    if float(np.linalg.norm(w)) > problem.domain.radius:
        w = problem.domain.project(on_the_sphere(solve, problem.ridge, problem.domain.radius))
    return w, float(best[-1] - centre @ w), max(1, iterations)
