"""`logistic-gd`: find the geometry for a small share of the budget, then noisy logistic regression on what is left.

Every number here is a function of (n, d, epsilon, delta) and of what is declared about the columns. The constants were
chosen on diabetes, debrecen, usps, ijcnn1 and a9a; german, bank_full and letter were looked at afterwards.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np

from entrenous.engine.phases.calibrate import Calibrate
from entrenous.engine.phases.capped_descent import CappedDescent, descent_time
from entrenous.engine.phases.event_share import EventShare
from entrenous.engine.phases.find_bounds import FindBounds
from entrenous.engine.phases.phase import Phase
from entrenous.engine.phases.standardise import COLUMN_REACH, ROW_REACH, FindCentre, Standardise
from entrenous.engine.phases.whiten import Whiten
from entrenous.engine.phases.zoom import Zoom
from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.planners.assumptions import need_gaussian, steps_from
from entrenous.planners.budget_split import find_bounds
from entrenous.planners.non_private import non_private_plan
from entrenous.planners.registry import algorithm
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.lemmas.pointwise import (
    LEMMA_17,
    capped_gradient_sensitivity,
    event_share_sensitivity,
    mean_row_sensitivity,
    means_and_squares_sensitivity,
    second_moment_sensitivity,
)
from entrenous.privacy.lemmas.statistics import feature_histograms_sensitivity, record_histogram_sensitivity
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.problem.features.ball import FeatureBall
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.cut_box import CutBox
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.private_bounds import PrivateBounds, searchable
from entrenous.problem.problem import Problem

CITATION = "entrenous"

_ZOOM, _STANDARDISE, _EVENT_SHARE, _CENTRE = 0.05, 0.1, 0.01, 0.4
"""Shares of the budget, as shares of ``mu^2``; the last is the centre's share of standardising in two rounds."""
STAGES: dict[str, tuple[type[Phase], ...]] = {
    "zoom": (Zoom, FindBounds),
    "standardise": (FindCentre, Standardise),
    "whiten": (Whiten,),
}
"""The stages that several classes share, by the option that sets their share of the budget."""
_READABLE_COUNTS = 0.01
"""Noise of a histogram's bin, as a share of the records, up to which zooming pays."""
_ONE_ROUND, _TOO_NOISY = 0.03, 0.6
"""Noise of a mean, in half-widths, below or above which standardising takes one round; between them it takes two."""
_READABLE_SHARE = 0.1
"""Noise of the share of events up to which it is released."""
_WHOLE_ROWS = 0.004
"""Noise-to-signal ratio below which only rows longer than ``sqrt(d)`` standard deviations are drawn in, else half."""
_TIME_PER_STEP, _FEWEST, _MOST = 24.0, 4, 250
_USUAL_WIDTH = 16
"""Numeric columns at which the length of the descent is the usual one; see `_stretch`."""


