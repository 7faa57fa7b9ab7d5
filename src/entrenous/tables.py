"""Tables in files: CSV and parquet, through pandas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from entrenous.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

_READERS = {".csv": "read_csv", ".parquet": "read_parquet"}


def read_table(path: str | Path) -> pd.DataFrame:
    """A table from a ``.csv`` or ``.parquet`` file."""
    path = Path(path)
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError("a table must be a .csv or .parquet file", str(path), "Convert it first.")
    pandas = _pandas()
    try:
        frame: pd.DataFrame = getattr(pandas, reader)(path)
    except (OSError, ValueError) as error:
        # Only the first line: parsers quote the offending row after it, and rows are private.
        raise InputError("a readable table", f"{path} ({str(error).splitlines()[0]})", "Check the file.") from error
    return frame


def write_table(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table to a ``.csv`` or ``.parquet`` file."""
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix.lower() == ".csv":
        frame.to_csv(path, index=False)
    else:
        raise InputError("a table must be a .csv or .parquet file", str(path), "Choose one of these endings.")


def _pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401  (pandas reads parquet through it)
    except ImportError as error:
        raise InputError(
            "reading tables needs pandas and pyarrow", "an install without them", 'pip install "entrenous[files]"'
        ) from error
    return pandas
