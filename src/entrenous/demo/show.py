"""The demo as a person sees it: a progress bar, a table, a page and its figures in a file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from entrenous.demo.breast_cancer import WIDENING, DemoResult, Outcome, number_of_fits, run_demo
from entrenous.report.page import CurvePoint, need_report_extra, privacy_curve_svg, render, standalone_svg
from entrenous.version import __version__

DEFAULT_SPLITS = 10
TITLE = "Ranking tumours, in confidence"

_GROUPS = {
    "Mean over the nuclei of an image": "mean ",
    "Standard error of that mean: (range of worst) / 4, over at least ten nuclei": " error",
    "Worst: mean of the three largest nuclei": "worst ",
}


def demo(out: Path, splits: int = DEFAULT_SPLITS) -> Path:
    """Run the demo, show it on the terminal, write page, figures and drawing into `out`; the page's path."""
    need_report_extra()
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("Fitting at each epsilon", total=number_of_fits(splits))
        result = run_demo(splits, lambda: progress.advance(task))
    console.print(results_table(result))
    console.print(
        f"Ranges {WIDENING:g} times as wide at epsilon {result.shown.epsilon:g}: "
        f"AUC {result.wider.mean:.3f} instead of {result.shown.mean:.3f}."
    )
    page = out / "report.html"
    page.write_text(page_html(result), encoding="utf-8")
    figures = out / "results.json"
    figures.write_text(json.dumps(results_json(result), indent=2, allow_nan=False) + "\n", encoding="utf-8")
    drawing = out / "privacy-curve.svg"
    drawing.write_text(standalone_svg(_curve(result, (7.6, 4.0))), encoding="utf-8")
    # Paths are printed whole: a wrapped one cannot be clicked or copied.
    console.print(f"Report:  {page}", soft_wrap=True, markup=False, highlight=False)
    console.print(f"Figures: {figures}", soft_wrap=True, markup=False, highlight=False)
    return page


def results_table(result: DemoResult) -> Table:
    """The figures of every level of privacy, for the terminal."""
    table = Table(
        title=f"Breast cancer, {result.train_rows} training rows, {result.splits} splits",
        caption="AUC on held-out rows: mean ± sd over splits. "
        "Noise: an estimate of its size, rather too large than too small, over that of the coefficients.",
    )
    table.add_column("epsilon", justify="right")
    table.add_column("AUC", justify="right")
    table.add_column("algorithm")
    table.add_column("noise", justify="right")
    table.add_column("certificate")
    for outcome in (*result.private, result.non_private):
        private = outcome.epsilon is not None
        table.add_row(
            f"{outcome.epsilon:g}" if private else "no privacy",
            f"{outcome.mean:.3f} ± {outcome.spread:.3f}",
            outcome.algorithm,
            f"{100.0 * outcome.noise_share:.0f} %" if private else "0 %",
            f"[green]{outcome.status}[/green]" if private else outcome.status,
        )
    return table


def results_json(result: DemoResult) -> dict[str, Any]:
    """The same figures for programs, with every split, the ranges and the certificate on the page."""
    assert result.shown.certificate is not None
    return {
        "schema": "entrenous-demo/1",
        "library": f"entrenous {__version__}",
        "data": "breast cancer (scikit-learn), event = malignant",
        "train_rows": result.train_rows,
        "test_rows": result.test_rows,
        "splits": result.splits,
        "results": [_as_json(outcome) for outcome in (*result.private, result.non_private)],
        "wider_ranges": {"widening": WIDENING, "auc_lost": result.cost_of_widening, **_as_json(result.wider)},
        "clip": result.ranges.clip,
        "ranges": {f.name: [f.low, f.high] for f in result.ranges.features},
        "certificate": result.shown.certificate.to_dict(),
    }


def page_html(result: DemoResult) -> str:
    """The page, as one file that needs no other."""
    certificate = result.shown.certificate
    assert certificate is not None
    return render(
        {
            "title": TITLE,
            "result": result,
            "shown": result.shown,
            "widening": WIDENING,
            "factors": [math.exp(outcome.epsilon or 0.0) for outcome in result.private],
            "private_fits": sum(len(outcome.aucs) for outcome in (*result.private, result.wider)),
            "wide_curve": _curve(result, (7.6, 4.0)),
            "narrow_curve": _curve(result, (4.2, 4.4)),
            "range_groups": [
                (heading, [f for f in result.ranges.features if part in f.name]) for heading, part in _GROUPS.items()
            ],
        },
        certificate,
    )


def _curve(result: DemoResult, inches: tuple[float, float]) -> str:
    points = [CurvePoint(outcome.epsilon or 0.0, outcome.aucs) for outcome in result.private]
    figures = "; ".join(f"epsilon {p.epsilon:g}: {p.mean:.3f} plus or minus {p.spread:.3f}" for p in points)
    return privacy_curve_svg(
        points,
        result.non_private.mean,
        title="AUC on held-out rows at each epsilon",
        description=f"Mean AUC and standard deviation. {figures}; without privacy: {result.non_private.mean:.3f}.",
        inches=inches,
    )


def _as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "epsilon": outcome.epsilon,
        "auc": {"mean": outcome.mean, "sd": outcome.spread, "per_split": list(outcome.aucs)},
        "algorithm": outcome.algorithm,
        "noise_share": outcome.noise_share,
        "certificate": outcome.status,
    }
