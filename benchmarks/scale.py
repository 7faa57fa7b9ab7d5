"""What a large table costs: time and memory of whole fits on millions of rows, and of a fit that reads them in chunks.

    python benchmarks/scale.py

flights3m (3,000,000 rows, its four numeric columns, late or not) and covtype (581,012 x 54, class 2 against the rest),
80/20 random splits, public ranges, delta = 1/n^2, secure noise. Every figure of memory is the peak of a process of its
own after a small fit that compiles the loops: the resident set above what it was before the rows came, so the input
is part of it. Pages of a mapped file, which the system takes back when it needs them, are not. Chunks come from
parquet files of 300,000, 3,000,000 and 9,000,000 flights (a slice, the table, its repetition). Needs Linux (/proc) and
the data folder (ENTRENOUS_DATA). Writes ``benchmarks/results/scale.json``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from marked_blocks import fill
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.metrics import roc_auc_score

import entrenous as en

RESULT = Path(__file__).parent / "results" / "scale.json"
PAGE = Path(__file__).parents[1] / "docs" / "large-tables.md"
CHUNK = 100_000
FLIGHTS = {
    "day_of_year": (1, 366),
    "day_of_week": (0, 7),  # whether a week begins at 0 or at 1
    "minute_of_day": (0, 1440),
    "distance": (0, 5100),  # miles: the longest flight within the United States, Boston to Honolulu
}
COVTYPE = {
    "Elevation": (1600, 4350),  # metres: from the plains at the forest's foot to Longs Peak
    "Aspect": (0, 360),
    "Slope": (0, 90),
    "Horizontal_Distance_To_Hydrology": (0, 2000),  # metres: there is water in every valley
    "Vertical_Distance_To_Hydrology": (-500, 1000),
    "Horizontal_Distance_To_Roadways": (0, 10_000),  # metres: the wilderness areas are some 20 km wide
    "Horizontal_Distance_To_Fire_Points": (0, 10_000),
    "Hillshade_9am": (0, 255),  # an index of one byte, by definition
    "Hillshade_Noon": (0, 255),
    "Hillshade_3pm": (0, 255),
}


def table(name: str) -> tuple[pd.DataFrame, Any, dict[str, tuple[float, float]]]:
    """Features, labels and public ranges of a set."""
    raw = en.datasets.load(name, as_frame=True)
    if name == "flights3m":
        return raw.data[list(FLIGHTS)], raw.target.to_numpy(), FLIGHTS
    # What has no range above is a mark, 0 or 1.
    return raw.data, (raw.target.to_numpy() == 2).astype(np.uint8), dict.fromkeys(raw.data.columns, (0, 1)) | COVTYPE


def _status(name: str) -> int:
    """Bytes of memory, as Linux counts them: VmRSS now, VmHWM at the peak, RssAnon and RssFile own and mapped."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def forget_peak() -> None:
    """Start measuring the peak anew: what compiling took does not count."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def warm_up(fit: Any) -> None:
    """A small fit: compiles the loops."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(4000, 4)), columns=list(FLIGHTS))
    fit(X, (X["distance"] > 0).astype(np.uint8).to_numpy())


def whole(folder: Path, epsilon: float | None, method: str) -> dict[str, Any]:
    """Time, peak and test AUC of one fit on all rows of a split: moments, or noisy-gd with the surrogate named."""
    settings = json.loads((folder / "bounds.json").read_text(encoding="utf-8"))
    low, high = zip(*settings.values(), strict=True)

    def classifier(bounds: Any) -> en.AUCClassifier:
        if method == "moments":
            return en.AUCClassifier(epsilon, algorithm="moments", bounds=bounds)
        return en.AUCClassifier(epsilon, algorithm="noisy-gd", surrogate=method, bounds=bounds)

    warm_up(lambda X, y: classifier((-3, 3)).fit(X.to_numpy(), y))
    before = _status("VmRSS")
    forget_peak()
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    start = time.perf_counter()
    clf = classifier((low, high)).fit(X, y)
    seconds = time.perf_counter() - start
    peak = _status("VmHWM") - before
    scores = clf.decision_function(np.load(folder / "X_test.npy"))
    return {
        "rows": len(X),
        "features": X.shape[1],
        "seconds": round(seconds, 1),
        "steps": clf.n_iter_,
        "input_MB": round(X.nbytes / 1e6, 1),
        "peak_over_input": round(peak / X.nbytes, 2),
        "test_auc": round(float(roc_auc_score(np.load(folder / "y_test.npy"), scores)), 4),
    }


def chunked(path: Path, epsilon: float | None, test: Path | None) -> dict[str, Any]:
    """Time, peak and, with a folder of test rows, AUC of sgd-previous on a file that is read in chunks."""

    def classifier() -> en.AUCClassifier:
        return en.AUCClassifier(
            epsilon, algorithm="sgd-previous", bounds=FLIGHTS, classes=(0, 1), options={"order": "arrival"}
        )

    def stream(file: Path) -> tuple[en.AUCClassifier, int]:
        chunks, clf, own = en.read_chunks(file, "target", columns=list(FLIGHTS), rows=CHUNK), classifier(), 0
        for X, y in chunks:
            clf.partial_fit(X, y, n_total=chunks.n_rows)
            own = max(own, _status("VmHWM") - _status("RssFile"))
            forget_peak()
        return clf, own

    stream(path.parent / "warm.parquet")
    before = _status("RssAnon")
    start = time.perf_counter()
    clf, own = stream(path)
    result = {
        "rows": clf.plan_.n,
        "seconds": round(time.perf_counter() - start, 1),
        "peak_MB": round((own - before) / 1e6, 1),
    }
    if test is not None:
        scores = clf.decision_function(pd.DataFrame(np.load(test / "X_test.npy"), columns=list(FLIGHTS)))
        result["test_auc"] = round(float(roc_auc_score(np.load(test / "y_test.npy"), scores)), 4)
    return result