@algorithm(
    "logistic-gd",
    CITATION,
    "private scales, then noisy logistic regression",
    cost="up to 250 passes, n d each",
    lemmas=(LEMMA_17,),
    tasks=("auc",),
    needs=("logistic surrogate",),
    surrogates=("logistic",),
    radius=lambda budget, n, dimension: None,
)
def logistic_gd(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    max_iter: int | None = None,
    features: FeatureDomain | PrivateBounds | None = None,
    zoom: float = _ZOOM,
    standardise: float = _STANDARDISE,
    whiten: float = 0.0,
    calibrate: float = 0.0,
) -> Plan:
    """Noisy logistic regression in units that were found privately: narrower ranges, means, scales, class weights.

    Logistic regression on single records ranks as well as a loss over pairs where the score is linear, and a record
    moves its gradient half as much. `zoom`, `standardise` and `whiten` are the shares of the budget for narrower
    ranges, for means and scales, and for how the columns go together; 0 leaves the stage out. `calibrate` is the share
    for a look at how often records of a given score are events, after which the probabilities hold; 0.02 is enough
    where it pays, which at epsilon 1 takes some ten thousand records. Which of the stages run follows from public
    numbers, and the plan says so. Approximate privacy; without privacy the logistic loss over all pairs is minimised.

    >>> import entrenous as en
    >>> made = en.plan("logistic-gd", n=1000, n_features=5, epsilon=1.0, bounds=(0, 1))
    >>> [type(phase).__name__ for phase in made.phases]
    ['EventShare', 'FindCentre', 'Standardise', 'CappedDescent']
    """
    if not budget.is_private:
        return non_private_plan("logistic-gd", CITATION, problem, n, max_iter)
    need_gaussian("logistic-gd", budget)
    shares = {"zoom": zoom, "standardise": standardise, "whiten": whiten, "calibrate": calibrate}
    for name, share in shares.items():
        if not (isinstance(share, numbers.Real) and not isinstance(share, bool) and 0.0 <= share < 1.0):
            raise InputError(f"{name} must be a share of the budget, from 0 to 1", repr(share), "0 leaves it out.")
    if sum(shares.values()) + _EVENT_SHARE >= 1.0:
        raise InputError(
            "the descent needs a share of the budget of its own",
            ", ".join(f"{name}={share:g}" for name, share in shares.items()),
            f"The defaults are {_ZOOM:g}, {_STANDARDISE:g}, 0 and 0.",
        )
    if whiten > 0.0 and standardise == 0.0:
        raise InputError(
            "whitening needs rows that were centred and scaled",
            f"whiten={whiten:g} and standardise=0",
            f"Leave standardise at {_STANDARDISE:g}, or leave whiten out.",
        )
    asked = (FeatureBounds(-1.0, 1.0) if features is None else features).for_features(problem.n_features)
    domain = asked.within if isinstance(asked, PrivateBounds) else asked
    if domain.mixes_columns:  # an earlier fit centred, scaled and whitened them
        standardise = whiten = 0.0
    mu = mu_for(budget.epsilon, budget.delta)
    before = [*_event_share(n, mu), *_narrower_ranges(asked, n, budget, zoom)]
    spent = sum(phase.mechanism.gdp or 0.0 for phase in before if phase.mechanism) / mu**2
    left = 1.0 - spent - standardise - whiten - calibrate
    ratio = math.sqrt(problem.n_features + 1) / (math.sqrt(left) * mu * n)
    if standardise > 0.0:
        clip = _clip_before_scales(domain, before)
        before += _standardise(domain, clip, n, mu, standardise, 1.0 if ratio < _WHOLE_ROWS else 0.5)
    if whiten > 0.0 and any(isinstance(phase, Standardise) for phase in before):
        before.append(Whiten(whiten, _gaussian(second_moment_sensitivity(n), whiten, mu)))
    steps = steps_from(max_iter, _steps(ratio))
    noise = Gaussian(capped_gradient_sensitivity(), math.sqrt(steps) / (math.sqrt(left) * mu), count=steps)
    phases = (*before, CappedDescent(steps, noise, _stretch(domain)), *_calibrate(calibrate, mu))
    return Plan(
        "logistic-gd",
        CITATION,
        problem,
        budget,
        n,
        phases=phases,
        features=None if features is None else domain,
        remarks={"stages": _in_words(phases, mu, domain)},
    )


def shares_of_stages(made: Plan) -> dict[str, float]:
    """Shares of the budget for ranges and scales, by the option that sets them; without stages that do not run."""
    whole = sum(mechanism.gdp or 0.0 for mechanism in made.mechanisms)
    spent = dict.fromkeys(STAGES, 0.0)
    for phase in made.phases:
        if phase.finds_bounds and phase.mechanism is not None:
            stage = next(name for name, kinds in STAGES.items() if isinstance(phase, kinds))
            spent[stage] += (phase.mechanism.gdp or 0.0) / whole
    return {name: share for name, share in spent.items() if share > 0.0}


def _in_words(phases: Sequence[Phase], mu: float, domain: FeatureDomain) -> str:
    """Which stages run, with their shares of the budget, and why the others do not."""
    cost: dict[type, float] = {}
    for phase in phases:
        assert phase.mechanism is not None
        cost[type(phase)] = 100.0 * (phase.mechanism.gdp or 0.0) / mu**2
    ranges = [phase for phase in phases if isinstance(phase, Zoom | FindBounds)]
    rounds = "two rounds" if FindCentre in cost else "one round"
    # What an earlier fit found is not declared.
    given = "found before" if isinstance(domain, CutBox) else "declared"
    scales = cost.get(FindCentre, 0.0) + cost.get(Standardise, 0.0)
    said = [
        f"share of events {cost[EventShare]:.3g} %" if EventShare in cost else "no share of events (too few records)",
        *(f"ranges of {phase.columns.size} columns {cost[type(phase)]:.3g} %" for phase in ranges),
        *([] if ranges else [f"ranges as {given}"]),
        f"means and scales in {rounds} {scales:.3g} %" if scales else f"scales as {given}",
        *([f"whitening {cost[Whiten]:.3g} %"] if Whiten in cost else []),
        f"{sum(phase.steps for phase in phases)} noisy gradients {cost[CappedDescent]:.3g} %",
        *([f"calibration {cost[Calibrate]:.3g} %"] if Calibrate in cost else []),
    ]
    return f"{', '.join(said)} of the budget"


