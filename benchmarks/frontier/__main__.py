"""Measure the frontier, resuming what is on file, then write plots and tables.

    make frontier                      # both environments are set up first
    python -m frontier --sets diabetes german --only ours

Peers run in the environment that ``--peers`` names, each set in a process of its own. A cell that has all its splits is
not measured again; delete it from the file, or name it with ``--again``, to have it anew. A stopped run goes on where
it was.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from . import pages
from .cells import ADD, REPLACE, Cell, Key, Results, committed, committed_keys, grid_keys, our_keys
from .peers import PEERS
from .sets import DESIGN, NAMES, Table, load_set

HERE = Path(__file__).parent
RESULT = HERE.parent / "results" / "frontier.json"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass
class Runner:
    """Cells that are measured and stored as they come."""

    path: Path
    peers_python: str
    at_once: int
    progress: Progress

    def __post_init__(self) -> None:
        self.results = Results.read(self.path)
        self.cells = self.results.cells
        self.lock = threading.Lock()

    def measure(self, tables: dict[str, Path], splits: dict[str, int], keys: Sequence[Key], what: str) -> None:
        """All of these cells, two processes at a time: one per set and environment."""
        missing = [key for key in keys if self._missing(key, splits[key.set])]
        bar = self.progress.add_task(what, total=sum(self._missing(key, splits[key.set]) for key in missing))
        queues: dict[tuple[str, str], list[Key]] = {}
        for key in missing:
            python = self.peers_python if key.method in PEERS else sys.executable
            queues.setdefault((key.set, python), []).append(key)

        def work(queue: tuple[str, str]) -> None:
            name, python = queue
            with worker(python, tables[name]) as ask:
                for key in queues[queue]:
                    self._fill(key, splits[name], ask, lambda done: self.progress.advance(bar, done))

        # The largest tables first, so that no long one is left for the end.
        longest_first = sorted(queues, key=lambda queue: -tables[queue[0]].stat().st_size)
        with ThreadPoolExecutor(self.at_once) as pool:
            list(pool.map(work, longest_first))

    def _missing(self, key: Key, splits: int) -> int:
        cell = self.cells.get(key)
        if cell is None:
            return splits
        return 0 if cell.refused else max(0, splits - len(cell.auc))

    def _fill(self, key: Key, splits: int, ask: Any, advance: Any) -> None:
        cell = self.cells.get(key, Cell())
        for split in range(len(cell.auc), splits):
            found = ask(key, split)
            if "refused" in found:
                cell.refused = found["refused"]
                advance(splits - split)
                break
            cell.auc.append(found["auc"])
            cell.seconds.append(found["seconds"])
            cell.spent = found.get("spent")
            advance(1)
        with self.lock:
            self.cells[key] = cell
            self.results.write(self.path, about())


@contextmanager
def worker(python: str, table: Path) -> Iterator[Any]:
    """A process with one thread that answers what it is asked."""
    own = dict.fromkeys(ONE_THREAD, "1") | {"PYTHONPATH": str(HERE.parent), "PYTHONWARNINGS": "ignore"}
    command = [python, "-m", "frontier.worker", str(table)]
    with subprocess.Popen(
        command, env=os.environ | own, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as it:
        assert it.stdin is not None
        assert it.stdout is not None

        def ask(key: Key, split: int) -> dict[str, Any]:
            print(json.dumps({"key": list(key), "split": split}), file=it.stdin, flush=True)
            line = it.stdout.readline()
            if not line:
                raise RuntimeError(f"the process of {key} ended: its message is above")
            found: dict[str, Any] = json.loads(line)
            return found

        yield ask


def about() -> dict[str, Any]:
    """What a reader needs to repeat the run."""
    return {
        "library": f"entrenous {version('entrenous')}",
        "python": platform.python_version(),
        "peers": (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()[2:],
        "delta": "1/n^2, n the rows to learn from",
        "grids": {method: list(peer.grid) for method, peer in PEERS.items()},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, then draw and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--only", choices=("ours", "peers", "pages"), help="one part of the work")
    parser.add_argument("--no-pages", dest="pages", action="store_false", help="leave plots and tables as they are")
    parser.add_argument("--again", nargs="+", default=[], metavar="METHOD", help="measure these methods anew")
    parser.add_argument("--peers", default=sys.executable, help="the python that has the peers")
    parser.add_argument("--at-once", type=int, default=2, help="processes")
    parser.add_argument("--result", type=Path, default=RESULT)
    chosen = parser.parse_args(arguments)
    if chosen.only != "pages":
        with tempfile.TemporaryDirectory() as folder, Progress() as progress:
            runner = Runner(chosen.result, chosen.peers, chosen.at_once, progress)
            for key in [key for key in runner.cells if key.method in chosen.again and key.set in chosen.sets]:
                del runner.cells[key]
            _run(runner, chosen.sets, chosen.only, Path(folder))
    if chosen.pages:
        Console().print(pages.write(Results.read(chosen.result)))


def _run(runner: Runner, names: Sequence[str], only: str | None, folder: Path) -> None:
    tables, splits, rows = {}, {}, {}
    for name in sorted({*names, *(DESIGN if only != "ours" else ())}):
        table: Table = load_set(name)
        tables[name] = folder / f"{name}.npz"
        table.save(tables[name])
        splits[name], rows[name] = table.n_splits, len(table.labels)
        runner.results.sets[name] = table.facts
    if only != "peers":
        runner.measure(tables, splits, [key for name in names for key in our_keys(name, rows[name])], "ours")
    if only != "ours":
        for method, peer in PEERS.items():
            design = [key for name in DESIGN for key in grid_keys(name, method)]
            runner.measure(tables, splits, design, f"{peer.title}: settings")
            setting = committed(runner.cells, method)
            rest = [key for name in names for key in (*grid_keys(name, method), *committed_keys(name, method, setting))]
            # What is compared first, then the peers' figures at their own adjacency.
            for adjacency in (REPLACE, ADD):
                part = [key for key in rest if key.adjacency == adjacency]
                runner.measure(tables, splits, part, f"{peer.title}, {adjacency}")


if __name__ == "__main__":
    main()
