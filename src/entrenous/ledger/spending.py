"""How a fit finds its ledger, pays before it begins, and leaves its certificate."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from entrenous.errors import BudgetError, warn_of_privacy
from entrenous.ledger.repeats import warn_of_repeats

if TYPE_CHECKING:
    from entrenous.privacy.certificate import PrivacyCertificate

LEDGER, DATASET = "ENTRENOUS_LEDGER", "ENTRENOUS_DATASET"
"""Environment variables: with the first set, every private fit of the process spends, or raises."""


class Spending:
    """What one fit spends: nothing where there is no ledger; else one reservation, and then its certificate.

    Where a fit has several runs, its first one reserves for all of them (`plan_several`). `earlier` is what the same
    estimator spent before: without a ledger people are told what both cost.
    """

    def __init__(
        self, ledger: Any = None, dataset: str | None = None, *, earlier: PrivacyCertificate | None = None
    ) -> None:
        self._asked, self._dataset, self._earlier = ledger, dataset, earlier
        self._planned: Sequence[PrivacyCertificate] = ()
        self._begun: list[PrivacyCertificate] = []
        self._entry: tuple[Any, int] | None = None

    def plan_several(self, certificates: Sequence[PrivacyCertificate]) -> None:
        """Reserve for all of these when the first of them begins."""
        self._planned = certificates

    @property
    def is_wanted(self) -> bool:
        """Whether a private fit would have to pay."""
        return bool(self._asked or self._dataset or os.environ.get(LEDGER))

    def begin(self, certificate: PrivacyCertificate | None) -> None:
        """Set the cost of a run aside, unless it is part of what was set aside already; a `BudgetError` refuses it."""
        if certificate is None:
            return
        if not self.is_wanted:
            if not self._begun:
                warn_of_repeats(self._planned or [certificate], self._earlier)
            self._begun.append(certificate)
            return
        if self._entry is not None:
            self._begun.append(certificate)
            if not self._is_as_planned():
                self._entry[0].need_covered(self._entry[1], self._begun)
            return
        place, dataset = _ledger_for(self._asked), self._dataset or os.environ.get(DATASET)
        if not dataset:
            raise BudgetError(
                "a fit with a ledger needs the data set whose budget it spends",
                "no name",
                f'Pass dataset="...", or set {DATASET}.',
            )
        # Imported here: a fit without a ledger needs no database.
        from entrenous.ledger.ledger import Ledger

        ledger = Ledger(place)
        self._entry = ledger, ledger.reserve(dataset, self._planned or [certificate])
        self._begun = [certificate]

    def _is_as_planned(self) -> bool:
        """Whether all runs so far cost what was reserved for them: then nobody has to ask the ledger again."""
        planned = self._planned[: len(self._begun)]
        return [one.mechanisms for one in planned] == [one.mechanisms for one in self._begun]

    def commit(self, certificate: PrivacyCertificate | None) -> None:
        """Leave the certificate beside the reservation. Where that fails the fit stays reserved, and counts."""
        if certificate is None or self._entry is None:
            return
        (ledger, entry), self._entry = self._entry, None
        try:
            ledger.commit(entry, certificate)
        except BudgetError as error:
            warn_of_privacy(
                f"The certificate of this fit could not be put into the ledger ({error.got}). Its cost stays reserved "
                f"and counts: entry {entry}."
            )


def _ledger_for(asked: Any) -> Any:
    """The ledger of the process, else the one asked for; an error where they differ."""
    ordered = os.environ.get(LEDGER)
    if not ordered:
        if not asked:
            raise BudgetError(
                "a data set's budget is kept in a ledger",
                "dataset= without ledger=",
                f'Pass ledger="ledger.db" too, or set {LEDGER}.',
            )
        return asked
    from entrenous.ledger.store import same_place

    if asked and not same_place(str(asked), ordered):
        raise BudgetError(
            f"with {LEDGER} set all fits of this process spend from that ledger",
            "an estimator that names another one",
            "Leave ledger= out.",
        )
    return ordered
