"""What docs/reproduction.md says in numbers of Xue et al. 2021: the printed formulas, and the results on file."""

from __future__ import annotations

import math
import statistics
import warnings
from collections.abc import Iterable, Mapping

import entrenous as en
from entrenous.reproduce.published import xue2021 as published
from entrenous.reproduce.runner import Results, mean, spread
from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Cell, Outcome, target_named
from entrenous.reproduce.xue2021 import EUCLID, EUCLID_OURS
from entrenous.reproduce.xue2021_findings import means
from entrenous.theory import xue2021 as theory

TABLES = ("xue2021-table2", "xue2021-table3", "xue2021-table4")
FIGURES = tuple(f"xue2021-figure{number}" for number in range(1, 5))
DATA, DELTAS = ("diabetes", "debrecen"), ("delta = 1/n", "delta = 0")
LARGEST_CLASS = {"diabetes": (500, 768), "debrecen": (611, 1151)}
"""Rows of the more frequent class, and rows."""
_NEAR = 2.0

Run = list[tuple[Cell, dict[str, float]]]


def xue_blocks(stored: Mapping[str, Results]) -> dict[str, str]:
    """Blocks of the page by name."""
    outcomes = {name: stored[name].outcomes(stored[name].repetitions) for name in (*TABLES, *FIGURES)}
    runs = {name: [(cell, means(cell, outcomes[name])) for cell in _cells(name)] for name in outcomes}
    return {
        "xue-arithmetic": arithmetic(outcomes["xue2021-table4"]),
        "xue-epochs": epochs(runs["xue2021-table4"]),
        "xue-table3": table_3(),
        "xue-agreement": agreement(stored, runs, outcomes),
        "xue-best": best(runs),
        "xue-gaps": gaps(runs["xue2021-table4"]),
        "xue-neighbours": neighbours(runs),
        "xue-figures": figures(outcomes),
    }


def _cells(name: str) -> tuple[Cell, ...]:
    return target_named(name).cells("paper")


def _table(heading: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(heading)
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *rows))


def arithmetic(outcomes: Mapping[str, Outcome]) -> str:
    """One cell of Table 4, from the formula to the AUC."""
    n, d, alpha, epsilon = 256, 8, 1e-3, 1.0
    cell = next(
        cell
        for cell in _cells("xue2021-table4")
        if (cell.data, cell.algorithm, cell.x) == ("diabetes", "dpgdsc", epsilon) and cell.group.endswith("1/n")
    )
    plans = {calibration: _plan(n, d, alpha, epsilon, calibration) for calibration in ("paper", "tight")}
    G = plans["paper"].problem.lipschitz
    printed, tight = (plan.mechanisms[0] for plan in plans.values())
    sigma = float(theory.printed_noise_1(n, d, epsilon, 1.0 / n, G, alpha))
    enough = next(
        m
        for m in range(10_000, 10**7, 10_000)
        if _length(theory.printed_noise_1(m, d, epsilon, 1.0 / m, G, alpha), d) < 1.0
    )
    auc = {column: _both(outcomes[cell.jobs[column].name]) for column in (PRINTED, TIGHT, BEST, FREE)}
    lemma_1 = float(theory.lemma_1(n, G, alpha))
    lines = [
        ("printed", "AUC of dpgdsc on diabetes, epsilon = 1, delta = 1/n", f"{cell.published:.2f} %"),
        ("given", f"n = {n}, d = {d}, |x| <= 1, |w| <= 1, ridge = alpha = {alpha:g}", ""),
        ("margin", "(y - y')<w, x - x'>, y = +-1: |y - y'| |x - x'| |w|", "4 at most"),
        ("G", "slope of log(1 + exp(-margin)): 4/(1 + exp(-4))", f"{G:.3f}"),
        ("Lemma 1", "8 G/(alpha n)", f"{lemma_1:.1f}, in a ball of diameter 2"),
        ("Algorithm 1", "sigma = sqrt(2 ln(1.25 n)) * that / epsilon", f"{sigma:.1f} per coefficient"),
        ("its length", "sigma sqrt(d)", f"{_length(sigma, d):.0f}; w is at most 1 long"),
        (
            "really",
            f"epsilon of this noise ({printed.bound.value:.1f} by our Lemma 3)",
            f"{plans['paper'].epsilon:.3f}",
        ),
        ("tight", "sigma for epsilon = 1 by our Lemma 3", f"{tight.sigma:.1f} per coefficient"),
        ("diameter", "sigma with 2 in place of Lemma 1", f"{sigma * 2.0 / lemma_1:.1f} per coefficient"),
        ("enough rows", "printed noise no longer than w", f"from n = {enough:,} on, about"),
        ("measured AUC", "printed noise", auc[PRINTED]),
        ("", "tight noise", auc[TIGHT]),
        ("", "no noise", auc[FREE]),
        ("", "our best (auto), under a guarantee that holds", auc[BEST]),
    ]
    shown = (f"{name:<14}{formula:<54}{value}".rstrip() for name, formula, value in lines)
    return "```text\n" + "\n".join(shown) + "\n```\n"


