"""Published figures and ours: what ``entrenous reproduce`` has left under ``results``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from algorithm_pages.words import ROOT, Words, library_algorithms
from entrenous.planners.registry import Algorithm

RESULTS = ROOT / "results"
REPRODUCTION = ROOT / "docs" / "reproduction.md"
OWN_COLUMNS = ("ours as printed", "ours tight")
"""Those that run the algorithm of their row; the best one and the one without privacy may run another."""
_LEAST_EPSILON = 0.001


def figures_of(record: Algorithm, words: Words) -> str:
    """What the paper prints, and a table per result file that has this algorithm."""
    text = f"{words.published}\n"
    tables = list(_tables(record))
    if words.table_1 and not any("table1" in target for target, _ in tables):
        text += "\n| data set | published AUC |\n|---|---|\n"
        text += "".join(f"| {name} | {mean:.3f} ± {sd:.3f} |\n" for name, (mean, sd) in words.table_1.items())
    for target, table in tables:
        text += f"\n{table}"
        if (RESULTS / f"{target}.html").exists():
            text += f"\n[All of {target}](../../results/{target}.html), `entrenous reproduce {target}`.\n"
    if tables and REPRODUCTION.exists():
        text += "\n[What these figures say, and where they do not follow from the paper](../reproduction.md).\n"
    return text


def _tables(record: Algorithm) -> Iterator[tuple[str, str]]:
    for target, stored in _results().items():
        table = _table(record, target, stored)
        if table:
            yield target, table


@cache
def _results() -> dict[str, Any]:
    """The result files by the name of their target."""
    if find_spec("entrenous.reproduce") is None:
        return {}
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    return {each["target"]: each for each in found if str(each.get("schema", "")).startswith("entrenous-reproduce/")}


def _table(record: Algorithm, target: str, stored: Mapping[str, Any]) -> str:
    """Published | ours, column by column; empty where the target has no cell of this algorithm."""
    known = import_module("entrenous.reproduce.targets").target_named(target)
    outcomes = {json.dumps(entry["job"], sort_keys=True): entry for entry in stored["jobs"]}
    cells = [cell for cell in known.cells(stored["preprocessing"]) if _is_of(cell, record)]
    if not any(job.name in outcomes for cell in cells for job in cell.jobs.values()):
        return ""
    columns = [column for column in known.columns if any(column in cell.jobs for cell in cells)]
    lines = [
        f"{known.what}. {known.measure_name}: mean and sd of {stored['repetitions']} repetitions; "
        "in brackets the epsilon that the noise really gives.\n",
        f"| data | {known.x_name} | published | {' | '.join(columns)} |",
        f"|---|---|---|{'---|' * len(columns)}",
    ]
    for cell in cells:
        published = "none printed" if cell.published is None else f"{cell.published:g}"
        ours = [_cell(outcomes.get(cell.jobs[each].name) if each in cell.jobs else None) for each in columns]
        where = ", ".join(part for part in (cell.data, cell.group) if part)
        lines.append(f"| {where} | {cell.x:g} | {published} | {' | '.join(ours)} |")
    return "\n".join(lines) + "\n"


def _is_of(cell: Any, record: Algorithm) -> bool:
    """Whether a cell is about this algorithm: the one that it names, or the one that its own columns run."""
    ours = [job for column, job in cell.jobs.items() if column in OWN_COLUMNS]
    named = cell.algorithm == record.name
    if cell.algorithm not in {each.name for each in library_algorithms()}:
        named = any(job.settings.get("algorithm") == record.name for job in ours)
    return named and all(job.settings.get("task", record.tasks[0]) in record.tasks for job in ours)


def _cell(entry: Mapping[str, Any] | None) -> str:
    if entry is None or not entry.get("values"):
        return "-"
    values = np.array(list(entry["values"].values()), dtype=float)
    spread = f" ± {values.std(ddof=1):.3g}" if values.size > 1 else ""
    epsilon = entry.get("epsilon")
    gives = "" if epsilon is None else f" [{epsilon:.3g}]" if epsilon >= _LEAST_EPSILON else f" [< {_LEAST_EPSILON}]"
    return f"{values.mean():#.4g}{spread}{gives}"
