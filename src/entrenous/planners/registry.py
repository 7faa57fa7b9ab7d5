"""The named algorithms: what each needs, what it can do, and the planner behind the name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, overload

from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.parts.problem import Problem
from entrenous.privacy.budget import Budget

Privacy = Literal["pure", "approximate", "none"]


class Planner(Protocol):
    """``(problem, budget, n, **options) -> Plan``: all privacy arithmetic, from public numbers only."""

    def __call__(self, problem: Problem, budget: Budget, n: int, **options: object) -> Plan: ...


@dataclass(frozen=True)
class Algorithm:
    """One named algorithm, as `entrenous.algorithms` lists it."""

    name: str
    planner: Callable[..., Plan]
    citation: str
    summary: str
    tasks: tuple[str, ...]
    privacy: tuple[Privacy, ...]
    needs: tuple[str, ...]
    cost: str
    calibrations: tuple[str, ...]
    surrogates: tuple[str, ...] | None
    """Names it is limited to; ``None`` for all that meet its needs."""
    default_surrogate: str
    default_radius: Callable[[Budget, int, int], float | None]
    """Radius of the parameter ball, from (budget, n, dimension), when none is asked for; ``None``: the whole space."""
    online: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """Names that the `options` mapping may carry."""
        return planner_options(self.planner)


def unit_radius(budget: Budget, n: int, dimension: int) -> float:
    """The ball of radius 1 that the papers use."""
    return 1.0


def planner_options(planner: Callable[..., Plan]) -> tuple[str, ...]:
    """The keyword-only arguments of a planner."""
    parameters = inspect.signature(planner).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


class Algorithms(Sequence[Algorithm]):
    """The records in one place; prints as a table."""

    def __init__(self, records: Sequence[Algorithm]) -> None:
        self._records = tuple(records)

    @overload
    def __getitem__(self, index: int) -> Algorithm: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Algorithm]: ...
    def __getitem__(self, index: int | slice) -> Algorithm | Sequence[Algorithm]:
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[Algorithm]:
        return iter(self._records)

    def header(self) -> tuple[str, ...]:
        """Column names of `rows`."""
        return ("name", "tasks", "privacy", "needs", "online", "cost", "from")

    def rows(self) -> list[tuple[str, ...]]:
        """One row of text per algorithm."""
        return [
            (
                a.name,
                ", ".join(a.tasks),
                ", ".join(a.privacy),
                ", ".join(a.needs) or "-",
                "yes" if a.online else "no",
                a.cost,
                a.citation,
            )
            for a in self._records
        ]

    def __repr__(self) -> str:
        table = [self.header(), *self.rows()]
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in table)


_ALGORITHMS: dict[str, Algorithm] = {}


def register(algorithm: Algorithm) -> Algorithm:
    """Add an algorithm to the library's list."""
    if algorithm.name in _ALGORITHMS:
        raise ValueError(f"two algorithms are called {algorithm.name!r}")
    _ALGORITHMS[algorithm.name] = algorithm
    return algorithm


def algorithms() -> Algorithms:
    """Every named algorithm, as frozen records that print as a table: ours first, then paper by paper."""
    ours_first = sorted(_ALGORITHMS.values(), key=lambda a: (a.citation != "entrenous", a.citation))
    return Algorithms(ours_first)


def algorithm_named(name: str) -> Algorithm:
    """The record behind a name."""
    try:
        return _ALGORITHMS[name]
    except KeyError:
        raise InputError(
            "algorithm must be 'auto' or one of " + ", ".join(_ALGORITHMS), repr(name), "See entrenous.algorithms()."
        ) from None
