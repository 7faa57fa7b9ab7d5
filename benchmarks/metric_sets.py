"""The seven tables that metrics are measured on: rows, labels of all classes, public ranges."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from frontier.sets import load_set
from sklearn.datasets import load_digits, load_wine

from entrenous import datasets
from entrenous.arrays import AnyArray, Array
from entrenous.problem.features.box import FeatureBounds

CHOSEN_ON = ("letter", "digits")
"""Decided the constants of the metric's `moments`."""
CHECKED = ("usps", "breast_cancer", "wine", "diabetes", "debrecen")
"""Looked at afterwards."""
NAMES = (*CHOSEN_ON, *CHECKED)
_SEVERAL_CLASSES = ("letter", "usps")
_LARGE = 5000


@dataclass(frozen=True)
class LabelledTable:
    """Rows in the user's units, classes 0, 1, ..., and what is public about the columns."""

    name: str
    rows: Array
    labels: AnyArray
    bounds: FeatureBounds

    @property
    def n_splits(self) -> int:
        """Eight for small sets, three for large ones."""
        return 3 if len(self.labels) > _LARGE else 8

    @property
    def classes(self) -> list[int]:
        """All of them: public."""
        return list(range(int(self.labels.max()) + 1))

    def split(self, number: int) -> tuple[AnyArray, AnyArray]:
        """Numbers of the rows to learn from, four in five, and of those to test on."""
        order = np.random.default_rng(number).permutation(len(self.labels))
        train, test = np.split(order, [int(0.8 * len(order))])
        return train, test


def labelled_table(name: str) -> LabelledTable:
    """One of the seven."""
    if name in ("digits", "wine"):
        found = {"digits": load_digits, "wine": load_wine}[name]()
        text = Path(__file__).with_name("metric_ranges.toml").read_text(encoding="utf-8")
        ranges = tomllib.loads(text)[name]
        low, high = zip(*(ranges.get(column) or ranges["*"] for column in found.feature_names), strict=True)
        return LabelledTable(name, found.data, found.target, FeatureBounds(low, high))
    table = load_set(name)
    labels = datasets.load(name).target if name in _SEVERAL_CLASSES else table.labels
    return LabelledTable(name, table.rows, np.unique(labels, return_inverse=True)[1], table.bounds)
