"""`logistic-gd`: find the geometry for a small share of the budget, then noisy logistic regression on what is left.

Every number here is a function of (n, d, epsilon, delta) and of what is declared about the columns. The constants were
chosen on diabetes, debrecen, usps, ijcnn1 and a9a; german, bank_full and letter were looked at afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from entrenous.engine.phases.calibrate import Calibrate
from entrenous.engine.phases.capped_descent import CappedDescent, descent_time
from entrenous.engine.phases.event_share import EventShare
from entrenous.engine.phases.find_bounds import FindBounds
from entrenous.engine.phases.phase import Phase
from entrenous.engine.phases.standardise import FindCentre, Standardise
from entrenous.engine.phases.whiten import Whiten
from entrenous.engine.phases.zoom import Zoom
from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.planners.assumptions import need_gaussian, steps_from
from entrenous.planners.non_private import non_private_plan
from entrenous.planners.private_scales import (
    STANDARDISE,
    ZOOM,
    check_shares,
    clip_before_scales,
    gaussian_for_share,
    narrower_ranges,
    stages_in_words,
    standardising,
)
from entrenous.planners.registry import algorithm
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.lemmas.pointwise import (
    LEMMA_17,
    capped_gradient_sensitivity,
    event_share_sensitivity,
    second_moment_sensitivity,
)
from entrenous.privacy.lemmas.statistics import record_histogram_sensitivity
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.private_bounds import PrivateBounds
from entrenous.problem.features.ramps import normal_ramps
from entrenous.problem.features.shaped_box import MOST_RAMPS, ShapedBox
from entrenous.problem.problem import Problem

CITATION = "entrenous"

_EVENT_SHARE = 0.01
"""Share of the budget for the share of events."""
STAGES: dict[str, tuple[type[Phase], ...]] = {
    "zoom": (Zoom, FindBounds),
    "standardise": (FindCentre, Standardise),
    "whiten": (Whiten,),
}
"""The stages that several classes share, by the option that sets their share of the budget."""
_READABLE_SHARE = 0.1
"""Noise of the share of events up to which it is released."""
_WHOLE_ROWS = 0.004
"""Noise-to-signal ratio below which only rows longer than ``sqrt(d)`` standard deviations are drawn in, else half."""
_TIME_PER_STEP, _FEWEST, _MOST = 24.0, 4, 250
SHAPES = ("linear", "additive", "auto")
_RAMPS = 9
_READABLE_SHAPES = 0.01
"""Noise-to-signal ratio, with all ramps, up to which ``shape="auto"`` takes them. This and the numbers of
`problem.features.ramps` were chosen on letter, ijcnn1 and bank_full."""
_USUAL_WIDTH = 16
"""Numeric columns at which the length of the descent is the usual one; see `_stretch`."""


@algorithm(
    "logistic-gd",
    CITATION,
    "private scales, then noisy logistic regression",
    cost="up to 250 passes, n d each",
    lemmas=(LEMMA_17,),
    tasks=("auc", "pointwise-classification"),
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
    zoom: float = ZOOM,
    standardise: float = STANDARDISE,
    whiten: float = 0.0,
    calibrate: float = 0.0,
    shape: str = "linear",
    ramps: int | None = None,
) -> Plan:
    """Noisy logistic regression in units that were found privately: narrower ranges, means, scales, class weights.

    Logistic regression on single records ranks as well as a loss over pairs where the score is linear, and a record
    moves its gradient half as much. `zoom`, `standardise` and `whiten` are the shares of the budget for narrower
    ranges, for means and scales, and for how the columns go together; 0 leaves the stage out. `calibrate` is the share
    for a look at how often records of a given score are events, after which the probabilities hold; 0.02 is enough
    where it pays, which at epsilon 1 takes some ten thousand records. `shape` ``"additive"`` lets the score bend in
    every numeric column: `ramps` of them join it, ``None`` for a number that suits the noise; ``"auto"`` does so where
    public numbers say that it pays. Which of the stages run follows from public numbers, and the plan says so.
    Approximate privacy; without privacy the logistic loss over all pairs is minimised, or that of single records where
    the task asks for it.

    >>> import entrenous as en
    >>> made = en.plan("logistic-gd", n=1000, n_features=5, epsilon=1.0, bounds=(0, 1))
    >>> [type(phase).__name__ for phase in made.phases]
    ['EventShare', 'FindCentre', 'Standardise', 'CappedDescent']
    """
    _check_shape(shape, ramps)
    if not budget.is_private:
        if shape == "additive":
            raise InputError(
                'shape="additive" is learnt privately',
                "a fit without privacy",
                "Put sklearn.preprocessing.SplineTransformer before a linear fit.",
            )
        return non_private_plan("logistic-gd", CITATION, problem, n, max_iter)
    need_gaussian("logistic-gd", budget)
    shares = {"zoom": zoom, "standardise": standardise, "whiten": whiten, "calibrate": calibrate}
    check_shares(shares, "the descent needs", f"{ZOOM:g}, {STANDARDISE:g}, 0 and 0", beside=_EVENT_SHARE)
    if whiten > 0.0 and standardise == 0.0:
        raise InputError(
            "whitening needs rows that were centred and scaled",
            f"whiten={whiten:g} and standardise=0",
            f"Leave standardise at {STANDARDISE:g}, or leave whiten out.",
        )
    if shape == "additive":
        _need_scales(features, standardise, whiten)
    asked = (FeatureBounds(-1.0, 1.0) if features is None else features).for_features(problem.n_features)
    domain = asked.within if isinstance(asked, PrivateBounds) else asked
    if domain.mixes_columns or isinstance(domain, ShapedBox):  # an earlier fit found its units
        standardise = whiten = 0.0
    mu = mu_for(budget.epsilon, budget.delta)
    before = [*_event_share(n, mu), *narrower_ranges(asked, n, budget, zoom)]
    spent = sum(phase.mechanism.gdp or 0.0 for phase in before if phase.mechanism) / mu**2
    left = 1.0 - spent - standardise - whiten - calibrate
    # What sqrt(d + 1) multiplies: the noise of one gradient beside its signal, were it the only release.
    noise_per_entry = 1.0 / (math.sqrt(left) * mu * n)
    bent = _ramps(shape, ramps, domain, noise_per_entry) if standardise > 0.0 and whiten == 0.0 else 0
    added, size = domain.added_entries + bent * _bending(domain), _size_of_ramps(domain, bent)
    ratio = math.sqrt(problem.n_features + size + 1) * noise_per_entry
    if standardise > 0.0:
        clip, radius = clip_before_scales(domain, before), 1.0 if ratio < _WHOLE_ROWS else 0.5
        before += standardising(domain, clip, n, mu, standardise, radius, bent)
    if whiten > 0.0 and any(isinstance(phase, Standardise) for phase in before):
        before.append(Whiten(whiten, gaussian_for_share(second_moment_sensitivity(n), whiten, mu)))
    steps = steps_from(max_iter, _steps(ratio))
    noise = Gaussian(capped_gradient_sensitivity(), math.sqrt(steps) / (math.sqrt(left) * mu), count=steps)
    descent = CappedDescent(steps, noise, _stretch(domain, size), added, size)
    phases = (*before, descent, *_calibrate(calibrate, mu))
    return Plan(
        "logistic-gd",
        CITATION,
        problem,
        budget,
        n,
        phases=phases,
        features=None if features is None else domain,
        remarks={"stages": _in_words(phases, mu, domain, bent)},
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


def _in_words(phases: Sequence[Phase], mu: float, domain: FeatureDomain, bent: int) -> str:
    """Which stages run, with their shares of the budget, and why the others do not."""
    cost: dict[type, float] = {}
    for phase in phases:
        assert phase.mechanism is not None
        cost[type(phase)] = 100.0 * (phase.mechanism.gdp or 0.0) / mu**2
    said = [
        f"share of events {cost[EventShare]:.3g} %" if EventShare in cost else "no share of events (too few records)",
        *stages_in_words(phases, mu, domain),
        *([f"whitening {cost[Whiten]:.3g} %"] if Whiten in cost else []),
        *([f"shapes of {_bending(domain)} columns with {bent} ramps each"] if bent else []),
        f"{sum(phase.steps for phase in phases)} noisy gradients {cost[CappedDescent]:.3g} %",
        *([f"calibration {cost[Calibrate]:.3g} %"] if Calibrate in cost else []),
    ]
    return f"{', '.join(said)} of the budget"


def _steps(ratio: float) -> int:
    """Enough for the length of the descent at equal classes; each one splits the budget."""
    return min(_MOST, max(_FEWEST, math.ceil(descent_time(ratio) / _TIME_PER_STEP)))


def _stretch(domain: FeatureDomain, size_of_ramps: float) -> float:
    """How much longer the descent is on a wide table of numbers.

    A row has norm 1, so each of d columns has about ``1/sqrt(d)`` of it, and a score needs coefficients that grow with
    ``sqrt(d)``: the usual length, which shrinks with ``sqrt(d)`` as the noise grows, stops too early. In columns
    declared 0/1 most rows say little, and it does not. Chosen on the design sets, of which usps is wide, and kept after
    a look at mnist (`benchmarks/wide_tables.py`). Ramps count as so many columns as their size amounts to.
    """
    d, numeric = np.count_nonzero(domain.unit) + size_of_ramps, _bending(domain) + size_of_ramps
    return float((d / _USUAL_WIDTH) ** (numeric / (2.0 * d))) if d else 1.0


def _bending(domain: FeatureDomain) -> int:
    """How many columns are numbers, so that a shape may bend in them."""
    return int(np.count_nonzero((domain.unit > 0.0) & ~domain.is_binary))


def _ramps(shape: str, ramps: int | None, domain: FeatureDomain, noise_per_entry: float) -> int:
    """Ramps of each numeric column: as asked, or as many as the noise leaves readable."""
    if shape == "linear" or _bending(domain) == 0:
        return 0
    if ramps is not None:
        return ramps
    d = np.count_nonzero(domain.unit)
    noise = math.sqrt(d + _size_of_ramps(domain, _RAMPS) + 1) * noise_per_entry
    return _RAMPS if shape == "additive" or noise <= _READABLE_SHAPES else 0


def _size_of_ramps(domain: FeatureDomain, ramps: int) -> float:
    """How many entries of usual size so many ramps per numeric column, or those of the domain, amount to."""
    count = domain.ramps if isinstance(domain, ShapedBox) else ramps
    return normal_ramps(count).square * _bending(domain) if count else 0.0


def _check_shape(shape: str, ramps: int | None) -> None:
    if shape not in SHAPES:
        raise InputError(f"shape must be one of {', '.join(SHAPES)}", repr(shape), 'Use shape="linear".')
    whole = isinstance(ramps, int) and not isinstance(ramps, bool)
    if ramps is not None and not (whole and 1 <= ramps <= MOST_RAMPS):
        raise InputError(f"ramps must be an int from 1 to {MOST_RAMPS}", repr(ramps), f"{_RAMPS} are usual.")


def _need_scales(features: FeatureDomain | PrivateBounds | None, standardise: float, whiten: float) -> None:
    """An error where shapes have no scales to stand on."""
    if standardise == 0.0 and not isinstance(features, ShapedBox):
        raise InputError(
            'shape="additive" needs columns in units of their own spread',
            "standardise=0",
            f"Leave standardise at {STANDARDISE:g}.",
        )
    if whiten > 0.0:
        raise InputError(
            "shapes belong to single columns, and whitening mixes them",
            f"whiten={whiten:g} and shape='additive'",
            "Leave one of the two out.",
        )


def _event_share(n: int, mu: float) -> list[Phase]:
    noise = gaussian_for_share(event_share_sensitivity(n), _EVENT_SHARE, mu)
    return [EventShare(_EVENT_SHARE, noise)] if noise.sigma <= _READABLE_SHARE else []


def _calibrate(share: float, mu: float) -> list[Phase]:
    return [Calibrate(share, gaussian_for_share(record_histogram_sensitivity(), share, mu))] if share > 0.0 else []
