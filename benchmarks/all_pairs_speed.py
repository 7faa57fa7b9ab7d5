"""Loss and gradient over all pairs: by sorting, by linear-time sums, by matrix products."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from figures import FEATURES, Figure, best_times, matrix_product, ranking
from threadpoolctl import threadpool_limits

from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.all_pairs import all_pairs_gradient, all_pairs_objective
from entrenous.engine.pairs.metric_tiles import TILE
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.rows.rows import Rows
from entrenous.problem.pair_scores import ErrorDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.surrogates.bounded import Sigmoid, Welsch
from entrenous.problem.surrogates.convex import Hinge, Logistic, SmoothedHinge, Square, SquaredHinge


def sorted_pairs() -> Iterator[Figure]:
    """Loss and gradient over all pairs by sorting, against one copy of the rows, and their growth with n."""
    small, large = 100_000, 1_000_000
    for surrogate in (Hinge(), SquaredHinge(), SmoothedHinge(), Square()):
        goal = isinstance(surrogate, Hinge | SquaredHinge)
        problem, w, X, y = ranking(surrogate, large)
        target = np.empty_like(X)
        # The first rows are the small problem; both sizes and the copy take turns.
        part, full, copy = best_times(
            lambda problem=problem, w=w, X=X, y=y: all_pairs_objective(problem, w, rows_of(X[:small]), y[:small]),
            lambda problem=problem, w=w, X=X, y=y: all_pairs_objective(problem, w, rows_of(X), y),
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
    """What no sorting helps, the logistic, sigmoid and error entropy, against the hinge and one copy of the rows."""
    n = 1_000_000
    hinge, w, X, y = ranking(Hinge(), n)
    logistic, sigmoid = ranking(Logistic(), 2)[0], ranking(Sigmoid(), 2)[0]
    entropy = Problem(ErrorDifference(), Welsch(), L2Ball(1.0), FEATURES)
    targets, target = X @ w + y, np.empty_like(X)
    sort, near, wide, bounded, errors, copy = best_times(
        lambda: all_pairs_objective(hinge, w, rows_of(X), y),
        lambda: all_pairs_objective(logistic, w, rows_of(X), y),
        lambda: all_pairs_objective(logistic, 40.0 * w, rows_of(X), y),
        lambda: all_pairs_objective(sigmoid, w, rows_of(X), y),
        lambda: all_pairs_objective(entropy, 0.9 * w, rows_of(X), targets),
        lambda: np.copyto(target, X),
    )
    spread = float(np.ptp(40.0 * (X @ w)))
    for case, taken in (
        ("logistic over all pairs, n = 1e6", near),
        (f"logistic, scores over a range of {spread:.0f}", wide),
        ("sigmoid over all pairs, n = 1e6", bounded),
        ("error entropy over all pairs, n = 1e6", errors),
    ):
        yield Figure(case, taken / sort, "time of the hinge", 1.5, False, taken, sort)
    yield Figure("logistic over all pairs, n = 1e6", near / copy, "time of one copy of X", None, False, near, copy)


class OwnHinge(Hinge):
    """A surrogate that compiled code does not know, as a user's own: its pairs go in NumPy's tiles."""


def metric(surrogate: Surrogate, n: int) -> tuple[Problem, Array, Rows, AnyArray]:
    """A metric problem, a matrix whose distances spread around the threshold, rows of the unit sphere and labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    factor = rng.normal(size=(FEATURES, FEATURES))
    w = factor @ factor.T / (2 * FEATURES)
    return Problem(Mahalanobis(), surrogate, FrobeniusPSD(10.0), FEATURES), w, rows_of(X), rng.integers(0, 2, n)


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
        all_pairs_gradient(problem, w, X.take(slice(2)), y[:2])
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
    (alone,) = best_times(lambda: all_pairs_gradient(*compiled))
    with threadpool_limits(os.cpu_count()):
        (together,) = best_times(lambda: all_pairs_gradient(*compiled))
    case = f"hinge metric over all pairs, n = 3e3, {os.cpu_count()} cores"
    yield Figure(case, alone / together, "times faster than on one core", None, True, together, alone)
    # A forked child's peak is its own; one that was started by exec inherits its parent's.
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        seconds, gigabytes = pool.submit(metric_in_this_process, many).result()
    yield Figure("hinge metric over all pairs, n = 5e4", gigabytes, "gigabytes at the peak", 2.0, False, seconds)
