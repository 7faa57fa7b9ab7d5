"""The one loop: rows go in here, and only what the plan's mechanisms released comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from entrenous.arrays import AnyArray, Array
from entrenous.engine.labels import in_user_units, noise_in_user_units, read_labels
from entrenous.engine.phases.phase import Released
from entrenous.engine.phases.scale_noise import ScaleNoise
from entrenous.engine.progress import current_listener
from entrenous.engine.rows.registry import is_registered_own, rows_of
from entrenous.engine.rows.rows import Rows
from entrenous.errors import InputError, warn_of_privacy
from entrenous.ledger.spending import Spending
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.privacy.noise import NoiseSource, noise_from
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.declared import missing_bounds
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.streams.indices import permutation
from entrenous.registry import late

if TYPE_CHECKING:
    from entrenous.engine.plan import Plan

SEEDED = "the noise is seeded: whoever knows the seed can remove it. Leave random_state=None in production."


@dataclass(frozen=True)
class Fitted:
    """The outcome of a run in the user's units, its plan and certificate.

    ``<coef, x> + intercept`` ranks x (auc) or predicts its target (error entropy), x clipped into `bounds`. For a
    metric `coef` is the matrix W of the squared distance ``(x - x')^T W (x - x')``, and there is no intercept: it is 0.
    """

    coef: Array
    intercept: float
    w: Array
    """The released parameter in internal units."""
    steps: int
    plan: Plan
    certificate: PrivacyCertificate | None
    noise: Array
    """Sd that the privacy noise alone gives each entry of `coef`, before projection (a metric's in internal units).

    From public and released numbers; where gradients have the noise an upper figure or an estimate, and for a metric
    from moments one estimate for all entries, scales taken as found.
    """
    bounds: FeatureDomain | None = None
    """The domain the rows were clipped into: declared, or found by the first phases; ``None``: they were not."""
    scale_noise: ScaleNoise | None = None
    """What noise in the scales of `bounds` does to coefficients; ``None``: they are not released numbers."""
    error_cap: float | None = None
    """The size of errors beyond which none pulled harder, in internal units; ``None``: there is no such size."""


def run(plan: Plan, X: Any, y: Any, random_state: Any, spending: Spending) -> Fitted:
    """See `Plan.run`. The cost is set aside after all checks of rows and labels, before the first phase sees them."""
    need_bounds(plan)
    rows = checked_rows(plan, X)
    n = len(rows)
    if n != plan.n:
        raise InputError(f"this plan is for {plan.n} rows", f"{n} rows", "Make a plan with the table's number of rows.")
    labels, targets = read_labels(plan, y, n)
    noise = noise_from(random_state)
    certificate = naming_kind_of(rows, certified(plan, noise))
    spending.begin(certificate)
    features = plan.features
    bounds = features
    if features is None and any(phase.unit_rows for phase in plan.phases):
        # Only a fit without privacy gets here: it may take its units, but no bounds, from the rows.
        low, high = rows.ranges()
        features = FeatureBounds(tuple(low.tolist()), tuple(high.tolist()))
    internal: Rows | None = None
    on_grid = False
    released = Released(plan.problem.start(), features=features)
    for phase in plan.phases:
        if not phase.reads_raw_rows and (internal is None or (phase.on_grid and not on_grid)):
            internal, on_grid = _mapped(rows, features, on_grid=phase.on_grid), phase.on_grid
        # Not kept under a name: the rows of one phase must be gone before those of the next are made.
        step = phase.run(
            plan.problem,
            *_dealt(plan, phase.records, rows if internal is None else internal, labels),
            released,
            noise,
            current_listener(),
        )
        released = released.followed_by(step)
        if step.features is not None:
            bounds, features, internal = step.features, step.features, None
    if certificate is not None:
        # Released, so public from here on.
        if bounds is not plan.features and bounds is not None:
            certificate = certificate.stating("found_bounds", bounds.public_numbers())
        if released.event_share is not None:
            certificate = certificate.stating("found_event_share", released.event_share)
        if released.log_odds_map is not None:
            certificate = certificate.stating("found_log_odds_map", released.log_odds_map._asdict())
        if released.targets is not None:
            certificate = certificate.stating("found_targets", released.targets._asdict())
        if released.error_cap is not None:
            certificate = certificate.stating("found_error_cap", released.error_cap)
    means = None if plan.is_private else plan.task_object.running_means(plan.n_features)
    if means is not None and internal is not None:
        means.feed(internal, labels)
    coef, intercept = in_user_units(plan, features, targets, released, means)
    spread = noise_in_user_units(plan, features, targets, released)
    # A matrix' noise stays in internal units, which noise in the scales does not touch.
    scales = released.scale_noise if plan.problem.score.plain_coordinates else None
    if scales is not None:
        spread = scales.added_to(spread, coef)
    caps = released.error_cap
    return Fitted(coef, intercept, released.w, released.steps, plan, certificate, spread, bounds, scales, caps)


def _mapped(rows: Rows, features: FeatureDomain | None, *, on_grid: bool) -> Rows:
    """Rows in internal units; as they are where a fit without privacy has none."""
    if features is None:
        return rows
    return rows.inside_on_grid(features) if on_grid else rows.inside(features)


def certified(plan: Plan, noise: NoiseSource) -> PrivacyCertificate | None:
    """The plan's certificate, marked and warned of if the noise can be repeated."""
    return as_seeded_if(noise.seeded, plan.certificate())


def naming_kind_of(rows: Rows, certificate: PrivacyCertificate | None) -> PrivacyCertificate | None:
    """The certificate, with the kind of rows in it where that is the user's own: that it clips them is on trust."""
    if certificate is None or not is_registered_own(rows):
        return certificate
    others = certificate.public.get("own_parts", ())
    return certificate.stating("own_parts", sorted({*others, f"kind of rows {type(rows).__name__}"}))


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


def checked_rows(plan: Plan, X: Any) -> Rows:
    """Finite numbers of the plan's width, of a kind that the plan can take."""
    rows = rows_of(X)
    if not rows.has_array:
        _need_plan_without_array(plan, rows)
    if rows.shape[1:] != (plan.n_features,):
        raise InputError(
            f"this plan is for rows of {plan.n_features} features",
            f"an array of shape {rows.shape}",
            "Make a plan with the table's n_features.",
        )
    if not rows.all_finite():
        raise InputError("the features must be finite", "NaN or infinity", "Fill or drop missing values first.")
    return rows


def _need_plan_without_array(plan: Plan, rows: Rows) -> None:
    """An error where rows that are no array would have to be written out."""
    if plan.problem.score.positive:
        raise rows.refused("a metric reads dense rows", "Choose fewer features")
    if plan.features is not None and not plan.features.keeps_columns:
        raise rows.refused("a domain that mixes or bends the columns takes dense rows", "Declare ranges or a ball")
    told = [phase.needs_array_for for phase in plan.phases if phase.needs_array_for is not None]
    if told:
        raise rows.refused(*told[0])
    if not all(phase.takes_sparse for phase in plan.phases):
        others = ", ".join(late("entrenous.planners.row_needs", "algorithms_without_array")(plan.task))
        instead = f"Use one of {others}" if others else "Choose another task"
        raise rows.refused(f"{plan.algorithm} reads dense rows, one by one", instead)


def _dealt(plan: Plan, records: tuple[int, int] | None, X: Rows, y: AnyArray) -> tuple[Rows, AnyArray]:
    """The records of a phase, in the data-independent order of the index stream."""
    if records is None:
        return X, y
    assert plan.index_seed is not None
    chosen = permutation(plan.index_seed, plan.n)[slice(*records)]
    return X.take(chosen), y[chosen]
