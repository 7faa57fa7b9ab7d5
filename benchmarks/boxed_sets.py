"""Data sets with public ranges: two classes, numbers only, and the bounds that a careful user would declare.

The ranges are those of ``boxes.toml`` in the data folder (ENTRENOUS_DATA): plausible round numbers per column. Those of
covtype are here; they are wide.
"""

from __future__ import annotations

import tomllib
from typing import Any, NamedTuple

import numpy as np

import entrenous as en
from entrenous.arrays import AnyArray, Array
from entrenous.files.datasets import folder

_COVTYPE: dict[str, Any] = {
    "Elevation": [0, 5000],
    "Aspect": [0, 360],
    "Slope": [0, 90],
    "Horizontal_Distance_To_Hydrology": [0, 5000],
    "Vertical_Distance_To_Hydrology": [-1000, 1000],
    "Horizontal_Distance_To_Roadways": [0, 10000],
    "Hillshade_9am": [0, 255],
    "Hillshade_Noon": [0, 255],
    "Hillshade_3pm": [0, 255],
    "Horizontal_Distance_To_Fire_Points": [0, 10000],
    "*": [0, 1],
}


class BoxedSet(NamedTuple):
    """Rows, labels 0 and 1, and the public domain of the rows."""

    X: Array
    y: AnyArray
    bounds: en.FeatureBounds


def load_boxed(name: str) -> BoxedSet:
    """A set by name. Categories become 0/1 columns; of many classes the first half are events, of covtype class 2."""
    raw = en.datasets.load(name, as_frame=True)
    box = _COVTYPE if name == "covtype" else tomllib.loads((folder() / "boxes.toml").read_text(encoding="utf-8"))[name]
    table = raw.data.drop(columns=[column for column in box.get("drop", ()) if column in raw.data])
    kept = np.ones(len(table), dtype=bool) if name != "ijcnn1" else raw.split != "test"
    table, target = table[kept], raw.target.to_numpy()[kept]
    if name == "covtype":
        target = target == 2
    elif name in ("usps", "letter"):
        kinds = np.unique(target)
        target = np.isin(target, kinds[: len(kinds) // 2])
    columns: list[Array] = []
    ranges: list[tuple[float, float]] = []
    binary: list[bool] = []
    declared = box.get("binary", ())
    for column in table:
        if table[column].dtype.kind in "biuf":
            columns.append(table[column].to_numpy(float))
            low, high = box.get(column) or box["*"]
            ranges.append((float(low), float(high)))
            binary.append(column in declared or "*" in declared or (name == "covtype" and (low, high) == (0, 1)))
            continue
        found = set(table[column].unique())
        for value in ["yes"] if found == {"yes", "no"} else sorted(found):
            columns.append((table[column] == value).to_numpy(float))
            ranges.append((0.0, 1.0))
            binary.append(True)
    lows, highs = zip(*ranges, strict=True)
    bounds = en.FeatureBounds(tuple(lows), tuple(highs), binary=tuple(np.flatnonzero(binary).tolist()))
    return BoxedSet(np.column_stack(columns), (target == 1).astype(int), bounds)
