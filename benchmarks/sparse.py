"""What sparse tables save: a9a as CSR against dense, and three million flights with one column per airport.

    python benchmarks/sparse.py

noisy-gd at epsilon = 1, seeded so that both fits of a9a can be compared. Times of a9a are the least of several, the two
kinds in turn; flights are fitted once. The memory is what Python's allocator sees at the peak of one fit, the table
itself left out. Flights: day of year, day of week, minute of day and distance scaled to [0, 1] by public ranges, then
one column of zeros and ones per airport for where a flight starts and where it ends. Dense, that table would take the
memory stated beside it.
Writes ``benchmarks/results/sparse.json``. Needs the data folder (ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from scipy import sparse

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.rows.registry import rows_of

RESULT = Path(__file__).parent / "results" / "sparse.json"
RANGES = {"day_of_year": (0, 366), "day_of_week": (0, 7), "minute_of_day": (0, 1440), "distance": (0, 5000)}
REPEATS = 7


def in_turn(jobs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Least seconds of each job, after one run of each that is not counted."""
    best = dict.fromkeys(jobs, float("inf"))
    for repeat in range(repeats + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if repeat:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def peak_of(job: Callable[[], Any]) -> int:
    """Bytes at the peak, above what there was before."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def fitted(X: Any, y: Any, **settings: Any) -> en.AUCClassifier:
    """The fit that is measured."""
    return en.AUCClassifier(epsilon=1.0, algorithm="noisy-gd", bounds=(0, 1), random_state=0, **settings).fit(X, y)


def census() -> dict[str, dict[str, float]]:
    """a9a, dense and sparse: whole fits by surrogate, and one gradient."""
    data = en.datasets.load("a9a")
    X, y = np.asarray(data.data, dtype=float), np.asarray(data.target).astype(int)
    thin = sparse.csr_array(X)
    rows: dict[str, dict[str, float]] = {}
    for surrogate in ("logistic", "hinge"):
        jobs = {
            "dense": lambda s=surrogate: fitted(X, y, surrogate=s),
            "sparse": lambda s=surrogate: fitted(thin, y, surrogate=s),
        }
        difference = np.abs(jobs["dense"]().coef_ - jobs["sparse"]().coef_).max()
        seconds = in_turn(jobs, REPEATS)
        peaks = {f"{name} peak bytes": float(peak_of(job)) for name, job in jobs.items()}
        rows[f"a9a, {surrogate}, whole fit"] = {**seconds, "difference": float(difference), **peaks}
        made = jobs["sparse"]().plan_
        assert made.features is not None
        tables = {"dense": made.features.to_internal(X), "sparse": rows_of(thin).inside(made.features)}
        w = np.random.default_rng(0).normal(size=X.shape[1])
        steps = {n: lambda t=t, w=w, p=made.problem: all_pairs_gradient(p, w, rows_of(t), y) for n, t in tables.items()}
        found = np.abs(steps["dense"]() - steps["sparse"]()).max()
        rows[f"a9a, {surrogate}, one gradient"] = {**in_turn(steps, 2 * REPEATS), "difference": float(found)}
    return rows


def flights() -> dict[str, dict[str, float]]:
    """Three million flights with their airports: what the sparse fit takes."""
    data = en.datasets.load("flights3m", as_frame=True)
    table, y = data.data, np.asarray(data.target).astype(int)
    X = flight_table(table)
    start = time.perf_counter()
    clf = fitted(X, y)
    seconds = time.perf_counter() - start
    return {
        "flights3m, logistic, whole fit": {
            "sparse": seconds,
            # Every step takes the same memory.
            "sparse peak bytes": float(peak_of(lambda: fitted(X, y, max_iter=2))),
            "dense table bytes": 8.0 * X.shape[0] * X.shape[1],
            "columns": float(X.shape[1]),
            "stored bytes": float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes),
            "steps": float(clf.n_iter_),
            "AUC on the same rows": clf.score(X, y),
        }
    }


def flight_table(table: Any) -> Any:
    """Four scaled columns, then one per airport of departure and one per airport of arrival."""
    n = len(table)
    parts = [
        sparse.csr_array(np.asarray(table[name], dtype=float)[:, None] / high) for name, (_, high) in RANGES.items()
    ]
    for name in ("origin", "destination"):
        codes, airports = pd.factorize(table[name], sort=True)
        parts.append(sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, len(airports))))
    return sparse.csr_array(sparse.hstack(parts, format="csr"))


def main() -> None:
    """Measure, print, store."""
    warnings.simplefilter("ignore", en.PrivacyWarning)
    results = {**census(), **flights()}
    table = Table("", "dense, s", "sparse, s", "ratio", "largest difference", "peak, MB (dense / sparse)")
    for title, row in results.items():
        dense, thin = row.get("dense"), row["sparse"]
        peaks = [row.get(f"{kind} peak bytes") for kind in ("dense", "sparse")]
        table.add_row(
            title,
            "-" if dense is None else f"{dense:.4f}",
            f"{thin:.4f}",
            "-" if dense is None else f"{dense / thin:.1f}",
            f"{row['difference']:.1e}" if "difference" in row else "-",
            " / ".join("-" if peak is None else f"{peak / 1e6:.0f}" for peak in peaks),
        )
    Console(width=160).print(table)
    RESULT.parent.mkdir(exist_ok=True)
    content = {"library": f"entrenous {en.__version__}", "repeats": REPEATS, "results": results}
    RESULT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
