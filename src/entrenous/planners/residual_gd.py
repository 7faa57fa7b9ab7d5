"""`residual-gd`: find the geometry for a small share of the budget, then a robust linear regression on what is left.

Every number here is a function of (n, d, epsilon, delta) and of what is declared about columns and targets. The
constants were chosen on the made-up sets of `benchmarks/regression.py` and on scikit-learn's diabetes; covtype's
elevation decided none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from entrenous.engine.phases.find_bounds import FindBounds
from entrenous.engine.phases.phase import Phase
from entrenous.engine.phases.residual_descent import NORM, ResidualDescent
from entrenous.engine.phases.standardise import Standardise
from entrenous.engine.phases.target_centre import TargetCentre
from entrenous.engine.phases.zoom import Zoom
from entrenous.engine.plan import Plan
from entrenous.planners.assumptions import need_gaussian, steps_from
from entrenous.planners.non_private import non_private_plan, robust_plan
from entrenous.planners.private_scales import (
    STANDARDISE,
    ZOOM,
    check_shares,
    clip_before_scales,
    gaussian_for_share,
    narrower_ranges,
    standardising,
)
from entrenous.planners.registry import algorithm
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.lemmas.pointwise import LEMMA_23, residual_gradient_sensitivity
from entrenous.privacy.lemmas.statistics import record_histogram_sensitivity
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.cut_box import CutBox
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.private_bounds import PrivateBounds
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.surrogates.bounded import Welsch

CITATION = "entrenous"

TARGETS = 0.05
"""Share of the budget for where most targets are."""
_BINS = ((0.002, 512), (0.02, 64), (math.inf, 16))
"""Bins of the targets' range, by the noise of a bin as a share of the records."""
_STEPS = 200
_LONGEST_STEP = 10.0
"""Momentum makes it so long; a longer one would take more than half of the steps to settle."""
_TIME = 0.3
"""Length of the descent, times the noise-to-signal ratio to the power of 3/2."""
_USUAL_WIDTH = 10
"""Columns up to which that is enough; of more each has less of a row of norm 1, and the descent is longer."""
_SHRINKAGE = 2.4
"""Ridge, in squared noise-to-signal ratios over the variance of a column."""
_NOISY = 0.02
"""Noise-to-signal ratio above which rows longer than is usual for their width are drawn in."""
_TAIL, _LONG_TAIL, _QUIET = 3.0, 9.0, 0.002
"""Otherwise those are that are longer by so many standard deviations of a normal row's squared length: more, up to
the second number, below this noise-to-signal ratio."""
_HALF_WIDTH = 6.0
"""Half-width of narrower ranges, in standard deviations: cutting a long tail off bends a regression."""
_FILL, _LEAST_FILL, _FILL_BY_NOISE = 0.5, 0.15, 50.0
"""How much of their cap errors fill: half where outliers shall not count, and as with least squares where they shall
and noise permits."""


