"""A target's results for people: rows of a table, a drawing, one HTML page that stands alone."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from entrenous.report.page import need_report_extra
from entrenous.reproduce.runner import Results, mean, spread
from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Cell, Outcome, Target
from entrenous.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_NUMBER, NOT_RUN, REFUSED, NONE = "no number printed", "not run", "refused", "-"
PUBLISHED = "published"
_COLOURS = {PUBLISHED: "#1b2733", PRINTED: "#b0461e", TIGHT: "#d69b3a", BEST: "#0b6b74", FREE: "#8795a1"}
_OTHERS = ("#6b4c9a", "#4c8c4a", "#9a4c6b", "#5b6875")
_PANEL_INCHES, _PER_ROW = (3.3, 2.5), 4


def header(target: Target) -> list[str]:
    """The names of the table's columns."""
    really = [f"{name} (really)" if name == PRINTED else name for name in target.columns]
    return ["data", "setting", "algorithm", target.x_name, PUBLISHED, *really]


def table_rows(target: Target, cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[list[str]]:
    """The table as text, a row for each cell."""
    rows = []
    for cell in cells:
        published = NO_NUMBER if cell.published is None else _number(target, cell.published, cell.published_spread)
        entries = [_entry(target, cell, column, outcomes) for column in target.columns]
        rows.append([cell.data, cell.group, cell.algorithm, f"{cell.x:g}", published, *entries])
    return rows


def _entry(target: Target, cell: Cell, column: str, outcomes: Mapping[str, Outcome]) -> str:
    if column not in cell.jobs:
        return NONE
    outcome = outcomes.get(cell.jobs[column].name, Outcome())
    if outcome.refused:
        return REFUSED
    if not outcome.values:
        return NOT_RUN
    text = _number(target, mean(outcome), spread(outcome))
    if column == PRINTED and outcome.epsilon is not None:
        text += f" (eps {outcome.epsilon:.2f})" if outcome.epsilon >= 5e-3 else " (eps 0.00)"
    return text


def _number(target: Target, value: float, deviation: float | None) -> str:
    digits = 1 if target.percent else 3
    return f"{value:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


def drawing(target: Target, cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> str:
    """A panel for each algorithm, data set and setting, every column a line, as an SVG file."""
    need_report_extra()
    import matplotlib
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(cell.panel for cell in cells))
    across = min(_PER_ROW, len(panels))
    down = math.ceil(len(panels) / across)
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "entrenous", "font.size": 8}
    with matplotlib.rc_context(style):
        size = (_PANEL_INCHES[0] * across, _PANEL_INCHES[1] * down + 0.5)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for axis, panel in zip(axes, panels, strict=False):
            handles |= _draw(axis, target, panel, [cell for cell in cells if cell.panel == panel], outcomes)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, frameon=False)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _draw(axis: Axes, target: Target, panel: str, cells: list[Cell], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    published = [(cell.x, cell.published) for cell in cells if cell.published is not None]
    if published:
        marks = axis.plot(*zip(*published, strict=True), "x--", color=_COLOURS[PUBLISHED], markersize=6)
        handles[PUBLISHED] = marks[0]
    others = iter(_OTHERS)
    for column in target.columns:
        colour = _COLOURS.get(column) or next(others)
        found = [(cell.x, outcomes.get(cell.jobs[column].name)) for cell in cells if column in cell.jobs]
        points = [(x, mean(each), spread(each)) for x, each in found if each is not None and each.values]
        if points:
            x, y, deviations = (list(each) for each in zip(*points, strict=True))
            bars = axis.errorbar(x, y, yerr=deviations, fmt="o-", color=colour, markersize=3, elinewidth=0.6)
            handles[column] = bars
    axis.set_title(panel, fontsize=8)
    axis.set_xlabel(target.x_name)
    axis.set_ylabel(target.measure_name)
    if target.log_x:
        axis.set_xscale("log")
    axis.grid(axis="y", color="#e3e8ec")
    return handles


def page(target: Target, cells: tuple[Cell, ...], results: Results) -> str:
    """The whole page, with its drawing inside."""
    need_report_extra()
    import jinja2
    from markupsafe import Markup

    outcomes = results.outcomes(results.repetitions)
    svg = drawing(target, cells, outcomes)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("entrenous.reproduce", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = {job.name for cell in cells for job in cell.jobs.values()}
    return environment.get_template("reproduction.html.j2").render(
        target=target,
        results=results,
        partly=len(cells) < len(target.cells(results.preprocessing)),
        minutes=f"{results.seconds / 60.0:.0f} minutes",
        findings=target.findings(cells, outcomes),
        header=header(target),
        rows=table_rows(target, cells, outcomes),
        has_published=any(cell.published is not None for cell in cells),
        drawing=Markup(svg[svg.index("<svg") :]),
        preprocessing=target.preprocessing[results.preprocessing],
        refused=sorted({why for name, why in results.refused.items() if name in names}),
        library=f"entrenous {__version__}",
    )
