"""Ranges from a data dictionary: a table with one line per column of the data, as most registers publish one."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from entrenous.errors import InputError

_HEADERS = {
    "name": ("name", "column", "variable", "feature", "field"),
    "low": ("min", "low", "lower", "minimum"),
    "high": ("max", "high", "upper", "maximum"),
}
_HOW = "One line per column of the data, with its name, minimum and maximum: name,min,max"

Line = tuple[str, Mapping[str, Any]]
"""Where a line stands, for errors, and its cells by header."""


def ranges_from_dictionary(table: Any) -> dict[str, tuple[float, float]]:
    """``{name: (low, high)}`` from a CSV file, a data frame, or a sequence of mappings; further columns are ignored."""
    lines = list(_lines(table))
    if not lines:
        raise InputError("a data dictionary needs at least one line", "none", _HOW)
    headers = _headers(lines[0][1])
    ranges: dict[str, tuple[float, float]] = {}
    for where, cells in lines:
        name = str(cells.get(headers["name"]) or "").strip()
        if not name:
            raise InputError("every line of a data dictionary needs a name", f"none in {where}", _HOW)
        if name in ranges:
            raise InputError("a data dictionary names each column once", f"{name!r} again in {where}", "Keep one.")
        low, high = (_number(cells.get(headers[side]), headers[side], name, where) for side in ("low", "high"))
        if low > high:
            raise InputError(
                "a data dictionary needs minimum <= maximum",
                f"{low:g} and {high:g} for {name!r} in {where}",
                "Swap the two numbers.",
            )
        ranges[name] = (low, high)
    return ranges


def _lines(table: Any) -> Iterator[Line]:
    if isinstance(table, str | Path):
        yield from _file_lines(Path(table))
        return
    rows: Iterable[Any]
    if hasattr(table, "to_dicts"):  # polars
        rows = table.to_dicts()
    elif hasattr(table, "to_pylist"):  # Arrow
        rows = table.to_pylist()
    elif hasattr(table, "to_dict"):  # pandas
        rows = table.to_dict("records")
    else:
        rows = table
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise InputError(
            "a data dictionary is a CSV file, a data frame or a list of mappings",
            f"a {type(table).__name__}",
            "For {name: (low, high)} there is FeatureBounds.from_mapping.",
        )
    for number, cells in enumerate(rows, 1):
        if not isinstance(cells, Mapping):
            raise InputError("a data dictionary's rows are mappings", f"a {type(cells).__name__} in row {number}", _HOW)
        yield f"row {number}", cells


def _file_lines(path: Path) -> Iterator[Line]:
    try:
        # Spreadsheets put a byte order mark in front and, where the comma is decimal, semicolons between cells.
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("a data dictionary needs a readable CSV file", f"{path} ({error})", _HOW) from error
    first = text.split("\n", 1)[0]
    reader = csv.DictReader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    usual = [title.strip().lower() for title in reader.fieldnames or ()]
    twice = [title for titles in _HEADERS.values() for title in titles if usual.count(title) > 1]
    if twice:
        # A line is a mapping from here on, and would keep the last of the two.
        raise InputError("a data dictionary has each header once", f"{twice[0]!r} twice", "Rename or drop columns.")
    for cells in reader:
        yield f"line {reader.line_num}", {key: cells[key] for key in cells if key is not None}


def _headers(cells: Mapping[str, Any]) -> dict[str, str]:
    """Which header plays which role; unclear ones are refused, because a wrong guess would be a wrong range."""
    found = {}
    for role, usual in _HEADERS.items():
        fitting = [key for key in cells if str(key).strip().lower() in usual]
        if len(fitting) != 1:
            raise InputError(
                f"a data dictionary needs one column called {_any_of(usual)}",
                # The others are not listed: a table of records, given by mistake, may begin with one.
                f"{_listed(fitting) or 'none'} among {len(cells)} columns",
                "Rename or drop columns.",
            )
        found[role] = fitting[0]
    return found


def _number(cell: Any, header: str, name: str, where: str) -> float:
    try:
        number = float(cell)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        missing = cell is None or not str(cell).strip() or str(cell) == "nan"
        raise InputError(
            "a data dictionary needs finite numbers as minimum and maximum",
            f"{'nothing' if missing else repr(cell)} as {header} of {name!r} in {where}",
            "Give the public range; leave out columns that are no numbers and encode those with entrenous.OneHot.",
        )
    return number


def _any_of(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + f" or {words[-1]}"


def _listed(words: Sequence[Any]) -> str:
    return ", ".join(map(repr, words))
