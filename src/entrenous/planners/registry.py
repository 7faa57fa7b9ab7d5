"""The named algorithms: what each needs, what it can do, and the planner behind the name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, overload

from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.bound import require_lemmas
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.tasks.task import Task
from entrenous.registry import is_own, load_library

Privacy = Literal["pure", "approximate", "none"]
P = TypeVar("P", bound=Callable[..., Plan])


class Planner(Protocol):
    """``(problem, budget, n, **options) -> Plan``: all privacy arithmetic, from public numbers only."""

    def __call__(self, problem: Problem, budget: Budget, n: int, **options: object) -> Plan: ...


DefaultRadius = Callable[[Budget, int, int], float | None]
"""Radius of the parameter ball, from (budget, n, dimension), when none is asked for; ``None``: the whole space."""

PURE: tuple[Privacy, ...] = ("pure", "approximate", "none")
APPROXIMATE: tuple[Privacy, ...] = ("approximate", "none")
NOT_PRIVATE: tuple[Privacy, ...] = ("none",)


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
    surrogates: tuple[str, ...] | None
    """Names it is limited to; ``None`` for all that meet its needs, empty where a surrogate has no say."""
    default_surrogate: str
    default_radius: DefaultRadius
    online: bool
    lemmas: tuple[str, ...]
    """One of these is in every certificate of it."""
    joins: bool = False
    """Whether it shares its name with the algorithm that does the same for other tasks."""
    finds_intercept: bool = False
    """Whether its releases hold the intercept of a task whose loss does not."""

    @property
    def options(self) -> tuple[str, ...]:
        """Names that the `options` mapping may carry."""
        return planner_options(self.planner)

    @property
    def calibrations(self) -> tuple[str, ...]:
        """The calibrations it takes: as printed too where its planner knows the printed noise."""
        return ("tight", "paper") if "calibration" in self.options else ("tight",)

    def covers(self, task: Task) -> bool:
        """Whether it can be used for this task."""
        return task.name in self.tasks or self.name in task.algorithms

    def takes(self, surrogate: Surrogate | None) -> bool:
        """Whether it can be used with this surrogate; ``None``: with its own."""
        return surrogate is None or self.surrogates is None or surrogate.name in self.surrogates


def unit_radius(budget: Budget, n: int, dimension: int) -> float:
    """The ball of radius 1 that the papers use."""
    return 1.0


def planner_options(planner: Callable[..., Plan]) -> tuple[str, ...]:
    """The keyword-only arguments of a planner."""
    parameters = inspect.signature(planner).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def algorithm(
    name: str,
    citation: str,
    summary: str,
    *,
    cost: str,
    lemmas: tuple[str, ...] = (),
    tasks: tuple[str, ...] = ("auc", "metric"),
    privacy: tuple[Privacy, ...] = APPROXIMATE,
    needs: tuple[str, ...] = ("convex",),
    surrogates: tuple[str, ...] | None = None,
    surrogate: str = "logistic",
    radius: DefaultRadius = unit_radius,
    online: bool = False,
    joins: bool = False,
    finds_intercept: bool = False,
) -> Callable[[P], P]:
    """Decorator: this planner is behind the name.

    `lemmas` are those that its certificates rest on, one at least; `surrogate` and `radius` are its own where none are
    asked for. `joins` says that the name exists for other tasks, which keep it: the task then decides which of the two
    is meant. What a planner's signature says (options, calibrations) is read from there.
    """

    def register(planner: P) -> P:
        for known in _named(name):
            is_this = known.planner.__module__ == planner.__module__
            apart = known.joins != joins and not set(known.tasks) & set(tasks)
            if not is_this and not (apart and is_own(known.planner) == is_own(planner)):
                raise InputError(
                    "an algorithm needs a name of its own", f"{name!r}, which exists", "See entrenous.algorithms()."
                )
        _ALGORITHMS[name, joins] = Algorithm(
            name,
            planner,
            citation,
            summary,
            tasks,
            privacy,
            needs,
            cost,
            surrogates,
            surrogate,
            radius,
            online,
            lemmas,
            joins,
            finds_intercept,
        )
        require_lemmas(name, lemmas, is_own=is_own(planner), tasks=tasks if joins else ())
        return planner

    return register


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


_ALGORITHMS: dict[tuple[str, bool], Algorithm] = {}
"""By name, and whether it joins another of that name."""


def _named(name: str) -> list[Algorithm]:
    """Those of this name, the one that others joined first."""
    return [_ALGORITHMS[key] for key in ((name, False), (name, True)) if key in _ALGORITHMS]


def algorithms() -> Algorithms:
    """Every named algorithm, as frozen records that print as a table: ours first, then paper by paper."""
    load_library()
    ours_first = sorted(_ALGORITHMS.values(), key=lambda a: (a.citation != "entrenous", a.citation))
    return Algorithms(ours_first)


def algorithm_named(name: str, task: Task | None = None) -> Algorithm:
    """The record behind a name: the one that covers the task, if there are two."""
    load_library()
    known = _named(name)
    if not known:
        names = dict.fromkeys(name for name, _ in _ALGORITHMS)
        raise InputError(
            "algorithm must be 'auto' or one of " + ", ".join(names), repr(name), "See entrenous.algorithms()."
        )
    return next((record for record in known if task is not None and record.covers(task)), known[0])
