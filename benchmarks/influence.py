"""Predicted influence of every record beside fits without it, and what the prediction costs.

    python benchmarks/influence.py

100 records of breast cancer (ranking), wine (metric) and diabetes (regression), the tables of scikit-learn, each left
out in turn: 300 fits. Then the time of `influence` on made-up rankings of growing length, ten features, beside the fit
itself, on one core. Writes ``benchmarks/results/influence.json``, ``docs/influence.svg`` and the tables of
``docs/influence.md``. A minute on one core.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from marked_blocks import fill
from matplotlib.figure import Figure
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.preprocessing import StandardScaler

import entrenous as en

RECORDS, FEATURES = 100, 4
LENGTHS = (1_000, 10_000, 100_000)
ROOT = Path(__file__).parents[1]
RESULT = ROOT / "benchmarks" / "results" / "influence.json"
PAGE, PICTURE = ROOT / "docs" / "influence.md", ROOT / "docs" / "influence.svg"

Make = Callable[[], Any]


def ranking() -> Any:
    """A ranking of standardised columns."""
    return en.AUCClassifier(None, ridge=0.05)


def metric() -> Any:
    """A metric of full rank: the constraint is not active."""
    usual = {"algorithm": "noisy-gd", "surrogate": "logistic", "radius": 100.0}
    return en.MahalanobisLearner(None, ridge=0.02, bounds=(-4, 4), **usual)


def regression() -> Any:
    """A regression with a stated bandwidth."""
    return en.ErrorEntropyRegressor(None, bandwidth=100.0, ridge=0.05, target_bounds=(25, 346), bounds=(-4, 4))


def sets() -> dict[str, tuple[Make, Any, Any]]:
    """What is fitted, on which records: fixed draws, the first columns, standardised."""
    found: dict[str, tuple[Make, Any, Any]] = {}
    tables = {
        "ranking, breast cancer": (ranking, load_breast_cancer),
        "metric, wine": (metric, load_wine),
        "error entropy, diabetes": (regression, load_diabetes),
    }
    for name, (make, load) in tables.items():
        X, y = load(return_X_y=True)
        chosen = np.random.default_rng(0).permutation(len(X))[:RECORDS]
        found[name] = (make, StandardScaler().fit_transform(X)[chosen, :FEATURES], y[chosen])
    return found


def parameter(model: Any) -> Any:
    """What changes are of."""
    return model.get_mahalanobis_matrix() if hasattr(model, "components_") else np.ravel(model.coef_)


def compared(make: Make, X: Any, y: Any) -> dict[str, Any]:
    """Predicted and real changes, entry by entry, and how they go together."""
    model = make().fit(X, y)
    found = en.influence(model, X, y)
    predicted = found.change.reshape(len(X), -1)
    real = np.array(
        [np.ravel(parameter(make().fit(np.delete(X, i, 0), np.delete(y, i))) - parameter(model)) for i in range(len(X))]
    )
    # For the picture: of each record the entry that it moves most.
    most = (np.arange(len(X)), np.abs(real).argmax(axis=1))
    return {
        "correlation": float(np.corrcoef(predicted.ravel(), real.ravel())[0, 1]),
        "relative_error": float(np.linalg.norm(predicted - real) / np.linalg.norm(real)),
        "largest": float(np.linalg.norm(real, axis=1).max() / np.linalg.norm(parameter(model))),
        "stability_times_n": float(len(X) * found.elastic_stability.max()),
        "mean_stability_times_n": float(len(X) * found.elastic_stability.mean()),
        "predicted": [float(f"{number:.4g}") for number in predicted[most]],
        "real": [float(f"{number:.4g}") for number in real[most]],
    }


def timed(n: int) -> dict[str, float]:
    """Seconds of a fit, and of the influence of all its records."""
    X, y = make_classification(n, 10, random_state=0)
    start = time.perf_counter()
    model = ranking().fit(X, y)
    fitted = time.perf_counter()
    en.influence(model, X, y)
    return {"fit": fitted - start, "influence": time.perf_counter() - fitted}


def tables(stored: dict[str, Any]) -> dict[str, str]:
    """The results in Markdown."""
    columns = ("100 records, each left out", "correlation", "relative error", "largest change")
    head = f"| {' | '.join(columns)} | n x stability: mean, largest |\n"
    lines = [
        f"| {name} | {row['correlation']:.4f} | {100 * row['relative_error']:.1f} % | {100 * row['largest']:.1f} % "
        f"| {row['mean_stability_times_n']:.3f}, {row['stability_times_n']:.3f} |\n"
        for name, row in stored["compared"].items()
    ]
    costs = [
        f"| {int(n):,} | {row['fit']:.3f} | {row['influence']:.3f} | {int(n) * row['fit']:,.0f} |\n"
        for n, row in stored["seconds"].items()
    ]
    return {
        "influence": head + "|---|---|---|---|---|\n" + "".join(lines),
        "cost of influence": "| records | fit | influence of all | n fits |\n|---|---|---|---|\n" + "".join(costs),
    }


def draw(stored: dict[str, Any]) -> None:
    """Predicted against real changes, a panel for each task."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "entrenous", "font.size": 8}):
        plot = Figure(figsize=(9, 3), layout="constrained")
        for axes, (name, row) in zip(plot.subplots(1, 3), stored["compared"].items(), strict=True):
            most = max(map(abs, row["real"]))
            axes.axline((0.0, 0.0), slope=1.0, color="black", linewidth=0.5)
            axes.plot(row["real"], row["predicted"], ".", markersize=3, color="tab:blue")
            axes.set(xlim=(-1.1 * most, 1.1 * most), ylim=(-1.1 * most, 1.1 * most), title=name)
            axes.set(xlabel="change of a coefficient, fitted again", ylabel="predicted")
        plot.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    """Measure, write, draw, show."""
    timed(LENGTHS[0])  # compiles
    content = {
        "library": f"entrenous {en.__version__}",
        "records": RECORDS,
        "compared": {name: compared(*what) for name, what in sets().items()},
        "seconds": {str(n): timed(n) for n in LENGTHS},
    }
    RESULT.write_text(json.dumps(content, indent=None, separators=(", ", ": ")) + "\n", encoding="utf-8")
    draw(content)
    fill(PAGE, tables(content))
    for block in tables(content).values():
        Console().print(block)


if __name__ == "__main__":
    main()
