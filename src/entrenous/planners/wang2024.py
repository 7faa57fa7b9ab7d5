"""Wang et al.: DP-SGD for pointwise and pairwise learning with random samples, Gaussian noise on every step. 2024.

Every step looks at one random record or pair that nobody sees. ``calibration="tight"`` scales the noise to Lemmas 1, 2
and 9 and to the price of sampling without replacement; ``"paper"`` prints the paper's variance, where its side
conditions can be met, and lets the certificate say what that noise really gives.
"""

from __future__ import annotations

import math
import numbers
from typing import NamedTuple

import numpy as np

from entrenous.engine.phases.sampled_descent import SampledDescent
from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError, InputError
from entrenous.planners.assumptions import need_bounded_domain, need_bounded_slopes, need_gaussian, steps_from
from entrenous.planners.registry import algorithm
from entrenous.planners.streams import step_from
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.lemmas.gradients import (
    LEMMA_1,
    LEMMA_2,
    LEMMA_9,
    all_pairs_gradient_sensitivity,
    pointwise_gradient_sensitivity,
    sampled_pair_sensitivity,
)
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.mechanisms.gaussian import SampledGaussian
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.mechanisms.sampling import without_replacement
from entrenous.problem.problem import Form, Problem

CITATION = "Wang et al. 2024"

MOST_STEPS = 5_000_000
"""Theorems 3 and 6 ask for n^2 steps without smoothness; beyond this many they are left to `max_iter`."""

_BETAS = np.geomspace(1e-7, 1.0 - 1e-4, 4001)


class Printed(NamedTuple):
    """The two numbers in which the printed variances and side conditions of Theorems 2 and 5 differ."""

    variance: float
    records: float


POINTWISE, PAIRWISE = Printed(14.0, 1.0), Printed(56.0, 2.0)


def printed_variance(printed: Printed, lipschitz: float, steps: int, n: int, budget: Budget) -> tuple[float, float]:
    """The smallest printed variance whose side conditions hold, and its beta.

    ``sigma^2 = K G^2 T/(beta n^2 eps) lambda``, ``lambda = log(1/delta)/((1-beta) eps) + 1``, with
    ``sigma^2 >= 2.68 G^2`` and ``lambda - 1 <= sigma^2/(6 G^2) log(n/(k lambda (1 + sigma^2/(4 G^2))))``: K = 14, k = 1
    for one record (Theorem 2), K = 56, k = 2 for a pair (Theorem 5). beta is searched on a log grid.
    """
    order = math.log(1.0 / budget.delta) / ((1.0 - _BETAS) * budget.epsilon) + 1.0
    # In units of G^2.
    variance = printed.variance * steps / (_BETAS * n**2 * budget.epsilon) * order
    room = variance / 6.0 * np.log(n / (printed.records * order * (1.0 + variance / 4.0)))
    allowed = (variance >= 2.68) & (order - 1.0 <= room)
    if not allowed.any():
        raise AssumptionError(
            "the paper's noise needs a beta in (0, 1) that meets the side conditions of its privacy theorem",
            f"none for n={n}, T={steps}, epsilon={budget.epsilon:g}, delta={budget.delta:.3g}",
            'Use calibration="tight", which needs no such beta, a larger epsilon, or more records.',
        )
    best = int(np.argmin(np.where(allowed, variance, np.inf)))
    return float(variance[best]) * lipschitz**2, float(_BETAS[best])


def schedule(problem: Problem, budget: Budget, n: int, *, low_noise: bool) -> tuple[float, int]:
    """Step size (before any cap) and steps of Theorems 3, 4, 6 and 7, by the surrogate's Hoelder exponent alpha.

    The theorems' free constant is ``c = B/G``, radius over Lipschitz constant: a step of this size crosses the domain.
    Without privacy the terms with epsilon are not there.
    """
    alpha = problem.surrogate.hoelder.exponent
    c = problem.domain.radius / problem.lipschitz
    readable = math.inf
    if budget.is_private:
        readable = budget.epsilon / math.sqrt(problem.dimension * math.log(1.0 / budget.delta))
    if low_noise:
        # Parts (b). At alpha = 1 the first term is 1 and T = n: the smooth theorem, whose step size has no such term.
        steps = math.ceil(n ** (2.0 / (1.0 + alpha)))
        rate = n ** ((alpha**2 + 2.0 * alpha - 3.0) / (2.0 * (1.0 + alpha))) if alpha < 1.0 else math.inf
        return c * min(rate, n * readable / steps), steps
    if alpha >= 0.5:
        return c * min(n**-0.5, readable), n
    return c * min(n ** (3.0 * (alpha - 1.0) / (2.0 * (1.0 + alpha))), readable), math.ceil(
        n ** ((2.0 - alpha) / (1.0 + alpha))
    )


