"""Held-out AUC of streaming algorithms without privacy: in the unit ball, and in the ball that `fit` takes by itself.

    python benchmarks/non_private_streams.py

Stratified 80/20 splits in random order, no bounds, every other setting at its default. Letter is its first 13 letters
against the others, usps its digits 0 to 4; ijcnn1 without its published test rows. The radius, twice the norm of the
least-squares solution, and spauc's step were chosen on these same sets, so none of them is blind. "Before" is the unit
ball; for spauc with the step it had then, ``8/L_pair`` of the worst case, written out here (`spauc_before`). Writes
``benchmarks/results/non_private_streams.json``. Needs the data folder (ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

import entrenous as en

SETS = ("ijcnn1", "letter", "diabetes", "german", "usps")
SPLITS = 5
ALGORITHMS = (
    "sgd-previous",
    "ogd-previous",
    "sgd-pair",
    "olp",
    "oam",
    "dp-localized-sgd",
    "localized-nonsmooth",
    "spauc",
)
RESULT = Path(__file__).parent / "results" / "non_private_streams.json"


def two_classes(name: str) -> tuple[Any, Any]:
    """Rows and labels 0 and 1."""
    data = en.datasets.load(name)
    X, labels = np.asarray(data.data, dtype=float), np.asarray(data.target)
    if name == "ijcnn1":
        kept = np.asarray(data.split) != "test"
        X, labels = X[kept], labels[kept]
    found = np.unique(labels)
    return X, np.isin(labels, found[: len(found) // 2] if len(found) > 2 else found[1:]).astype(int)


def _fixed_steps(X: Any, y: Any, eta: float) -> Any:
    w, total = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    counts, means = np.zeros(2), np.zeros((2, X.shape[1]))
    for i in range(len(X)):
        own = y[i]
        counts[own] += 1.0
        p = counts[1] / (i + 1.0)
        total += w
        means[own] += (X[i] - means[own]) / counts[own]
        gap, between = X[i] - means[own], means[1] - means[0]
        gradient = 2.0 * (1.0 - p if own == 1 else p) * (w @ gap) * gap
        gradient -= 2.0 * p * (1.0 - p) * (1.0 - w @ between) * between
        w = w - eta / np.sqrt(i + 1.0) * gradient
        w /= max(1.0, np.sqrt(w @ w))
    return total / len(X)


def spauc_before(X: Any, y: Any, X_test: Any, y_test: Any) -> float:
    """AUC of spauc in the unit ball with the step that suits the longest rows, ``8/L_pair``."""
    box = en.FeatureBounds(tuple(X.min(axis=0)), tuple(X.max(axis=0)))
    problem = en.plan("spauc", n=len(X), n_features=X.shape[1], epsilon=None).problem
    w = _fixed_steps(box.to_internal(X), y, 8.0 / problem.pair_smoothness)
    return float(roc_auc_score(y_test, box.to_internal(X_test) @ w))


def measured(name: str) -> dict[str, Any]:
    """Mean held-out AUC of every algorithm, before and now, and of the exact solution."""
    X, y = two_classes(name)
    values: dict[str, dict[str, list[float]]] = {alg: {"before": [], "now": [], "seconds": []} for alg in ALGORITHMS}
    exact, radii = [], []
    splits = StratifiedShuffleSplit(SPLITS, test_size=0.2, random_state=0).split(X, y)
    for number, (train, test) in enumerate(splits):
        order = np.random.default_rng(number).permutation(train)
        exact.append(en.AUCClassifier(None).fit(X[order], y[order]).score(X[test], y[test]))
        for algorithm, found in values.items():
            clf = en.AUCClassifier(None, algorithm=algorithm, random_state=0, options=_seed(algorithm, number))
            start = time.perf_counter()
            found["now"].append(clf.fit(X[order], y[order]).score(X[test], y[test]))
            found["seconds"].append(time.perf_counter() - start)
            radii.append(clf.plan_.problem.domain.radius)
            if algorithm == "spauc":
                found["before"].append(spauc_before(X[order], y[order], X[test], y[test]))
            else:
                clf.set_params(radius=1.0).fit(X[order], y[order])
                found["before"].append(clf.score(X[test], y[test]))
    return {
        "rows": int(0.8 * len(X)),
        "splits": SPLITS,
        "radius": statistics.fmean(radii),
        "moments": statistics.fmean(exact),
        "algorithms": {alg: {key: statistics.fmean(v) for key, v in found.items()} for alg, found in values.items()},
    }


def _seed(algorithm: str, number: int) -> dict[str, Any] | None:
    """Another order of the records in every split, for algorithms that draw one."""
    known = {record.name: record.options for record in en.algorithms()}
    return {"index_seed": number} if "index_seed" in known[algorithm] else None


def main() -> None:
    """Measure, show, write."""
    results = {name: measured(name) for name in SETS}
    table = Table("algorithm", *results)
    for algorithm in ALGORITHMS:
        pairs = [result["algorithms"][algorithm] for result in results.values()]
        table.add_row(algorithm, *(f"{pair['before']:.3f} -> {pair['now']:.3f}" for pair in pairs))
    table.add_row("moments", *(f"{result['moments']:.3f}" for result in results.values()))
    Console().print(table)
    RESULT.write_text(json.dumps({"version": en.__version__, "sets": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
