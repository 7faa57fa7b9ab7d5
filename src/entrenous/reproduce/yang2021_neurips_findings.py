"""What the figures of Yang's targets say, computed from them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Cell, Outcome
from entrenous.reproduce.yang2021_neurips_clock import ENGINE, NUMPY

OURS = "ours"


def column_mean(cell: Cell, column: str, outcomes: Mapping[str, Outcome]) -> float | None:
    """Over the runs that were made; none where there are none."""
    found = outcomes.get(cell.jobs[column].name) if column in cell.jobs else None
    return statistics.fmean(found.values) if found and found.values else None


def deviations(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[tuple[Cell, float]]:
    """Of every cell that was run: ours minus published, in printed standard deviations."""
    found = []
    for cell in cells:
        mean = column_mean(cell, OURS, outcomes)
        if mean is not None and cell.published is not None and cell.published_spread:
            found.append((cell, (mean - cell.published) / cell.published_spread))
    return found


def table_findings(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    """How many cells are within two printed standard deviations, and each that is not."""
    found = deviations(cells, outcomes)
    if not found:
        return []
    # A difference of exactly two is within; sums of decimals are not exact.
    outside = [(cell, sds) for cell, sds in found if abs(sds) > 2.0 + 1e-9]
    lines = [
        f"{len(found) - len(outside)} of {len(found)} cells are within two printed standard deviations of the "
        "published mean."
    ]
    lines += [f"{cell.algorithm} on {cell.data} is {sds:+.1f} standard deviations away." for cell, sds in outside]
    lines.append(
        "Difference in printed standard deviations: "
        + ", ".join(f"{cell.algorithm} on {cell.data} {sds:+.1f}" for cell, sds in found)
        + "."
    )
    return lines


def plain_means(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    """Every column's mean, a line for each cell."""
    lines = []
    for cell in cells:
        means = {column: column_mean(cell, column, outcomes) for column in cell.jobs}
        parts = [f"{column} {mean:.3f}" for column, mean in means.items() if mean is not None]
        if parts:
            lines.append(f"{cell.algorithm} on {cell.data} ({cell.x:g}): {', '.join(parts)}.")
    return lines


def private_findings(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    """Means over the epsilons of each algorithm, and what the printed noise really gives."""
    lines = []
    for data, algorithm in dict.fromkeys((cell.data, cell.algorithm) for cell in cells):
        own = [cell for cell in cells if (cell.data, cell.algorithm) == (data, algorithm)]
        parts = []
        for column in (PRINTED, TIGHT, BEST, FREE):
            means = [each for each in (column_mean(cell, column, outcomes) for cell in own) if each is not None]
            parts += [f"{column} {statistics.fmean(means):.1f}"] if means else []
        if parts:
            lines.append(f"{algorithm} on {data}, mean over the epsilons: {', '.join(parts)}.")
    ratios = []
    for cell in cells:
        printed = outcomes.get(cell.jobs[PRINTED].name)
        if printed and printed.epsilon is not None:
            ratios.append(printed.epsilon / cell.x)
    if ratios:
        lines.append(
            f"The printed noise really gives {min(ratios):.2g} to {max(ratios):.2g} times the epsilon it claims."
        )
    return lines


def clock_findings(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    """How much faster the engine is at the largest size, and how near the two AUCs are."""
    lines = []
    largest = max(cell.x for cell in cells)
    gaps = []
    for cell in cells:
        engine, numpy = (column_mean(cell, way, outcomes) for way in (ENGINE, NUMPY))
        if engine is None or numpy is None:
            continue
        if cell.group == "AUC":
            gaps.append(abs(engine - numpy))
        elif cell.x == largest:
            lines.append(
                f"{cell.algorithm} on {cell.data}, {cell.x:g} rows: {engine:.0f} ms by the engine, {numpy:.0f} ms by "
                f"NumPy, {numpy / engine:.0f} times as much."
            )
    if gaps:
        lines.append(f"The AUCs of the two differ by at most {max(gaps):.3f}: they draw other records.")
    return lines
