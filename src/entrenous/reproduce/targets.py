"""What a target is: one table or figure of a paper, as cells with a published number and the runs that answer it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal

from entrenous.errors import InputError

Preprocessing = Literal["paper", "ours"]

PRINTED, TIGHT, BEST, FREE = "ours as printed", "ours tight", "ours best (auto)", "without privacy"
"""The columns beside the published one. A target may have others, such as another distance."""


@dataclass(frozen=True)
class Job:
    """One setting that is repeated over seeds. Its name is its settings, so a changed setting is another job."""

    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The settings as text, in one order."""
        return json.dumps(dict(self.settings), sort_keys=True)


@dataclass(frozen=True)
class Cell:
    """One published number, or one point of a figure, and the job behind each of our columns."""

    group: str
    data: str
    algorithm: str
    x: float
    jobs: Mapping[str, Job]
    published: float | None = None
    published_spread: float | None = None

    @property
    def panel(self) -> str:
        """Which drawing the cell belongs to."""
        return ", ".join(part for part in (self.data, self.group, self.algorithm) if part)


@dataclass(frozen=True)
class Outcome:
    """What one job gave: a value per seed, and the epsilon that the noise really gives."""

    values: tuple[float, ...] = ()
    epsilon: float | None = None
    refused: str | None = None


@dataclass(frozen=True)
class Target:
    """A table or figure: what it shows, how rows are prepared, its cells, and the function that runs one job once."""

    name: str
    paper: str
    what: str
    preprocessing: Mapping[Preprocessing, str]
    measure_name: str
    x_name: str
    columns: tuple[str, ...]
    cells: Callable[[Preprocessing], tuple[Cell, ...]]
    measure: Callable[[Mapping[str, Any], int], Mapping[str, Any]]
    findings: Callable[[tuple[Cell, ...], Mapping[str, Outcome]], list[str]]
    repetitions: int
    quick_repetitions: int
    settings: str = ""
    published_repetitions: str = ""
    """A sentence on how often the paper ran each cell."""
    percent: bool = False
    lower_is_better: bool = False
    log_x: bool = False
    quick_cells: Callable[[Cell], bool] = field(default=lambda cell: True)

    def chosen_cells(self, preprocessing: Preprocessing, quick: bool) -> tuple[Cell, ...]:
        """All cells, or those of a quick run."""
        cells = self.cells(preprocessing)
        return tuple(cell for cell in cells if self.quick_cells(cell)) if quick else cells


def jobs_of(cells: tuple[Cell, ...]) -> tuple[Job, ...]:
    """Every job once, in the order of the cells: some stand behind many of them."""
    found = {job.name: job for cell in cells for job in cell.jobs.values()}
    return tuple(found.values())


_PAPERS = ("xue2021", "yang2021_neurips", "wang2024")


def targets() -> Mapping[str, Target]:
    """All targets by name."""
    found: dict[str, Target] = {}
    for paper in _PAPERS:
        found |= {each.name: each for each in import_module(f"entrenous.reproduce.{paper}").TARGETS}
    return MappingProxyType(found)


def target_named(name: str) -> Target:
    """The target of that name; an error with the nearest one where there is none."""
    known = targets()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise InputError(
        f"a target must be one of {', '.join(known)}", repr(name), f"{hint}'entrenous reproduce' lists them."
    )
