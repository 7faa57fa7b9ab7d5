"""Which kind of rows takes which table: one line per kind, the library's own and anybody else's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from entrenous.engine.rows.rows import Rows

Kind = TypeVar("Kind", bound=type[Rows])
Accepts = Callable[[Any], bool]


class _Entry(NamedTuple):
    kind: type[Rows]
    accepts: Accepts


_OURS: list[_Entry] = []
_OTHERS: list[_Entry] = []


def row_kind(*, accepts: Accepts) -> Callable[[Kind], Kind]:
    """Registers a class of rows for the tables that `accepts` says yes to; kinds registered later are asked first.

    ::

        @row_kind(accepts=lambda table: isinstance(table, Blocks))
        class BlockRows(Rows): ...
    """

    def registered(kind: Kind) -> Kind:
        (_OURS if _is_ours(kind) else _OTHERS).append(_Entry(kind, accepts))
        return kind

    return registered


def rows_of(table: Any) -> Rows:
    """The rows of a table, as the first kind that accepts it reads them; rows themselves are left alone."""
    if isinstance(table, Rows):
        return table
    return next(entry.kind.of(table) for entry in _asked_in_turn() if entry.accepts(table))


def is_registered_own(table: Any) -> bool:
    """Whether a kind from outside the library takes the table, so that nobody else's checks can read it."""
    if isinstance(table, Rows):
        return not _is_ours(type(table))
    return any(entry.accepts(table) for entry in _OTHERS)


def _asked_in_turn() -> Iterator[_Entry]:
    """Kinds from outside before the library's: the last of those takes whatever NumPy does."""
    # Imported here: the kinds register themselves with this file.
    from entrenous.engine.rows import dense, sparse  # noqa: F401

    yield from reversed(_OTHERS)
    yield from reversed(_OURS)


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("entrenous.")
