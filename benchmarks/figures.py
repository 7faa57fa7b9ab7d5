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
    """Every ratio as a bar, its goal as a mark."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "entrenous", "font.size": 8}):
        plot = Plot(figsize=(9, 0.3 * len(figures) + 1), layout="constrained")
        axes = plot.subplots()
        places = np.arange(len(figures))[::-1]
        colours = ["tab:red" if figure.reached is False else "tab:blue" for figure in figures]
        axes.barh(places, [figure.ratio for figure in figures], color=colours)
        for place, figure in zip(places, figures, strict=True):
            if figure.goal is not None:
                axes.plot([figure.goal] * 2, [place - 0.45, place + 0.45], color="black")
        axes.set_yticks(places, [f"{figure.case}: {figure.meaning}" for figure in figures])
        axes.set_xscale("log")
        axes.set_xlabel("ratio; a black line is a goal")
        plot.savefig(path, metadata={"Date": None})
