"""How well a metric tells classes apart: pairs of test rows, and retrieval. From public ranges.

    python benchmarks/metric_quality.py [set ...]

For each of seven sets and epsilon 0.5, 1, 4: AUC of "same class?" over all pairs of (up to 1,000) test rows, and the
share of the same class among the 10 training rows nearest to a test row (up to 1,000). Four in five rows are learnt
from; 8 splits of small sets, 3 of large ones; delta = 1/n^2; secure noise. Beside the default stand the plain distance
in the public ranges, the plain distance in privately found units (the default's own), the default on shuffled labels,
the gradient algorithms noisy-gd and kang-gp (radius 100, up to 70 columns), and the metrics without privacy (gradients
on 4,000 rows, 100 iterations). From pairs: letter, every record in two
listed pairs. Sets that are not named keep their figures. Writes ``benchmarks/results/metric_quality.json`` and the
tables of ``docs/estimators/mahalanobis.md``. Needs the data folder (ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import statistics
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from marked_blocks import fill
from metric_sets import CHOSEN_ON, NAMES, LabelledTable, labelled_table
from rich.console import Console
from sklearn.metrics import roc_auc_score

import entrenous as en
from entrenous.arrays import AnyArray, Array

HERE = Path(__file__).parent
RESULT = HERE / "results" / "metric_quality.json"
PAGE = HERE.parent / "docs" / "estimators" / "mahalanobis.md"
EPSILONS = (0.5, 1.0, 4.0)
MOST_ROWS, NEAREST = 1000, 10
WIDEST_GRADIENTS, MOST_MINIMISED_ROWS = 70, 4000
"""Gradient algorithms run up to so many columns, and without privacy on so many rows: they take minutes beyond."""

PLAIN, UNITS, OURS, SHUFFLED, DESCENT, KANG, FREE, MINIMUM, FORMER = (
    "plain, public ranges",
    "plain, private units",
    "**default**",
    "default, labels shuffled",
    "noisy-gd",
    "kang-gp",
    "default without privacy",
    "noisy-gd without privacy",
    "noisy-gd without privacy, radius 1",
)
METHODS = (PLAIN, UNITS, SHUFFLED, DESCENT, KANG, OURS, FREE, MINIMUM, FORMER)
"""In the order of the page."""
FROM_PAIRS = "letter, from pairs"


def squared_distances(one: Array, other: Array) -> Array:
    """Of every row of one to every row of the other."""
    return np.square(one).sum(axis=1)[:, None] + np.square(other).sum(axis=1) - 2.0 * one @ other.T


def measures(train: Array, y_train: AnyArray, test: Array, y_test: AnyArray) -> dict[str, float]:
    """AUC over test pairs, precision at 10 among the training rows."""
    test, y_test = test[:MOST_ROWS], y_test[:MOST_ROWS]
    first, second = np.triu_indices(len(y_test), 1)
    apart = squared_distances(test, test)[first, second]
    nearest = np.argpartition(squared_distances(test, train), NEAREST, axis=1)[:, :NEAREST]
    return {
        "auc": float(roc_auc_score(y_test[first] == y_test[second], -apart)),
        "precision": float(np.mean(y_train[nearest] == y_test[:, None])),
    }


def of_split(table: LabelledTable, number: int) -> dict[str, dict[str, dict[str, float]]]:
    """Every distance on one split: method, then epsilon ("" for none), then measure."""
    train, test = table.split(number)
    X, y, new, truth = table.rows[train], table.labels[train], table.rows[test], table.labels[test]
    found: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)

    def learnt(method: str, epsilon: float | None, labels: AnyArray, **settings: Any) -> Any:
        few = slice(MOST_MINIMISED_ROWS if "max_iter" in settings else None)
        learner = en.MahalanobisLearner(epsilon, bounds=table.bounds, classes=table.classes, **settings)
        learner.fit(X[few], labels[few])
        key = "" if epsilon is None else f"{epsilon:g}"
        found[method][key] = measures(learner.transform(X), y, learner.transform(new), truth)
        return learner

    plain = table.bounds.for_features(X.shape[1])
    found[PLAIN][""] = measures(plain.to_internal(X), y, plain.to_internal(new), truth)
    shuffled = np.random.default_rng(number).permutation(y)
    for epsilon in EPSILONS:
        units = learnt(OURS, epsilon, y).bounds_
        found[UNITS][f"{epsilon:g}"] = measures(units.to_internal(X), y, units.to_internal(new), truth)
        learnt(SHUFFLED, epsilon, shuffled)
        if X.shape[1] <= WIDEST_GRADIENTS:
            learnt(DESCENT, epsilon, y, algorithm="noisy-gd", radius=100.0)
            learnt(KANG, epsilon, y, algorithm="kang-gp", radius=100.0)
    learnt(FREE, None, y)
    if X.shape[1] <= WIDEST_GRADIENTS:
        learnt(MINIMUM, None, y, algorithm="noisy-gd", radius=100.0, max_iter=100)
        learnt(FORMER, None, y, algorithm="noisy-gd", max_iter=100)
    return found


def of_pairs(number: int) -> dict[str, dict[str, dict[str, float]]]:
    """Letters from listed pairs, every record in two of them."""
    table = labelled_table("letter")
    train, test = table.split(number)
    X, y, new, truth = table.rows[train], table.labels[train], table.rows[test], table.labels[test]
    rows = np.arange(len(X))
    pairs = np.column_stack([rows, np.roll(rows, 1)])
    similar = y[pairs[:, 0]] == y[pairs[:, 1]]
    turned = np.random.default_rng(number).permutation(similar)
    found: dict[str, dict[str, dict[str, float]]] = defaultdict(dict)
    plain = table.bounds.for_features(X.shape[1])
    found[PLAIN][""] = measures(plain.to_internal(X), y, plain.to_internal(new), truth)
    descent = {"algorithm": "noisy-gd", "radius": 100.0}
    for epsilon in (*EPSILONS, None):
        key = "" if epsilon is None else f"{epsilon:g}"
        private = {OURS: ({}, similar), SHUFFLED: ({}, turned), DESCENT: (descent, similar)}
        free = {FREE: ({}, similar), MINIMUM: (descent, similar), FORMER: ({"algorithm": "noisy-gd"}, similar)}
        for method, (settings, flags) in (free if epsilon is None else private).items():
            learner = en.MahalanobisLearner(epsilon, bounds=table.bounds, **settings).fit_pairs(X, pairs, flags)
            found[method][key] = measures(learner.transform(X), y, learner.transform(new), truth)
            if method == OURS:
                units = learner.bounds_
                found[UNITS][key] = measures(units.to_internal(X), y, units.to_internal(new), truth)
    return found


def averaged(splits: list[dict[str, dict[str, dict[str, float]]]]) -> dict[str, Any]:
    """Mean and sd over splits, for every method, epsilon and measure."""
    return {
        method: {
            key: {
                measure: {
                    "mean": statistics.fmean(split[method][key][measure] for split in splits),
                    "sd": statistics.stdev(split[method][key][measure] for split in splits),
                }
                for measure in values
            }
            for key, values in keys.items()
        }
        for method, keys in splits[0].items()
    }


def cell(results: dict[str, Any], name: str, method: str, measure: str) -> str:
    """Means at epsilon 0.5, 1 and 4, or the one figure where there is no epsilon; "-" where it was not run."""
    keys = results[name].get(method, {})
    return " / ".join(f"{keys[key][measure]['mean']:.3f}" for key in keys) or "-"


def table_of(results: dict[str, Any], measure: str) -> str:
    """A row per set, a column per distance."""
    lines = [f"| | {' | '.join(METHODS)} |", f"|{'---|' * (1 + len(METHODS))}"]
    for name in (*NAMES, FROM_PAIRS):
        if name in results:
            cells = [cell(results, name, method, measure) for method in METHODS]
            lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def blocks(results: dict[str, Any]) -> dict[str, str]:
    """What goes between the marks of the page."""
    return {f"metric {measure}": table_of(results, measure) for measure in ("auc", "precision")}


def main() -> None:
    """Measure, store, fill the page."""
    warnings.simplefilter("ignore", en.PrivacyWarning)
    console = Console()
    wanted = sys.argv[1:] or [*NAMES, FROM_PAIRS]
    stored = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.is_file() else {"results": {}}
    results = stored["results"]
    for name in wanted:
        if name == FROM_PAIRS:
            splits = [of_pairs(number) for number in range(3)]
        else:
            table = labelled_table(name)
            splits = [of_split(table, number) for number in range(table.n_splits)]
        results[name] = averaged(splits)
        console.print(name, {method: cell(results, name, method, "auc") for method in results[name]})
        content = {"library": f"entrenous {en.__version__}", "chosen on": CHOSEN_ON, "results": results}
        RESULT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    fill(PAGE, blocks(results))


if __name__ == "__main__":
    main()
