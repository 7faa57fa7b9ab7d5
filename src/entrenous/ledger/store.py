"""Where a ledger is kept: a SQLite file, or any database that SQLAlchemy has an address for.

One transaction at a time may write: SQLite locks its file when the transaction begins, other databases lock the row
that holds the head. Everything that goes wrong is a `BudgetError`, so that no fit goes on without its entry.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entrenous.errors import BudgetError, InputError
from entrenous.ledger.events import NOTHING_BEFORE, Event, need_whole

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, Table

SCHEMA = "entrenous-ledger/1"
PATIENCE = 60.0
"""Seconds to wait while another process writes."""


def is_address(place: str) -> bool:
    """Whether this is a database's address and no path of a file."""
    return "://" in place


def same_place(one: str, other: str) -> bool:
    """Whether two spellings mean one ledger."""
    return one == other or (not is_address(one) and not is_address(other) and _full(one) == _full(other))


def _full(place: str) -> Path:
    return Path(place).expanduser().resolve()


class Store:
    """The table of lines and its head. Connections live for one transaction: nothing is shared over a fork."""

    def __init__(self, place: str) -> None:
        self._sql = _sqlalchemy()
        self._place = place
        if is_address(place):
            try:
                address = self._sql.make_url(place)
            except self._sql.exc.ArgumentError:
                raise InputError(
                    "a ledger is a path or a database's address",
                    "text with :// that is no address",
                    "Such as postgresql://user@host/name.",
                ) from None
            if address.drivername == "postgresql":
                address = address.set(drivername="postgresql+psycopg")
            self._address: URL | None = address
            self.shown = address.render_as_string(hide_password=True)
            if address.get_backend_name() == "sqlite":
                # A file has its own way to lock; one in memory would be a new ledger for every transaction.
                self._address, self._place = None, address.database or ":memory:"
        else:
            self._address = None
            self.shown = place
        metadata = self._sql.MetaData()
        text, whole = self._sql.Text, self._sql.Integer
        column = self._sql.Column
        self._lines: Table = self._sql.Table(
            "entrenous_lines",
            metadata,
            column("number", whole, primary_key=True, autoincrement=False),
            *(column(name, text, nullable=False) for name in ("kind", "dataset")),
            column("entry", whole, nullable=False),
            *(column(name, text, nullable=False) for name in ("cost", "at", "digest", "previous", "hash")),
            column("content", text, nullable=False),
        )
        self._head: Table = self._sql.Table(
            "entrenous_head",
            metadata,
            column("id", whole, primary_key=True, autoincrement=False),
            column("schema", text, nullable=False),
            column("hash", text, nullable=False),
        )
        self._metadata = metadata

    def create(self) -> None:
        """The tables, if they are not there yet."""
        with self._guarded(), self._engine("rwc").begin() as connection:
            self._metadata.create_all(connection)
            if connection.execute(self._head.select()).first() is None:
                connection.execute(self._head.insert().values(id=1, schema=SCHEMA, hash=NOTHING_BEFORE))

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """A transaction that nobody else's can interleave; what it writes is there as a whole, or not at all."""
        with self._guarded(), self._engine("rw").begin() as connection:
            head = connection.execute(self._head.select().with_for_update()).first()
            yield Writer(connection, self._lines, self._head, self._checked(connection, head))

    def read(self, kind: str | None = None) -> tuple[list[Event], dict[int, str]]:
        """All lines, checked, and what each is about by its number: of one kind, or of all."""
        with self._guarded(), self._engine("r").begin() as connection:
            events = self._checked(connection, connection.execute(self._head.select()).first())
            asked = self._sql.select(self._lines.c.number, self._lines.c.content)
            rows = connection.execute(asked if kind is None else asked.where(self._lines.c.kind == kind))
            return events, {row.number: row.content for row in rows}

    def _checked(self, connection: Connection, head: Any) -> list[Event]:
        if head is None or head.schema != SCHEMA:
            raise BudgetError(
                f"a ledger needs the schema {SCHEMA}",
                "a newer one or none",
                "Upgrade entrenous, or enter a data set with 'entrenous ledger init'.",
            )
        columns = [column for column in self._lines.c if column.name != "content"]
        rows = connection.execute(self._sql.select(*columns).order_by(self._lines.c.number))
        events = [Event(*row) for row in rows]
        need_whole(events, head.hash)
        return events

    def _engine(self, mode: str) -> Engine:
        sql = self._sql
        if self._address is not None:
            # Readers take no lock, so head and lines must be of one moment. Writers hold the head's row, and must see
            # what others wrote while they waited for it.
            level = "REPEATABLE READ" if mode == "r" else "READ COMMITTED"
            return sql.create_engine(self._address, poolclass=sql.pool.NullPool, isolation_level=level)
        path = _full(self._place)
        if mode != "rwc" and not path.is_file():
            raise BudgetError(
                "a ledger must be there before the fit",
                f"no file {self._place}",
                "Enter a data set: entrenous ledger init PATH --dataset NAME --epsilon E --delta D.",
            )

        # Reading too is "rw": after a crash somebody has to roll back, and of a protected file it only reads anyway.
        uri = f"{path.as_uri()}?mode={'rwc' if mode == 'rwc' else 'rw'}"

        def connect() -> sqlite3.Connection:
            # Transactions are ours to begin: the driver's own would take the lock only when it first writes.
            return sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)

        engine = sql.create_engine("sqlite://", creator=connect, poolclass=sql.pool.NullPool)
        begin = "BEGIN" if mode == "r" else "BEGIN IMMEDIATE"
        sql.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
        return engine

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Every failure of the database as an error that refuses the fit."""
        try:
            yield
        except (self._sql.exc.SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise BudgetError(
                f"the ledger {self.shown} must be readable and writable",
                _reason(error),
                "Nothing was fitted. Mend the ledger, or wait until others have finished, and fit again.",
            ) from error
        except ModuleNotFoundError as error:
            raise BudgetError(
                "this kind of database needs its driver",
                f"no module {error.name}",
                "pip install 'entrenous[postgresql]', or the driver that SQLAlchemy names for yours.",
            ) from error


class Writer:
    """The lines there are, and the way to add one, inside a transaction."""

    def __init__(self, connection: Connection, lines: Table, head: Table, events: list[Event]) -> None:
        self._connection, self._lines, self._head = connection, lines, head
        self.events = events

    def add(self, event: Event, content: str) -> None:
        """One more line, which becomes the head."""
        row = {name: getattr(event, name) for name in Event.__dataclass_fields__}
        self._connection.execute(self._lines.insert().values(**row, content=content))
        self._connection.execute(self._head.update().values(hash=event.hash))
        self.events.append(event)

    def contents_of(self, kind: str) -> dict[int, str]:
        """What the lines of one kind are about, by their numbers."""
        rows = self._connection.execute(self._lines.select().where(self._lines.c.kind == kind))
        return {row.number: row.content for row in rows}


def _reason(error: Exception) -> str:
    """The database's own words, without the statement and its values."""
    original = getattr(error, "orig", None) or error
    return f"{type(original).__name__}: {str(original).strip().splitlines()[0] if str(original).strip() else ''}"


def _sqlalchemy() -> Any:
    """SQLAlchemy, asked for when a ledger is: a fit without one must not wait for it."""
    try:
        import sqlalchemy
        import sqlalchemy.exc
        import sqlalchemy.pool
    except ModuleNotFoundError:
        raise BudgetError(
            "a ledger needs SQLAlchemy, which is not installed",
            "no module sqlalchemy",
            "pip install 'entrenous[ledger]'.",
        ) from None
    return sqlalchemy
