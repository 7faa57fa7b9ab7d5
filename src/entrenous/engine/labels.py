"""What a plan reads from y, and how its released parameter returns to the user's units: the task decides both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from entrenous.arrays import AnyArray, Array, Codes
from entrenous.engine.phases.listed_pairs import read_pairs
from entrenous.engine.phases.phase import Released
from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.pair_list import PairList
from entrenous.problem.targets import TargetRange
from entrenous.problem.tasks.task import PublicLabels, RunningMeans

if TYPE_CHECKING:
    from entrenous.engine.plan import Plan


def read_labels(plan: Plan, y: Any, rows: int) -> tuple[AnyArray, TargetRange | None]:
    """Class codes, or targets in internal units and their range; or a list of pairs where the plan is for one.

    Of a private plan's labels, and of a part of the rows, only type and public range are checked.
    """
    labels = np.asarray(y)
    if plan.pair_list is not None:
        return _read_listed(plan, plan.pair_list, labels, rows), None
    if labels.shape != (rows,):
        raise InputError(f"y needs one label per row ({rows})", f"shape {labels.shape}", "Pass a flat array.")
    public = PublicLabels(
        plan.classes,
        plan.target_bounds,
        is_private=plan.is_private,
        all_records=rows == plan.n,
        needs_range=any(phase.unit_rows for phase in plan.phases),
    )
    return plan.task_object.read_labels(labels, public)


def _read_listed(plan: Plan, stated: PairList, listed: AnyArray, rows: int) -> Codes:
    pairs = read_pairs(stated, listed, rows)
    if not plan.is_private and len(np.unique(pairs[:, 2])) < 2:
        raise InputError("a metric needs similar and dissimilar pairs", "one kind", "List pairs of both kinds.")
    return pairs


def in_user_units(
    plan: Plan,
    features: FeatureDomain | None,
    targets: TargetRange | None,
    released: Released,
    means: RunningMeans | None,
) -> tuple[Array, float]:
    """Coefficients (a matrix for a metric) and intercept; `means` of the rows for fits without privacy only."""
    intercept = released.intercept
    if intercept is None:
        # Without a release that pays for it, a private fit puts the threshold at the public centre of the domain.
        intercept = 0.0 if means is None else means.intercept(released.w)
    return plan.task_object.to_user(released.w, intercept, features, targets)


def noise_in_user_units(
    plan: Plan, features: FeatureDomain | None, targets: TargetRange | None, released: Released
) -> Array:
    """Sd that the noise alone gives each coefficient, before projection; of a metric's matrix in internal units."""
    noise = released.noise
    if noise is None:
        noise = np.full(released.w.shape, plan.noise_per_coefficient)
    return plan.task_object.noise_to_user(noise, features, targets)
