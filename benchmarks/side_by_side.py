"""AUC maximisation without privacy beside what one would pick instead: the same rows, the same split, one thread.

    make compare

Columns are standardised with the training part's mean and spread for every method. A set that has an official test part
keeps it; the others are split 70/30, stratified. Every method has one setting for all sets, its defaults but for what
the result file states, so nothing is chosen on test rows. Each measurement is a process of its own
(`side_by_side_methods.py`), stopped at a limit, and a stopped one is recorded as such. Times leave out imports, a
library's own row format, and, being the shortest of several fits, what only a first fit does; the first fit with
nothing compiled is recorded for ours. Sets that are not in the folder ENTRENOUS_DATA are skipped with a message.
Writes ``benchmarks/results/side_by_side.json`` and ``side_by_side.svg`` and the figures in ``docs/side-by-side.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from marked_blocks import fill
from matplotlib.figure import Figure as Plot
from rich.console import Console
from side_by_side_methods import METHODS, REPEATS, SEED
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError
from entrenous.files import datasets

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "side-by-side.md"
DATA = ("synth20k", "a9a", "ijcnn1", "covtype")
LIBRARIES = ("scikit-learn", "xgboost", "dlib-bin", "libauc", "torch", "numpy", "scipy", "numba")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
SYNTHETIC = {"n_samples": 20_000, "n_features": 50, "n_informative": 20, "n_redundant": 10, "weights": [0.95]}
LIMIT_SECONDS = 600


def parts(name: str) -> tuple[Array, Array, AnyArray, AnyArray]:
    """Training rows, test rows and their labels, in the set's own units."""
    if name == "synth20k":
        X, y = make_classification(**SYNTHETIC, random_state=SEED)
        split = None
    else:
        found = datasets.load(name)
        X, y, split = found.data, found.target, found.split
    y = (y == (2 if name == "covtype" else 1)).astype(np.int64)
    if split is not None:
        test = split == "test"
        return X[~test], X[test], y[~test], y[test]
    return tuple(train_test_split(X, y, test_size=0.3, stratify=y, random_state=SEED))


def put(name: str, folder: Path) -> dict[str, Any]:
    """Standardise, put the arrays into a folder, and say how large they are."""
    train, test, train_labels, test_labels = parts(name)
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0.0] = 1.0
    for array, kind in ((train, "train"), (test, "test")):
        np.save(folder / f"{kind}_rows.npy", np.ascontiguousarray((array - mean) / spread))
    np.save(folder / "train_labels.npy", train_labels)
    np.save(folder / "test_labels.npy", test_labels)
    return {
        "train_rows": len(train),
        "test_rows": len(test),
        "features": train.shape[1],
        "events": float(train_labels.mean()),
    }


