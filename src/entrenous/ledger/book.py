"""The arithmetic of a ledger: who shares whose budget, and what the lines add up to. It reads no database."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from entrenous.errors import BudgetError, EntrenousError, InputError
from entrenous.ledger.events import COMMIT, OPEN, RESERVE, Event, altered, digest_of
from entrenous.ledger.rules import ROUNDING
from entrenous.ledger.terms import Terms, terms_from
from entrenous.privacy.budget import Budget
from entrenous.privacy.composition import dearest_within


@dataclass(frozen=True)
class Account:
    """What a data set may still spend."""

    dataset: str
    terms: Terms
    """Those of the data set whose budget it is."""
    spent: float
    """In the rule's unit, reservations included; of a part, what its records have paid."""
    share_left: float
    """Of the limit, between 0 and 1."""
    fits: int
    unfinished: int
    """Fits that set their cost aside and never sent a certificate: under way, or crashed. They count."""

    @property
    def left(self) -> float:
        """The cost that still fits in, in the rule's unit."""
        return max(0.0, self.terms.limit - self.spent)

    def fits_left(self, budget: Budget) -> int:
        """How many more fits of this budget, with noise of one kind, there is room for."""
        return int((self.left + self.terms.limit * ROUNDING) / self._cost(budget))

    def spent_after(self, budget: Budget) -> str:
        """What will have been spent after one more fit of this budget, in the units of the whole."""
        return self.terms.spent_in_words(self.spent + self._cost(budget))

    def _cost(self, budget: Budget) -> float:
        return self.terms.accounting.cost([dearest_within(budget)])


class Book:
    """Data sets and costs, line by line."""

    def __init__(self) -> None:
        self._terms: dict[str, Terms] = {}
        self._costs: dict[str, list[float]] = {}
        self._open: dict[int, str] = {}

    @classmethod
    def of(cls, events: Sequence[Event], contents: Mapping[int, str]) -> Book:
        """The book after these lines."""
        book = cls()
        for event in events:
            book.follow(event, contents.get(event.number, ""))
        return book

    def follow(self, event: Event, content: str) -> None:
        """One more line; an error where it cannot come after the others. Only an `open` line's content is read."""
        if event.kind == OPEN:
            self.open(_terms_in(event, content))
        elif event.kind == RESERVE and event.dataset in self._terms and event.entry == event.number:
            self._costs[event.dataset].append(event.price)
            self._open[event.number] = event.dataset
        elif event.kind == COMMIT and self._open.get(event.entry) == event.dataset:
            del self._open[event.entry]
        else:
            raise altered(f"line {event.number} is out of place")

    def open(self, terms: Terms) -> None:
        """Enter a data set."""
        if terms.name in self._terms:
            raise InputError(
                "a data set is entered once, and its budget and rule stay",
                f"{terms.name!r} a second time",
                "A larger table is a version of it; a budget cannot be raised, because fits already relied on it.",
            )
        if terms.parent is not None:
            parent = self.terms(terms.parent)
            if terms.membership is not None and self._part(parent) is not None:
                raise InputError(
                    "a part is of a whole data set", f"a part of the part {parent.name!r}", "Take parts of the whole."
                )
        self._terms[terms.name] = terms
        self._costs[terms.name] = []

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names, in the order of entry."""
        return tuple(self._terms)

    @property
    def unfinished(self) -> tuple[int, ...]:
        """Numbers of reservations without a certificate."""
        return tuple(self._open)

    def terms(self, name: str) -> Terms:
        """The terms of a data set."""
        if name not in self._terms:
            known = ", ".join(map(repr, self._terms)) or "none"
            raise BudgetError(
                f"the ledger knows the data sets {known}",
                f"dataset={name!r}",
                "Enter it first: entrenous ledger init PATH --dataset NAME --epsilon E --delta D.",
            )
        return self._terms[name]

    def owner_of_budget(self, name: str) -> Terms:
        """The terms of the data set whose budget this one spends."""
        terms = self.terms(name)
        while terms.parent is not None:
            terms = self.terms(terms.parent)
        return terms

    def _part(self, terms: Terms | None) -> str | None:
        """The part that a data set is, or is a version of; ``None``: it is about the whole."""
        while terms is not None:
            if terms.membership is not None:
                return terms.name
            terms = None if terms.parent is None else self._terms[terms.parent]
        return None

    def spent(self, owner: str, extra: tuple[str, float] | None = None, only: str | None = None) -> float:
        """Costs of one budget: of the whole and its versions the sum, and of disjoint parts the dearest.

        Parts are disjoint from the other parts of the same data set. Those of another version may hold the same people,
        so the dearest part of each is added. `extra` is a data set and a cost that would come on top; `only` is a part
        whose records alone are looked at.
        """
        totals: dict[str | None, list[float]] = {None: []}
        for name, terms in self._terms.items():
            if self.owner_of_budget(name).name == owner:
                costs = totals.setdefault(self._part(terms), [])
                costs += self._costs[name]
                if extra is not None and extra[0] == name:
                    costs.append(extra[1])
        whole = totals.pop(None)
        dearest: dict[str | None, float] = {}
        for part, costs in totals.items():
            assert part is not None
            divided = self._terms[part].parent
            if only in (None, part) or self._terms[only].parent != divided:
                dearest[divided] = max(math.fsum(costs), dearest.get(divided, 0.0))
        return math.fsum([*whole, *dearest.values()])

    def need_room(self, name: str, cost: float) -> None:
        """An error if one more fit of this cost would pass the limit."""
        owner = self.owner_of_budget(name)
        after = self.spent(owner.name, (name, cost))
        # Written so that a NaN refuses.
        if not after <= owner.limit * (1.0 + ROUNDING):
            raise BudgetError(
                f"the fits of data set {owner.name!r} may cost {owner.budget} together (rule {owner.rule}), and have "
                f"cost {owner.spent_in_words(self.spent(owner.name))}",
                f"one more, after which it would be {owner.spent_in_words(after)}",
                "Nothing was fitted. Ask for a smaller epsilon; 'entrenous ledger show' says what is left.",
            )

    def account(self, name: str) -> Account:
        """What a data set may still spend."""
        owner = self.owner_of_budget(name)
        part = self._part(self.terms(name))
        spent = self.spent(owner.name, only=part)
        kin = [one for one in self._terms if self.owner_of_budget(one).name == owner.name]
        fits = sum(len(self._costs[one]) for one in kin)
        waiting = sum(dataset in kin for dataset in self._open.values())
        share = min(1.0, max(0.0, 1.0 - spent / owner.limit))
        return Account(name, owner, spent, share, fits, waiting)


def _terms_in(event: Event, content: str) -> Terms:
    need_digest(event, content)
    try:
        terms = terms_from(json.loads(content))
    except (TypeError, ValueError) as error:
        what = error.needs if isinstance(error, EntrenousError) else "its terms cannot be read"
        raise altered(f"line {event.number}: {what}") from error
    if terms.name != event.dataset:
        raise altered(f"line {event.number} is about another data set than it says")
    return terms


def need_digest(event: Event, content: str) -> None:
    """An error unless this is what the line was written with."""
    if digest_of(content) != event.digest:
        raise altered(f"line {event.number} has another content than it was written with")
