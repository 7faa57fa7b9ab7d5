"""What private regressions reach: coefficients on made-up tables, predictions on real ones, beside private ridge.

    python benchmarks/regression.py

Delta ``1/n**2``, replace-one adjacency, five seeds of every made-up table, 80/20 splits of the real ones. The noise is
seeded, so that a run can be repeated. The constants of ``residual-gd`` were chosen on the made-up tables and on
diabetes; elevation decided none of them. Writes ``benchmarks/results/regression.json`` and the tables in
``docs/estimators/error-entropy.md`` and ``pointwise.md``. Needs the data folder (ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import statistics
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from marked_blocks import fill
from regression_sets import MADE_UP, REAL, Array, MadeUp, adassp
from rich.console import Console
from sklearn.linear_model import LinearRegression, LogisticRegression

import entrenous as en

SEEDS = 5
FITS = 30
"""Of one table, for the spread that noise alone gives."""
EPSILONS = (None, 4.0, 1.0, 0.5, 0.1)
REAL_EPSILONS = (0.5, 1.0, 4.0, None)
RESULT = Path(__file__).parent / "results" / "regression.json"
DOCS = Path(__file__).parents[1] / "docs" / "estimators"
PAGES = (DOCS / "error-entropy.md", DOCS / "pointwise.md")
KINDS = {"ErrorEntropyRegressor": en.ErrorEntropyRegressor, "PointwiseRegressor": en.PointwiseRegressor}

Fit = Callable[[Array, Array, int], Callable[[Array], Array]]
"""From training rows, targets and a seed to a prediction."""


def named(epsilon: float | None) -> str:
    """How a budget is written."""
    return "none" if epsilon is None else f"{epsilon:g}"


def off(coef: Array, intercept: float, true: Array) -> tuple[float, float]:
    """Relative error of the coefficients, and how far the intercept is from 0."""
    return float(np.linalg.norm(coef - true) / np.linalg.norm(true)), abs(float(intercept))


def made_up(kind: Any, asked: MadeUp, epsilon: float | None, **settings: Any) -> dict[str, float]:
    """Mean errors of coefficients and intercept over the seeds."""
    found = []
    for seed in range(SEEDS):
        X, y, w = asked.draw(seed)
        public = {"bounds": asked.bounds, "target_bounds": asked.target_bounds, "random_state": seed}
        model = kind(epsilon, **public, **settings).fit(X, y)
        found.append(off(model.coef_, model.intercept_, w))
    coef, intercept = np.mean(found, axis=0)
    return {"coef": float(coef), "intercept": float(intercept)}


def peer_on(asked: MadeUp, epsilon: float) -> dict[str, float]:
    """The same for AdaSSP."""
    found, ends = [], np.full(asked.d, asked.bounds[1])
    for seed in range(SEEDS):
        X, y, w = asked.draw(seed)
        predict = adassp(X, y, -ends, ends, asked.target_bounds, epsilon, seed)
        level = float(predict(np.zeros((1, asked.d)))[0])
        found.append(off(predict(np.eye(asked.d)) - level, level, w))
    coef, intercept = np.mean(found, axis=0)
    return {"coef": float(coef), "intercept": float(intercept)}


def without_privacy() -> dict[str, dict[str, float]]:
    """Median absolute error on clean test rows after a fit to 5 % outliers."""
    asked, errors = MADE_UP["the regression set"], {"error entropy": [], "least squares": []}
    for seed in range(SEEDS):
        X, y, w = asked.draw(seed)
        rng = np.random.default_rng(1000 + seed)
        test = rng.uniform(-1.0, 1.0, (5000, asked.d))
        clean = test @ w + 0.3 * rng.normal(size=5000)
        models = {"error entropy": en.ErrorEntropyRegressor(None), "least squares": LinearRegression()}
        for name, model in models.items():
            errors[name].append(float(np.median(np.abs(model.fit(X, y).predict(test) - clean))))
    return {name: {"median_error": statistics.fmean(found)} for name, found in errors.items()}


def scored(predicted: Array, true: Array) -> tuple[float, float]:
    """R^2, and the median absolute error."""
    return float(1.0 - np.mean((predicted - true) ** 2) / np.var(true)), float(np.median(np.abs(predicted - true)))


def real(name: str) -> dict[str, Any]:
    """Held-out figures of our two regressions, of private ridge and of least squares."""
    table = REAL[name]()
    X, y = table.rows, table.targets
    low, high = np.array(table.bounds.sides())
    result: dict[str, Any] = {"rows": int(0.8 * len(y)), "features": X.shape[1], "splits": table.splits, "found": {}}

    def add(
        method: str, epsilon: float | None, predict: Callable[[Array, Array, int], Callable[[Array], Array]]
    ) -> None:
        found = []
        for seed in range(table.splits):
            train, test = table.split(seed)
            found.append(scored(predict(X[train], y[train], seed)(X[test]), y[test]))
        r2, error = np.mean(found, axis=0)
        spread = float(np.std([each[0] for each in found], ddof=1) / np.sqrt(len(found)))
        cell = {"r2": float(r2), "median_error": float(error), "error_of_r2": spread}
        result["found"].setdefault(method, {})[named(epsilon)] = cell

    for epsilon in REAL_EPSILONS:
        for method, kind in KINDS.items():
            public = {"bounds": table.bounds, "target_bounds": table.target_bounds}

            def fitted(X: Array, y: Array, seed: int, kind: Any = kind, public: Any = public) -> Any:
                return kind(epsilon, **public, random_state=seed).fit(X, y).predict  # noqa: B023

            add(method, epsilon, fitted)
        if epsilon is not None:

            def peer(X: Array, y: Array, seed: int, epsilon: float = epsilon) -> Any:
                return adassp(X, y, low, high, table.target_bounds, epsilon, seed)

            add("AdaSSP", epsilon, peer)
    add("least squares", None, lambda X, y, seed: LinearRegression().fit(X, y).predict)
    return result


def noise_ratios() -> dict[str, dict[str, float]]:
    """`coef_noise_` over the spread of repeated fits of one table: smallest, median and largest over coefficients."""
    tables = {"the regression set": MADE_UP["the regression set"], "2,000 records": MADE_UP["2,000 records"]}
    cases = {name: (asked.draw(0)[:2], asked.bounds, asked.target_bounds) for name, asked in tables.items()}
    diabetes = REAL["diabetes"]()
    cases["diabetes"] = ((diabetes.rows, diabetes.targets), diabetes.bounds, diabetes.target_bounds)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 5))
    rows[:, 1] = rows[:, 0] + 0.1 * rng.normal(size=20_000)
    twins = (rows, rows.sum(axis=1) + rng.normal(size=20_000))
    cases["a column almost twice"] = (twins, (-5.0, 5.0), (-20.0, 20.0))
    results: dict[str, dict[str, float]] = {}
    for name, ((X, y), bounds, target_bounds) in cases.items():
        public = {"bounds": bounds, "target_bounds": target_bounds}
        fits = [en.ErrorEntropyRegressor(1.0, **public, random_state=seed).fit(X, y) for seed in range(FITS)]
        ratio = np.mean([fit.coef_noise_ for fit in fits], axis=0) / np.std([fit.coef_ for fit in fits], axis=0, ddof=1)
        results[name] = {"min": float(ratio.min()), "median": float(np.median(ratio)), "max": float(ratio.max())}
    return results


def classified() -> dict[str, Any]:
    """Held-out accuracy and log-loss of `PointwiseClassifier` on the sets of the frontier, old default and new."""
    from frontier.sets import load_set
    from sklearn.metrics import log_loss

    ways = {
        "logistic-gd": {},
        "dpsgd-pointwise": {"algorithm": "dpsgd-pointwise", "max_iter": 200, "options": {"batch": 0, "step_size": 0.5}},
    }
    results: dict[str, Any] = {}
    for name in ("diabetes", "a9a", "bank_full"):
        data = load_set(name)
        X, y = data.rows, data.labels
        cells: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        cells["logistic regression"] = []
        for seed in range(data.n_splits):
            train, test = data.split(seed)
            for way, settings in ways.items():
                chosen = dict(settings)
                if "options" in chosen:
                    chosen["options"] = {**chosen["options"], "batch": max(20, len(train) // 20)}
                clf = en.PointwiseClassifier(1.0, bounds=data.bounds, random_state=seed, **chosen).fit(
                    X[train], y[train]
                )
                p = clf.predict_proba(X[test])[:, 1]
                cells[way].append((clf.score(X[test], y[test]), log_loss(y[test], np.clip(p, 1e-6, 1 - 1e-6))))
            scaled = data.scaled
            free = LogisticRegression(C=100.0, max_iter=2000).fit(scaled[train], y[train])
            p = free.predict_proba(scaled[test])[:, 1]
            cells["logistic regression"].append((free.score(scaled[test], y[test]), log_loss(y[test], p)))
        means = {way: np.mean(found, axis=0) for way, found in cells.items()}
        results[name] = {way: {"accuracy": float(m[0]), "log_loss": float(m[1])} for way, m in means.items()}
    return results


def tables(results: dict[str, Any]) -> dict[str, str]:
    """The blocks of the pages."""

    def pair(cell: dict[str, float]) -> str:
        return f"{cell['coef']:.3f} / {cell['intercept']:.3f}"

    first = results["the regression set"]
    head = [
        "| error of `coef_` (relative) / of `intercept_` | no privacy | epsilon 4 | 1 | 0.5 | 0.1 |",
        "|---|---|---|---|---|---|",
    ]
    lines = [
        f"| {name} | " + " | ".join(pair(found[named(e)]) if named(e) in found else "" for e in EPSILONS) + " |"
        for name, found in first.items()
    ]
    blocks = {"regression set": "\n".join([*head, *lines]) + "\n"}
    head = ["| made-up table, epsilon 1 | `ErrorEntropyRegressor` | `PointwiseRegressor` |", "|---|---|---|"]
    lines = [
        f"| {name} | {pair(found['ErrorEntropyRegressor'])} | {pair(found['PointwiseRegressor'])} |"
        for name, found in results["made up"].items()
    ]
    blocks["made-up tables"] = "\n".join([*head, *lines]) + "\n"
    lines = ["| held-out R² / median absolute error | epsilon 0.5 | 1 | 4 | no privacy |", "|---|---|---|---|---|"]
    for name, found in results["real"].items():
        for method, cells in found["found"].items():
            shown = (cells.get(named(e)) for e in REAL_EPSILONS)
            text = (f"{cell['r2']:.3f} / {cell['median_error']:.1f}" if cell else "" for cell in shown)
            lines.append(f"| {name} ({found['rows']:,} rows), {method} | {' | '.join(text)} |")
    blocks["real tables"] = "\n".join(lines) + "\n"
    lines = ["| `coef_noise_` over the spread of repeated fits, epsilon 1 | min | median | max |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {cell['min']:.2f} | {cell['median']:.2f} | {cell['max']:.2f} |"
        for name, cell in results["coef_noise"].items()
    ]
    blocks["regression noise"] = "\n".join(lines) + "\n"
    lines = [
        "| held-out accuracy / log-loss, epsilon 1 | `logistic-gd` | `dpsgd-pointwise` | no privacy |",
        "|---|---|---|---|",
    ]
    for name, found in results["classified"].items():
        text = (f"{cell['accuracy']:.3f} / {cell['log_loss']:.3f}" for cell in found.values())
        lines.append(f"| {name} | {' | '.join(text)} |")
    blocks["single-record classes"] = "\n".join(lines) + "\n"
    return blocks


def main() -> None:
    """Measure, show, write."""
    # That the noise is seeded is meant here.
    warnings.simplefilter("ignore", en.PrivacyWarning)
    asked = MADE_UP["the regression set"]
    first: dict[str, Any] = {
        name: {named(e): made_up(kind, asked, e) for e in EPSILONS} for name, kind in KINDS.items()
    }
    old = {"algorithm": "kang-gp"}
    private = [e for e in EPSILONS if e is not None]
    first["`kang-gp`, the old default"] = {
        named(e): made_up(en.ErrorEntropyRegressor, asked, e, **old) for e in private
    }
    first["AdaSSP"] = {named(e): peer_on(asked, e) for e in private}
    results = {
        "the regression set": first,
        "made up": {
            name: {title: made_up(kind, one, 1.0) for title, kind in KINDS.items()} for name, one in MADE_UP.items()
        },
        "without privacy": without_privacy(),
        "real": {name: real(name) for name in REAL},
        "coef_noise": noise_ratios(),
        "classified": classified(),
    }
    RESULT.write_text(json.dumps({"version": en.__version__, **results}, indent=1) + "\n", encoding="utf-8")
    for page in PAGES:
        fill(page, tables(results))
    for block in tables(results).values():
        Console().print(block)


if __name__ == "__main__":
    main()
