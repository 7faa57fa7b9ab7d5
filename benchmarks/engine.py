"""How fast the loops are, as ratios measured side by side in one run, on one thread.

    make bench

Times alone say little about another machine, so a case is judged against something simple that runs in turn with it:
one copy of its rows, or the same steps in NumPy. A new case is a function that yields `Figure` objects and a place in
`CASES`. Writes ``benchmarks/results/engine.json`` and ``engine.svg``.
"""

from __future__ import annotations

import json
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Plot
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

import entrenous as en
from entrenous.arrays import AnyArray, Array
from entrenous.engine.all_pairs import all_pairs_gradient, all_pairs_objective
from entrenous.engine.metric_pairs import TILE
from entrenous.engine.streaming_kernel import run_stream
from entrenous.parts.pairing import Pairing, with_previous
from entrenous.parts.parameter_domains import FrobeniusPSD, L2Ball
from entrenous.parts.problem import Problem
from entrenous.parts.scores import ErrorDifference, LinearDifference, Mahalanobis
from entrenous.parts.surrogates import Hinge, Logistic, SmoothedHinge, Square, SquaredHinge, Surrogate, Welsch

RESULTS = Path(__file__).parent / "results"
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


def machine() -> dict[str, float]:
    """Bandwidth of a copy and speed of a matrix product."""
    rows = np.ones((1_000_000, FEATURES))
    target = np.empty_like(rows)
    product, work = matrix_product()
    copy, gemm = best_times(lambda: np.copyto(target, rows), product)
    return {"copy_gigabytes_per_second": rows.nbytes / copy / 1e9, "gemm_gigaflops": 1e-9 * work / gemm}


def matrix_product() -> tuple[Callable[[], object], int]:
    """A product of two large squares, and its floating-point operations."""
    square = np.ones((1500, 1500))
    product = np.empty_like(square)
    return lambda: np.matmul(square, square, out=product), 2 * len(square) ** 3


def sorted_pairs() -> Iterator[Figure]:
    """Loss and gradient over all pairs by sorting, against one copy of the rows, and their growth with n."""
    small, large = 100_000, 1_000_000
    for surrogate in (Hinge(), SquaredHinge(), SmoothedHinge(), Square()):
        goal = isinstance(surrogate, Hinge | SquaredHinge)
        problem, w, X, y = ranking(surrogate, large)
        target = np.empty_like(X)
        # The first rows are the small problem; both sizes and the copy take turns.
        part, full, copy = best_times(
            lambda problem=problem, w=w, X=X, y=y: all_pairs_objective(problem, w, X[:small], y[:small]),
            lambda problem=problem, w=w, X=X, y=y: all_pairs_objective(problem, w, X, y),
            lambda X=X, target=target: np.copyto(target, X),
        )
        (small_copy,) = best_times(lambda X=X, target=target: np.copyto(target[:small], X[:small]))
        name = f"{surrogate.name} over all pairs"
        against = "time of one copy of X"
        yield Figure(f"{name}, n = 1e5", part / small_copy, against, None, False, part, small_copy)
        yield Figure(f"{name}, n = 1e6", full / copy, against, 3.5 if goal else None, False, full, copy)
        grown = "time at n = 1e6 / time at n = 1e5"
        yield Figure(f"{name}, growth", full / part, grown, 14.0 if goal else None, False, full, part)


def summed_pairs() -> Iterator[Figure]:
    """The logistic and error entropy, which no sorting helps, against the hinge and against one copy of the rows."""
    n = 1_000_000
    hinge, w, X, y = ranking(Hinge(), n)
    logistic = ranking(Logistic(), 2)[0]
    entropy = Problem(ErrorDifference(), Welsch(), L2Ball(1.0), FEATURES)
    targets, target = X @ w + y, np.empty_like(X)
    sort, near, wide, errors, copy = best_times(
        lambda: all_pairs_objective(hinge, w, X, y),
        lambda: all_pairs_objective(logistic, w, X, y),
        lambda: all_pairs_objective(logistic, 40.0 * w, X, y),
        lambda: all_pairs_objective(entropy, 0.9 * w, X, targets),
        lambda: np.copyto(target, X),
    )
    spread = float(np.ptp(40.0 * (X @ w)))
    for case, taken in (
        ("logistic over all pairs, n = 1e6", near),
        (f"logistic, scores over a range of {spread:.0f}", wide),
        ("error entropy over all pairs, n = 1e6", errors),
    ):
        yield Figure(case, taken / sort, "time of the hinge", 1.5, False, taken, sort)
    yield Figure("logistic over all pairs, n = 1e6", near / copy, "time of one copy of X", None, False, near, copy)


class OwnHinge(Hinge):
    """A surrogate that compiled code does not know, as a user's own: its pairs go in NumPy's tiles."""


