"""How fast the engine is, as ratios measured side by side in one run, on one thread.

    make bench

Times alone say little about another machine, so a case is judged against something simple that runs in turn with it:
one copy of its rows, a matrix product, the same steps in NumPy, importing scikit-learn. A new case is a function that
yields `Figure` objects, and a place in `CASES`. Writes ``engine.json`` and ``engine.svg`` in ``benchmarks/results``,
and the table of ``docs/speed.md``.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
from all_pairs_speed import metric_pairs, sorted_pairs, summed_pairs
from default_speed import default_fit
from figures import FEATURES, Figure, best_times, draw, matrix_product
from marked_blocks import fill
from rich.console import Console
from rich.table import Table
from start_up_speed import start_up
from steps_speed import noisy_steps, stream_prices, streams
from threadpoolctl import threadpool_limits

import entrenous as en

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "speed.md"

CASES: list[Callable[[], Iterator[Figure]]] = [
    sorted_pairs,
    summed_pairs,
    metric_pairs,
    streams,
    noisy_steps,
    stream_prices,
    default_fit,
    start_up,
]


def machine() -> dict[str, float]:
    """Bandwidth of a copy and speed of a matrix product."""
    rows = np.ones((1_000_000, FEATURES))
    target = np.empty_like(rows)
    product, work = matrix_product()
    copy, gemm = best_times(lambda: np.copyto(target, rows), product)
    return {"copy_gigabytes_per_second": rows.nbytes / copy / 1e9, "gemm_gigaflops": 1e-9 * work / gemm}


def goal_of(figure: Figure) -> str:
    """The goal as text, and whether it was missed."""
    sign = ">=" if figure.more_is_better else "<="
    return "" if figure.goal is None else f"{sign} {figure.goal:g}" + ("" if figure.reached else ", missed")


def write_page(figures: list[Figure]) -> None:
    """Puts the table into the page."""
    lines = ["| case | ratio | of | goal |", "|---|---|---|---|"]
    lines += [f"| {f.case} | {f.ratio:.2f} | {f.meaning} | {goal_of(f)} |" for f in figures]
    fill(PAGE, {"table": "\n".join(lines) + "\n"})


def main() -> None:
    """Measure, print, store, draw."""
    with threadpool_limits(1):
        speeds = machine()
        figures = [figure for case in CASES for figure in case()]
    table = Table("case", "ratio", "meaning", "goal", "ms", "against, ms")
    for figure in figures:
        times = ["" if s is None else f"{1e3 * s:.2f}" for s in (figure.seconds, figure.against_seconds)]
        table.add_row(figure.case, f"{figure.ratio:.2f}", figure.meaning, goal_of(figure), *times)
    console = Console(width=160)
    console.print(table)
    console.print(speeds)
    RESULTS.mkdir(exist_ok=True)
    content = {
        "library": f"entrenous {en.__version__}",
        "processor": platform.machine(),
        "threads": 1,
        "speeds": speeds,
        "figures": [{**asdict(figure), "reached": figure.reached} for figure in figures],
    }
    (RESULTS / "engine.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    draw(figures, RESULTS / "engine.svg")
    write_page(figures)


if __name__ == "__main__":
    main()
