"""Held-out AUC of the default algorithm with and without a tenth of the budget for whitening.

    python benchmarks/whitening.py

The sets, ranges and splits of the frontier, delta ``1/n**2``. The noise is seeded, so that a run can be repeated. The
constants of whitening were chosen on the five design sets; the other three were looked at once afterwards. Writes
``benchmarks/results/whitening.json`` and the table in ``docs/estimators/auc.md``. Needs the data folder
(ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import statistics
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from frontier.sets import CHECKED, DESIGN, load_set
from marked_blocks import fill
from rich.console import Console
from rich.progress import track

import entrenous as en

EPSILONS = (0.5, 1.0, 4.0)
SHARES = (0.0, 0.1)
RESULT = Path(__file__).parent / "results" / "whitening.json"
PAGE = Path(__file__).parents[1] / "docs" / "estimators" / "auc.md"


def measured(name: str) -> dict[str, Any]:
    """Mean AUC and its standard error over the splits, by epsilon and share; of the difference too."""
    data = load_set(name)
    X, y, splits = data.rows, data.labels, data.n_splits
    result: dict[str, Any] = {"rows": int(0.8 * len(y)), "features": X.shape[1], "splits": splits, "auc": {}}
    for epsilon in EPSILONS:
        scores: dict[float, list[float]] = {share: [] for share in SHARES}
        for seed in range(splits):
            train, test = data.split(seed)
            for share, found in scores.items():
                clf = en.AUCClassifier(epsilon, bounds=data.bounds, random_state=seed, options={"whiten": share})
                found.append(clf.fit(X[train], y[train]).score(X[test], y[test]))
        gains = np.subtract(scores[SHARES[1]], scores[SHARES[0]])
        means = {f"whiten={share:g}": statistics.fmean(found) for share, found in scores.items()}
        result["auc"][f"{epsilon:g}"] = {**means, "error_of_gain": float(gains.std(ddof=1) / np.sqrt(splits))}
    return result


def table(results: dict[str, Any]) -> str:
    """The results in Markdown, one line for each set."""
    lines = ["| held-out AUC, `whiten` 0 → 0.1 | epsilon 0.5 | 1 | 4 |", "|---|---|---|---|"]
    for name, result in results.items():
        cells = (list(found.values())[:2] for found in result["auc"].values())
        lines.append(
            f"| {name} | " + " | ".join(f"{without:.3f} → {whitened:.3f}" for without, whitened in cells) + " |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, show, write."""
    # That the noise is seeded is meant here.
    warnings.simplefilter("ignore", en.PrivacyWarning)
    results = {name: measured(name) for name in track((*DESIGN, *CHECKED), description="fitting")}
    RESULT.write_text(json.dumps({"version": en.__version__, "sets": results}, indent=1) + "\n", encoding="utf-8")
    fill(PAGE, {"whitening": table(results)})
    Console().print(table(results))


if __name__ == "__main__":
    main()
