"""The shapes that a private ranking learns of the bank's customers, as a picture, and how wide its bands are.

    python benchmarks/shapes.py

Who takes a term deposit (bank_full, without the length of the call, which leaks the outcome), in the public ranges of
the frontier, epsilon = 1, delta = 1/n^2, shape="auto", secure noise. Writes ``docs/estimators/shapes.svg``.
Then 100 fits of the same rows with fresh noise, at three epsilons and on two sets, all points of their shapes on a
common grid: `noise` as stated over the spread of the score. 1 is exact, above is cautious. Bank and letter decided the
ramps, and nothing about their noise. Writes ``benchmarks/results/shapes.json`` and the table in
``docs/estimators/shapes.md``. Needs the data folder (ENTRENOUS_DATA). Ten minutes on one core.
"""

from __future__ import annotations

import json
import tomllib
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from frontier.sets import load_set
from marked_blocks import fill
from rich.console import Console
from rich.progress import track

import entrenous as en

EPSILONS = (0.5, 1.0, 4.0)
FITS = 100
QUANTILES = (0.05, 0.25, 0.75, 0.95)
"""Where the points lie, by the rows of the set: this is a measurement on public data."""
RESULT = Path(__file__).parent / "results" / "shapes.json"
DOCS = Path(__file__).parents[1] / "docs" / "estimators"


def bank() -> tuple[pd.DataFrame, Any, en.FeatureBounds]:
    """The bank's customers as a user would code them, with public categories and ranges."""
    found = en.datasets.load("bank_full", as_frame=True)
    ranges = tomllib.loads((en.datasets.folder() / "boxes.toml").read_text(encoding="utf-8"))["bank_full"]
    frame = found.data.drop(columns=[name for name in ranges.pop("drop") if name in found.data])
    texts = {name: sorted(frame[name].unique()) for name in frame if name not in ranges}
    coded = en.OneHot(
        {name: ["yes"] if kinds == ["no", "yes"] else kinds for name, kinds in texts.items()}, numeric=ranges
    )
    table = pd.DataFrame(coded.fit_transform(frame), columns=coded.get_feature_names_out())
    return table, (found.target == 1).astype(int).to_numpy(), coded.bounds()


def letters() -> tuple[pd.DataFrame, Any, en.FeatureBounds]:
    """The letters, first half of the alphabet against the second."""
    data = load_set("letter")
    return pd.DataFrame(data.rows, columns=[f"x{j}" for j in range(data.rows.shape[1])]), data.labels, data.bounds


def ratios(table: pd.DataFrame, labels: Any, bounds: en.FeatureBounds, epsilon: float) -> dict[str, float]:
    """Stated noise over spread, at points of every shape, over fits with fresh noise."""
    grid = {name: np.unique(table[name].quantile(QUANTILES)) for name in table}
    scores, noise = [], []
    for _ in range(FITS):
        shapes = en.AUCClassifier(epsilon, bounds=bounds, shape="additive").fit(table, labels).shapes_
        for rows, field in ((scores, "score"), (noise, "noise")):
            rows.append(np.concatenate([_at(shapes.of(name), values, field) for name, values in grid.items()]))
    spread = np.std(scores, axis=0, ddof=1)
    told = spread > 0.0
    found = np.median(noise, axis=0)[told] / spread[told]
    return {"points": int(told.sum())} | {
        name: float(np.quantile(found, share))
        for name, share in (("least", 0.0), ("5 %", 0.05), ("median", 0.5), ("95 %", 0.95))
    }


def _at(shape: Any, values: Any, field: str) -> Any:
    if shape[0].kind == "0/1":
        return np.array([getattr(shape[-1], field)])
    return np.interp(values, [point.value for point in shape], [getattr(point, field) for point in shape])


def table_of(results: dict[str, Any]) -> str:
    """The results in Markdown."""
    lines = [
        "| stated noise / spread of 100 fits | epsilon 0.5: least, median, 95 % | 1 | 4 |",
        "|---|---|---|---|",
    ]
    for name, by_epsilon in results.items():
        cells = (f"{cell['least']:.2f}, {cell['median']:.2f}, {cell['95 %']:.2f}" for cell in by_epsilon.values())
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw, measure, show, write."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "entrenous"
    warnings.simplefilter("ignore", en.PrivacyWarning)
    table, labels, bounds = bank()
    model = en.AUCClassifier(1.0, bounds=bounds, shape="auto").fit(table, labels)
    en.plot_shapes(model).savefig(DOCS / "shapes.svg", metadata={"Date": None})
    sets = {"bank_full": (table, labels, bounds), "letter": letters()}
    cells = [(name, epsilon) for name in sets for epsilon in EPSILONS]
    results: dict[str, Any] = {name: {} for name in sets}
    for name, epsilon in track(cells, description="fitting"):
        results[name][f"{epsilon:g}"] = ratios(*sets[name], epsilon)
    content = {"library": f"entrenous {en.__version__}", "fits": FITS, "results": results}
    RESULT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    fill(DOCS / "shapes.md", {"noise of shapes": table_of(results)})
    Console().print(table_of(results))


if __name__ == "__main__":
    main()
