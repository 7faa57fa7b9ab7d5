"""A target's results for people: rows of a table, and one HTML page that stands alone."""

from __future__ import annotations

from collections.abc import Mapping

from entrenous.report.page import need_report_extra
from entrenous.reproduce.drawing import PUBLISHED, drawing
from entrenous.reproduce.runner import Results, mean, spread
from entrenous.reproduce.targets import PRINTED, Cell, Outcome, Target
from entrenous.version import __version__

NO_NUMBER, NOT_RUN, REFUSED, NONE = "no number printed", "not run", "refused", "-"


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