def split(name: str, folder: Path) -> None:
    """The training and test rows of a set as files, so that who measures loads them and nothing else."""
    folder.mkdir()
    X, y, bounds = table(name)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: len(X) * 4 // 5], order[len(X) * 4 // 5 :]
    for ending, rows in (("", train), ("_test", test)):
        np.save(folder / f"X{ending}.npy", np.ascontiguousarray(X.to_numpy(dtype=np.float64)[rows]))
        np.save(folder / f"y{ending}.npy", y[rows])
    (folder / "bounds.json").write_text(json.dumps(bounds), encoding="utf-8")


def flight_files(folder: Path) -> dict[str, Path]:
    """Parquet files of several lengths, each one row group; and the training rows of the split."""
    frame = en.datasets.load("flights3m", as_frame=True)
    flights = frame.data[list(FLIGHTS)].assign(target=frame.target.to_numpy())
    train = pd.DataFrame(np.load(folder / "flights3m" / "X.npy"), columns=list(FLIGHTS))
    tables = {
        "warm": flights[: CHUNK // 10],
        "300,000": flights[:300_000],
        "3,000,000": flights,
        "9,000,000": pd.concat([flights] * 3, ignore_index=True),
        "train": train.assign(target=np.load(folder / "flights3m" / "y.npy")),
    }
    paths = {title: folder / f"{title.replace(',', '')}.parquet" for title in tables}
    for title, content in tables.items():
        content.to_parquet(paths[title], row_group_size=10**9)
    return paths


def in_its_own_process(kind: str, *words: Any) -> dict[str, Any]:
    """One measurement: memory that another one left behind does not count."""
    command = [sys.executable, __file__, kind, *(str(word) for word in words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measured(folder: Path) -> dict[str, Any]:
    """All measurements."""
    for name in ("flights3m", "covtype"):
        split(name, folder / name)
    files = flight_files(folder)
    fits = {
        f"{name}, {title}": (folder / name, epsilon, method)
        for name in ("flights3m", "covtype")
        for title, epsilon, method in (
            ("epsilon = 1", 1.0, "logistic"),
            ("epsilon = 1, hinge", 1.0, "hinge"),
            ("epsilon = 1, moments", 1.0, "moments"),
            ("without privacy", None, "logistic"),
        )
    }
    streams = {f"{title} rows": (files[title], 1.0, "none") for title in ("300,000", "3,000,000", "9,000,000")}
    streams["training rows, epsilon = 1"] = (files["train"], 1.0, folder / "flights3m")
    streams["training rows, without privacy"] = (files["train"], None, folder / "flights3m")
    jobs = [("whole", *job) for job in fits.items()] + [("chunked", *job) for job in streams.items()]
    results: dict[str, Any] = {"whole": {}, "chunked": {}}
    for kind, title, arguments in track(jobs, description="measuring", total=len(jobs)):
        results[kind][title] = in_its_own_process(kind, *arguments)
    return results


def one(kind: str, path: str, epsilon: str, last: str) -> dict[str, Any]:
    """A measurement as its process is asked for it."""
    budget = None if epsilon == "None" else float(epsilon)
    if kind == "whole":
        return whole(Path(path), budget, last)
    return chunked(Path(path), budget, None if last == "none" else Path(last))


def write_page(results: dict[str, Any]) -> None:
    """Puts the two tables into the page."""
    whole = ["| noisy-gd, unless said | rows | steps | seconds | peak | test AUC |", "|---" * 6 + "|"]
    for title, row in results["whole"].items():
        size = f"{row['rows']:,} x {row['features']} | {row['steps']} | {row['seconds']:.1f}"
        whole.append(f"| {title} | {size} | {row['peak_over_input']:.2f} | {row['test_auc']:.3f} |")
    parts = ["| sgd-previous, chunks of 100,000 flights | seconds | peak, MB |", "|---" * 3 + "|"]
    parts += [f"| {title} | {row['seconds']:.1f} | {row['peak_MB']:.1f} |" for title, row in results["chunked"].items()]
    fill(PAGE, {"whole": "\n".join(whole) + "\n", "chunked": "\n".join(parts) + "\n"})


def main() -> None:
    """Measure, print, store, and write the page's tables."""
    warnings.simplefilter("ignore", en.PrivacyWarning)
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(one(*sys.argv[1:])))
        return
    with tempfile.TemporaryDirectory() as folder:
        results = measured(Path(folder))
    for kind, title in (
        ("whole", "whole table, noisy-gd unless said"),
        ("chunked", "sgd-previous, chunks of 100,000 flights"),
    ):
        names = list(dict.fromkeys(name for row in results[kind].values() for name in row))
        shown = Table(title, *names)
        for fit, row in results[kind].items():
            shown.add_row(fit, *(str(row.get(name, "")) for name in names))
        Console(width=160).print(shown)
    RESULT.parent.mkdir(exist_ok=True)
    content = {"library": f"entrenous {en.__version__}", "results": results}
    RESULT.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    write_page(results)


if __name__ == "__main__":
    main()
