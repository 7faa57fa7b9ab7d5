"""What exact noise costs: the default fit with it and with noise in floating point, turn by turn in one run.

    python benchmarks/exact_noise.py

50,000 made-up rows of 100 features, epsilon = 1, secure noise of both kinds. Writes
``benchmarks/results/exact_noise.json``: the median of 15 turns, and the draws alone.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console

import entrenous as en
from entrenous.privacy.noise import NoiseSource, SecureNoise

ROWS, FEATURES, TURNS, DRAWS = 50_000, 100, 15, 100_000
RESULT = Path(__file__).parent / "results" / "exact_noise.json"


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
    exact = SecureNoise.plus_normal
    fits: dict[str, list[float]] = {"exact": [], "float": []}
    draws: dict[str, list[float]] = {"exact": [], "float": []}
    value = np.zeros(DRAWS)
    for turn in range(TURNS + 1):
        for name, way in (("exact", exact), ("float", NoiseSource.plus_normal)):
            SecureNoise.plus_normal = way  # type: ignore[method-assign]
            fit, draw = seconds(lambda: made.run(X, y)), seconds(lambda: SecureNoise().plus_normal(value, 1.0, 1.0))
            if turn:  # the first one compiles
                fits[name].append(fit)
                draws[name].append(draw)
    SecureNoise.plus_normal = exact  # type: ignore[method-assign]
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
