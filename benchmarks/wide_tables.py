"""Does a longer descent pay on wide tables of numbers? The default on mnist, with the usual length and with its own.

    python benchmarks/wide_tables.py

Digits 0 to 4 against 5 to 9, 784 pixels from 0 to 255. The rule (`entrenous.planners.logistic_gd`) was chosen on other
sets, and kept because it held on this one. Writes ``benchmarks/results/wide_tables.json``. Needs the data folder
(ENTRENOUS_DATA).
"""

from __future__ import annotations

import json
import statistics
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from sklearn.metrics import roc_auc_score

import entrenous as en
from entrenous.engine.phases.capped_descent import CappedDescent

RESULT = Path(__file__).parent / "results" / "wide_tables.json"
SIZES, EPSILONS, SPLITS, TEST_ROWS = (4800, 20_000), (0.25, 0.5, 1.0, 4.0), 3, 15_000


def main() -> None:
    """Fit with both lengths on the same rows, print, store."""
    warnings.simplefilter("ignore", en.PrivacyWarning)
    found = en.datasets.load("mnist")
    X, y = found.data, (found.target < 5).astype(int)
    bounds = en.FeatureBounds(0.0, 255.0)
    results = []
    cases = [(n, epsilon) for n in SIZES for epsilon in EPSILONS]
    for n, epsilon in track(cases, description="fitting"):
        gains: dict[str, list[float]] = {"usual": [], "own": []}
        for split in range(SPLITS):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[:n], order[-TEST_ROWS:]
            own = en.plan("logistic-gd", n=n, n_features=X.shape[1], epsilon=epsilon, bounds=bounds)
            descent = own.phases[-1]
            assert isinstance(descent, CappedDescent)
            usual = replace(own, phases=(*own.phases[:-1], replace(descent, stretch=1.0)))
            for name, made in (("usual", usual), ("own", own)):
                fitted = made.run(X[train], y[train])
                assert fitted.bounds is not None
                gains[name].append(float(roc_auc_score(y[test], fitted.bounds.to_internal(X[test]) @ fitted.w)))
        means = {name: round(statistics.fmean(aucs), 4) for name, aucs in gains.items()}
        results.append({"rows": n, "epsilon": epsilon, "stretch": descent.stretch, **means})
        Console().print(results[-1])
    content = {"library": f"entrenous {en.__version__}", "splits": SPLITS, "results": results}
    RESULT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