def _plan(n: int, d: int, alpha: float, epsilon: float, calibration: str) -> en.Plan:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)  # delta = 1/n is the paper's
        return en.plan(
            "dpgdsc",
            n=n,
            n_features=d,
            epsilon=epsilon,
            delta=1.0 / n,
            surrogate="logistic",
            radius=1.0,
            ridge=alpha,
            calibration=calibration,
            options={"form": "label-difference"},
        )


def _length(sigma: float, d: int) -> float:
    return float(sigma) * math.sqrt(d)


def _both(outcome: Outcome) -> str:
    return f"{mean(outcome):.1f} ± {spread(outcome):.1f} %"


def epochs(run: Run) -> str:
    """The first epoch of dpegd under both readings of ||C||_2."""
    n, d, epsilon = 256, 8, 1.0
    G = _plan(n, d, 1e-3, epsilon, "paper").problem.lipschitz
    cell, found = next(
        (cell, found)
        for cell, found in run
        if (cell.data, cell.algorithm, cell.x) == ("diabetes", "dpegd", epsilon) and cell.group.endswith("1/n")
    )
    rows = []
    for reading, C in (("diameter, 2 (the paper's word)", 2.0), ("radius, 1", 1.0)):
        schedule = theory.theorem_3_schedule(n, d, epsilon, 1.0 / n, G, C)
        eta, sigma = schedule.eta, schedule.sigma or 0.0
        rows.append([reading, f"{eta / 4.0:.4f}", f"{sigma:.2f}", f"{_length(sigma, d):.2f}"])
    heading = ["reading", "step of the first epoch", "its noise, sigma", "length of that noise"]
    return _table(heading, rows) + (
        f"\nThe paper prints {cell.published:.2f} %; measured with the diameter: {found[PRINTED]:.1f} % with the "
        f"printed noise, {found[TIGHT]:.1f} % with tight noise, which is shorter than under either reading, and "
        f"{found[FREE]:.1f} % for the minimiser without noise.\n"
    )


def table_3() -> str:
    """Cells that Table 3 has twice, and where it meets Table 2."""
    table = published.TABLE_3
    pairs = [
        (epsilon, table[group, "diabetes", algorithm][at], table[group, "debrecen", algorithm][at])
        for group, data, algorithm in table
        if data == "diabetes"
        for at, epsilon in enumerate(published.EPSILONS_3)
    ]
    late = [first == second for epsilon, first, second in pairs if epsilon >= 1.0]
    early = [first == second for epsilon, first, second in pairs if epsilon < 1.0]
    lines = [
        f"- From epsilon = 1 on, {sum(late)} of {len(late)} retinopathy cells are the diabetes cells to the last "
        f"digit; below it {sum(early)} of {len(early)}. Example: DPEGD, convex, delta = 1/n prints "
        f"{', '.join(f'{value:.2f}' for value in table['C-D', 'diabetes', 'dpegd'][3:])} for both.\n",
        "- The caption says n = 128, the text n = 512. We ran 128.\n",
    ]
    at = published.EPSILONS_3.index(1.0)
    for data in DATA:
        for n in (128, 512):
            column = published.SIZES.index(n)
            apart = {
                key: abs(values[at] - published.TABLE_2[key][column]) for key, values in table.items() if key[1] == data
            }
            key = max(apart, key=lambda each: apart[each])
            lines.append(
                f"- At epsilon = 1 it meets Table 2. {data}, n = {n}: up to {apart[key]:.1f} points apart "
                f"({key[2]}: {published.TABLE_2[key][column]:.2f} there, {table[key][at]:.2f} here).\n"
            )
    return "".join(lines)


