"""What the estimators share: from parameters to a plan, from rows to a run, whole or chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from entrenous.arrays import AnyArray, Array
from entrenous.engine.online import OnlineRun, same_beginning
from entrenous.engine.plan import Plan
from entrenous.engine.rows.registry import is_registered_own, rows_of
from entrenous.engine.rows.rows import Rows
from entrenous.engine.run import Fitted, run
from entrenous.errors import AssumptionError, InputError, PrivacyError, warn_of_privacy
from entrenous.estimators.display import ShowsPrivacy
from entrenous.estimators.paying import spending_of
from entrenous.estimators.pipelines import warning_about_pipeline
from entrenous.estimators.validation import checked_labels, own_rows, validated
from entrenous.planners.planning import plan
from entrenous.planners.registry import algorithm_named, algorithms
from entrenous.planners.row_needs import takes_rows_without_array
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.privacy.noise import fresh_index_seed
from entrenous.problem.features.declared import missing_bounds
from entrenous.problem.features.domain import FeatureDomain

OPEN_END = 10**12
"""Records that an online fit without privacy is planned for when nobody says how many will come."""


class PairwiseEstimator(ShowsPrivacy):
    """Parameters that every estimator has, and the two ways of fitting: all rows at once, or as they come."""

    _task: ClassVar[str]
    has_plan_per_class: ClassVar[bool] = False
    """Whether `plans_` holds a plan for each of several classes."""
    _takes_sparse: ClassVar[bool] = False
    """Whether sparse tables go to the plan as they are."""

    epsilon: float | None
    bounds: Any
    random_state: Any
    ledger: Any = None
    dataset: str | None = None
    """Where a private fit is paid for; an estimator without these parameters follows the environment."""
    plan_: Plan
    certificate_: PrivacyCertificate | None
    n_iter_: int
    bounds_: FeatureDomain | None
    _online: tuple[OnlineRun, ...] | None

    def _need_bounds(self) -> None:
        if self._is_private and self.bounds is None:
            raise missing_bounds("a private fit")

    def _need_tight(self, what: str) -> None:
        if self._is_private and self.calibration != "tight":
            raise AssumptionError(
                f'{what} need calibration="tight": no paper prints noise for a part of the budget',
                f"calibration={self.calibration!r}",
                "Use two classes to reproduce a paper.",
            )

    def _plan_for(self, n: int, index_seed: int, arguments: dict[str, Any]) -> Plan:
        """A plan for n rows from the parameters, and what the task adds to them or puts in their place."""
        shared = (
            "algorithm",
            "epsilon",
            "delta",
            "surrogate",
            "bounds",
            "radius",
            "ridge",
            "max_iter",
            "calibration",
            "options",
        )
        return plan(
            task=self._task,
            n=n,
            n_features=self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            index_seed=index_seed,
            **{name: getattr(self, name) for name in shared} | arguments,
        )

    def _run(self, X: Any, y: AnyArray, arguments: dict[str, Any]) -> Fitted:
        """One plan, one run over all rows."""
        self._online = None
        (made,) = self._noting_leaks([self._plan_for(X.shape[0], fresh_index_seed(self.random_state), arguments)])
        spending = spending_of(self)
        fitted = run(made, X, y, self.random_state, spending)
        spending.commit(fitted.certificate)
        self._keep(fitted)
        return fitted

    def _noting_leaks(self, plans: list[Plan]) -> list[Plan]:
        """The plans, with a warning if the rows come from steps that learnt from them."""
        leak = warning_about_pipeline(self) if self._is_private else None
        if leak is None:
            return plans
        warn_of_privacy(leak)
        return [replace(made, warnings=(*made.warnings, leak)) for made in plans]

    def _feed(
        self, X: Any, labels: Sequence[AnyArray], n_total: int | None, begin: Callable[[], Sequence[OnlineRun]]
    ) -> list[Fitted] | None:
        """The next rows of an online fit, with the labels of each of its runs; what it releases after them, if any."""
        online = getattr(self, "_online", None)
        if online is None or not online[0].seen:
            # Also after a beginning whose rows were refused: nothing has been spent on it.
            self._online = tuple(begin())
        assert self._online is not None
        planned = self._online[0].planned
        if n_total is not None and planned not in (n_total, OPEN_END):
            raise InputError(
                f"this fit began for {planned} records, and its steps and noise with it",
                f"n_total={n_total}",
                "Leave n_total as it was, or start a new estimator: that spends a new budget.",
            )
        # The rows are the same for all runs, so if one refuses them it is the first, and nothing is lost.
        seen = self._online[0].seen
        try:
            fits = [run.feed(X, y) for run, y in zip(self._online, labels, strict=True)]
        except BaseException:
            # An interruption: some runs may have rows that others lack, and none may get them twice.
            if any(run.is_broken or run.seen != seen for run in self._online):
                for run in self._online:
                    run.give_up()
            raise
        released = [fitted for fitted in fits if fitted is not None]
        if not released:
            return None
        self._keep(released[0])
        return released

    def _leave_certificate(self) -> None:
        """Put the certificate of an online fit that is over into the ledger."""
        if self._online is not None and all(run.is_over for run in self._online):
            self._online[0].spending.commit(self.certificate_)

    def _open_plan(self, n_total: int | None, seed: int, arguments: dict[str, Any]) -> Plan:
        """A plan for records that have not come yet."""
        if n_total is not None:
            return self._plan_for(n_total, seed, arguments)
        if self._is_private:
            raise InputError(
                "a private online fit needs n_total, how many records will come: noise and delta depend on it",
                "n_total=None",
                "Pass partial_fit(X, y, n_total=10_000) with the first rows. The model is released after the last.",
            )
        made, longer = (self._plan_for(n, seed, arguments) for n in (OPEN_END, 2 * OPEN_END))
        if not same_beginning(made, longer):
            raise InputError(
                f"{made.algorithm} needs n_total, how many records will come: its steps depend on it",
                "n_total=None",
                "Pass partial_fit(X, y, n_total=10_000) with the first rows.",
            )
        return made

    def _keep(self, fitted: Fitted) -> None:
        self.n_iter_ = fitted.steps
        self.bounds_ = fitted.bounds
        self.plan_ = fitted.plan
        self.certificate_ = fitted.certificate

    def _needs_all_records(self) -> str | None:
        """Why there is no `partial_fit`; ``None``: the algorithm takes records as they come."""
        asked = (self.options or {}).get("order") == "arrival"
        if callable(self.algorithm) or (self.algorithm != "auto" and (asked or algorithm_named(self.algorithm).online)):
            return None
        return (
            f"algorithm={self.algorithm!r} needs all records at once. "
            "entrenous.algorithms() lists those that are online; sgd-previous is with options={'order': 'arrival'}."
        )

    def _refuse_weights(self, given: Mapping[str, Any]) -> None:
        """Weights have an answer of their own; anything else that `fit` does not know is a mistake in the call."""
        others = [name for name in given if name != "sample_weight"]
        if others:
            raise TypeError(f"fit() got an unexpected keyword argument {others[0]!r}")
        if given.get("sample_weight") is None:
            return
        if self._is_private:
            raise PrivacyError(
                "a private fit counts every record once: the sensitivity bounds what one record can do, and a weight "
                "would multiply it",
                "sample_weight",
                "Leave it out; classes are weighted by the threshold one chooses afterwards.",
            )
        raise InputError(
            "every record counts once", "sample_weight", "Leave it out, or repeat rows to count them more."
        )

    def _checked(self, X: Any, y: Any, **checks: Any) -> tuple[Any, AnyArray]:
        """Numbers for features, one label per row."""
        if is_registered_own(X):
            numeric = bool(checks.pop("y_numeric", False))
            return own_rows(self, X, **checks), checked_labels(y, numeric=numeric)
        table = X
        X, y = validated(self, X=X, y=y, accept_sparse=self._sparse_format, **checks)
        self._need_names(table)
        return X, y

    @property
    def _sparse_format(self) -> str | bool:
        """What scikit-learn's checks turn sparse tables into; False refuses them."""
        return "csr" if self._takes_sparse else False

    def _need_names(self, table: Any) -> None:
        """An error where a table has names that this scikit-learn cannot read: bounds by name would go astray."""
        names = getattr(table, "column_names", None) or getattr(table, "columns", None)
        named = names is not None and all(isinstance(name, str) for name in names)
        if named and not hasattr(self, "feature_names_in_"):
            raise InputError(
                "the columns' names must be readable by scikit-learn",
                f"a {type(table).__module__}.{type(table).__qualname__}",
                "Pass X.to_pandas(), or use a newer scikit-learn.",
            )

    def _need_fit(self) -> None:
        """An error unless a model has been released."""
        online = getattr(self, "_online", None)
        if online is not None and not hasattr(self, "plan_"):
            raise NotFittedError(
                f"A private online fit releases its model after the last record; {online[0].seen} have come so far."
            )
        check_is_fitted(self, "plan_")

    def _new_rows(self, X: Any) -> Rows:
        """Rows to apply the fitted model to."""
        self._need_fit()
        if is_registered_own(X):
            return own_rows(self, X, reset=False)
        return rows_of(validated(self, X=X, reset=False, accept_sparse=self._sparse_format))

    def _linear_scores(self, rows: Rows, coef: Array, intercept: Any, domain: FeatureDomain | None) -> Array:
        """The scores of new rows, clipped as the training rows were: a column for each row of `coef`.

        Inside the domain they are ``X @ coef.T + intercept``.
        """
        if domain is None:
            return np.column_stack([rows.scores(w) for w in coef]) + intercept
        weights, level = domain.from_user(coef, intercept)
        return rows.scores_inside(domain, weights) + level

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse and self._asks_for_sums
        return tags

    @property
    def _asks_for_sums(self) -> bool:
        """Whether the algorithm is known to need no array of rows, or nobody knows better before it is planned."""
        if callable(self.algorithm) or self.algorithm == "auto":
            return True
        named = any(record.name == self.algorithm for record in algorithms())
        return named and takes_rows_without_array(self.algorithm, self._task)

    def __getstate__(self) -> dict[str, Any]:
        # Rows and iterates that no noise covers stay in this process. The runs know whether theirs are such: epsilon
        # may have been set to something else since.
        state: dict[str, Any] = super().__getstate__()
        if any(run.is_private for run in state.get("_online") or ()):
            return {name: value for name, value in state.items() if name != "_online"}
        return state
