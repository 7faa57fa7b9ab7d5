"""From words on the command line to arguments of the library; tables are read here and nowhere else in the commands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from entrenous.errors import InputError, PrivacyError

if TYPE_CHECKING:
    import pandas as pd

    from entrenous.problem.features.box import FeatureBounds


def epsilon_from(text: str) -> float | None:
    """A number; ``none`` or ``inf`` for a fit without privacy."""
    if text.lower() == "none":
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number > 0.0:
        raise InputError("--epsilon must be a number > 0, or none", text, "1.0 is a common choice.")
    return number


def names_from(text: str) -> list[str]:
    """Comma-separated names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def bounds_from(texts: Sequence[str] | None, clip: float | None) -> FeatureBounds | None:
    """Ranges from files and ``col=lo:hi`` entries; later ones win."""
    if not texts:
        return None
    from entrenous.problem.features.box import FeatureBounds

    ranges: dict[str, tuple[float, float]] = {}
    binary: list[str | int] = []
    for text in texts:
        name, equals, pair = text.rpartition("=")
        if not equals:
            stored = FeatureBounds.from_file(text)
            clip = stored.clip if clip is None else clip
            ranges |= stored.ranges()
            binary += stored.binary
            continue
        try:
            low, high = (float(end) for end in pair.split(":"))
        except ValueError:
            raise InputError("--bounds must be a file or col=lo:hi", text, "For example --bounds age=0:120.") from None
        ranges[name] = (low, high)
    return FeatureBounds.from_mapping(ranges, clip, binary)


def loosely(ranges: FeatureBounds | None, share: float | None) -> Any:
    """The ranges as they are, or as the loose ones of a private search."""
    if share is None or ranges is None:
        return ranges
    from entrenous.problem.features.private_bounds import PrivateBounds

    return PrivateBounds(ranges, share)


def n_features_from(features: int | None, ranges: FeatureBounds | None) -> int:
    """How many features a plan is for, said or counted from the ranges."""
    if ranges is not None and features in (None, len(ranges.ranges())):
        return len(ranges.ranges())
    if features is None or ranges is not None:
        raise InputError(
            "a plan needs --features, or --bounds with a range for each",
            "neither" if ranges is None else f"--features {features} and {len(ranges.ranges())} ranges",
            "For example --features 20.",
        )
    return features


def need_bounds(budget: float | None, ranges: FeatureBounds | None) -> None:
    """A private fit without public ranges is refused before the table is read."""
    if budget is not None and math.isfinite(budget) and ranges is None:
        raise PrivacyError(
            "a private fit needs public bounds on the features, because the noise is scaled to them",
            "no --bounds",
            "Declare what is known before looking at the table: --bounds bounds.toml with lines like age = [0, 120], "
            "or --bounds age=0:120 for each column. Values outside are clipped. --epsilon none fits without privacy.",
        )


