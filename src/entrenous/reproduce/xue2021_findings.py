"""What the figures of Xue's targets say, computed from them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping

from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Cell, Outcome

Findings = Callable[[tuple[Cell, ...], Mapping[str, Outcome]], list[str]]

_NEAR = 2.0
"""Percent points within which a printed figure counts as met."""


def means(cell: Cell, outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """The mean of each column that has been run."""
    found = {column: outcomes.get(job.name) for column, job in cell.jobs.items()}
    return {column: statistics.fmean(each.values) for column, each in found.items() if each and each.values}


def auc_findings(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    """How near the printed noise comes, what it really gives, and where our best column stands."""
    found = []
    with_number = [(cell, means(cell, outcomes)) for cell in cells if cell.published is not None]
    run = [(cell, each) for cell, each in with_number if PRINTED in each]
    if run:
        near = [cell for cell, each in run if abs(each[PRINTED] - (cell.published or 0.0)) <= _NEAR]
        gaps = [(cell.published or 0.0) - each[PRINTED] for cell, each in run]
        found.append(
            f"With the printed noise {len(near)} of {len(run)} cells are within {_NEAR:g} points of the published "
            f"figure; the mean gap is {statistics.fmean(gaps):+.1f} points. The published figures do not follow from "
            "the printed formulas."
        )
    found += _epsilon_finding(cells, outcomes)
    found += _best_finding(with_number)
    return found


def _epsilon_finding(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    epsilons = [outcomes[cell.jobs[PRINTED].name].epsilon for cell in cells if cell.jobs[PRINTED].name in outcomes]
    asked = [cell.jobs[PRINTED].settings["epsilon"] for cell in cells if cell.jobs[PRINTED].name in outcomes]
    ratios = [real / wanted for real, wanted in zip(epsilons, asked, strict=True) if real is not None]
    if not ratios:
        return []
    return [
        f"The printed noise really gives between {min(ratios):.2g} and {max(ratios):.2g} times the epsilon it "
        "claims. (0: T1 of Huai's algorithms exceeds n, so the result does not depend on the data.)"
    ]


def _best_finding(with_number: list[tuple[Cell, dict[str, float]]]) -> list[str]:
    found = []
    for data in dict.fromkeys(cell.data for cell, _ in with_number):
        for delta in ("delta = 1/n", "delta = 0"):
            run = [
                (cell, each[BEST] - (cell.published or 0.0))
                for cell, each in with_number
                if cell.data == data and cell.group.endswith(delta) and BEST in each
            ]
            if run:
                above = sum(gap > 0.0 for _, gap in run)
                least = min(run, key=lambda pair: pair[1])
                found.append(
                    f"{data}, {delta}: our best is above the published figure in {above} of {len(run)} cells; the "
                    f"least difference is {least[1]:+.1f} points ({least[0].algorithm} at {least[0].x:g})."
                )
    return found


def metric_findings(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    """As for AUC, and how little any of it differs from a distance that nobody learnt."""
    found = auc_findings(cells, outcomes)
    for data in dict.fromkeys(cell.data for cell in cells):
        run = [each for each in (means(cell, outcomes) for cell in cells if cell.data == data) if len(each) >= 6]
        if run:
            parts = [f"{column} {statistics.fmean(each[column] for each in run):.1f}" for column in run[0]]
            found.append(f"{data}, mean over its cells: {', '.join(parts)}.")
    found.append(
        "Huge noise on the matrix makes a random metric, and 3-NN with a random metric is nearly as good here as with "
        "the plain distance: the accuracy says little about what was learnt."
    )
    return found


def figure_findings(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    """The level of every column by n, and the paper's own reading: its algorithms beside OffPairStrC and OffPairC."""
    found = []
    run = [(cell, each) for cell, each in ((cell, means(cell, outcomes)) for cell in cells) if len(each) == 4]
    for delta in ("delta = 1/n", "delta = 0"):
        here = [(cell, each) for cell, each in run if cell.group.endswith(delta)]
        for n in sorted({cell.x for cell, _ in here}):
            at = [each for cell, each in here if cell.x == n]
            levels = (f"{column} {_levels(at, column)}" for column in (PRINTED, TIGHT, BEST, FREE))
            found.append(f"{delta}, n = {n:g}: {', '.join(levels)}.")
    earlier = {(cell.group, cell.x): each[PRINTED] for cell, each in run if cell.algorithm.startswith("offpair")}
    ahead = [
        (each[PRINTED] - earlier[cell.group, cell.x], cell)
        for cell, each in run
        if (cell.group, cell.x) in earlier and not cell.algorithm.startswith("offpair")
    ]
    if ahead:
        most, cell = max(ahead, key=lambda pair: pair[0])
        found.append(
            f"The paper says of its figures that its algorithms are ahead of Huai's. With the printed noise the "
            f"largest lead is {most:+.1f} points ({cell.algorithm}, {cell.group}, n = {cell.x:g})."
        )
    return found + _epsilon_finding(cells, outcomes)


def _levels(rows: list[dict[str, float]], column: str) -> str:
    low, high = (f"{choose(each[column] for each in rows):.1f}" for choose in (min, max))
    return low if low == high else f"{low} to {high}"
