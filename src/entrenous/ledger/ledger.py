"""A ledger as people and fits use it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entrenous.errors import BudgetError, EntrenousError, InputError
from entrenous.ledger.book import Account, Book, need_digest
from entrenous.ledger.events import COMMIT, OPEN, RESERVE, Event, altered, sealed
from entrenous.ledger.rules import ROUNDING, Rule
from entrenous.ledger.store import Store
from entrenous.ledger.terms import terms_for
from entrenous.privacy.budget import ADJACENCY
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.privacy.composition import mechanisms_of

FIELDS = ("number", "dataset", "status", "reserved", "committed", "cost", "algorithm", "n", "epsilon", "delta")
"""What an export says about a fit, beside its certificate."""
ONE_RECORD = {"records_per_person": 1}
_RECOMPUTED = 1e-6
"""Relative difference of a cost that another version of the accountant computed."""


@dataclass(frozen=True)
class Entry:
    """One fit in a ledger."""

    number: int
    dataset: str
    reserved: str
    """When, in UTC."""
    committed: str | None
    """When its certificate arrived; ``None``: it has not, because the fit is under way or crashed. It counts."""
    cost: float
    algorithm: str
    n: int
    epsilon: float
    delta: float
    certificate: PrivacyCertificate | None

    @property
    def status(self) -> str:
        return "reserved" if self.committed is None else "committed"

    def to_dict(self) -> dict[str, Any]:
        """The entry for an export."""
        certificate = None if self.certificate is None else self.certificate.to_dict()
        return {**{name: getattr(self, name) for name in FIELDS}, "certificate": certificate}


class Ledger:
    """The total budgets of data sets, and every private fit that spent of them.

    Parameters
    ----------
    place : str or Path
        A SQLite file, or the address of a database such as ``postgresql://user@host/name``.

    Examples
    --------
    >>> import tempfile, entrenous as en
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, 5, random_state=0)
    >>> place = tempfile.mkdtemp() + "/ledger.db"
    >>> en.Ledger(place).init("ward7", epsilon=2.0, delta=1e-6, owner="A. Officer")
    >>> fit = en.AUCClassifier(epsilon=1.0, bounds=(-5, 5), ledger=place, dataset="ward7").fit(X, y)
    >>> [entry.status for entry in en.Ledger(place).history()]
    ['committed']
    >>> round(en.Ledger(place).account("ward7").share_left, 2)
    0.75

    """

    def __init__(self, place: str | Path) -> None:
        if not isinstance(place, str | Path) or not str(place):
            raise InputError(
                "a ledger is a path or a database's address", f"a {type(place).__name__}", 'Such as "ledger.db".'
            )
        self._store = Store(str(place))

    @property
    def shown(self) -> str:
        """Where it is, without a password."""
        return self._store.shown

    def _book(self) -> Book:
        return Book.of(*self._store.read(OPEN))

    def init(self, dataset: str, **terms: Any) -> None:
        """Enter a data set, and create the ledger if it is the first.

        `epsilon` and `delta`, or `mu`, are its total budget; `rule` is ``"gdp"`` (default) or ``"rdp"``, at one
        `order`; `owner` and `note` are text. With `version_of` it shares the budget of another data set; with `part_of`
        and `membership` (``"random"`` or ``"position"``) it is a part of one, disjoint from its other parts.
        """
        made = terms_for(dataset, **terms)
        self._store.create()
        with self._store.writing() as writer:
            book = Book.of(writer.events, writer.contents_of(OPEN))
            book.open(made)
            content = json.dumps(made.to_dict())
            writer.add(sealed(OPEN, dataset, 0.0, content, writer.events[-1] if writer.events else None), content)

    def reserve(self, dataset: str, certificates: Sequence[PrivacyCertificate]) -> int:
        """Set the cost of these certificates aside, all or nothing, before anything is released; the entry's number."""
        # Before the transaction, which others wait for: terms never change, and secret samples take a second to price.
        cost = cost_of(certificates, self._book().owner_of_budget(dataset).accounting)
        content = json.dumps([certificate.to_dict() for certificate in certificates], allow_nan=False)
        with self._store.writing() as writer:
            Book.of(writer.events, writer.contents_of(OPEN)).need_room(dataset, cost)
            event = sealed(RESERVE, dataset, cost, content, writer.events[-1])
            writer.add(event, content)
        return event.number

    def need_covered(self, entry: int, certificates: Sequence[PrivacyCertificate]) -> None:
        """An error if the runs of a fit cost more together than was reserved for it."""
        events, contents = self._store.read(OPEN)
        _covered(events[entry - 1], certificates, Book.of(events, contents))

    def commit(self, entry: int, certificate: PrivacyCertificate) -> None:
        """Put the certificate of a fit that has run beside its reservation."""
        with self._store.writing() as writer:
            book = Book.of(writer.events, writer.contents_of(OPEN))
            if entry not in book.unfinished:
                raise BudgetError(
                    "a certificate belongs to a fit that is under way", f"entry {entry}", "Reserve its cost first."
                )
            reserved = writer.events[entry - 1]
            cost = _covered(reserved, [certificate], book)
            content = certificate.to_json()
            writer.add(sealed(COMMIT, reserved.dataset, cost, content, writer.events[-1], entry), content)

    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, in the order of entry."""
        return self._book().datasets

    def account(self, dataset: str) -> Account:
        """What a data set may still spend."""
        return self._book().account(dataset)

    def head(self) -> str:
        """The hash that seals all lines so far. Noted elsewhere, it shows whether they are ever rewritten."""
        events, _ = self._store.read(OPEN)
        return events[-1].hash if events else ""

    def history(self, dataset: str | None = None) -> list[Entry]:
        """All fits, or those of one data set, in the order of their reservations."""
        events, contents = self._store.read()
        if dataset is not None:
            Book.of(events, contents).terms(dataset)
        return [entry for entry in _entries(events, contents) if dataset in (None, entry.dataset)]

    def verify(self, head: str | None = None) -> list[str]:
        """Recompute every cost from its certificate, every sum and every seal; an error where something does not hold.

        `head` is a hash that was noted earlier: it must still be among the lines. Returns what was checked.
        """
        events, contents = self._store.read()
        if head is not None and head not in {event.hash for event in events}:
            raise altered("the hash that was noted seals none of its lines")
        book = Book()
        for event in events:
            content = contents[event.number]
            need_digest(event, content)
            if event.kind == RESERVE:
                _check_cost(event, _certificates_in(event, content), book)
                book.need_room(event.dataset, event.price)
            elif event.kind == COMMIT:
                (certificate,) = _certificates_in(event, content)
                _check_cost(event, [certificate], book)
                if event.price > events[event.entry - 1].price * (1.0 + ROUNDING):
                    raise altered(f"line {event.number} costs more than line {event.entry} reserved")
                certificate.verify()
            book.follow(event, content)
        fits = sum(event.kind == RESERVE for event in events)
        waiting = len(book.unfinished)
        return [
            f"{len(events)} lines, each sealed with the hash of those before it",
            f"{fits} fits, each at the cost that its certificate gives",
            *(f"{name}: {_summary(book.account(name))}" for name in book.datasets),
            *([f"{waiting} fits without a certificate, under way or crashed: counted"] if waiting else []),
        ]

    def export(self) -> dict[str, Any]:
        """Everything, for archives and other programs."""
        events, contents = self._store.read()
        book = Book.of(events, contents)
        return {
            "schema": "entrenous-ledger-export/1",
            "head": events[-1].hash if events else "",
            "datasets": [
                {**book.terms(name).to_dict(), "limit": account.terms.limit, "spent": account.spent}
                for name in book.datasets
                for account in (book.account(name),)
            ],
            "entries": [entry.to_dict() for entry in _entries(events, contents)],
            "lines": [{**vars(event), "content": contents[event.number]} for event in events],
        }


def cost_of(certificates: Sequence[PrivacyCertificate], rule: Rule) -> float:
    """What certificates cost together, from their public numbers; of one, disjoint phases cost the dearest."""
    for certificate in certificates:
        if certificate.adjacency != ADJACENCY or dict(certificate.unit) != ONE_RECORD:
            raise BudgetError(
                f"a ledger adds up certificates about one record, {ADJACENCY}",
                f"{certificate.adjacency}, {dict(certificate.unit)}",
                "Keep another ledger for another unit.",
            )
    return rule.cost(certificates[0].mechanisms if len(certificates) == 1 else mechanisms_of(certificates))


def _covered(reserved: Event, certificates: Sequence[PrivacyCertificate], book: Book) -> float:
    """The cost of these certificates; an error if it is more than was reserved."""
    cost = cost_of(certificates, book.owner_of_budget(reserved.dataset).accounting)
    if not cost <= reserved.price * (1.0 + ROUNDING):
        raise BudgetError(
            f"a fit must not cost more than the {reserved.price:.12g} that were reserved",
            f"{cost:.12g}",
            "Please report this as a defect.",
        )
    return cost


def _summary(account: Account) -> str:
    spent, terms = account.terms.spent_in_words(account.spent), account.terms
    return f"{spent} of {terms.budget} spent by {account.fits} fits (rule {terms.rule})"


def _certificates_in(event: Event, content: str) -> list[PrivacyCertificate]:
    try:
        stated = json.loads(content)
        certificates = [PrivacyCertificate.from_dict(one) for one in (stated if event.kind == RESERVE else [stated])]
    except EntrenousError:
        raise
    except (TypeError, ValueError, LookupError) as error:
        raise altered(f"the certificate of line {event.number} cannot be read") from error
    if not certificates:
        raise altered(f"line {event.number} has no certificate")
    return certificates


def _check_cost(event: Event, certificates: Sequence[PrivacyCertificate], book: Book) -> None:
    cost = cost_of(certificates, book.owner_of_budget(event.dataset).accounting)
    if cost > event.price * (1.0 + _RECOMPUTED):
        raise altered(f"line {event.number} states the cost {event.price:.9g}, and its certificate says {cost:.9g}")


def _entries(events: Sequence[Event], contents: dict[int, str]) -> list[Entry]:
    commits = {event.entry: event for event in events if event.kind == COMMIT}
    return [_entry(event, contents, commits.get(event.number)) for event in events if event.kind == RESERVE]


def _entry(event: Event, contents: dict[int, str], commit: Event | None) -> Entry:
    planned = _certificates_in(event, contents[event.number])
    final = None if commit is None else _certificates_in(commit, contents[commit.number])[0]
    shown = final or planned[0]
    return Entry(
        event.number,
        event.dataset,
        event.at,
        None if commit is None else commit.at,
        event.price,
        shown.algorithm,
        shown.n,
        shown.epsilon,
        shown.delta,
        final,
    )
