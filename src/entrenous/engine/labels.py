"""What each task reads from y, and how its released parameter returns to the user's units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entrenous.arrays import AnyArray, Array, Codes
from entrenous.engine.listed_pairs import read_pairs
from entrenous.engine.phases import Released
from entrenous.engine.sparse_rows import Rows
from entrenous.errors import InputError
from entrenous.parts.feature_domains import FeatureDomain
from entrenous.parts.pair_list import PairList
from entrenous.parts.targets import TARGET_TASKS, TargetRange, missing_target_bounds

if TYPE_CHECKING:
    from entrenous.engine.plan import Plan


def read_labels(plan: Plan, y: Any, rows: int) -> tuple[AnyArray, TargetRange | None]:
    """Class codes, or targets in internal units and their range.

    Of a private plan's labels, and of a part of the rows, only type and public range are checked.
    """
    labels = np.asarray(y)
    if plan.pair_list is not None:
        return _read_listed(plan, plan.pair_list, labels, rows), None
    if labels.shape != (rows,):
        raise InputError(f"y needs one label per row ({rows})", f"shape {labels.shape}", "Pass a flat array.")
    if plan.task in TARGET_TASKS:
        return _read_targets(plan, labels)
    classes = plan.classes or (0, 1)
    if plan.task == "metric" and plan.classes is None and not plan.is_private:
        classes = tuple(np.unique(labels).tolist())
    codes = class_codes(labels, classes, binary=plan.task != "metric")
    if not plan.is_private and rows == plan.n and len(np.unique(codes)) < 2:
        what = "a metric needs two classes or more" if plan.task == "metric" else "a ranking needs both classes"
        raise InputError(f"{what} in y", "one class", "Check the labels and how rows were split.")
    return codes, None


def _read_listed(plan: Plan, stated: PairList, listed: AnyArray, rows: int) -> Codes:
    pairs = read_pairs(stated, listed, rows)
    if not plan.is_private and len(np.unique(pairs[:, 2])) < 2:
        raise InputError("a metric needs similar and dissimilar pairs", "one kind", "List pairs of both kinds.")
    return pairs


def class_codes(y: Any, classes: Sequence[Any], *, binary: bool) -> Codes:
    """Labels as codes 0..k-1 in the order of the public classes; anything else is a data error."""
    labels = np.asarray(y)
    # One byte where it will do: a code goes with every record through the whole run.
    codes = np.full(labels.shape, -1, dtype=np.int8 if len(classes) < 128 else np.int64)
    for code, label in enumerate(classes):
        codes[labels == label] = code
    if (codes < 0).any():
        only = "Only binary classification is supported. " if binary else ""
        raise InputError(
            f"{only}Labels must be among the public classes {tuple(classes)}",
            "other labels in y",
            'Declare them before looking at the data, e.g. classes=("no", "yes"); of two the second is the event.',
        )
    return codes


def _read_targets(plan: Plan, labels: AnyArray) -> tuple[Array, TargetRange | None]:
    try:
        targets = labels.astype(float)
    except (TypeError, ValueError):
        # The original message quotes a cell, and cells are private.
        raise InputError("targets must be numbers", "something else in y", "Encode them.") from None
    if not np.isfinite(targets).all():
        raise InputError("targets must be finite", "NaN or infinity", "Fill or drop missing values first.")
    if plan.target_bounds is not None:
        declared = TargetRange(*plan.target_bounds)
        return declared.to_internal(targets), declared
    if plan.is_private:
        raise missing_target_bounds()
    if any(phase.unit_rows for phase in plan.phases):
        found = TargetRange.around(targets)
        return found.to_internal(targets), found
    return targets, None


class Means:
    """What a level needs to know of the rows: their means, by class. Only fits without privacy have one."""

    def __init__(self, n_features: int) -> None:
        self._counts = np.zeros(2)
        self._sums = np.zeros((2, n_features))
        self._targets = 0.0

    def feed(self, X: Rows, y: AnyArray, task: str) -> None:
        """More rows in internal units, with class codes or targets."""
        if task in TARGET_TASKS:
            self._counts[0] += len(y)
            self._sums[0] += X.sum(axis=0)
            self._targets += float(np.sum(y))
            return
        for code in (0, 1):
            chosen = (y == code).astype(float)  # a product, so that no rows are copied
            self._counts[code] += chosen.sum()
            self._sums[code] += X.T @ chosen

    def level(self, w: Array, task: str) -> float:
        """Minus the point halfway between the classes' mean scores, or what makes the mean error zero."""
        if task in TARGET_TASKS:
            return float((self._targets - self._sums[0] @ w) / self._counts[0])
        # A class that has not come yet has no say.
        return -float(np.mean(self._sums[self._counts > 0] @ w / self._counts[self._counts > 0]))


def in_user_units(
    plan: Plan, features: FeatureDomain | None, targets: TargetRange | None, released: Released, means: Means | None
) -> tuple[Array, float]:
    """Coefficients (a matrix for a metric) and intercept; `means` of the rows for fits without privacy only."""
    if plan.task == "metric":
        return released.w if features is None else features.metric_to_user(released.w), 0.0
    intercept = released.intercept
    if intercept is None:
        # Without a release that pays for a level, a private fit uses the public centre of the domain.
        intercept = 0.0 if means is None else means.level(released.w, plan.task)
    coef = released.w
    if features is not None:
        coef, intercept = features.to_user(coef, intercept)
    return (coef, intercept) if targets is None else targets.to_user(coef, intercept)


def noise_in_user_units(
    plan: Plan, features: FeatureDomain | None, targets: TargetRange | None, released: Released
) -> Array:
    """Sd that the noise alone gives each coefficient, before projection; of a metric's matrix in internal units."""
    noise = released.noise
    if noise is None:
        noise = np.full(released.w.shape, plan.noise_per_coefficient)
    if plan.task == "metric":
        return noise
    if features is not None:
        noise = features.to_user(noise, 0.0)[0]
    return noise if targets is None else targets.to_user(noise, 0.0)[0]
