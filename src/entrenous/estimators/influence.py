"""How far each record moves a fit without privacy: a diagnostic that must not be released."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.labels import read_labels
from entrenous.engine.phases.minimum import Minimise, RobustMinimise
from entrenous.engine.plan import Plan
from entrenous.engine.solvers.influence import as_parameters, predicted_changes
from entrenous.errors import AssumptionError, InputError, PrivacyError
from entrenous.estimators.base import PairwiseEstimator
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis

_WARNING = "Not private: every row tells of its record. For your own eyes; do not release any of it."


@dataclass(frozen=True, eq=False, repr=False)
class Influence:
    """What `influence` found. **Not private**: every row tells of its record, so no part of it may be released."""

    change: Array
    """Predicted change of ``coef_`` if a record is left out, one row per record, in the user's units; of a metric's
    matrix, as ``get_mahalanobis_matrix`` has it, in shape (n, d, d)."""
    elastic_stability: Array
    """Per record: how much the loss of a pair changes without it, in the mean over pairs; an estimate of the pairwise
    locally elastic stability. n times its largest entry stands for the supremum in Theorem 3 of Kang et al. (2021)."""
    pairs: int
    """How many pairs that mean is over: all, or some of many."""

    def __repr__(self) -> str:
        return f"<Influence of {len(self.change)} records. {_WARNING}>"


def influence(estimator: Any, X: Any, y: Any) -> Influence:
    """Predict how leaving out each record would change a fit, without fitting again. **Not private.**

    A diagnostic of a fit without privacy: which records the model leans on, and how stable it is. What it returns tells
    of single records and must not be released. A private estimator is refused: its certificate would not cover this.

    Parameters
    ----------
    estimator : AUCClassifier, MahalanobisLearner or ErrorEntropyRegressor
        Fitted with ``epsilon=None`` and ``ridge > 0``, by an algorithm that minimises over all pairs, with a smooth
        surrogate; of two classes in ranking, with a `bandwidth` in regression. The parameter must lie inside its
        domain.
    X, y : arrays
        The rows that it was fitted on.

    Returns
    -------
    Influence
        ``change``, ``elastic_stability`` and ``pairs``.

    Notes
    -----
    First order (Kang et al. 2021, equation 4, with the ridge and the pairs counted anew; ``docs/influence.md``):
    bounds, target range and bandwidth stay as they are. Ranking and regression cost O(n log n + n d^2), a metric
    d(d + 1)/2 Hessian-vector products of O(n^2 d), in tiles; a surrogate of your own makes ranking O(n^2 d) too. The
    stability is a mean over all pairs of small tables, over at least 1000 random ones of larger.

    Examples
    --------
    >>> import entrenous as en
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(200, 4, random_state=0)
    >>> model = en.AUCClassifier(epsilon=None, ridge=0.1).fit(X, y)
    >>> found = en.influence(model, X, y)
    >>> found
    <Influence of 200 records. Not private: every row tells of its record. For your own eyes; do not release any of it.>
    >>> found.change.shape, found.elastic_stability.shape
    ((200, 4), (200,))

    """
    plan = _suitable_plan(estimator)
    rows = estimator._new_rows(X)
    if len(rows) != plan.n:
        raise _other_rows(f"{len(rows)} rows", plan)
    labels, targets = read_labels(plan, y, len(rows))
    _need_records_to_spare(plan, labels)
    domain = estimator.bounds_
    table = (rows if domain is None else rows.inside(domain)).array()

    def to_user(w: Array) -> Array:
        return plan.task_object.to_user(w, 0.0, domain, targets)[0]

    found = predicted_changes(plan.problem, _internal_parameter(estimator, to_user), table, labels)
    parameters = as_parameters(plan.problem, found.change)
    if parameters.ndim == 2:
        # The map to the user's units is linear: one product for all records.
        change = parameters @ np.array([to_user(direction) for direction in np.eye(parameters.shape[1])])
    else:
        change = np.array([to_user(matrix) for matrix in parameters])
    return Influence(change, found.stability, found.pairs)


def _suitable_plan(estimator: Any) -> Plan:
    """The plan of a fit that has an influence function; errors that say why another has none."""
    if not isinstance(estimator, PairwiseEstimator):
        raise InputError(
            "influence is of an estimator of this library",
            f"a {type(estimator).__name__}",
            "Pass a fitted AUCClassifier, MahalanobisLearner or ErrorEntropyRegressor.",
        )
    if estimator._is_private or getattr(getattr(estimator, "plan_", None), "is_private", False):
        raise PrivacyError(
            "influence reads the rows without noise, which no certificate covers: it is for fits without privacy",
            "a private estimator",
            "Look at a fit with epsilon=None, on rows that you may see, and do not release what it says.",
        )
    estimator._need_fit()
    plan = estimator.plan_
    problem = plan.problem
    if len(getattr(estimator, "plans_", ())) > 1:
        raise AssumptionError(
            "influence is of one ranking, of two classes",
            f"one for each of {len(estimator.plans_)} classes",
            "Fit one class against the rest: y == label.",
        )
    if any(isinstance(phase, RobustMinimise) for phase in plan.phases):
        raise AssumptionError(
            "influence needs a bandwidth that stays as it is without a record",
            "bandwidth=None, which follows the errors",
            "Fit with bandwidth=number, in the units of the targets.",
        )
    kinds = (LinearDifference, Mahalanobis, ErrorDifference)
    if [type(phase) for phase in plan.phases] != [Minimise] or type(problem.score) not in kinds:
        raise AssumptionError(
            "influence needs the minimiser of a loss over all pairs of records",
            f"algorithm {plan.algorithm} for task {plan.task}, which has another outcome",
            'Fit with fit(X, y) and algorithm="noisy-gd" ("kang-gp" for regression).',
        )
    if not problem.ridge > 0.0:
        raise AssumptionError(
            "influence needs ridge > 0: without it the Hessian may not be invertible", "ridge=0", "Try ridge=0.01."
        )
    return plan


def _need_records_to_spare(plan: Plan, labels: AnyArray) -> None:
    """An error where leaving out a record leaves nothing to fit."""
    counts = np.unique(labels, return_counts=True)[1]
    if plan.n < 3 or (not plan.task_object.has_targets and counts.min() < 2):
        raise InputError(
            "leaving out a record must leave pairs to learn from",
            "a single record of a class, or two records in all",
            "Leave out rare classes.",
        )


def _internal_parameter(estimator: Any, to_user: Any) -> Array:
    """The parameter of the fit in internal units, from what the estimator holds in the user's."""
    domain = estimator.bounds_
    if hasattr(estimator, "components_"):
        components = estimator.components_
        inside = components if domain is None else domain.from_user(components, 0.0)[0]
        matrix: Array = inside.T @ inside
        return matrix
    coef = np.ravel(estimator.coef_)
    inside = coef if domain is None else domain.from_user(coef, 0.0)[0]
    # What is left of the map is the scale of the targets, the same for every entry.
    again = to_user(inside)
    longest = int(np.argmax(np.abs(again)))
    return inside * (coef[longest] / again[longest]) if again[longest] != 0.0 else inside


def _other_rows(got: str, plan: Plan) -> InputError:
    return InputError(f"influence needs the {plan.n} rows of the fit", got, "Pass the X and y that fit got.")