def measured(method: str, folder: Path, limit: float, cache: Path) -> dict[str, Any]:
    """One method in a process of its own, with one thread and a limit."""
    output = folder / "found.json"
    output.unlink(missing_ok=True)
    script = Path(__file__).with_name("side_by_side_methods.py")
    command = [sys.executable, str(script), method, str(folder), str(output)]
    own = dict.fromkeys(THREADS, "1") | {"NUMBA_CACHE_DIR": str(cache)}
    try:
        ended = subprocess.run(
            command, env=os.environ | own, timeout=limit, check=False, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return {"over_limit": limit}
    if ended.returncode != 0 or not output.is_file():
        return {"failed": (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]}
    found: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return found


def compare(names: list[str], limit: float, console: Console) -> dict[str, Any]:
    """Every method on every set that is there."""
    data: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name in names:
            try:
                data[name] = put(name, folder)
            except InputError as error:
                console.print(f"{name} is skipped: {error}")
                continue
            console.print(name, data[name])
            results = data[name]["results"] = {}
            for k, method in enumerate(METHODS):
                # A folder for each, so that no surrogate finds what another one compiled.
                cache = folder / f"compiled-{k}"
                if name == "synth20k" and METHODS[method].package == "entrenous":
                    cold = measured(method, folder, limit, cache)
                    data[name].setdefault("compiling_first_seconds", {})[method] = cold.get("first_seconds")
                results[method] = measured(method, folder, limit, cache)
                console.print(f"  {method}: {results[method]}")
    return data


def installed(name: str) -> str | None:
    """The version of a package, None where it is not installed."""
    try:
        return version(name)
    except ImportError:
        return None


def cell(found: dict[str, Any]) -> str:
    """AUC and seconds, or why there are none."""
    if "over_limit" in found:
        return f"over {found['over_limit']:g} s"
    if "auc" not in found:
        return "not installed" if "missing" in found else "failed"
    return f"{found['auc']:.4f}, {found['processor_seconds']:.2g} s"


def table(content: dict[str, Any]) -> str:
    """The results in Markdown, one line for each method."""
    lines = ["| method | linear | pairs | " + " | ".join(content["data"]) + " |"]
    lines.append("|---" * (3 + len(content["data"])) + "|")
    for name, method in content["methods"].items():
        kind = ["yes" if method[field] else "no" for field in ("linear", "pairwise")]
        cells = [cell(one["results"][name]) for one in content["data"].values()]
        lines.append("| " + " | ".join([name, *kind, *cells]) + " |")
    return "\n".join(lines) + "\n"


def shortfalls(content: dict[str, Any]) -> str:
    """How far two of our surrogates are from the best linear method of other libraries on each set, and who that is."""
    lines = []
    for surrogate in ("sigmoid", "hinge"):
        parts = []
        for data, one in content["data"].items():
            others = {
                name: one["results"][name].get("auc", 0.0)
                for name, method in content["methods"].items()
                if method["linear"] and method["package"] != "entrenous"
            }
            best = max(others, key=lambda name: others[name])
            parts.append(f"{data} {one['results'][f'entrenous, {surrogate}']['auc'] - others[best]:+.4f} ({best})")
        lines.append(f"- with the {surrogate}: " + ", ".join(parts))
    return "\n".join(lines) + "\n"


def circumstances(content: dict[str, Any]) -> str:
    """Sizes, settings and versions, one per line."""
    lines = [
        f"- {name}: {one['train_rows']:,} x {one['features']} to learn from, {100 * one['events']:.0f} % events; "
        f"{one['test_rows']:,} to test on"
        for name, one in content["data"].items()
    ]
    lines += [f"- {name}: {method['settings']}" for name, method in content["methods"].items()]
    lines.append(f"- limit of {content['limit_seconds']:g} s on the clock for each")
    compiling = content["data"].get("synth20k", {}).get("compiling_first_seconds")
    if compiling:
        first = ", ".join(f"{value:.1f} s ({name.split(', ')[1]})" for name, value in compiling.items())
        lines.append(f"- first fit of synth20k on the clock, nothing compiled yet: {first}")
    lines.append("- " + ", ".join(f"{name} {number}" for name, number in content["versions"].items()))
    return "\n".join(lines) + "\n"


BLOCKS = {"table": table, "shortfalls": shortfalls, "circumstances": circumstances}


def write_pages(content: dict[str, Any]) -> None:
    """Put what is measured between its marks in the page."""
    fill(PAGE, {name: block(content) for name, block in BLOCKS.items()})


COLOURS = {
    "entrenous": "tab:blue",
    "scikit-learn": "tab:orange",
    "xgboost": "tab:green",
    "dlib-bin": "tab:red",
    "libauc": "tab:purple",
}
MARKS = "oDsP^Xv^<>*dh"


def draw(content: dict[str, Any], path: Path) -> None:
    """AUC against time, one panel for each set; hollow marks are not linear."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "entrenous", "font.size": 8}):
        plot = Plot(figsize=(9, 6), layout="constrained")
        panels = plot.subplots(2, 2).ravel()
        for axes, (name, one) in zip(panels, content["data"].items(), strict=False):
            for mark, (method, entry) in zip(MARKS, content["methods"].items(), strict=True):
                found = one["results"][method]
                colour = COLOURS[entry["package"]]
                fill = colour if entry["linear"] else "none"
                at = (found["processor_seconds"], found["auc"]) if "auc" in found else (np.nan, np.nan)
                axes.plot(*at, mark, label=method, color=colour, markerfacecolor=fill, linestyle="none")
            axes.set_xscale("log")
            axes.set_title(f"{name}: {one['train_rows']:,} x {one['features']}")
            axes.set_xlabel("processor seconds to fit")
            axes.set_ylabel("AUC on test rows")
        for axes in panels[len(content["data"]) :]:
            axes.set_axis_off()
        plot.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        plot.savefig(path, metadata={"Date": None})


def setting(limit: float) -> dict[str, Any]:
    """What a reader needs to repeat the run."""
    return {
        "versions": {"python": platform.python_version()}
        | {name: installed(name) for name in ("entrenous", *LIBRARIES)},
        "processor": platform.machine(),
        "threads": 1,
        "seed": SEED,
        "limit_seconds": limit,
        "most_repeats": REPEATS,
        "synth20k": SYNTHETIC,
        "methods": {
            name: {key: getattr(method, key) for key in ("package", "linear", "pairwise", "settings")}
            for name, method in METHODS.items()
        },
    }


def main() -> None:
    """Measure, store, draw, and write the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds for one method on one set")
    arguments.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), help="sets; others stay on file")
    arguments.add_argument("--redraw", action="store_true", help="plot and table from the results on file")
    chosen = arguments.parse_args()
    path = RESULTS / "side_by_side.json"
    fresh = {} if chosen.redraw else compare(chosen.data, chosen.limit, Console(width=160))
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"data": {}}
    if fresh:
        found = content["data"] | fresh
        content = setting(chosen.limit) | {"data": {name: found[name] for name in DATA if name in found}}
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    draw(content, RESULTS / "side_by_side.svg")
    write_pages(content)


if __name__ == "__main__":
    main()
