"""The one loop: rows go in here, and only what the plan's mechanisms released comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from entrenous.arrays import AnyArray, Array, row_blocks
from entrenous.engine.labels import Means, in_user_units, noise_in_user_units, read_labels
from entrenous.engine.phases import Released
from entrenous.engine.progress import current_listener
from entrenous.engine.sparse_rows import SPARSE_ALGORITHMS, SparseRows, canonical_csr
from entrenous.errors import InputError, warn_of_privacy
from entrenous.parts.feature_domains import FeatureBounds, FeatureDomain, missing_bounds
from entrenous.parts.indices import permutation
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.privacy.noise import NoiseSource, noise_from

if TYPE_CHECKING:
    from entrenous.engine.plan import Plan

SEEDED = "the noise is seeded: whoever knows the seed can remove it. Leave random_state=None in production."


@dataclass(frozen=True)
class Fitted:
    """The outcome of a run in the user's units, its plan and certificate.

    ``<coef, x> + intercept`` ranks x (auc) or predicts its target (error entropy). For a metric `coef` is the matrix W
    of the squared distance ``(x - x')^T W (x - x')``, and there is no intercept: it is 0.
    """

    coef: Array
    intercept: float
    w: Array
    """The released parameter in internal units."""
    steps: int
    plan: Plan
    certificate: PrivacyCertificate | None
    noise: Array
    """Sd that the privacy noise alone gives each entry of `coef`, before projection (a metric's in internal units)."""
    bounds: FeatureDomain | None = None
    """The domain the rows were clipped into: declared, or found with `PrivateBounds`; ``None``: they were not."""


def run(plan: Plan, X: Any, y: Any, random_state: Any) -> Fitted:
    """See `Plan.run`."""
    need_bounds(plan)
    rows = checked_rows(plan, X)
    n = rows.shape[0]
    if n != plan.n:
        raise InputError(f"this plan is for {plan.n} rows", f"{n} rows", "Make a plan with the table's number of rows.")
    labels, targets = read_labels(plan, y, n)
    noise = noise_from(random_state)
    certificate = certified(plan, noise)
    features = plan.features
    if plan.bounds_release is not None:
        assert isinstance(features, FeatureBounds)
        features = plan.bounds_release.find(rows, features, noise)
        if certificate is not None:
            # Released, so public from here on.
            certificate = certificate.stating("found_bounds", features.public_numbers())
    if features is None and any(phase.unit_rows for phase in plan.phases):
        # Only a fit without privacy gets here: it may take the box from the rows.
        features = FeatureBounds(tuple(rows.min(axis=0).tolist()), tuple(rows.max(axis=0).tolist()))
    internal = _in_internal_units(features, rows)
    released = Released(plan.problem.start(), None, 0)
    steps = 0
    for phase in plan.phases:
        X_phase, y_phase = _dealt(plan, phase.records, internal, labels)
        released = phase.run(plan.problem, X_phase, y_phase, released.w, noise, current_listener())
        steps += released.steps
    means = None
    if not plan.is_private and plan.task != "metric":
        means = Means(plan.n_features)
        means.feed(internal, labels, plan.task)
    coef, intercept = in_user_units(plan, features, targets, released, means)
    spread = noise_in_user_units(plan, features, targets, released)
    return Fitted(coef, intercept, released.w, steps, plan, certificate, spread, features)


def certified(plan: Plan, noise: NoiseSource) -> PrivacyCertificate | None:
    """The plan's certificate, marked and warned of if the noise can be repeated."""
    return as_seeded_if(noise.seeded, plan.certificate())


def as_seeded_if(seeded: bool, certificate: PrivacyCertificate | None) -> PrivacyCertificate | None:
    """A certificate marked, and the caller warned, if the noise can be repeated."""
    if certificate is None or not seeded:
        return certificate
    warn_of_privacy(f"In this private fit {SEEDED}")
    return certificate.as_seeded(SEEDED)


def need_bounds(plan: Plan) -> None:
    """An error if a private plan has no public domain of the features."""
    if plan.is_private and plan.features is None:
        raise missing_bounds("running a private plan")


def checked_rows(plan: Plan, X: Any) -> Any:
    """Finite numbers of the plan's width: an array, or a CSR table where the plan can take one."""
    if sparse.issparse(X):
        _need_sparse_plan(plan)
        rows = canonical_csr(X)
    else:
        rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != plan.n_features:
        raise InputError(
            f"this plan is for rows of {plan.n_features} features",
            f"an array of shape {rows.shape}",
            "Make a plan with the table's n_features.",
        )
    entries = rows.data[:, None] if sparse.issparse(rows) else rows
    if not all(np.isfinite(entries[block]).all() for block in row_blocks(entries)):
        raise InputError("the features must be finite", "NaN or infinity", "Fill or drop missing values first.")
    return rows


def _need_sparse_plan(plan: Plan) -> None:
    """An error where sparse rows would have to be written out."""
    dense = "or use X.toarray() if it fits into memory."
    if plan.bounds_release is not None:
        raise InputError("PrivateBounds reads dense rows", "a sparse table", f"Declare bounds=(low, high), {dense}")
    if plan.task == "metric":
        raise InputError("a metric reads dense rows", "a sparse table", f"Choose fewer features, {dense}")
    if not all(phase.takes_sparse for phase in plan.phases):
        raise InputError(
            f"{plan.algorithm} reads dense rows, one by one",
            "a sparse table",
            f"Use one of {', '.join(SPARSE_ALGORITHMS)}, {dense}",
        )


def _in_internal_units(features: FeatureDomain | None, rows: Any) -> Any:
    """Rows as the phases take them: `SparseRows` of a sparse table, an array of an array."""
    if sparse.issparse(rows):
        return SparseRows.as_they_are(rows) if features is None else SparseRows.inside(features, rows)
    return rows if features is None else features.to_internal(rows)


def _dealt(plan: Plan, records: tuple[int, int] | None, X: Any, y: AnyArray) -> tuple[Any, AnyArray]:
    """The records of a phase, in the data-independent order of the index stream."""
    if records is None:
        return X, y
    assert plan.index_seed is not None
    chosen = permutation(plan.index_seed, plan.n)[slice(*records)]
    return X[chosen], y[chosen]