@algorithm(
    "residual-gd",
    CITATION,
    "private scales, then a noisy robust regression",
    cost="200 passes, n d each",
    lemmas=(LEMMA_23,),
    tasks=("error-entropy", "pointwise-regression"),
    needs=("welsch or square surrogate",),
    surrogates=("welsch", "square"),
    surrogate="welsch",
    radius=lambda budget, n, dimension: None,
    finds_intercept=True,
)
def residual_gd(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    features: FeatureDomain | PrivateBounds | None = None,
    asked_surrogate: Surrogate | None = None,
    zoom: float = ZOOM,
    standardise: float = STANDARDISE,
    targets: float = TARGETS,
) -> Plan:
    """Noisy descent on errors that were capped, in units that were found privately: ranges, scales, targets, errors.

    Error entropy asks for pairs. Averaged over a partner with a normal error of the scale that the descent releases as
    it goes, the slope of a pair becomes one of a single error, which a record moves half as far. With the square
    surrogate the loss is Huber's, its cap as wide as the noise permits. Coefficients and intercept come together.
    `zoom`, `standardise` and `targets` are the shares of the budget for narrower ranges, for means and scales, and for
    where most targets are; 0 leaves the stage out. Approximate privacy; without privacy the loss over all pairs is
    minimised, the bandwidth taken from the errors, and least squares with the square surrogate.

    >>> import entrenous as en
    >>> made = en.plan("residual-gd", n=1000, n_features=5, epsilon=1.0, bounds=(0, 1), target_bounds=(0, 10))
    >>> [type(phase).__name__ for phase in made.phases]
    ['TargetCentre', 'Standardise', 'ResidualDescent']
    """
    if not budget.is_private:
        open_bandwidth = problem.score.pairwise and asked_surrogate is None
        return (robust_plan if open_bandwidth else non_private_plan)("residual-gd", CITATION, problem, n, max_iter)
    need_gaussian("residual-gd", budget)
    shares = {"zoom": zoom, "standardise": standardise, "targets": targets}
    check_shares(shares, "the descent needs", f"{ZOOM:g}, {STANDARDISE:g} and {TARGETS:g}")
    asked = (FeatureBounds(-1.0, 1.0) if features is None else features).for_features(problem.n_features)
    domain = asked.within if isinstance(asked, PrivateBounds) else asked
    if domain.mixes_columns:  # an earlier fit found its units
        standardise = 0.0
    mu = mu_for(budget.epsilon, budget.delta)
    before = [*_target_centre(targets, n, mu), *narrower_ranges(asked, n, budget, zoom, _HALF_WIDTH)]
    spent = sum(phase.mechanism.gdp or 0.0 for phase in before if phase.mechanism) / mu**2
    left = 1.0 - spent - standardise
    d = problem.n_features
    # The norm of a gradient's noise, were it the only release, beside that of a gradient whose errors are at the cap.
    ratio = math.sqrt(d + 1) / (math.sqrt(left) * mu * n)
    radius = 1.0
    if standardise > 0.0:
        radius = _radius(domain, ratio)
        clip = clip_before_scales(domain, before)
        before += standardising(domain, clip, n, mu, standardise, radius, one_round=True)
    steps = steps_from(max_iter, _STEPS)
    noise = Gaussian(residual_gradient_sensitivity(), math.sqrt(steps) / (math.sqrt(left) * mu), count=steps)
    descent = ResidualDescent(
        steps,
        noise,
        time=min(_TIME * ratio**-1.5 * math.sqrt(max(1.0, d / _USUAL_WIDTH)), _LONGEST_STEP * steps),
        shrinkage=_SHRINKAGE * (NORM * radius * ratio) ** 2,
        fill=_fill(problem, ratio),
        fades=not problem.surrogate.convex,
        bandwidth=asked_surrogate.bandwidth if isinstance(asked_surrogate, Welsch) else None,
    )
    phases = (*before, descent)
    return Plan(
        "residual-gd",
        CITATION,
        problem,
        budget,
        n,
        phases=phases,
        features=None if features is None else domain,
        remarks={"stages": _in_words(phases, mu, domain)},
    )


def _target_centre(share: float, n: int, mu: float) -> list[Phase]:
    if share == 0.0:
        return []
    noise = gaussian_for_share(record_histogram_sensitivity(), share, mu)
    bins = next(bins for most, bins in _BINS if noise.sigma <= most * n)
    return [TargetCentre(share, noise, bins)]


def _radius(domain: FeatureDomain, ratio: float) -> float:
    """How long rows may be, in square roots of the number of columns that vary: clipped ones bend the prediction."""
    columns = max(1, int(np.count_nonzero(domain.unit)))
    tail = min(_TAIL * max(1.0, _QUIET / ratio), _LONG_TAIL)
    return 1.0 if ratio > _NOISY else math.sqrt(1.0 + tail * math.sqrt(2.0 / columns))


def _fill(problem: Problem, ratio: float) -> float:
    return min(_FILL, _LEAST_FILL + _FILL_BY_NOISE * ratio) if problem.surrogate.convex else _FILL


def _in_words(phases: Sequence[Phase], mu: float, domain: FeatureDomain) -> str:
    """Which stages run, with their shares of the budget."""
    cost: dict[type, float] = {}
    for phase in phases:
        assert phase.mechanism is not None
        cost[type(phase)] = 100.0 * (phase.mechanism.gdp or 0.0) / mu**2
    ranges = [phase for phase in phases if isinstance(phase, Zoom | FindBounds)]
    # What an earlier fit found is not declared.
    given = "found before" if isinstance(domain, CutBox) else "declared"
    said = [
        f"where most targets are {cost[TargetCentre]:.3g} %" if TargetCentre in cost else "targets as declared",
        *(f"ranges of {phase.columns.size} columns {cost[type(phase)]:.3g} %" for phase in ranges),
        *([] if ranges else [f"ranges as {given}"]),
        f"means and scales {cost[Standardise]:.3g} %" if Standardise in cost else f"scales as {given}",
        f"{sum(phase.steps for phase in phases)} noisy gradients {cost[ResidualDescent]:.3g} %",
    ]
    return f"{', '.join(said)} of the budget"
