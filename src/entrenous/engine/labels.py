"""What each task reads from y, and how its released parameter returns to the user's units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from entrenous.arrays import AnyArray, Array, Codes
from entrenous.engine.phases import Released
from entrenous.errors import InputError, PrivacyError
from entrenous.parts.feature_domains import FeatureDomain

if TYPE_CHECKING:
    from entrenous.engine.plan import Plan


def read_labels(plan: Plan, y: Any) -> AnyArray:
    """Class codes, or targets in internal units. Of a private plan's labels only type and public range are checked."""
    labels = np.asarray(y)
    if labels.shape != (plan.n,):
        raise InputError(f"y needs one label per row ({plan.n})", f"shape {labels.shape}", "Pass a flat array.")
    if plan.task == "error-entropy":
        if plan.is_private and plan.target_bounds is None:
            raise missing_target_bounds()
        return _targets(labels, plan.target_bounds)
    classes = plan.classes or (0, 1)
    if plan.task == "metric" and plan.classes is None and not plan.is_private:
        classes = tuple(np.unique(labels).tolist())
    codes = class_codes(labels, classes)
    if not plan.is_private and len(np.unique(codes)) < 2:
        what = "a ranking needs both classes" if plan.task == "auc" else "a metric needs two classes or more"
        raise InputError(f"{what} in y", "one class", "Check the labels and how rows were split.")
    return codes


def class_codes(y: Any, classes: Sequence[Any]) -> Codes:
    """Labels as codes 0..k-1 in the order of the public classes; anything else is a data error."""
    labels = np.asarray(y)
    codes = np.full(labels.shape, -1, dtype=np.int64)
    for code, label in enumerate(classes):
        codes[labels == label] = code
    if (codes < 0).any():
        only = "Only binary classification is supported. " if len(classes) == 2 else ""
        raise InputError(
            f"{only}Labels must be among the public classes {tuple(classes)}",
            "other labels in y",
            'Declare them before looking at the data, e.g. classes=("no", "yes"); of two the second is the event.',
        )
    return codes


def missing_target_bounds() -> PrivacyError:
    """The error of every private regression without a public range of its targets."""
    return PrivacyError(
        "a private regression needs the public range of its targets, because the noise is scaled to it",
        "target_bounds=None",
        "Declare what is known before looking at the data, e.g. target_bounds=(0, 100). Targets outside are clipped.",
    )


def _targets(labels: AnyArray, bounds: tuple[float, float] | None) -> Array:
    """Targets clipped into the public range and mapped to [-1, 1]; as they are without a range."""
    try:
        targets = labels.astype(float)
    except (TypeError, ValueError):
        # The original message quotes a cell, and cells are private.
        raise InputError("targets must be numbers", "something else in y", "Encode them.") from None
    if not np.isfinite(targets).all():
        raise InputError("targets must be finite", "NaN or infinity", "Fill or drop missing values first.")
    if bounds is None:
        return targets
    middle, half = _middle_and_half(bounds)
    return np.clip((np.clip(targets, *bounds) - middle) / half, -1.0, 1.0)


def in_user_units(
    plan: Plan, features: FeatureDomain | None, released: Released, X: Array, y: AnyArray
) -> tuple[Array, float]:
    """Coefficients (a matrix for a metric) and intercept; `X` and `y` are read by fits without privacy only."""
    if plan.task == "metric":
        return released.w if features is None else features.metric_to_user(released.w), 0.0
    intercept = released.intercept
    if intercept is None:
        # Without a release that pays for a level, a private fit uses the public centre of the domain.
        intercept = 0.0 if plan.is_private else _level(plan.task, X @ released.w, y)
    coef = released.w
    if features is not None:
        coef, intercept = features.to_user(coef, intercept)
    if plan.target_bounds is not None:
        middle, half = _middle_and_half(plan.target_bounds)
        coef, intercept = half * coef, half * intercept + middle
    return coef, intercept


def _level(task: str, scores: Array, y: AnyArray) -> float:
    """Halfway between the classes' mean scores, or what makes the mean error zero."""
    if task == "error-entropy":
        return float(np.mean(y - scores))
    return -float(scores[y == 0].mean() + scores[y == 1].mean()) / 2.0


def _middle_and_half(bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = bounds
    return low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
