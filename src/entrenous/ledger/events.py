"""The lines of a ledger: written once, never changed, each sealed with the hash of all before it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from entrenous.errors import BudgetError

OPEN, RESERVE, COMMIT = "open", "reserve", "commit"
"""A data set is entered; a fit sets its cost aside before it runs; its certificate arrives afterwards."""
NOTHING_BEFORE = "0" * 64


@dataclass(frozen=True)
class Event:
    """One line. What it is about is in `content`, as JSON, which `digest` seals; the rest is enough to add up."""

    number: int
    kind: str
    dataset: str
    entry: int
    """Number of the line that reserved what this is about; for a reservation its own."""
    cost: str
    """A float in Python's own digits: sums are made in Python, and a hash needs exact text."""
    at: str
    digest: str
    previous: str
    hash: str

    @property
    def price(self) -> float:
        """The cost as a number; an error where nobody could have written it."""
        try:
            price = float(self.cost)
        except ValueError:
            price = math.nan
        if not 0.0 <= price < math.inf:
            raise altered(f"line {self.number} states the cost {self.cost[:40]!r}")
        return price


def sealed(kind: str, dataset: str, cost: float, content: str, last: Event | None, entry: int | None = None) -> Event:
    """The next line after `last`."""
    number = 1 if last is None else last.number + 1
    body = (number, kind, dataset, number if entry is None else entry, repr(float(cost)), _now(), digest_of(content))
    previous = NOTHING_BEFORE if last is None else last.hash
    return Event(*body, previous, _hash((*body, previous)))


def need_whole(events: Sequence[Event], head: str) -> None:
    """An error unless these are all lines from the first to the one whose hash is `head`, unchanged."""
    before = NOTHING_BEFORE
    for number, event in enumerate(events, start=1):
        body = (event.number, event.kind, event.dataset, event.entry, event.cost, event.at, event.digest)
        if event.number != number or event.previous != before or event.hash != _hash((*body, before)):
            raise altered(f"line {number} does not follow from the lines before it")
        before = event.hash
    if before != head:
        raise altered("lines at the end are missing")


def digest_of(content: str) -> str:
    """The seal of a line's content."""
    return hashlib.sha256(content.encode()).hexdigest()


def altered(what: str) -> BudgetError:
    """The error for a ledger that somebody or something changed."""
    return BudgetError(
        "a ledger must be as it was written", what, "Do not fit: restore it from a copy, and find out who changed it."
    )


def _hash(body: tuple[Any, ...]) -> str:
    return hashlib.sha256(json.dumps(body).encode()).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
