"""Real data sets by name: from a folder of parquet files, from scikit-learn, or from OpenML.

The folder is the environment variable ``ENTRENOUS_DATA``, else the user's cache folder. A set fetched from OpenML is
kept in the cache folder. Nothing here is private: these tables are public, their bounds still need declaring.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from entrenous.errors import InputError
from entrenous.files.tables import read_table

if TYPE_CHECKING:
    import pandas as pd

_OPENML: dict[str, tuple[int, Callable[[str], int]]] = {
    "diabetes": (37, lambda label: int(label == "tested_positive")),
    "letter": (6, lambda label: ord(label) - ord("A") + 1),
    "mnist": (554, int),
    "covtype": (1596, int),
}
"""Sets whose OpenML table has the same columns: its id there, and how its label becomes our target."""


def folder() -> Path:
    """Where data sets are looked for."""
    named = os.environ.get("ENTRENOUS_DATA")
    return Path(named) if named else _cache()


def names() -> tuple[str, ...]:
    """Data sets that `load` knows here and now."""
    local = {path.stem for path in folder().glob("*.parquet")} | {path.stem for path in _cache().glob("*.parquet")}
    return tuple(sorted(local | set(_OPENML) | {"breast_cancer"}))


def load(name: str, *, as_frame: bool = False) -> Bunch:
    """A data set as ``Bunch(data, target, feature_names, split, DESCR)``; 1 is the event where the set is binary.

    >>> load("breast_cancer").data.shape
    (569, 30)
    """
    if name == "breast_cancer":
        return _breast_cancer(as_frame)
    for place in (folder(), _cache()):
        path = place / f"{name}.parquet"
        if path.is_file():
            return _from_frame(name, read_table(path), _description(place, name), as_frame)
    if name not in _OPENML:
        raise InputError(
            "a data set must be one of " + ", ".join(names()),
            repr(name),
            f"Put {name}.parquet (features, then a column 'target') into the folder that ENTRENOUS_DATA names.",
        )
    return _from_frame(name, _from_openml(name), f"OpenML data set {_OPENML[name][0]}", as_frame)


def _breast_cancer(as_frame: bool) -> Bunch:
    from sklearn.datasets import load_breast_cancer

    raw = load_breast_cancer(as_frame=as_frame)
    # scikit-learn codes malignant as 0; the event comes last here.
    return Bunch(
        data=raw.data, target=1 - raw.target, feature_names=list(raw.feature_names), split=None, DESCR=raw.DESCR
    )


def _from_frame(name: str, frame: pd.DataFrame, description: str, as_frame: bool) -> Bunch:
    split = frame.pop("split").to_numpy() if "split" in frame else None
    target = frame.pop("target")
    feature_names = [str(column) for column in frame.columns]
    if as_frame:
        return Bunch(data=frame, target=target, feature_names=feature_names, split=split, DESCR=description)
    text = [column for column in frame.columns if frame[column].dtype.kind not in "biuf"]
    if text:
        raise InputError(
            f"{name} has columns that are not numbers", ", ".join(text), f'Use load("{name}", as_frame=True).'
        )
    return Bunch(
        data=frame.to_numpy(dtype=np.float64),
        target=target.to_numpy(),
        feature_names=feature_names,
        split=split,
        DESCR=description,
    )


def _from_openml(name: str) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    identifier, target_of = _OPENML[name]
    try:
        raw = fetch_openml(data_id=identifier, as_frame=True, parser="auto", n_retries=1)
    except OSError as error:
        raise InputError(
            f"{name} is not in the data folder, so it needs the network (OpenML)",
            f"no answer ({error})",
            f"Set ENTRENOUS_DATA to a folder that holds {name}.parquet.",
        ) from error
    frame: pd.DataFrame = raw.data.copy()
    frame["target"] = [target_of(str(label)) for label in raw.target]
    _cache().mkdir(parents=True, exist_ok=True)
    frame.to_parquet(_cache() / f"{name}.parquet")
    return frame


def _description(place: Path, name: str) -> str:
    manifest = place / "manifest.json"
    entries: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8")) if manifest.is_file() else {}
    entry = entries.get(name, {})
    return "\n".join(f"{key}: {entry[key]}" for key in ("target_meaning", "source", "licence") if key in entry)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "entrenous"
