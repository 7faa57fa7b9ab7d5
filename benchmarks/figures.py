"""What the benchmarks of the engine share: a ratio with its goal, times taken in turns, a problem to run on, a plot."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Plot

from entrenous.arrays import AnyArray, Array
from entrenous.problem.pair_scores import LinearDifference
from entrenous.problem.parameter_domains import L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Surrogate

FEATURES = 50


@dataclass(frozen=True)
class Figure:
    """A ratio, the times it comes from, and the goal where there is one: at most it, or at least it for a speed-up."""

    case: str
    ratio: float
    meaning: str
    goal: float | None = None
    more_is_better: bool = False
    seconds: float | None = None
    against_seconds: float | None = None

    @property
    def reached(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if self.goal is None:
            return None
        return self.ratio >= self.goal if self.more_is_better else self.ratio <= self.goal


def best_times(*actions: Callable[[], object], repeats: int = 9) -> list[float]:
    """The shortest time of each, taken in turns so that all meet the same machine; the first round only warms up."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats + 1):
        for action, record in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            record.append(time.perf_counter() - start)
    return [min(record[1:]) for record in times]


def ranking(surrogate: Surrogate, n: int) -> tuple[Problem, Array, Array, AnyArray]:
    """A problem, a parameter whose scores spread by about 1, rows and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    problem = Problem(LinearDifference(), surrogate, L2Ball(1.0), FEATURES)
    return problem, rng.normal(size=FEATURES) / np.sqrt(FEATURES), X, rng.integers(0, 2, n)


def matrix_product() -> tuple[Callable[[], object], int]:
    """A product of two large squares, and its floating-point operations."""
    square = np.ones((1500, 1500))
    product = np.empty_like(square)
    return lambda: np.matmul(square, square, out=product), 2 * len(square) ** 3


def draw(figures: list[Figure], path: Path) -> None:
    """Two claims, a panel each: gradients over all pairs cost a few copies of the table, steps are compiled."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "entrenous", "font.size": 10}):
        plot = Plot(figsize=(8, 5), layout="constrained")
        pairs = [f for f in figures if f.meaning == "time of one copy of X" and f.case.endswith(", n = 1e6")]
        steps = [f for f in figures if f.meaning == "times faster than NumPy" and f.case.startswith("stream")]
        above, below = plot.subplots(2, 1, height_ratios=[len(pairs), len(steps)])
        above.set_title("Loss and gradient over all pairs of a million rows, 50 features", loc="left")
        above.set_xlabel("time, in copies of the table (grey: one copy)")
        below.set_title("Steps on one pair at a time, beside the same steps in NumPy", loc="left")
        below.set_xlabel("times faster than NumPy (grey: as fast)")
        for axes, shown in ((above, pairs), (below, steps)):
            ordered = sorted(shown, key=lambda figure: -figure.ratio)
            names = [figure.case.split(" over all")[0].split(" (")[0].removeprefix("stream, ") for figure in ordered]
            bars = axes.barh(names, [figure.ratio for figure in ordered], color="tab:blue", height=0.6)
            axes.bar_label(bars, [f"{figure.ratio:.1f}" for figure in ordered], padding=4)
            axes.axvline(1.0, color="0.6", linewidth=3)
            axes.margins(x=0.1)
            axes.spines[["top", "right"]].set_visible(False)
        plot.savefig(path, metadata={"Date": None})
