"""The library's own methods on the frontier: the default, its two predecessors, and the papers' algorithms."""

from __future__ import annotations

import warnings
from typing import Any

import entrenous as en
from entrenous.arrays import AnyArray, Array

from .sets import Table

MAIN = {
    "auto": {},
    "additive": {"shape": "additive"},
    "shape auto": {"shape": "auto"},
    "moments": {"algorithm": "moments"},
    "noisy-gd": {"algorithm": "noisy-gd"},
}
"""Measured at every epsilon; ``auto`` is linear."""
NON_PRIVATE = "without privacy"

RIDGES = {"tight": 0.1, "paper": 1e-3}
"""Strength of the ridge where an algorithm needs one: one that suits tight noise, and the papers' own."""


def _papers() -> dict[str, dict[str, Any]]:
    """Every published algorithm for rankings, with tight noise and, where a paper prints one, with its noise."""
    found = {}
    for record in en.algorithms():
        if "auc" in record.tasks and record.citation != "entrenous":
            for calibration in record.calibrations:
                title = f"{record.name}, {'tight' if calibration == 'tight' else 'as printed'}"
                ridge = RIDGES[calibration] if "strongly convex" in record.needs else 0.0
                found[title] = {"algorithm": record.name, "calibration": calibration, "ridge": ridge}
    return found


PAPERS = _papers()
"""Measured at epsilon = 1 on sets of up to 10,000 rows."""


def fit(table: Table, rows: Array, labels: AnyArray, method: str, epsilon: float | None) -> en.AUCClassifier:
    """One of our methods, as a user calls it: public ranges, secure noise, delta = 1/n^2."""
    settings = {} if method == NON_PRIVATE else (MAIN | PAPERS)[method]
    with warnings.catch_warnings():
        # That printed noise is not what it claims is the subject of the table.
        warnings.simplefilter("ignore", en.PrivacyWarning)
        return en.AUCClassifier(epsilon=epsilon, bounds=table.bounds, **settings).fit(rows, labels)