def _steps(ratio: float) -> int:
    """Enough for the length of the descent at equal classes; each one splits the budget."""
    return min(_MOST, max(_FEWEST, math.ceil(descent_time(ratio) / _TIME_PER_STEP)))


def _stretch(domain: FeatureDomain) -> float:
    """How much longer the descent is on a wide table of numbers.

    A row has norm 1, so each of d columns has about ``1/sqrt(d)`` of it, and a score needs coefficients that grow with
    ``sqrt(d)``: the usual length, which shrinks with ``sqrt(d)`` as the noise grows, stops too early. In columns
    declared 0/1 most rows say little, and it does not. Chosen on the design sets, of which usps is wide, and kept after
    a look at mnist (`benchmarks/wide_tables.py`).
    """
    varies = domain.unit > 0.0
    numeric = np.count_nonzero(varies & ~domain.is_binary)
    d = np.count_nonzero(varies)
    return float((d / _USUAL_WIDTH) ** (numeric / (2.0 * d))) if d else 1.0


def _event_share(n: int, mu: float) -> list[Phase]:
    noise = _gaussian(event_share_sensitivity(n), _EVENT_SHARE, mu)
    return [EventShare(_EVENT_SHARE, noise)] if noise.sigma <= _READABLE_SHARE else []


def _calibrate(share: float, mu: float) -> list[Phase]:
    return [Calibrate(share, _gaussian(record_histogram_sensitivity(), share, mu))] if share > 0.0 else []


def _narrower_ranges(asked: FeatureDomain | PrivateBounds, n: int, budget: Budget, share: float) -> list[Phase]:
    """The search that was asked for; in declared ranges a short one, where its counts are readable."""
    if share == 0.0:
        return []
    if isinstance(asked, PrivateBounds):
        return [find_bounds(share, budget, asked, draws_in=False)]
    if not isinstance(asked, FeatureBounds) or not searchable(asked).size:
        return []
    bound = feature_histograms_sensitivity(searchable(asked).size)
    noise = _gaussian(bound, share, mu_for(budget.epsilon, budget.delta))
    return [Zoom(asked, share, noise)] if noise.sigma <= _READABLE_COUNTS * n else []


def _clip_before_scales(domain: FeatureDomain, before: Sequence[Phase]) -> float | None:
    if not isinstance(domain, FeatureBounds):
        return None
    found = [phase.clip for phase in before if isinstance(phase, Zoom | FindBounds)]
    return found[0] if found else domain.clip


def _standardise(
    domain: FeatureDomain, clip: float | None, n: int, mu: float, share: float, radius: float
) -> list[Phase]:
    """One round, or where one is too noisy and two are not, two: the first finds a smaller domain for the second."""
    columns = int(np.count_nonzero(domain.unit))
    if columns == 0:
        return []
    corner = math.sqrt(columns)
    is_ball = isinstance(domain, FeatureBall)
    # Half-widths in one internal unit; a ball is taken for the box that it would just contain.
    half_widths = corner if clip is None else min(corner, clip)
    is_box = isinstance(domain, FeatureBounds)
    reach = min(1.0, 1.0 / half_widths) if is_box else max(domain.reach, 1.0 / corner)
    bound, weight = means_and_squares_sensitivity(n, columns, reach)
    noise = _gaussian(bound, share, mu)
    if not (_ONE_ROUND < noise.sigma * half_widths <= _TOO_NOISY) or half_widths <= ROW_REACH * corner or is_ball:
        return [Standardise(share, reach, 1.0 / half_widths, weight, radius, is_ball, noise)]
    first = _CENTRE * share
    centre = FindCentre(first, 1.0 / half_widths, _gaussian(mean_row_sensitivity(n), first, mu))
    inner = ROW_REACH * corner
    reach = min(1.0, COLUMN_REACH / inner)
    bound, weight = means_and_squares_sensitivity(n, columns, reach)
    second = share - first
    noise = _gaussian(bound, second, mu)
    return [centre, Standardise(second, reach, 1.0 / inner, weight, radius, True, noise)]


def _gaussian(bound: Bound, share: float, mu: float) -> Gaussian:
    return Gaussian(bound.l2_only(), bound.value / (math.sqrt(share) * mu))
