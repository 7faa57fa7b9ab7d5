"""Held-out AUC of the default algorithm with and without a tenth of the budget for whitening.

    python benchmarks/whitening.py

Random 80/20 splits from the public ranges of ``boxes.toml`` in the data folder, delta ``1/n**2``. usps is its digits 0
to 4 against the others, ijcnn1 without its published test rows. The noise is seeded, so that a run can be repeated. The
constants of whitening were chosen on these sets, so none of them is blind. Writes
``benchmarks/results/whitening.json``. Needs the data folder (ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import statistics
import tomllib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import entrenous as en

SETS = ("debrecen", "usps", "ijcnn1", "diabetes", "a9a")
EPSILONS = (0.5, 1.0, 4.0)
SHARES = (0.0, 0.1)
RESULT = Path(__file__).parent / "results" / "whitening.json"


def ranked(name: str) -> tuple[Any, Any, en.FeatureBounds]:
    """Rows, labels 0 and 1, public ranges."""
    data = en.datasets.load(name)
    X, labels = np.asarray(data.data, dtype=float), np.asarray(data.target)
    if name == "ijcnn1":
        kept = np.asarray(data.split) != "test"
        X, labels = X[kept], labels[kept]
    box = tomllib.loads((en.datasets.folder() / "boxes.toml").read_text(encoding="utf-8"))[name]
    columns, found = data.feature_names, np.unique(labels)
    ranges = {column: tuple(box.get(column) or box["*"]) for column in columns}
    binary = box.get("binary", ())
    y = np.isin(labels, found[: len(found) // 2] if len(found) > 2 else found[1:]).astype(int)
    return X, y, en.FeatureBounds.from_mapping(ranges, binary=columns if "*" in binary else binary)


def measured(name: str) -> dict[str, Any]:
    """Mean AUC and its standard error over the splits, by epsilon and share; of the difference too."""
    X, y, bounds = ranked(name)
    splits = 20 if len(y) < 5000 else 3
    result: dict[str, Any] = {"rows": int(0.8 * len(y)), "features": X.shape[1], "splits": splits, "auc": {}}
    for epsilon in EPSILONS:
        scores: dict[float, list[float]] = {share: [] for share in SHARES}
        for seed in range(splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[: int(0.8 * len(y))], order[int(0.8 * len(y)) :]
            for share, found in scores.items():
                clf = en.AUCClassifier(epsilon, bounds=bounds, random_state=seed, options={"whiten": share})
                found.append(clf.fit(X[train], y[train]).score(X[test], y[test]))
        gains = np.subtract(scores[SHARES[1]], scores[SHARES[0]])
        means = {f"whiten={share:g}": statistics.fmean(found) for share, found in scores.items()}
        result["auc"][f"{epsilon:g}"] = {**means, "error_of_gain": float(gains.std(ddof=1) / np.sqrt(splits))}
    return result


def main() -> None:
    """Measure, show, write."""
    # That the noise is seeded is meant here.
    warnings.simplefilter("ignore", en.PrivacyWarning)
    results = {name: measured(name) for name in SETS}
    table = Table("set", *(f"epsilon = {epsilon:g}" for epsilon in EPSILONS))
    for name, result in results.items():
        cells = (list(found.values())[:2] for found in result["auc"].values())
        table.add_row(name, *(f"{without:.3f} -> {whitened:.3f}" for without, whitened in cells))
    Console().print(table)
    RESULT.write_text(json.dumps({"version": en.__version__, "sets": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
