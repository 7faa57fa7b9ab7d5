"""The loop for records that come in chunks: `run`, one chunk at a time, for algorithms that use them as they come."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from entrenous.engine.labels import in_user_units, noise_in_user_units, read_labels
from entrenous.engine.phases.phase import OnlinePhase
from entrenous.engine.plan import Plan
from entrenous.engine.run import Fitted, certified, checked_rows, naming_kind_of
from entrenous.engine.streams.fold import Fold
from entrenous.errors import AssumptionError, InputError, PrivacyError
from entrenous.ledger.spending import Spending
from entrenous.privacy.noise import noise_from
from entrenous.problem.features.declared import missing_bounds
from entrenous.problem.targets import TargetRange


class OnlineRun:
    """`run` on records that come in chunks, for plans of one phase in order of arrival.

    Until it has released, it holds rows and iterates that no noise covers: a private one stays in this process, and
    there is one of it, because two ends of one beginning would spend twice.
    """

    def __init__(self, plan: Plan, random_state: Any, spending: Spending | None = None) -> None:
        phase = plan.phases[0]
        if phase.reads_raw_rows:
            raise AssumptionError(
                "PrivateBounds has to see all records before the first step",
                "a fit on records that come one by one",
                "Declare bounds=(low, high).",
            )
        if len(plan.phases) != 1 or not isinstance(phase, OnlinePhase) or not phase.in_order:
            raise AssumptionError(
                "records can come one by one only where an algorithm uses them in order of arrival",
                f"algorithm={plan.algorithm!r}",
                "Use an algorithm that entrenous.algorithms() lists as online.",
            )
        if plan.features is None:
            raise missing_bounds("a fit on records that come one by one")
        self._plan, self._phase, self._noise = plan, phase, noise_from(random_state)
        self._certificate = certified(plan, self._noise)
        self.spending = Spending() if spending is None else spending
        self._fold: Fold | None = phase.begin(plan.problem, plan.problem.start())
        self._means = None if plan.is_private else plan.task_object.running_means(plan.n_features)
        self._targets: TargetRange | None = None
        self.seen = 0
        self._process = os.getpid()

    @property
    def is_private(self) -> bool:
        """Whether the plan of this run is; what anybody says about later ones does not matter."""
        return self._plan.is_private

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Pickle of every kind and both kinds of copies come through here.
        if self.is_private:
            raise PrivacyError(
                "a private run that is under way stays where it is: it holds rows that no noise covers",
                "an attempt to pickle or copy it",
                "Feed it all records and keep what it releases; an estimator is pickled without it.",
            )
        return super().__reduce_ex__(protocol)

    @property
    def planned(self) -> int:
        """How many records the plan is for."""
        return self._plan.n

    @property
    def is_over(self) -> bool:
        """Whether every record the plan is for has come."""
        return self.seen == self.planned

    def feed(self, X: Any, y: Any) -> Fitted | None:
        """More records; what may be released after them, ``None`` if the plan's noise does not pay for it yet."""
        plan = self._plan
        rows = checked_rows(plan, X)
        labels, self._targets = read_labels(plan, y, len(rows))
        self._need_whole()
        if not 1 <= len(rows) <= plan.n - self.seen or self._fold is None:
            raise InputError(
                f"this fit is for {plan.n} records, at least one at a time",
                f"{len(rows)} more after {self.seen}",
                "Declare how many will come before the first of them, or fit anew: that spends a new budget.",
            )
        assert plan.features is not None
        self._certificate = naming_kind_of(rows, self._certificate)
        if not self.seen:
            self.spending.begin(self._certificate)
        internal = rows.inside(plan.features)
        # Away until all of them are in: after an interruption nobody knows which are, and no record may come twice.
        fold, self._fold = self._fold, None
        fold.feed(internal.array(), labels)
        self._fold = fold
        self.seen += len(rows)
        if self._means is not None:
            self._means.feed(internal, labels)
        if plan.is_private and not (self.is_over or self._phase.every_iterate):
            return None
        return self._released(self._fold)

    @property
    def is_broken(self) -> bool:
        """Whether records came in part."""
        return self._fold is None and not self.is_over

    def give_up(self) -> None:
        """Take no more records. What was reserved for this run stays reserved."""
        self._fold = self._means = None

    def _need_whole(self) -> None:
        if self.is_private and os.getpid() != self._process:
            raise PrivacyError(
                "a private run that is under way stays in its process: two ends of one beginning spend twice",
                "a copy of it in another process",
                "Feed it where it began, or start a new fit there: that spends a new budget.",
            )
        if self.is_broken:
            raise PrivacyError(
                "every record comes once, all of a chunk together",
                "a fit whose last chunk was interrupted",
                "Start a new fit: that spends a new budget. What this one was to cost counts as spent.",
            )

    def _released(self, fold: Fold) -> Fitted:
        plan = self._plan
        released = self._phase.finish(plan.problem, fold, self._noise)
        coef, intercept = in_user_units(plan, plan.features, self._targets, released, self._means)
        if self.is_over:
            self._fold = self._means = None
        so_far = plan
        if not plan.is_private:
            seen = max(2, self.seen)
            phase = self._phase.up_to(seen)
            so_far = replace(plan, n=seen, phases=(phase,))
        noise = noise_in_user_units(so_far, plan.features, self._targets, released)
        return Fitted(coef, intercept, released.w, released.steps, so_far, self._certificate, noise, plan.features)


def same_beginning(plan: Plan, longer: Plan) -> bool:
    """Whether two plans that differ in n treat the first records alike."""
    early = [[p.up_to(100) if isinstance(p, OnlinePhase) else p for p in made.phases] for made in (plan, longer)]
    return plan.problem == longer.problem and early[0] == early[1]