@algorithm(
    "dpsgd-pairwise",
    CITATION,
    "one secret random pair per step, noise on every step, averaged",
    cost="n pair gradients",
    lemmas=(LEMMA_1, LEMMA_2),
    needs=("bounded slopes",),
)
def dpsgd_pairwise(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    calibration: str = "tight",
    form: Form | None = None,
    batch: int | None = None,
    step_size: float | None = None,
    low_noise: bool = False,
) -> Plan:
    """Algorithm 2: every step one uniformly random pair, Gaussian noise on its gradient, average of ``w_1..w_T``.

    The pair pays in whichever order puts the event first: a sample of 2 of n records, sensitivity ``D_pair`` (Lemma 1).
    ``batch=m`` takes the mean over the ``m(m-1)`` ordered pairs of m records instead (Lemma 2 with m for n); that is
    another normalisation: for ranking ``batch=2`` has half the gradient and sensitivity of the one pair. Steps: n, and
    up to n^2 for surrogates of Hoelder exponent below 1/2 such as the hinge (at most 5,000,000 unless as
    printed); step size ``B/(G sqrt(n))`` or less, at most ``min(2/L, 1)`` where smooth. ``low_noise`` is for data that
    some parameter ranks perfectly. Cost: T pair gradients. Convex surrogates; approximate privacy only.

    >>> import entrenous as en
    >>> plan = en.plan("dpsgd-pairwise", n=1000, n_features=5, epsilon=1.0, delta=1e-6)
    >>> plan.steps, plan.mechanisms[0].kind, plan.mechanisms[0].secret_sample.sample
    (1000, 'sampled-gaussian', 2)
    """
    problem = problem.in_form(problem.form if form is None else form)
    sample = _batch_size(batch, n, at_least=2) or 2
    bound = sampled_pair_sensitivity(problem) if batch is None else all_pairs_gradient_sensitivity(problem, sample)
    return _plan(
        "dpsgd-pairwise",
        problem,
        budget,
        n,
        PAIRWISE,
        bound=bound,
        sample=sample,
        batch=batch,
        step_size=step_size,
        max_iter=max_iter,
        calibration=calibration,
        low_noise=low_noise,
    )


@algorithm(
    "dpsgd-pointwise",
    CITATION,
    "one secret random record per step, noise on every step, averaged",
    cost="n record gradients",
    lemmas=(LEMMA_9,),
    tasks=("pointwise-classification", "pointwise-regression"),
    needs=("bounded slopes",),
)
def dpsgd_pointwise(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    calibration: str = "tight",
    batch: int | None = None,
    step_size: float | None = None,
    low_noise: bool = False,
) -> Plan:
    """Algorithm 1: every step one random record, Gaussian noise on its gradient, average of ``w_1..w_T``.

    For classification and regression on single records. ``batch=m`` takes the mean over m records without replacement.
    Sensitivity ``2G/m`` (Lemma 9). Steps and step sizes as for pairs. The intercept is part of the parameter. Cost: T m
    gradients. Convex surrogates; approximate privacy only.

    >>> import entrenous as en
    >>> ask = {"n": 1000, "n_features": 5, "epsilon": 1.0, "delta": 1e-6, "target_bounds": (0, 10)}
    >>> plan = en.plan("dpsgd-pointwise", task="pointwise-regression", **ask)
    >>> print(plan.mechanisms[0].lemma, plan.problem.surrogate)
    Lemma 9 square
    """
    sample = _batch_size(batch, n, at_least=1) or 1
    return _plan(
        "dpsgd-pointwise",
        problem,
        budget,
        n,
        POINTWISE,
        bound=pointwise_gradient_sensitivity(problem, sample),
        sample=sample,
        batch=batch,
        step_size=step_size,
        max_iter=max_iter,
        calibration=calibration,
        low_noise=low_noise,
    )


def _plan(
    name: str,
    problem: Problem,
    budget: Budget,
    n: int,
    printed: Printed,
    *,
    bound: Bound,
    sample: int,
    batch: int | None,
    step_size: float | None,
    max_iter: int | None,
    calibration: str,
    low_noise: bool,
) -> Plan:
    # Imported here, as it brings numba: an unknown surrogate is refused before a row is read.
    from entrenous.engine.pairs.surrogate_kernels import surrogate_code

    surrogate_code(problem.loss)
    if not isinstance(low_noise, bool):
        raise InputError("low_noise must be True or False", repr(low_noise), "False is the default.")
    need_bounded_slopes(name, problem)
    if budget.is_private:
        need_gaussian(name, budget)
    natural, steps = schedule(problem, budget, n, low_noise=low_noise)
    steps = steps_from(max_iter, steps if calibration == "paper" else min(steps, MOST_STEPS))
    pairwise = printed is PAIRWISE
    phase = SampledDescent(pairwise, steps, natural, batch)
    smoothness = problem.ordered_smoothness + phase.ridge_of(problem)
    if math.isfinite(smoothness):
        natural = min(natural, 2.0 / smoothness if smoothness > 0.0 else 1.0, 1.0)
    else:
        need_bounded_domain(name, problem)
    size = step_from(step_size, natural)
    noise: Mechanism | None = None
    beta: dict[str, float] = {}
    if budget.is_private:
        sampling = without_replacement(n, sample)
        if calibration == "tight":
            noise = calibrated(budget, bound, count=steps, sampling=sampling)
        else:
            if batch is not None:
                raise AssumptionError(
                    "the paper prints noise for one record or pair per step",
                    f"batch={batch}",
                    'Leave batch=None, or use calibration="tight".',
                )
            variance, beta["beta"] = printed_variance(printed, problem.lipschitz, steps, n, budget)
            noise = SampledGaussian(bound, math.sqrt(variance), count=steps, sampling=sampling)
    return Plan(
        name,
        CITATION,
        problem,
        budget,
        n,
        phases=(SampledDescent(pairwise, steps, size, batch, noise),),
        calibration=calibration if budget.is_private else "tight",
        remarks=beta,
    )


def _batch_size(batch: int | None, n: int, *, at_least: int) -> int | None:
    whole = isinstance(batch, numbers.Integral) and not isinstance(batch, bool)
    if batch is not None and not (whole and at_least <= batch <= n):
        raise InputError(
            f"batch must be None or an int from {at_least} to n={n}",
            repr(batch),
            "None is one pair or record per step.",
        )
    return batch
