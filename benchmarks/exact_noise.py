"""What exact noise and exact sums cost: the default fit with them and without, turn by turn in one run.

    python benchmarks/exact_noise.py

50,000 made-up rows of 100 features, epsilon = 1, secure noise of both kinds. "Float" is the default fit as it was
before: normal noise in floating point, and gradients that are summed up in float32 and float64 as they come. Writes
``benchmarks/results/exact_noise.json``: the median of 15 turns, and the draws alone.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from rich.console import Console

import entrenous as en
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.dense import DenseRows
from entrenous.privacy.noise import NoiseSource, SecureNoise

ROWS, FEATURES, TURNS, DRAWS = 50_000, 100, 15, 100_000
BLOCK = 256
RESULT = Path(__file__).parent / "results" / "exact_noise.json"


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def plain_sum(X, w, intercept, y, event, other, cap):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The capped gradient, scores in float32, its sum in float64, rounded as it comes."""
    n, d = X.shape
    total, part, slope = np.zeros(d), np.empty(d), np.empty(BLOCK)
    level = 0.0
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        for i in range(rows):
            score = np.float32(0.0)
            for k in range(d):
                score += X[start + i, k] * w[k]
            slope[i] = score
        for i in range(rows):
            sign = 1.0 if y[start + i] == 1 else -1.0
            weight = event if sign > 0.0 else other
            slope[i] = sign * min(weight / (1.0 + math.exp(sign * (slope[i] + intercept))), cap)
        part[:] = 0.0
        for i in range(rows):
            for k in range(d):
                part[k] += slope[i] * X[start + i, k]
            level += slope[i]
        for k in range(d):
            total[k] += part[k]
    return total, level


def plain_capped_sum(rows: DenseRows, w: Any, intercept: float, y: Any, slopes: CappedSlopes) -> tuple[Any, float]:
    """`DenseRows.capped_sum` with it."""
    total, level = plain_sum(rows.table, w.astype(np.float32), intercept, y, *slopes)
    return total, float(level)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measure, print, store."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (ROWS, FEATURES)).astype(np.float32)
    y = (X @ rng.normal(size=FEATURES) + rng.normal(size=ROWS) > 0.0).astype(int)
    made = en.plan("auto", n=ROWS, n_features=FEATURES, epsilon=1.0, bounds=(-1, 1))
    ways = {
        "exact": (SecureNoise.plus_normal, DenseRows.capped_sum),
        "float": (NoiseSource.plus_normal, plain_capped_sum),
    }
    fits: dict[str, list[float]] = {name: [] for name in ways}
    draws: dict[str, list[float]] = {name: [] for name in ways}
    value = np.zeros(DRAWS)
    for turn in range(TURNS + 1):
        for name, (noise, sums) in ways.items():
            SecureNoise.plus_normal, DenseRows.capped_sum = noise, sums  # type: ignore[method-assign,assignment]
            fit, draw = seconds(lambda: made.run(X, y)), seconds(lambda: SecureNoise().plus_normal(value, 1.0, 1.0))
            if turn:  # the first one compiles
                fits[name].append(fit)
                draws[name].append(draw)
    SecureNoise.plus_normal, DenseRows.capped_sum = ways["exact"]  # type: ignore[method-assign,assignment]
    medians = {name: statistics.median(found) for name, found in fits.items()}
    each = {name: statistics.median(found) / DRAWS for name, found in draws.items()}
    content = {
        "library": f"entrenous {en.__version__}",
        "rows": ROWS,
        "features": FEATURES,
        "steps": made.steps,
        "fit_seconds": medians,
        "ratio": medians["exact"] / medians["float"],
        "nanoseconds_per_draw": {name: 1e9 * found for name, found in each.items()},
    }
    RESULT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    Console().print(content)


if __name__ == "__main__":
    main()
