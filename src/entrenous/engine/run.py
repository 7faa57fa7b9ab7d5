"""The one loop: rows go in here, and only what the plan's mechanisms released comes out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from entrenous.arrays import AnyArray, Array, Codes
from entrenous.engine.indices import permutation
from entrenous.engine.phases import Released
from entrenous.engine.progress import current_listener
from entrenous.errors import InputError, PrivacyWarning
from entrenous.parts.feature_domains import FeatureBounds, missing_bounds
from entrenous.parts.pointwise import Residual
from entrenous.parts.targets import TargetRange
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.privacy.noise import noise_from

if TYPE_CHECKING:
    from entrenous.engine.plan import Plan

SEEDED = "the noise is seeded: whoever knows the seed can remove it. Leave random_state=None in production."


@dataclass(frozen=True)
class Fitted:
    """The outcome of a run: a linear score ``<coef, x> + intercept`` in the user's units, its plan and certificate."""

    coef: Array
    intercept: float
    w: Array
    """The released parameter in internal units."""
    steps: int
    plan: Plan
    certificate: PrivacyCertificate | None


def run(plan: Plan, X: Any, y: Any, random_state: Any) -> Fitted:
    """See `Plan.run`."""
    if plan.is_private and plan.features is None:
        raise missing_bounds("running a private plan")
    rows, codes, targets = _checked(plan, X, y)
    noise = noise_from(random_state)
    certificate = plan.certificate()
    if certificate is not None and noise.seeded:
        warnings.warn(f"In this private fit {SEEDED}", PrivacyWarning, stacklevel=4)
        certificate = certificate.as_seeded(SEEDED)
    features = plan.features
    if features is None and any(phase.unit_rows for phase in plan.phases):
        # Only a fit without privacy gets here: it may take the box from the rows.
        features = FeatureBounds(tuple(rows.min(axis=0).tolist()), tuple(rows.max(axis=0).tolist()))
    internal = rows if features is None else features.to_internal(rows)
    released = Released(plan.problem.start(), None, 0)
    steps = 0
    for phase in plan.phases:
        X_phase, y_phase = _dealt(plan, phase.records, internal, codes)
        released = phase.run(plan.problem, X_phase, y_phase, released.w, noise, current_listener())
        steps += released.steps
    intercept = released.intercept
    if intercept is None:
        # Without a release that pays for a threshold, a private fit uses the public centre of the domain.
        intercept = 0.0 if plan.is_private else _halfway(internal @ released.w, codes)
    coef = released.w
    if features is not None:
        coef, intercept = features.to_user(released.w, intercept)
    if targets is not None:
        coef, intercept = targets.to_user(coef, intercept)
    return Fitted(coef, intercept, released.w, steps, plan, certificate)


def _dealt(plan: Plan, records: tuple[int, int] | None, X: Array, y: AnyArray) -> tuple[Array, AnyArray]:
    """The records of a phase, in the data-independent order of the index stream."""
    if records is None:
        return X, y
    assert plan.index_seed is not None
    chosen = permutation(plan.index_seed, plan.n)[slice(*records)]
    return X[chosen], y[chosen]


def class_codes(y: Any, classes: Sequence[Any]) -> Codes:
    """Labels as codes 0..k-1 in the order of the public classes; anything else is a data error."""
    labels = np.asarray(y)
    codes = np.full(labels.shape, -1, dtype=np.int64)
    for code, label in enumerate(classes):
        codes[labels == label] = code
    if (codes < 0).any():
        raise InputError(
            f"Only binary classification is supported. Labels must be among the public classes {tuple(classes)}",
            "other labels in y",
            'Declare both labels before looking at the data, e.g. classes=("no", "yes"); the second is the event.',
        )
    return codes


def _checked(plan: Plan, X: Any, y: Any) -> tuple[Array, AnyArray, TargetRange | None]:
    rows = np.asarray(X, dtype=float)
    if rows.shape != (plan.n, plan.n_features):
        raise InputError(
            f"this plan is for {plan.n} rows of {plan.n_features} features",
            f"an array of shape {rows.shape}",
            "Make a plan with the table's n and n_features.",
        )
    if not np.isfinite(rows).all():
        raise InputError("the features must be finite", "NaN or infinity", "Fill or drop missing values first.")
    labels = np.asarray(y)
    if labels.shape != (plan.n,):
        raise InputError(f"y needs one label per row ({plan.n})", f"shape {labels.shape}", "Pass a flat array.")
    if plan.task == Residual.task:
        targets = TargetRange.of(plan.target_bounds, labels, private=plan.is_private)
        return rows, targets.to_internal(labels), targets
    codes = class_codes(labels, plan.classes or (0, 1))
    if not plan.is_private and len(np.unique(codes)) < 2:
        raise InputError("a ranking needs both classes in y", "one class", "Check the labels and how rows were split.")
    return rows, codes, None


def _halfway(scores: Array, codes: AnyArray) -> float:
    return -float(scores[codes == 0].mean() + scores[codes == 1].mean()) / 2.0
