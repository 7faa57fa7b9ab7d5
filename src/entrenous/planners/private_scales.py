"""Stages that find out where the records are before an algorithm learns: narrower ranges, means and scales.

Shares of the budget are shares of ``mu^2``. Which stages run follows from public numbers. The constants were chosen
with those of `logistic_gd`.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence

import numpy as np

from entrenous.engine.phases.find_bounds import FindBounds
from entrenous.engine.phases.phase import Phase
from entrenous.engine.phases.standardise import COLUMN_REACH, ROW_REACH, FindCentre, Standardise
from entrenous.engine.phases.zoom import HALF_WIDTH, Zoom
from entrenous.errors import InputError
from entrenous.planners.budget_split import find_bounds
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.lemmas.pointwise import mean_row_sensitivity, means_and_squares_sensitivity
from entrenous.privacy.lemmas.statistics import feature_histograms_sensitivity
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.problem.features.ball import FeatureBall
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.cut_box import CutBox
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.private_bounds import PrivateBounds, searchable

ZOOM, STANDARDISE = 0.05, 0.1
"""The usual shares of the budget for ranges, and for means and scales."""
_CENTRE = 0.4
"""The centre's share of standardising in two rounds."""
_READABLE_COUNTS = 0.01
"""Noise of a histogram's bin, as a share of the records, up to which zooming pays."""
_ONE_ROUND, _TOO_NOISY = 0.03, 0.6
"""Noise of a mean, in half-widths, below or above which standardising takes one round; between them it takes two."""


def check_shares(shares: Mapping[str, float], rest: str, usual: str, beside: float = 0.0) -> None:
    """An error for what is no share of the budget, and where they leave none for the rest.

    `rest` says who needs one, `usual` what the defaults are; `beside` is spent in any case.
    """
    for name, share in shares.items():
        if not (isinstance(share, numbers.Real) and not isinstance(share, bool) and 0.0 <= share < 1.0):
            raise InputError(f"{name} must be a share of the budget, from 0 to 1", repr(share), "0 leaves it out.")
    if sum(shares.values()) + beside >= 1.0:
        raise InputError(
            f"{rest} a share of the budget of its own",
            ", ".join(f"{name}={share:g}" for name, share in shares.items()),
            f"The defaults are {usual}.",
        )


def narrower_ranges(
    asked: FeatureDomain | PrivateBounds, n: int, budget: Budget, share: float, half_width: float = HALF_WIDTH
) -> list[Phase]:
    """The search that was asked for; in declared ranges a short one, where its counts are readable.

    The short one finds ranges of so many standard deviations to either side.
    """
    if share == 0.0:
        return []
    if isinstance(asked, PrivateBounds):
        return [find_bounds(share, budget, asked, draws_in=False)]
    if not isinstance(asked, FeatureBounds) or not searchable(asked).size:
        return []
    bound = feature_histograms_sensitivity(searchable(asked).size)
    noise = gaussian_for_share(bound, share, mu_for(budget.epsilon, budget.delta))
    return [Zoom(asked, share, noise, half_width=half_width)] if noise.sigma <= _READABLE_COUNTS * n else []


def clip_before_scales(domain: FeatureDomain, before: Sequence[Phase]) -> float | None:
    """The clipping radius that rows have after these phases, in half-widths; ``None``: no box has one."""
    if not isinstance(domain, FeatureBounds):
        return None
    found = [phase.clip for phase in before if isinstance(phase, Zoom | FindBounds)]
    return found[0] if found else domain.clip


def standardising(
    domain: FeatureDomain,
    clip: float | None,
    n: int,
    mu: float | None,
    share: float,
    radius: float,
    ramps: int = 0,
    *,
    one_round: bool = False,
) -> list[Phase]:
    """One round, or where one is too noisy and two are not, two: the first finds a smaller domain for the second.

    Two rounds cut off columns at three quarters of their half-width. `one_round` is for models that would be bent by
    that. Without privacy (`mu` is ``None``) one round without noise.
    """
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
    if mu is None:
        return [Standardise(share, reach, 1.0 / half_widths, weight, radius, is_ball, None, ramps)]
    noise = gaussian_for_share(bound, share, mu)
    two_pay = _ONE_ROUND < noise.sigma * half_widths <= _TOO_NOISY and half_widths > ROW_REACH * corner
    if one_round or not two_pay or is_ball:
        return [Standardise(share, reach, 1.0 / half_widths, weight, radius, is_ball, noise, ramps)]
    first = _CENTRE * share
    centre = FindCentre(first, 1.0 / half_widths, gaussian_for_share(mean_row_sensitivity(n), first, mu))
    inner = ROW_REACH * corner
    reach = min(1.0, COLUMN_REACH / inner)
    bound, weight = means_and_squares_sensitivity(n, columns, reach)
    second = share - first
    noise = gaussian_for_share(bound, second, mu)
    return [centre, Standardise(second, reach, 1.0 / inner, weight, radius, True, noise, ramps)]


def stages_in_words(phases: Sequence[Phase], mu: float, domain: FeatureDomain) -> list[str]:
    """What these stages cost, in percent of the budget, and what stays as it was declared."""
    cost: dict[type, float] = {}
    for phase in phases:
        cost[type(phase)] = 0.0 if phase.mechanism is None else 100.0 * (phase.mechanism.gdp or 0.0) / mu**2
    ranges = [phase for phase in phases if isinstance(phase, Zoom | FindBounds)]
    rounds = "two rounds" if FindCentre in cost else "one round"
    # What an earlier fit found is not declared.
    given = "found before" if isinstance(domain, CutBox) else "declared"
    scales = cost.get(FindCentre, 0.0) + cost.get(Standardise, 0.0)
    return [
        *(f"ranges of {phase.columns.size} columns {cost[type(phase)]:.3g} %" for phase in ranges),
        *([] if ranges else [f"ranges as {given}"]),
        f"means and scales in {rounds} {scales:.3g} %" if scales else f"scales as {given}",
    ]


def gaussian_for_share(bound: Bound, share: float, mu: float) -> Gaussian:
    """Noise for this share of ``mu^2``."""
    return Gaussian(bound.l2_only(), bound.value / (math.sqrt(share) * mu))
