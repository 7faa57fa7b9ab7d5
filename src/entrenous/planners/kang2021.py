"""Kang, Liu, Li, Wang: Towards Sharper Utility Bounds for Differentially Private Pairwise Learning. 2021.

``calibration="tight"`` scales the noise to Lemma 2 with exact accounting; ``"paper"`` prints Theorem 1's sigma, for
ranking in the paper's form ``phi((y - y')<w, x - x'>)``, and lets the certificate say what that noise really gives.
"""

from __future__ import annotations

import math
from typing import Literal

from entrenous.engine.phases.descent import Descent
from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError, InputError
from entrenous.planners.assumptions import need_bounded_slopes, need_gaussian, need_smooth, steps_from
from entrenous.planners.non_private import non_private_plan
from entrenous.planners.papers_form import in_papers_form
from entrenous.planners.registry import algorithm
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.gradients import LEMMA_2, all_pairs_gradient_sensitivity
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.problem.problem import Form, Problem

CITATION = "Kang et al. 2021"

PRINTED = {
    "auc": (2.0, (2.0 + 2.0 * math.sqrt(2.0)) / (3.0 + 2.0 * math.sqrt(2.0))),
    "metric": (1.0, (1.0 + math.sqrt(2.0)) / (6.0 + 4.0 * math.sqrt(2.0))),
}
"""G and L of Lemmas 2 and 3 for the logistic surrogate, as printed. The true ones are 3.93 and 4, and 3.81 and 4."""


@algorithm(
    "kang-gp",
    CITATION,
    "a few noisy gradients over all pairs, last iterate, convex or not",
    cost="log n full gradients",
    lemmas=(LEMMA_2,),
    tasks=("auc", "metric", "error-entropy"),
    needs=("smooth",),
)
def kang_gp(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    calibration: str = "tight",
    form: Form | None = None,
    bound: Literal["expectation", "high-probability"] = "expectation",
    constants: Literal["true", "printed"] = "true",
) -> Plan:
    """Algorithm 1: full-batch descent with Gaussian noise on every gradient; the last iterate.

    ``eta = 1/L``, ``T = ceil(log(n eps/sqrt(p)))`` for the bound in expectation (Theorem 2) or
    ``ceil(log(sqrt(n) eps))`` for the one with high probability (Theorem 3), 1 at least. Lemma 2 and exact Gaussian
    composition; the printed ``8 G sqrt(T log(1/delta))/(n eps)`` is valid and loose. Iterates start from zero and are
    projected where the domain is bounded. No convexity is needed, so it also takes the Welsch surrogate and minimum
    error entropy. Paper calibration can take the printed constants G and L (``constants="printed"``), which are too
    small. Cost: T gradients over all pairs. Needs a smooth surrogate with bounded slopes; approximate privacy only.

    >>> import entrenous as en
    >>> plan = en.plan("kang-gp", n=1000, n_features=4, epsilon=1.0, delta=1e-6)
    >>> print(plan.steps, plan.mechanisms[0].lemma)
    7 Lemma 2
    """
    problem = in_papers_form(problem, calibration, form)
    need_smooth("kang-gp", problem, "dpgdc2 or noisy-gd")
    _check_options(problem, calibration, bound, constants)
    if not budget.is_private:
        return non_private_plan("kang-gp", CITATION, problem, n, max_iter)
    need_gaussian("kang-gp", budget)
    need_bounded_slopes("kang-gp", problem)
    ratio = n * budget.epsilon / math.sqrt(problem.dimension)
    steps = steps_from(
        max_iter, math.ceil(math.log(ratio if bound == "expectation" else math.sqrt(n) * budget.epsilon))
    )
    # The paper knows the smoothness of one ordered pair; over all pairs it is smaller, so the steps can be longer.
    lipschitz, smoothness = problem.lipschitz, problem.full_smoothness(n)
    if calibration == "paper":
        smoothness = problem.ordered_smoothness
    if constants == "printed":
        lipschitz, smoothness = PRINTED[problem.task]
    smoothness += problem.ridge
    # Where the loss is a straight line any step will do, and one across the domain is the natural one.
    step_size = 1.0 / smoothness if smoothness > 0.0 else problem.domain.radius / lipschitz
    moved = all_pairs_gradient_sensitivity(problem, n)
    noise: Mechanism
    if calibration == "tight":
        noise = calibrated(budget, moved, count=steps)
    else:
        sigma = 8.0 * lipschitz * math.sqrt(steps * math.log(1.0 / budget.delta)) / (n * budget.epsilon)
        noise = Gaussian(moved, sigma, count=steps)
    return Plan(
        "kang-gp",
        CITATION,
        problem,
        budget,
        n,
        phases=(Descent(steps, step_size, average_from=steps, gradient_noise=noise),),
        calibration=calibration,
        remarks={"constants": constants},
    )


def _check_options(problem: Problem, calibration: str, bound: str, constants: str) -> None:
    if bound not in ("expectation", "high-probability"):
        raise InputError("bound must be 'expectation' or 'high-probability'", repr(bound), "Leave it out.")
    if constants not in ("true", "printed"):
        raise InputError("constants must be 'true' or 'printed'", repr(constants), "Leave it out.")
    if constants == "true":
        return
    if calibration != "paper":
        raise InputError(
            "constants='printed' reproduces the paper's noise",
            f"calibration={calibration!r}",
            'Use "paper", or leave it.',
        )
    if problem.task not in PRINTED or problem.surrogate.name != "logistic":
        raise AssumptionError(
            "constants='printed' are those of the logistic surrogate on auc and metric",
            f"{problem.surrogate} for {problem.task}",
            "Leave it out: the true constants are known for every problem.",
        )
