"""The default fit of a large table against passes of plain matrix products over it."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from figures import FEATURES, Figure, best_times

import entrenous as en

ROWS = 1_000_000


def table() -> tuple[np.ndarray, np.ndarray]:
    """Rows in float32 and labels that follow a linear score."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES), dtype=np.float32)
    return X, (X[:, 0] + rng.standard_normal(ROWS, dtype=np.float32) > 0).astype(np.int8)


def fit_in_this_process() -> tuple[float, int, float]:
    """Seconds of the second of two fits, its steps, and the peak memory over that of the table."""
    X, y = table()
    model = en.AUCClassifier(1.0, bounds=(-6, 6))
    # What is imported and compiled once is not the table's.
    model.fit(X[:20_000], y[:20_000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    in_bytes = grown if sys.platform == "darwin" else 1024 * grown
    return seconds, model.n_iter_, 1.0 + in_bytes / X.nbytes


def default_fit() -> Iterator[Figure]:
    """A whole private fit of a million rows, against as many passes as it has steps; and what it holds at most."""
    X, y = table()
    w, slopes = np.ones(FEATURES, dtype=np.float32), np.ones(ROWS, dtype=np.float32)
    (one_pass,) = best_times(lambda: (X @ w, X.T @ slopes), repeats=5)
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        seconds, steps, held = pool.submit(fit_in_this_process).result()
    passes = steps * one_pass
    case = f"default fit, n = 1e6, {steps} steps"
    yield Figure(case, seconds / passes, "time of as many passes over the table", 1.5, False, seconds, passes)
    yield Figure("default fit, n = 1e6, memory", held, "tables held at the peak", 2.5, False, seconds)
    small, labels = X[:5000, :].astype(float), y[:5000]
    model = en.AUCClassifier(1.0, bounds=(-6, 6))
    (warm,) = best_times(lambda: model.fit(small, labels), repeats=5)
    yield Figure("default fit, n = 5e3", warm, "seconds", 0.2, False, warm)
