"""What a metric from noisy gradients is worth: 3-NN accuracy on labelled rows, and listed pairs told apart.

    python benchmarks/metric.py

The history of `noisy-gd`, once the default; `metric_quality.py` measures today's.
Breast cancer and diabetes: public ranges, 70/30 stratified splits, all pairs of the training rows, default settings.
"Labels shuffled" is the same private fit on labels without meaning: what noise and clipping alone give. Letters: one
random pair per record, similar or not, no labels; AUC of telling held-out pairs apart. delta = 1/n^2, secure noise.
Writes ``benchmarks/results/metric.json``. Diabetes and letters need the data folder (ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import statistics
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from clinical_ranges import tables
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import entrenous as en
from entrenous.problem.features.declared import feature_domain_from

SPLITS = 10
RESULT = Path(__file__).parent / "results" / "metric.json"
EPSILONS = {"without privacy": None, "epsilon = 4": 4.0, "epsilon = 1": 1.0}


def neighbours(train: Any, y_train: Any, test: Any, y_test: Any) -> float:
    """Accuracy of three nearest neighbours."""
    return float(KNeighborsClassifier(3).fit(train, y_train).score(test, y_test))


def labelled(data: tuple[Any, Any, Any]) -> dict[str, list[float]]:
    """3-NN accuracy on held-out rows, by the distance used."""
    X, y, bounds = data
    scores: dict[str, list[float]] = defaultdict(list)
    for seed in range(SPLITS):
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
        domain = feature_domain_from(bounds, X.shape[1], list(X.columns))
        plain = [domain.to_internal(rows.to_numpy(dtype=float)) for rows in (train, test)]
        scores["Euclidean, in the public ranges"].append(neighbours(plain[0], y_train, plain[1], y_test))
        shuffled = np.random.default_rng(seed).permutation(y_train)
        fits = {name: (epsilon, y_train) for name, epsilon in EPSILONS.items()}
        fits["epsilon = 1, labels shuffled"] = (1.0, shuffled)
        for name, (epsilon, labels) in fits.items():
            learner = en.MahalanobisLearner(epsilon, algorithm="noisy-gd", bounds=bounds).fit(train, labels)
            scores[name].append(neighbours(learner.transform(train), y_train, learner.transform(test), y_test))
    return scores


def listed(splits: int = 3) -> dict[str, list[float]]:
    """AUC of telling similar from dissimilar held-out pairs of letters."""
    letters = en.datasets.load("letter")
    X, y = letters.data, np.asarray(letters.target)
    scores: dict[str, list[float]] = defaultdict(list)
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[:14_000], order[14_000:]
        rows = np.arange(len(train))
        pairs = np.column_stack([rows, np.roll(rows, 1)])
        similar = y[train][pairs[:, 0]] == y[train][pairs[:, 1]]
        others = np.column_stack([test, np.roll(test, 1)])
        vectors, truth = X[others], y[others[:, 0]] == y[others[:, 1]]
        plain = -np.linalg.norm(vectors[:, 0] - vectors[:, 1], axis=1)
        scores["Euclidean"].append(roc_auc_score(truth, plain))
        for name, epsilon in EPSILONS.items():
            for radius in (1.0, 100.0):
                box = en.FeatureBounds(0, 15, clip=2.0)
                learner = en.MahalanobisLearner(epsilon, algorithm="noisy-gd", bounds=box, radius=radius)
                learner.fit_pairs(X[train], pairs, similar)
                found = roc_auc_score(truth, learner.pair_score(vectors))
                scores[f"{name}, radius {radius:g}"].append(found)
    return scores


def main() -> None:
    """Measure, print, store."""
    warnings.simplefilter("ignore", en.PrivacyWarning)
    jobs = {f"{name}: 3-NN accuracy": (labelled, (data,)) for name, data in tables().items()}
    jobs["letter: AUC of listed pairs"] = (listed, ())
    results: dict[str, Any] = {}
    for title, (measure, arguments) in track(jobs.items(), description="fitting", total=len(jobs)):
        results[title] = {
            name: {"mean": statistics.fmean(values), "sd": statistics.stdev(values)}
            for name, values in measure(*arguments).items()
        }
    for title, rows in results.items():
        table = Table(title, "mean", "sd")
        for name, row in rows.items():
            table.add_row(name, f"{row['mean']:.3f}", f"{row['sd']:.3f}")
        Console().print(table)
    RESULT.parent.mkdir(exist_ok=True)
    content = {"library": f"entrenous {en.__version__}", "splits": SPLITS, "results": results}
    RESULT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
