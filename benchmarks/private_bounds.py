"""What PrivateBounds buys on diabetes when only loose ranges are public.

    python benchmarks/private_bounds.py

AUC of ``logistic-gd`` and ``moments`` over 20 stratified 80/20 splits, delta = 1/n^2, secure noise, for three ways to
bound the features: the loose ranges alone, a tenth of the budget to find bounds inside them, and the clinical ranges
that a careful user would have declared (as in clinical_ranges.py, with and without its clipping radius). Loose
ranges are the clinical ones themselves (1x), ten and a hundred times as wide around the same centre, and from zero to
ten times the upper end, which puts the records in a corner. Writes ``benchmarks/results/private_bounds.json``. Needs
the data folder (ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from clinical_ranges import CLIP, DIABETES
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.model_selection import train_test_split

import entrenous as en

SPLITS = 20
EPSILONS = (0.5, 1.0, 2.0)
ALGORITHMS = ("logistic-gd", "moments")
SHARE = 0.1
RESULT = Path(__file__).parent / "results" / "private_bounds.json"


def widened(factor: float) -> dict[str, tuple[float, float]]:
    """The clinical ranges with their half-widths multiplied, around the same centres."""
    return {
        name: ((low + high - factor * (high - low)) / 2.0, (low + high + factor * (high - low)) / 2.0)
        for name, (low, high) in DIABETES.items()
    }


def loose_ranges() -> dict[str, dict[str, tuple[float, float]]]:
    """What a user might know."""
    return {
        "1x": widened(1.0),
        "10x": widened(10.0),
        "100x": widened(100.0),
        "zero to 10x": {name: (0.0, 10.0 * high) for name, (_, high) in DIABETES.items()},
    }


def auc(algorithm: str, bounds: Any, epsilon: float) -> dict[str, Any]:
    """Mean and standard deviation over the splits, and the values themselves."""
    data = en.datasets.load("diabetes", as_frame=True)
    values = []
    for seed in range(SPLITS):
        X_train, X_test, y_train, y_test = train_test_split(
            data.data, data.target, test_size=0.2, stratify=data.target, random_state=seed
        )
        clf = en.AUCClassifier(epsilon=epsilon, bounds=bounds, algorithm=algorithm).fit(X_train, y_train)
        values.append(clf.score(X_test, y_test))
    return {"auc": statistics.fmean(values), "sd": statistics.stdev(values), "splits": values}


def measured(algorithm: str, epsilon: float) -> dict[str, Any]:
    """Every way to bound the features, at one budget."""
    with_radius = en.FeatureBounds.from_mapping(DIABETES, clip=CLIP)
    rows: dict[str, Any] = {
        "clinical ranges declared": auc(algorithm, DIABETES, epsilon),
        "clinical ranges and radius declared": auc(algorithm, with_radius, epsilon),
    }
    for name, ranges in loose_ranges().items():
        alone = auc(algorithm, ranges, epsilon)
        found = auc(algorithm, en.PrivateBounds(ranges, SHARE), epsilon)
        rows[name] = {"declared alone": alone, "PrivateBounds": found, "gain": found["auc"] - alone["auc"]}
    return rows


def main() -> None:
    """Measure, print, store."""
    results: dict[str, Any] = {
        algorithm: {str(epsilon): measured(algorithm, epsilon) for epsilon in EPSILONS}
        for algorithm in track(ALGORITHMS, description="fitting")
    }
    table = Table(
        "algorithm", "epsilon", "loose ranges", "declared alone", "PrivateBounds", "gain", "clinical", "radius"
    )
    for algorithm, by_epsilon in results.items():
        for epsilon, rows in by_epsilon.items():
            best = [f"{rows[f'clinical ranges{more} declared']['auc']:.3f}" for more in ("", " and radius")]
            for name in loose_ranges():
                row = rows[name]
                cells = [f"{row[way]['auc']:.3f} ± {row[way]['sd']:.3f}" for way in ("declared alone", "PrivateBounds")]
                table.add_row(algorithm, epsilon, name, *cells, f"{row['gain']:+.3f}", *best)
    Console().print(table)
    RESULT.parent.mkdir(exist_ok=True)
    content = {"library": f"entrenous {en.__version__}", "data": "diabetes", "splits": SPLITS, "share": SHARE}
    RESULT.write_text(json.dumps(content | {"results": results}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
