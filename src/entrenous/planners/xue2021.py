"""Xue, Yang, Huai, Wang: Differentially Private Pairwise Learning Revisited. IJCAI 2021.

``calibration="tight"`` scales the noise to Lemmas 2 and 3 with exact accounting; ``"paper"`` prints the paper's
sigma, in the paper's form ``phi((y - y')<w, x - x'>)``, and lets the certificate say what that noise really gives.
"""

from __future__ import annotations

import math

from entrenous.engine.phases import Descent
from entrenous.engine.plan import Plan
from entrenous.parts.problem import Form, Problem
from entrenous.planners.assumptions import (
    need_bounded_slopes,
    need_gaussian,
    need_smooth,
    need_strong_convexity,
    steps_from,
)
from entrenous.planners.registry import Algorithm, register, unit_radius
from entrenous.planners.twin import non_private_twin
from entrenous.privacy.budget import Budget
from entrenous.privacy.mechanisms import Mechanism, calibrated
from entrenous.privacy.sensitivity import all_pairs_gradient_sensitivity, strongly_convex_descent_sensitivity

CITATION = "Xue et al. 2021"


def _in_papers_form(problem: Problem, calibration: str, form: Form | None) -> Problem:
    """The paper's label-difference form in paper calibration, unless the user chose one."""
    if form is None:
        form = "label-difference" if calibration == "paper" and problem.task == "auc" else problem.form
    return problem.in_form(form)


def dpgdsc(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    calibration: str = "tight",
    form: Form | None = None,
) -> Plan:
    """Algorithm 1 (DPGDSC): full-batch descent on a strongly convex objective, noise on the last iterate.

    Theorem 1 with Lemma 3 in place of the paper's ``8G/(alpha n)``: the output moves at most ``D_full/alpha``.
    ``eta = 2/(L + alpha)``, ``T = ceil((L/alpha) log n)``. Cost: T gradients over all pairs. Needs a smooth surrogate
    and ``ridge > 0``; pure or approximate privacy.

    >>> import entrenous as en
    >>> plan = en.plan("dpgdsc", n=1000, n_features=5, epsilon=1.0, delta=0, ridge=0.1)
    >>> plan.mechanisms[0].kind
    'l2-laplace'
    """
    problem = _in_papers_form(problem, calibration, form)
    need_strong_convexity("dpgdsc", problem, "dpgdc2 or noisy-gd")
    need_smooth("dpgdsc", problem, "dpgdc2 or noisy-gd")
    if not budget.is_private:
        return non_private_twin("dpgdsc", CITATION, problem, n, max_iter)
    alpha = problem.strong_convexity
    # The paper knows the smoothness of one ordered pair; over all pairs it is smaller, so the steps can be longer.
    smoothness = (problem.ordered_smoothness if calibration == "paper" else problem.full_smoothness(n)) + problem.ridge
    step_size = 2.0 / (smoothness + alpha)
    steps = steps_from(max_iter, math.ceil(smoothness / alpha * math.log(n)))
    sensitivity = strongly_convex_descent_sensitivity(
        all_pairs_gradient_sensitivity(problem, n),
        strong_convexity=alpha,
        smoothness=problem.full_smoothness(n) + problem.ridge,
        step_size=step_size,
        steps=steps,
    )
    if calibration == "tight":
        noise = calibrated(budget, sensitivity, "Lemma 3")
    elif budget.is_pure:
        root_p = math.sqrt(problem.dimension)
        scale = 8.0 * problem.lipschitz * root_p / (alpha * n * budget.epsilon)
        noise = Mechanism("laplace", sensitivity, "Lemma 3", scale=scale, l1_sensitivity=root_p * sensitivity)
    else:
        classical = math.sqrt(2.0 * math.log(1.25 / budget.delta))
        sigma = 8.0 * classical * problem.lipschitz / (alpha * n * budget.epsilon)
        noise = Mechanism("gaussian", sensitivity, "Lemma 3", sigma=sigma)
    return Plan(
        "dpgdsc",
        CITATION,
        problem,
        budget,
        n,
        phases=(Descent(steps, step_size, average_from=steps, output_noise=noise),),
        mechanisms=(noise,),
        calibration=calibration,
        public={"steps": steps, "step_size": step_size},
    )


def dpgdc2(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    calibration: str = "tight",
    form: Form | None = None,
) -> Plan:
    """Algorithm 2 (DPGDC2): full-batch descent with Gaussian noise on every gradient, average of ``w_0..w_T``.

    ``T = min(n, n^2 eps^2/(d log(1/delta)))``, ``eta = C/(G sqrt(T))`` (Theorem 2 prints G/C; the units ask for C/G).
    Lemma 2 and exact Gaussian composition; the printed sigma is too small above eps of about 1.2 where the generic
    sensitivity 4G/n is attained, and wasteful for ranking. Cost: T gradients over all pairs. Convex surrogates;
    approximate privacy only.

    >>> import entrenous as en
    >>> plan = en.plan("dpgdc2", n=1000, n_features=5, epsilon=1.0, delta=1e-6)
    >>> plan.steps, plan.mechanisms[0].lemma
    (1000, 'Lemma 2')
    """
    problem = _in_papers_form(problem, calibration, form)
    if not budget.is_private:
        return non_private_twin("dpgdc2", CITATION, problem, n, max_iter)
    need_gaussian("dpgdc2", budget)
    need_bounded_slopes("dpgdc2", problem)
    log_term = math.log(1.0 / budget.delta)
    affordable = n**2 * budget.epsilon**2 / (problem.dimension * log_term)
    steps = steps_from(max_iter, max(1, math.floor(min(n, affordable))))
    step_size = problem.domain.radius / (problem.lipschitz * math.sqrt(steps))
    sensitivity = all_pairs_gradient_sensitivity(problem, n)
    if calibration == "tight":
        noise = calibrated(budget, sensitivity, "Lemma 2", count=steps)
    else:
        sigma = 4.0 * problem.lipschitz * math.sqrt(1.25 * steps * log_term) / (n * budget.epsilon)
        noise = Mechanism("gaussian", sensitivity, "Lemma 2", sigma=sigma, count=steps)
    return Plan(
        "dpgdc2",
        CITATION,
        problem,
        budget,
        n,
        phases=(Descent(steps, step_size, average_from=0, gradient_noise=noise),),
        mechanisms=(noise,),
        calibration=calibration,
        public={"steps": steps, "step_size": step_size},
    )


register(
    Algorithm(
        "dpgdsc",
        dpgdsc,
        CITATION,
        summary="descent over all pairs, strongly convex, noise on the result",
        tasks=("auc",),
        privacy=("pure", "approximate", "none"),
        needs=("smooth", "strongly convex"),
        cost="(L/alpha) log n full gradients",
        calibrations=("tight", "paper"),
        surrogates=None,
        default_surrogate="logistic",
        default_radius=unit_radius,
    )
)
register(
    Algorithm(
        "dpgdc2",
        dpgdc2,
        CITATION,
        summary="descent over all pairs, noise on every gradient, averaged",
        tasks=("auc",),
        privacy=("approximate", "none"),
        needs=("convex",),
        cost="up to n full gradients",
        calibrations=("tight", "paper"),
        surrogates=None,
        default_surrogate="logistic",
        default_radius=unit_radius,
    )
)
