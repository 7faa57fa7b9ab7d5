"""The command as a person sees it: a list of targets, a bar, and the files that a run writes."""

from __future__ import annotations

import shlex
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from entrenous.report.page import need_report_extra
from entrenous.reproduce.drawing import drawing
from entrenous.reproduce.page import header, page, table_rows
from entrenous.reproduce.runner import run
from entrenous.reproduce.targets import Preprocessing, target_named, targets


def list_targets() -> None:
    """Print the names and what stands behind them."""
    table = Table("target", "what", "repetitions", box=None, header_style="bold")
    table.columns[0].no_wrap = True
    for target in targets().values():
        table.add_row(target.name, f"{target.paper.split(':')[0]}. {target.what}", str(target.repetitions))
    console = Console()
    console.print(table)
    console.print("\n'entrenous reproduce TARGET --describe' says how rows are prepared and what is run.")


def describe(name: str) -> None:
    """Print what a target is, how the paper's rows and ours are prepared, its settings and columns."""
    target = target_named(name)
    quick, full = (len(target.chosen_cells("paper", each)) for each in (True, False))
    lines = (
        ("Paper", target.paper),
        ("What", target.what),
        ("Measure", f"{target.measure_name}, against {target.x_name}"),
        ("Rows, --preprocessing paper", target.preprocessing["paper"]),
        ("Rows, --preprocessing ours", target.preprocessing["ours"]),
        ("Settings", target.settings),
        ("Columns", "; ".join(target.columns)),
        ("Repetitions", f"{target.repetitions} of {full} cells; --quick: {target.quick_repetitions} of {quick}"),
        ("In the paper", target.published_repetitions),
    )
    console = Console()
    for title, text in lines:
        if text:
            console.print(f"[bold]{title}.[/bold] ", end="")
            console.print(text, markup=False, highlight=False)


def reproduce(
    name: str,
    out: Path,
    *,
    quick: bool = False,
    preprocessing: Preprocessing = "paper",
    processes: int = 1,
    repetitions: int | None = None,
) -> Path:
    """Run a target, or go on with it; write its figures, drawing and page into `out`; the page's path."""
    target = target_named(name)
    need_report_extra()
    out.mkdir(parents=True, exist_ok=True)
    stem = name if preprocessing == "paper" else f"{name}-our-rows"
    figures = out / f"{stem}.json"
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(name, total=None)
        results = run(
            target,
            figures,
            quick=quick,
            preprocessing=preprocessing,
            processes=processes,
            repetitions=repetitions,
            command=_command(name, out, quick, preprocessing, repetitions),
            advance=lambda done, total: progress.update(task, completed=done, total=total),
        )
    cells = target.chosen_cells(preprocessing, quick)
    outcomes = results.outcomes(results.repetitions)
    shown = Table(*header(target), title=f"{target.what}: {target.measure_name}", box=None)
    for row in table_rows(target, cells, outcomes):
        shown.add_row(*row)
    console.print(shown)
    for line in target.findings(cells, outcomes):
        console.print(f"- {line}", markup=False, highlight=False)
    plot, written = out / f"{stem}.svg", out / f"{stem}.html"
    plot.write_text(drawing(target, cells, outcomes), encoding="utf-8")
    written.write_text(page(target, cells, results), encoding="utf-8")
    for title, path in (("Page:   ", written), ("Figures:", figures), ("Drawing:", plot)):
        console.print(f"{title} {path}", soft_wrap=True, markup=False, highlight=False)
    return written


def _command(name: str, out: Path, quick: bool, preprocessing: str, repetitions: int | None) -> str:
    """The line that makes the same figures. The number of processes changes none of them."""
    parts = ["entrenous", "reproduce", name, "--out", out.name]
    parts += ["--quick"] if quick else []
    parts += ["--preprocessing", preprocessing] if preprocessing != "paper" else []
    parts += ["--repetitions", str(repetitions)] if repetitions else []
    return shlex.join(parts)
