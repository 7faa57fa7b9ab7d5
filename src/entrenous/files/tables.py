"""Tables in files: CSV and parquet, through pandas, whole or a few rows at a time."""

from __future__ import annotations

import re
import warnings
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
    with _readable(path), warnings.catch_warnings():
        # Whether the cells of a column are of several kinds depends on the rows; columns of text are refused later.
        warnings.simplefilter("ignore", pandas.errors.DtypeWarning)
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
                counted = _pandas().read_csv(self._path, usecols=[self._target], chunksize=self._rows, low_memory=False)
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
                # Not in portions of its own, which may make cells of several kinds of one column, and warn of it.
                yield from _pandas().read_csv(self._path, chunksize=self._rows, low_memory=False)
                return
            with self._opened() as file:
                for batch in file.iter_batches(self._rows, columns=names, use_threads=False):
                    yield batch.to_pandas()

    def _opened(self) -> Any:
        from pyarrow.parquet import ParquetFile

        # Mapped, because reading would take all of a row group at once, however large it is.
        return ParquetFile(self._path, pre_buffer=False, memory_map=True)


def need_columns(path: str | Path, needed: Sequence[str], names: Sequence[Any]) -> None:
    """An error about columns that are missing; it lists those of a parquet file, whose names are no cells.

    The first line of a CSV may be a record, so it is counted and never repeated.
    """
    missing = [name for name in needed if name not in names]
    if not missing:
        return
    listed = f"It has: {', '.join(map(str, names))}."
    if _is_csv(path):
        listed = f"It has {len(names)} columns. Is the first line a header with their names?"
    raise InputError(f"{path} needs the columns {', '.join(needed)}", f"no {', '.join(missing)}", listed)


def has_doubtful_header(path: str | Path, names: Sequence[Any]) -> bool:
    """Whether a CSV's first line may be a record although the target was found in it: a number is among the names.

    Messages about such a table name no column.
    """
    return _is_csv(path) and any(map(_is_number, names))


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table to a ``.csv`` or ``.parquet`` file."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in _READERS:
        raise InputError("a table must be a .csv or .parquet file", str(path), "Choose one of these endings.")
    try:
        frame.to_parquet(path, index=False) if kind == ".parquet" else frame.to_csv(path, index=False)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InputError("a table that can be written", _without_cells(path, error), "Write a .csv file.") from None


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


def _is_csv(path: str | Path) -> bool:
    return Path(path).suffix.lower() == ".csv"


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Errors of the parsers as ours."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        # Of every kind: pyarrow alone has a dozen. Not chained: a traceback would show their message, cells and all.
        raise InputError("a readable table", _without_cells(path, error), "Check the file.") from None


def _without_cells(path: Path, error: Exception) -> str:
    """What went wrong with a file: parsers quote cells, bytes and whole rows, so only a line's number is taken."""
    if isinstance(error, OSError):
        return f"{path} ({error.strerror or type(error).__name__})"
    if isinstance(error, UnicodeDecodeError):
        return f"{path} (text that is not UTF-8)"
    known = isinstance(error, _pandas().errors.ParserError)
    line = re.search(r"\b(?:line|row) \d+\b", str(error)) if known else None
    return f"{path} ({type(error).__name__}{f' in {line[0]}' if line else ''})"


def _pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401  (pandas reads parquet through it)
    except ImportError as error:
        raise InputError(
            "reading tables needs pandas and pyarrow", "an install without them", 'pip install "entrenous[files]"'
        ) from error
    return pandas
