"""The ten data sets of the frontier, each as numbers in public ranges with labels 0 and 1.

Ranges come from ``boxes.toml`` in the data folder (ENTRENOUS_DATA) and from the one beside this file; those of breast
cancer are the demo's. A text column becomes one 0/1 column for each of its values, a yes/no column a single one: what
the values are is public.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from entrenous import datasets
from entrenous.arrays import AnyArray, Array
from entrenous.demo.breast_cancer import public_ranges
from entrenous.errors import InputError
from entrenous.problem.features.box import FeatureBounds

DESIGN = ("diabetes", "debrecen", "usps", "ijcnn1", "a9a")
"""The sets that decided constants of the default, and the peers' settings."""
CHECKED = ("german", "bank_full", "letter")
"""Looked at after the default's constants were frozen."""
UNTOUCHED = ("covtype", "breast_cancer")
"""They decided nothing."""
NAMES = (*DESIGN, *CHECKED, *UNTOUCHED)

SMALL = 5000
"""Sets with fewer rows get 20 splits, others 3."""
FIRST_HALF = ("usps", "letter")
"""The first half of their classes is the event."""


@dataclass(frozen=True)
class Table:
    """Rows in the user's units, labels, and what is public about the columns."""

    name: str
    rows: Array
    labels: AnyArray
    low: Array
    high: Array
    binary: AnyArray

    @property
    def n_splits(self) -> int:
        """How many random splits it is measured on."""
        return 20 if len(self.labels) < SMALL else 3

    def split(self, number: int) -> tuple[AnyArray, AnyArray]:
        """Numbers of the rows to learn from, four in five, and of those to test on."""
        order = np.random.default_rng(number).permutation(len(self.labels))
        return np.split(order, [int(0.8 * len(order))])

    @property
    def bounds(self) -> FeatureBounds:
        """The ranges, as a user declares them."""
        binary = tuple(int(j) for j in np.flatnonzero(self.binary))
        return FeatureBounds(tuple(self.low.tolist()), tuple(self.high.tolist()), binary=binary)

    @cached_property
    def scaled(self) -> Array:
        """Rows clipped to the ranges and mapped to [-1, 1]: what peers get."""
        inside = np.clip(self.rows, self.low, self.high)
        return 2.0 * (inside - self.low) / (self.high - self.low) - 1.0

    @property
    def facts(self) -> dict[str, Any]:
        """Its sizes, for the tables."""
        n, d = self.rows.shape
        counts = {"rows": n, "columns": d, "binary": int(np.count_nonzero(self.binary)), "splits": self.n_splits}
        return {**counts, "events": round(float(np.mean(self.labels)), 4)}

    def save(self, path: Path) -> None:
        """Write the arrays for a worker in another environment."""
        arrays = {"rows": self.rows, "labels": self.labels, "low": self.low, "high": self.high, "binary": self.binary}
        np.savez(path, name=np.array(self.name), **arrays)

    @classmethod
    def read(cls, path: Path) -> Table:
        """What `save` wrote."""
        with np.load(path) as stored:
            return cls(str(stored["name"]), *(stored[key] for key in ("rows", "labels", "low", "high", "binary")))


def load_set(name: str) -> Table:
    """One of the ten, from the data folder."""
    if name == "breast_cancer":
        found = datasets.load(name)
        low, high = public_ranges().bounds().for_features(found.data.shape[1]).sides()
        return Table(name, found.data, found.target, low, high, np.zeros(low.size, dtype=bool))
    box = _boxes()[name]
    found = datasets.load(name, as_frame=True)
    frame, y = found.data, found.target.to_numpy()
    if name == "ijcnn1":
        kept = found.split != "test"
        frame, y = frame[kept], y[kept]
    if name in FIRST_HALF:
        kinds = np.unique(y)
        y = np.isin(y, kinds[: len(kinds) // 2])
    event = 2 if name == "covtype" else 1
    frame = frame.drop(columns=[column for column in box.get("drop", ()) if column in frame])
    columns = [part for column in frame for part in _columns(frame[column], box)]
    values, low, high, binary = zip(*columns, strict=True)
    return Table(
        name, np.column_stack(values), (y == event).astype(int), np.array(low), np.array(high), np.array(binary)
    )


def _columns(column: Any, box: dict[str, Any]) -> list[tuple[Array, float, float, bool]]:
    """A numeric column with its range, or one 0/1 column for each value of a text column."""
    name = column.name
    if column.dtype.kind in "biuf":
        low, high = box.get(name) or box["*"]
        named = name in box
        declared = box.get("binary", ())
        return [
            (column.to_numpy(dtype=float), float(low), float(high), name in declared or ("*" in declared and not named))
        ]
    kinds = sorted(column.unique())
    shown = ["yes"] if kinds == ["no", "yes"] else kinds
    return [((column == kind).to_numpy(dtype=float), 0.0, 1.0, True) for kind in shown]


def _boxes() -> dict[str, Any]:
    shared = datasets.folder() / "boxes.toml"
    if not shared.is_file():
        raise InputError(
            "the frontier needs the public ranges of its sets",
            f"no {shared.name} in the data folder",
            "Set ENTRENOUS_DATA to the folder of the data sets.",
        )
    own = Path(__file__).with_name("boxes.toml")
    return tomllib.loads(shared.read_text(encoding="utf-8")) | tomllib.loads(own.read_text(encoding="utf-8"))
