"""Yang's Figure 1: the same steps by the compiled engine and one by one in NumPy, with their CPU time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.reproduce.yang2021_neurips_folds import Choice, Part, fitted

RADIUS, SCALE, BUFFER = 20.0, 0.5, 200
ENGINE, NUMPY = "our engine", "NumPy, step by step"


def timed(way: str, algorithm: str, train: Part, seed: int) -> tuple[Array, float]:
    """Coefficients and CPU milliseconds of a fit. The engine is compiled before the clock starts."""
    run: Callable[[], Array]
    if way == ENGINE:
        few = Part(train.rows[:50], np.arange(50) % 2)
        fitted(algorithm, few, Choice(RADIUS, SCALE), seed)

        def run() -> Array:
            return fitted(algorithm, train, Choice(RADIUS, SCALE), seed)
    else:

        def run() -> Array:
            return stepwise(algorithm, train, seed)

    start = time.process_time()
    scorer = run()
    return scorer, 1000.0 * (time.process_time() - start)


def stepwise(algorithm: str, train: Part, seed: int) -> Array:
    """Hinge SGD in plain NumPy, ten passes (olp: one): a random record with the one before, a random pair, or olp."""
    random = np.random.default_rng(seed)
    rows, labels = train.rows / math.sqrt(train.rows.shape[1]), train.labels
    n, d = rows.shape
    w, total = np.zeros(d), np.zeros(d)
    if algorithm == "olp":
        return _one_pass(rows, labels, random)
    steps = 10 * n
    eta = RADIUS * SCALE / math.sqrt(steps)
    before = random.integers(n)
    for _ in range(steps):
        now = random.integers(n)
        other = before if algorithm == "sgd-previous" else random.integers(n)
        before = now
        total += w
        sign = labels[now] - labels[other]
        if sign != 0:
            gap = sign * (rows[now] - rows[other])
            if gap @ w < 1.0:
                w = _inside(w + eta * gap)
    return total / steps


def _one_pass(rows: Array, labels: AnyArray, random: np.random.Generator) -> Array:
    n, d = rows.shape
    w, total = np.zeros(d), np.zeros(d)
    kept = np.zeros(BUFFER, dtype=np.int64)
    for t in range(1, n):
        filled = min(t, BUFFER)
        if t <= BUFFER:
            kept[t - 1] = t - 1
        else:
            kept[random.random(BUFFER) < 1.0 / t] = t - 1
        total += w
        sign = labels[t] - labels[kept[:filled]]
        gaps = sign[:, None] * (rows[t] - rows[kept[:filled]])
        active = (sign != 0) & (gaps @ w < 1.0)
        w = _inside(w + RADIUS * SCALE / math.sqrt(t) * gaps[active].sum(axis=0) / filled)
    return total / (n - 1)


def _inside(w: Array) -> Array:
    length = float(np.linalg.norm(w))
    return w * (RADIUS / length) if length > RADIUS else w
