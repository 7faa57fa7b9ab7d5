"""Tables in files: CSV and parquet, through pandas, whole or a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entrenous.engine.progress import current_listener
from entrenous.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_READERS = {".csv": "read_csv", ".parquet": "read_parquet"}


def read_table(path: str | Path) -> pd.DataFrame:
    """A table from a ``.csv`` or ``.parquet`` file."""
    path = Path(path)
    reader = _READERS[_kind(path)]
    pandas = _pandas()
    with _readable(path):
        frame: pd.DataFrame = getattr(pandas, reader)(path)
    return frame


def read_chunks(
    path: str | Path, target: str, *, columns: Sequence[str] | None = None, rows: int = 100_000
) -> TableChunks:
    """A table from a ``.csv`` or ``.parquet`` file, `rows` at a time: pairs of features and label, for `partial_fit`.

    `columns` are the features, all but the target by default; an index that pandas stored is none. Memory does not
    depend on how long the file is::

        chunks = entrenous.read_chunks("flights.parquet", target="late")
        for X, y in chunks:
            clf.partial_fit(X, y, n_total=chunks.n_rows)
    """
    return TableChunks(path, target, columns, rows)


class TableChunks:
    """What `read_chunks` returns: iterate over it, as often as needed. A `progress_bar` shows how far reading is."""

    def __init__(self, path: str | Path, target: str, columns: Sequence[str] | None, rows: int) -> None:
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
            raise InputError("rows must be an int >= 1", repr(rows), "100_000 is a good size.")
        self._path, self._rows, self._target = Path(path), rows, target
        self._parquet = _kind(self._path) == ".parquet"
        self._n_rows: int | None = None
        pandas = _pandas()
        with _readable(self._path):
            if self._parquet:
                with self._opened() as file:
                    names, self._n_rows = _columns_in(file.schema_arrow), int(file.metadata.num_rows)
            else:
                names = list(pandas.read_csv(self._path, nrows=0).columns)
        self.columns: tuple[str, ...] = (
            tuple(name for name in names if name != target) if columns is None else tuple(columns)
        )
        need_columns(path, (target, *(columns or ())), names)
        if target in self.columns:
            raise InputError(
                "the target cannot be a feature", f"{target!r} among the columns", "Leave it out of columns."
            )

    @property
    def n_rows(self) -> int:
        """How many rows there are: from a parquet file's metadata; a CSV file is read once to count them."""
        if self._n_rows is None:
            with _readable(self._path):
                counted = _pandas().read_csv(self._path, usecols=[self._target], chunksize=self._rows)
                self._n_rows = sum(len(frame) for frame in counted)
        return self._n_rows

    def __iter__(self) -> Iterator[tuple[pd.DataFrame, pd.Series[Any]]]:
        columns, total, done = list(self.columns), self.n_rows, 0
        for frame in self._frames([*columns, self._target]):
            yield frame[columns], frame[self._target]
            done += len(frame)
            current_listener()(done, total)

    def _frames(self, names: list[str]) -> Iterator[pd.DataFrame]:
        with _readable(self._path):
            if not self._parquet:
                # All columns: told which to read, pandas does not see that a line has too many of them.
                yield from _pandas().read_csv(self._path, chunksize=self._rows)
                return
            with self._opened() as file:
                for batch in file.iter_batches(self._rows, columns=names, use_threads=False):
                    yield batch.to_pandas()

    def _opened(self) -> Any:
        from pyarrow.parquet import ParquetFile

        # Mapped, because reading would take all of a row group at once, however large it is.
        return ParquetFile(self._path, pre_buffer=False, memory_map=True)


def need_columns(path: str | Path, needed: Sequence[str], names: Sequence[Any]) -> None:
    """An error that lists what columns there are, unless one is a number: then the first line may be a record."""
    missing = [name for name in needed if name not in names]
    if not missing:
        return
    listed = f"It has: {', '.join(map(str, names))}."
    if any(map(_is_number, names)):
        listed = f"It has {len(names)} columns, and numbers among their names. Is the first line a header?"
    raise InputError(f"{path} needs the columns {', '.join(needed)}", f"no {', '.join(missing)}", listed)


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table to a ``.csv`` or ``.parquet`` file."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix.lower() == ".csv":
        frame.to_csv(path, index=False)
    else:
        raise InputError("a table must be a .csv or .parquet file", str(path), "Choose one of these endings.")


def _columns_in(schema: Any) -> list[str]:
    """The columns of a parquet file, without those that were the index of a data frame."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def _is_number(name: Any) -> bool:
    try:
        float(name)
    except (TypeError, ValueError):
        return False
    return True


def _kind(path: Path) -> str:
    if path.suffix.lower() not in _READERS:
        raise InputError("a table must be a .csv or .parquet file", str(path), "Convert it first.")
    return path.suffix.lower()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Errors of the parsers as ours: only their first line, because they quote the offending row after it."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError("a readable table", f"{path} ({str(error).splitlines()[0]})", "Check the file.") from error


def _pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401  (pandas reads parquet through it)
    except ImportError as error:
        raise InputError(
            "reading tables needs pandas and pyarrow", "an install without them", 'pip install "entrenous[files]"'
        ) from error
    return pandas