def agreement(
    stored: Mapping[str, Results], runs: Mapping[str, Run], outcomes: Mapping[str, Mapping[str, Outcome]]
) -> str:
    """How near the printed noise comes to the printed figures."""
    rows = []
    for name in TABLES:
        apart = [(cell.published or 0.0) - found[PRINTED] for cell, found in runs[name]]
        ratios = [
            (outcomes[name][cell.jobs[PRINTED].name].epsilon or 0.0) / cell.jobs[PRINTED].settings["epsilon"]
            for cell, _ in runs[name]
        ]
        rows.append(
            [
                f"[{name}](../results/{name}.html)",
                str(stored[name].repetitions),
                f"{sum(abs(each) <= _NEAR for each in apart)} of {len(apart)}",
                f"{statistics.fmean(apart):+.1f}",
                f"{max(apart):+.1f}",
                f"{min(ratios):.2f} to {max(ratios):.2f}",
            ]
        )
    heading = ["target", "repetitions", f"within {_NEAR:g} points", "published less ours, mean", "largest"]
    return _table([*heading, "epsilon really : claimed"], rows)


def best(runs: Mapping[str, Run]) -> str:
    """Our best column beside every published private cell."""
    rows = []
    for name in TABLES:
        for data in DATA:
            for delta in DELTAS:
                ahead = [
                    found[BEST] - (cell.published or 0.0)
                    for cell, found in runs[name]
                    if cell.data == data and cell.group.endswith(delta)
                ]
                above = f"{sum(each > 0.0 for each in ahead)} of {len(ahead)}"
                figures = (f"{each:+.1f}" for each in (min(ahead), statistics.fmean(ahead), max(ahead)))
                rows.append([name.removeprefix("xue2021-"), data, delta, above, *figures])
    return _table(["table", "data", "delta", "cells above published", "least", "mean", "most"], rows)


def gaps(run: Run) -> str:
    """Table 4: the cells that our best column does not reach, beside what a line reaches without privacy."""
    lines = []
    for data in DATA:
        ceiling = next(found[FREE] for cell, found in run if cell.data == data)
        over = [cell for cell, _ in run if cell.data == data and (cell.published or 0.0) > ceiling]
        of = sum(cell.data == data for cell, _ in run)
        lines.append(
            f"- {data}: rows of length 1 give {ceiling:.1f} % without privacy. {len(over)} of {of} published private "
            "cells are above that.\n"
        )
        for delta in DELTAS:
            here = [(cell, found) for cell, found in run if cell.data == data and cell.group.endswith(delta)]
            levels = {cell.x: found[BEST] for cell, found in here}
            shown = ", ".join(f"{level:.1f} at {epsilon:g}" for epsilon, level in sorted(levels.items()))
            missed: dict[str, list[Cell]] = {}
            for cell, found in here:
                if found[BEST] <= (cell.published or 0.0):
                    missed.setdefault(cell.algorithm, []).append(cell)
            words = "; ".join(
                f"{name} at {', '.join(f'{cell.x:g}' for cell in cells)} "
                f"({', '.join(f'{cell.published:.1f}' for cell in cells)})"
                for name, cells in missed.items()
            )
            lines.append(f"  - {delta}: our best has {shown}. Published above it: {words or 'none'}.\n")
    return "".join(lines)


def neighbours(runs: Mapping[str, Run]) -> str:
    """3-NN accuracy, mean over the cells of a data set."""
    rows = []
    for name in TABLES[:2]:
        for data in DATA:
            here = [(cell, found) for cell, found in runs[name] if cell.data == data]
            columns = (PRINTED, TIGHT, BEST, FREE, EUCLID, EUCLID_OURS)
            free = [value for key, row in published.TABLE_2.items() if key[1:] == (data, None) for value in row]
            paper = f"{statistics.fmean(free):.1f}" if name == TABLES[0] else "none printed"
            levels = [statistics.fmean(cell.published or 0.0 for cell, _ in here)]
            levels += [statistics.fmean(found[column] for _, found in here) for column in columns]
            largest, of = LARGEST_CLASS[data]
            shown = (f"{level:.1f}" for level in (*levels, 100.0 * largest / of))
            rows.append([f"{name.removeprefix('xue2021-')}, {data}", paper, *shown])
    ours = ("as printed", "tight", "best", "without privacy", "plain distance", "plain, our rows")
    return _table(["cells", "published, without privacy", "published, private", *ours, "always the larger class"], rows)


def figures(outcomes: Mapping[str, Mapping[str, Outcome]]) -> str:
    """What the figures' targets found."""
    parts = []
    for name in FIGURES:
        target = target_named(name)
        found = target.findings(target.cells("paper"), outcomes[name])
        parts.append(f"[{target.what}](../results/{name}.html).\n\n" + "".join(f"- {line}\n" for line in found))
    return "\n".join(parts)