def metric(surrogate: Surrogate, n: int) -> tuple[Problem, Array, Array, AnyArray]:
    """A metric problem, a matrix whose distances spread around the threshold, rows of the unit sphere and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    factor = rng.normal(size=(FEATURES, FEATURES))
    w = factor @ factor.T / (2 * FEATURES)
    return Problem(Mahalanobis(), surrogate, FrobeniusPSD(10.0), FEATURES), w, X, rng.integers(0, 2, n)


def metric_work(n: int) -> tuple[int, int]:
    """Floating-point operations of the two products per tile: those done, and those over all ordered pairs."""
    heights = [min(TILE, n - start) for start in range(0, n, TILE)]
    # A tile on or above the diagonal stands for its mirror image too.
    cells = sum(height * sum(heights[k:]) for k, height in enumerate(heights))
    return 4 * FEATURES * cells, 4 * FEATURES * n * n


def metric_in_this_process(n: int) -> tuple[float, float]:
    """Seconds of one gradient, and the gigabytes that the process has held at most."""
    problem, w, X, y = metric(Hinge(), n)
    with threadpool_limits(1):
        all_pairs_gradient(problem, w, X[:2], y[:2])
        start = time.perf_counter()
        all_pairs_gradient(problem, w, X, y)
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, peak / (1e9 if sys.platform == "darwin" else 1e9 / 1024)


def metric_pairs() -> Iterator[Figure]:
    """Metric gradients over all pairs against the machine's matrix product, and their memory with many rows."""
    n, many = 3000, 50_000
    product, work = matrix_product()
    done, ordered = metric_work(n)
    share = "of the speed of a matrix product"
    for surrogate in (Hinge(), SmoothedHinge(), Logistic()):
        arguments = metric(surrogate, n)
        taken, gemm = best_times(lambda arguments=arguments: all_pairs_gradient(*arguments), product)
        name = f"{surrogate.name} metric over all pairs, n = 3e3"
        for case, flops, goal in ((f"{name}, operations done", done, 0.55), (f"{name}, of both orders", ordered, None)):
            at_full_speed = flops * gemm / work
            yield Figure(case, at_full_speed / taken, share, goal, True, taken, at_full_speed)
    compiled, plain = metric(Hinge(), n), metric(OwnHinge(), n)
    fast, slow = best_times(lambda: all_pairs_gradient(*compiled), lambda: all_pairs_gradient(*plain), repeats=5)
    yield Figure("hinge metric over all pairs, n = 3e3", slow / fast, "times faster than NumPy", None, True, fast, slow)
    # A forked child's peak is its own; one that was started by exec inherits its parent's.
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        seconds, gigabytes = pool.submit(metric_in_this_process, many).result()
    yield Figure("hinge metric over all pairs, n = 5e4", gigabytes, "gigabytes at the peak", 2.0, False, seconds)


def numpy_stream(problem: Problem, X: Array, y: AnyArray, pairing: Pairing, eta: Array, weights: Array) -> Array:
    """The steps of `run_stream` for the ranking task with one partner each, in plain NumPy."""
    w = np.zeros(X.shape[1])
    total = weights[0] * w
    averaged = bool(weights[1:-1].any())
    for t in range(pairing.steps):
        i, j = pairing.current[t], pairing.stream[pairing.low[t]]
        if y[i] != y[j]:
            gap = X[i] - X[j] if y[i] == 1 else X[j] - X[i]
            if gap @ w < 1.0:
                w = w + eta[t] * gap
                norm = np.sqrt(w @ w)
                if norm > problem.domain.radius:
                    w = w * (problem.domain.radius / norm)
        if averaged:
            total = total + weights[t + 1] * w
    return total if averaged else w


def streams() -> Iterator[Figure]:
    """Streaming descent against the same steps in NumPy, rows in the order of memory and not, averaged and not."""
    n = 100_000
    problem, _, X, y = ranking(Hinge(), n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    steps = n - 1
    eta = np.full(steps, 0.05)
    last, mean = np.zeros(n), np.full(n, 1.0 / n)
    last[-1] = 1.0
    for order, rows in (("in order", np.arange(n)), ("shuffled", np.random.default_rng(1).permutation(n))):
        pairing = with_previous(rows, 1)
        for average, weights in (("last iterate", last), ("averaged", mean)):

            def compiled(pairing: Pairing = pairing, weights: Array = weights) -> Array:
                return run_stream(problem, X, y, pairing, eta, weights, np.zeros(FEATURES))[1]

            def plain(pairing: Pairing = pairing, weights: Array = weights) -> Array:
                return numpy_stream(problem, X, y, pairing, eta, weights)

            np.testing.assert_allclose(compiled(), plain(), rtol=1e-6, atol=1e-9)
            fast, slow = best_times(compiled, plain, repeats=5)
            case = f"stream, {order}, {average} ({steps / fast:.2g} steps/s against {steps / slow:.2g})"
            yield Figure(case, slow / fast, "times faster than NumPy", 30 if weights is mean else 40, True, fast, slow)


CASES: list[Callable[[], Iterator[Figure]]] = [sorted_pairs, summed_pairs, metric_pairs, streams]


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


def main() -> None:
    """Measure, print, store, draw."""
    with threadpool_limits(1):
        speeds = machine()
        figures = [figure for case in CASES for figure in case()]
    table = Table("case", "ratio", "meaning", "goal", "ms", "against, ms")
    for figure in figures:
        sign = ">=" if figure.more_is_better else "<="
        goal = "" if figure.goal is None else f"{sign} {figure.goal:g}" + ("" if figure.reached else ", missed")
        times = ["" if s is None else f"{1e3 * s:.2f}" for s in (figure.seconds, figure.against_seconds)]
        table.add_row(figure.case, f"{figure.ratio:.2f}", figure.meaning, goal, *times)
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


if __name__ == "__main__":
    main()
