"""What is measured: one cell per set, method, epsilon and adjacency, with an AUC for each split."""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from . import ours
from .peers import PEERS
from .sets import DESIGN

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
REPLACE, ADD = "replace one", "add or remove"
MOST_ROWS_OF_PAPERS = 10_000


class Key(NamedTuple):
    """What a cell is about. `setting` is the number of a peer's setting in its grid."""

    set: str
    method: str
    epsilon: float | None
    adjacency: str = REPLACE
    setting: int | None = None


@dataclass
class Cell:
    """What was measured: AUC and seconds of each split so far, or why the method refuses the set."""

    auc: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    spent: float | None = None
    """The epsilon of our certificate."""
    refused: str | None = None

    @property
    def mean(self) -> float:
        """Over the splits."""
        return statistics.fmean(self.auc)

    @property
    def sd(self) -> float:
        """Over the splits."""
        return statistics.stdev(self.auc) if len(self.auc) > 1 else 0.0


Cells = dict[Key, Cell]


def our_keys(name: str, rows: int) -> list[Key]:
    """Our methods on one set: the main ones at every epsilon, the papers' at 1 where the set is not large."""
    keys = [Key(name, ours.NON_PRIVATE, None)]
    keys += [Key(name, method, epsilon) for method in ours.MAIN for epsilon in EPSILONS]
    if rows <= MOST_ROWS_OF_PAPERS:
        keys += [Key(name, method, 1.0) for method in ours.PAPERS]
    return keys


def adjacencies(method: str) -> tuple[str, ...]:
    """Those that a peer is run at: its own, and ours where its own promises less."""
    own = PEERS[method].adjacency
    return (own,) if own == REPLACE else (own, REPLACE)


def grid_keys(name: str, method: str) -> list[Key]:
    """All settings of a peer at epsilon = 1: at our adjacency, and on design sets at its own, which decides."""
    wanted = adjacencies(method) if name in DESIGN else (REPLACE,)
    settings = range(len(PEERS[method].grid))
    return [Key(name, method, 1.0, adjacency, setting) for adjacency in wanted for setting in settings]


def committed_keys(name: str, method: str, setting: int) -> list[Key]:
    """The committed setting of a peer at every epsilon."""
    return [Key(name, method, epsilon, adjacency, setting) for adjacency in adjacencies(method) for epsilon in EPSILONS]


def committed(cells: Cells, method: str) -> int:
    """A peer's setting with the best mean AUC at epsilon = 1 on the five design sets, at its own adjacency."""
    adjacency, settings = PEERS[method].adjacency, range(len(PEERS[method].grid))
    means = [
        statistics.fmean(cells[Key(name, method, 1.0, adjacency, setting)].mean for name in DESIGN)
        for setting in settings
    ]
    return max(settings, key=means.__getitem__)


@dataclass
class Results:
    """Everything on file: the cells, and the sizes of the sets they are about."""

    cells: Cells = field(default_factory=dict)
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Results:
        """What is on file; nothing where there is no file."""
        if not path.is_file():
            return cls()
        stored = json.loads(path.read_text(encoding="utf-8"))
        cells = {Key(*entry["key"]): Cell(**entry["cell"]) for entry in stored["cells"]}
        return cls(cells, stored.get("sets", {}))

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        """In one order, a line for each cell; a killed run leaves the old file or the new one."""
        lines = []
        for key in sorted(self.cells, key=json.dumps):
            cell = {name: value for name, value in asdict(self.cells[key]).items() if value not in (None, [])}
            lines.append(json.dumps({"key": list(key), "cell": cell}))
        head = json.dumps({**about, "sets": self.sets}, indent=1).removesuffix("\n}")
        fresh = path.with_suffix(".part")
        fresh.write_text(head + ',\n "cells": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
        os.replace(fresh, path)
