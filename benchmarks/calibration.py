"""Whether the probabilities of ``logistic-gd`` hold on held-out rows, with and without calibration.

    python benchmarks/calibration.py

80/20 splits, delta = 1/n^2, public ranges, secure noise. For each set: the mean probability of an event less the share
of events among the test rows, the expected calibration error (ten bins of equally many test rows: the mean distance
between mean probability and share of events in a bin), and AUC; means over the splits, and the largest distance of the
mean probability. Calibration has 2 % of the budget (``options={"calibrate": 0.02}``). Writes
``benchmarks/results/calibration.json``. Needs the data folder (ENTRENOUS_DATA). Three minutes on one core.
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from frontier.sets import load_set
from rich.console import Console
from rich.progress import track
from rich.table import Table

import entrenous as en
from entrenous.arrays import AnyArray, Array

SETS = {"ijcnn1": 3, "a9a": 3, "bank_full": 3, "covtype": 3, "letter": 3, "usps": 10, "diabetes": 40, "debrecen": 40}
"""And how many splits: small sets need more."""
EPSILONS = (0.5, 1.0, 4.0)
SHARE = 0.02
BINS = 10
RESULT = Path(__file__).parent / "results" / "calibration.json"


def calibration_error(p: Array, y: AnyArray) -> float:
    """The expected calibration error over bins of equally many rows."""
    bins = np.array_split(np.argsort(p, kind="stable"), BINS)
    return float(sum(len(rows) * abs(p[rows].mean() - y[rows].mean()) for rows in bins) / len(y))


def measured(name: str) -> dict[str, Any]:
    """Every budget, as released and calibrated."""
    data = load_set(name)
    X, y, bounds = data.rows, data.labels, data.bounds
    found: dict[str, Any] = {"rows": len(y), "features": X.shape[1], "event_share": float(y.mean())}
    for epsilon in EPSILONS:
        rows: dict[str, list[tuple[float, float, float]]] = {"as released": [], "calibrated": []}
        for split in range(SETS[name]):
            train, test = data.split(split)
            for way, share in (("as released", 0.0), ("calibrated", SHARE)):
                clf = en.AUCClassifier(epsilon, bounds=bounds, options={"calibrate": share}).fit(X[train], y[train])
                p = clf.predict_proba(X[test])[:, 1]
                off = float(p.mean() - y[test].mean())
                rows[way].append((off, calibration_error(p, y[test]), clf.score(X[test], y[test])))
        found[str(epsilon)] = {
            way: {
                "mean_off": statistics.fmean(off for off, _, _ in seen),
                "largest_off": max(abs(off) for off, _, _ in seen),
                "calibration_error": statistics.fmean(error for _, error, _ in seen),
                "auc": statistics.fmean(auc for _, _, auc in seen),
            }
            for way, seen in rows.items()
        }
    return found


def main() -> None:
    """Measure, print, store."""
    results = {name: measured(name) for name in track(SETS, description="fitting")}
    table = Table("set", "events", "epsilon", "", "mean P - events", "largest", "calibration error", "AUC")
    for name, found in results.items():
        for epsilon in EPSILONS:
            for way, row in found[str(epsilon)].items():
                keys = ("mean_off", "largest_off", "calibration_error", "auc")
                shown = [f"{row[key]:.4f}" for key in keys]
                table.add_row(name, f"{found['event_share']:.3f}", str(epsilon), way, *shown)
    Console().print(table)
    content = {"library": f"entrenous {en.__version__}", "share": SHARE, "bins": BINS, "splits": SETS}
    RESULT.write_text(json.dumps(content | {"results": results}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