def features_and_label(
    path: Path, target: str, drop: Sequence[str], ranges: FeatureBounds | None
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """The table without its label and the dropped columns, and the label; all features must be numbers."""
    from entrenous.files.tables import has_doubtful_header, read_table

    frame = read_table(path)
    # The target first: until it is found, the first line of a CSV may be a record.
    label = columns_of(frame, [target], path)[target]
    columns_of(frame, drop, path)
    features = frame.drop(columns=[target, *drop])
    features.columns = features.columns.map(str)
    doubtful = has_doubtful_header(path, list(frame.columns))
    _need_declared(list(features.columns), ranges, doubtful)
    _need_numbers(features, doubtful)
    return features, label


def chunks_of(
    path: Path, target: str, drop: Sequence[str], ranges: FeatureBounds | None, rows: int
) -> tuple[int, Iterator[tuple[pd.DataFrame, pd.Series[Any]]]]:
    """How many rows a table has, and `features_and_label` of so many of them at a time."""
    from entrenous.files.tables import has_doubtful_header, read_chunks

    whole = read_chunks(path, target, rows=rows)
    missing = [name for name in drop if name not in whole.columns]
    if missing:
        raise InputError(f"{path} needs the columns {', '.join(drop)}", f"no {', '.join(missing)}", "Check --drop.")
    chunks = read_chunks(path, target, columns=[name for name in whole.columns if name not in drop], rows=rows)
    doubtful = has_doubtful_header(path, (target, *whole.columns))
    _need_declared(chunks.columns, ranges, doubtful)
    if chunks.n_rows < 2:
        raise InputError("a fit needs two rows at least", f"{chunks.n_rows} in {path}", "Check the file.")

    def checked() -> Iterator[tuple[pd.DataFrame, pd.Series[Any]]]:
        for features, label in chunks:
            _need_numbers(features, doubtful)
            yield features, label

    return chunks.n_rows, checked()


def options_for_chunks(algorithm: str) -> dict[str, Any] | None:
    """What makes an algorithm take records as they come; an error where nothing does."""
    from entrenous.planners.registry import algorithm_named, algorithms

    able = [record for record in algorithms() if record.online or "order" in record.options]
    if algorithm not in [record.name for record in able]:
        raise InputError(
            "--chunk-rows needs an algorithm that takes records as they come",
            f"--algorithm {algorithm}",
            f"Use one of {', '.join(record.name for record in able)}.",
        )
    return {"order": "arrival"} if "order" in algorithm_named(algorithm).options else None


def _need_declared(columns: Sequence[str], ranges: FeatureBounds | None, doubtful: bool) -> None:
    """An error that names no column where ranges do not fit a table whose header is doubtful.

    Of other tables the library says which columns differ.
    """
    undeclared = [] if ranges is None else [name for name in columns if name not in ranges.ranges()]
    if undeclared and doubtful:
        raise InputError(
            "bounds need exactly the table's features",
            f"no bounds for {len(undeclared)} of {len(columns)}, and numbers among the columns' names",
            "Is the first line a header? If it is, declare a public range for each column, or --drop the column.",
        )


def _need_numbers(features: pd.DataFrame, doubtful: bool) -> None:
    text = [str(column) for column in features.columns if features[column].dtype.kind not in "biuf"]
    if text and doubtful:
        raise InputError(
            "features must be numbers",
            f"text in {len(text)} of {features.shape[1]}, and numbers among the columns' names",
            "Is the first line a header? If it is, encode the columns of text, or --drop them.",
        )
    if text:
        raise InputError(
            "features must be numbers", f"text in {', '.join(text)}", f"Encode them, or --drop {','.join(text)}."
        )


def columns_of(frame: pd.DataFrame, names: Sequence[str], path: Path) -> pd.DataFrame:
    """These columns of a table; an error where some are missing."""
    from entrenous.files.tables import need_columns

    need_columns(path, names, list(frame.columns))
    return frame[list(names)]


def label_values(texts: Sequence[str], label: pd.Series[Any]) -> list[Any]:
    """The public labels in the type of the label's column: the type is part of the schema, not of the rows."""
    kind = label.dtype.kind
    try:
        if kind == "b":
            return [{"0": False, "1": True, "false": False, "true": True}[text.lower()] for text in texts]
        if kind in "iuf":
            return [float(text) if kind == "f" else int(text) for text in texts]
    except (KeyError, ValueError):
        raise InputError(
            f"--classes must fit the label's type ({label.dtype})", ",".join(texts), "For example --classes 0,1."
        ) from None
    return list(texts)


def free_to_write(force: bool, *paths: Path) -> None:
    """Nothing is overwritten unasked, and a folder that is missing is found out before anything is spent."""
    for path in paths:
        if path.exists() and not force:
            raise InputError("the output must not exist yet", str(path), "Choose another --out, or add --force.")
        if not path.parent.is_dir():
            raise InputError("the output folder must exist", str(path.parent), "Create it first.")
