"""What an algorithm's noise is and what it really gives, at a few public settings: plans, so no data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import entrenous as en
from algorithm_pages.words import key_of, library_algorithms, words_of
from entrenous.engine.plan import Plan
from entrenous.planners.registry import Algorithm
from entrenous.privacy.mechanisms.mechanism import EVERYWHERE, Mechanism

SEED = 1
"""Of the order in which records meet, which some of the figures depend on."""
TASKS = {
    "auc": "ranking",
    "metric": "metric",
    "error-entropy": "error entropy",
    "pointwise-classification": "classification",
    "pointwise-regression": "regression",
}


@dataclass(frozen=True)
class Setting:
    """Public numbers of a fit."""

    task: str
    n: int
    d: int
    epsilon: float
    pure: bool = False

    def __str__(self) -> str:
        delta = "delta = 0" if self.pure else "delta = 1/n²"
        return f"{TASKS[self.task]}, n = {self.n:,}, {self.d} features, epsilon = {self.epsilon:g}, {delta}"


@dataclass(frozen=True)
class Row:
    """One plan at one setting, or why there is none."""

    setting: Setting
    label: str
    plan: Plan | None
    refused: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def gives(self) -> float:
        """The epsilon that the noise really gives; infinite without noise."""
        return math.inf if self.plan is None else self.plan.epsilon

    @property
    def keeps_its_promise(self) -> bool:
        """Whether no more is spent than was asked for."""
        return self.gives <= self.setting.epsilon * (1.0 + 1e-6)


def settings_of(record: Algorithm) -> Iterator[Setting]:
    """A small table and a larger one, pure privacy where there is any, and a metric where noise is printed."""
    first = record.tasks[0]
    yield Setting(first, 512, 8, 1.0)
    if "pure" in record.privacy:
        yield Setting(first, 512, 8, 1.0, pure=True)
    if not words_of(record).slow_to_price:
        yield Setting(first, 5000, 10, 4.0)
    if "metric" in record.tasks[1:] and "paper" in record.calibrations:
        yield Setting("metric", 512, 8, 4.0)


def letters_of(record: Algorithm) -> dict[Setting, str]:
    """A letter for each setting."""
    return dict(zip(settings_of(record), "ABCD", strict=False))


def settings_in_words(record: Algorithm) -> str:
    """The settings that the tables of a page are for."""
    arguments = ", ".join(f"`{name}={value!r}`" for name, value in words_of(record).plan.items())
    own = f", {arguments}" if arguments else ""
    listed = "".join(f"- {letter}: {setting}{own}\n" for setting, letter in letters_of(record).items())
    return f"The tables of this page are for public settings with the default surrogate:\n\n{listed}"


@cache
def rows_of(key: str) -> tuple[Row, ...]:
    """The rows of an algorithm's table."""
    record = next(each for each in library_algorithms() if key_of(each) == key)
    words, rows = words_of(record), []
    is_private = record.privacy != ("none",)
    for setting in settings_of(record):
        rows.append(_planned(record, setting, "tight" if is_private else "none", "tight", {}))
        if "paper" in record.calibrations:
            rows.append(_planned(record, setting, "as printed", "paper", words.printed_options))
            if words.also_printed and not setting.pure:
                options = {name: value for name, value in words.also_printed.items() if name != "label"}
                rows.append(_planned(record, setting, words.also_printed["label"], "paper", options))
    return tuple(rows)


def _planned(record: Algorithm, setting: Setting, label: str, calibration: str, options: dict[str, Any]) -> Row:
    asked: dict[str, Any] = {"task": setting.task, "n": setting.n, "n_features": setting.d, "bounds": (0, 1)}
    asked["epsilon"] = None if label == "none" else setting.epsilon
    asked["delta"] = 0.0 if setting.pure else None
    if setting.task in ("error-entropy", "pointwise-regression"):
        asked["target_bounds"] = (0, 1)
    if "index_seed" in record.options:
        asked["index_seed"] = SEED
    with warnings.catch_warnings():
        # The table says what the warning says.
        warnings.simplefilter("ignore", en.PrivacyWarning)
        try:
            plan = en.plan(record.name, calibration=calibration, options=options, **asked | words_of(record).plan)
        except en.AssumptionError as refusal:
            return Row(setting, label, None, str(refusal).partition(". ")[0], options)
    return Row(setting, label, plan, options=options)


def noise_table(record: Algorithm) -> str:
    """Every release of every plan: its noise, the proved bound it is scaled to, and what it all really gives."""
    lines = [
        "| | noise | its size | releases | one record moves a release by | really gives epsilon | sd per coefficient |",
        "|---|---|---|---|---|---|---|",
    ]
    letters = letters_of(record)
    for row in rows_of(key_of(record)):
        if row.plan is None:
            lines.append(f"| {letters[row.setting]} | {row.label} | refused: {row.refused} | | | | |")
            continue
        gives = f"{row.plan.epsilon:.3g}"
        head, tail = [letters[row.setting], row.label], [gives, f"{row.plan.noise_per_coefficient:.3g}"]
        for mechanism, more in _shown(row.plan):
            moved = f"{mechanism.l2_sensitivity:.3g} ({mechanism.lemma})"
            cells = [*head, _size(mechanism), f"{mechanism.count}{more}", moved, *tail]
            lines.append(f"| {' | '.join(cells)} |")
            head, tail = ["", ""], ["", ""]
    return "\n".join(lines) + "\n"


def _shown(plan: Plan) -> Iterator[tuple[Mechanism, str]]:
    """Every mechanism; of those on disjoint records the first, with how many there are."""
    for mechanism in plan.mechanisms:
        if mechanism.scope == EVERYWHERE:
            yield mechanism, ""
        elif mechanism is plan.mechanisms[0]:
            yield mechanism, f" in each of {len(plan.mechanisms)} phases; the first is shown"


def _size(mechanism: Mechanism) -> str:
    return f"{mechanism.kind}, {mechanism.noise_field} {mechanism.noise_size:.3g}"


def constants_table(record: Algorithm) -> str:
    """The constants of the loss on the declared domain, and the steps that follow."""
    lines = [
        "| | noise | G | L of a pair | L over all pairs | alpha | diameter | d | steps | pair gradients |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    letters = letters_of(record)
    for row in rows_of(key_of(record)):
        if row.plan is None:
            continue
        problem, n = row.plan.problem, row.setting.n
        of_pairs = problem.score.pairwise and row.plan.pair_gradients > 0
        has_loss = of_pairs or not problem.score.pairwise
        cells = [
            letters[row.setting],
            row.label,
            _number(problem.lipschitz) if has_loss else "-",
            _number(problem.ordered_smoothness) if has_loss else "-",
            _number(problem.full_smoothness(n)) if of_pairs else "-",
            _number(problem.strong_convexity),
            _number(2.0 * problem.domain.radius),
            str(problem.dimension),
            f"{row.plan.steps:,}",
            f"{row.plan.pair_gradients:,}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "no bound"


def verdict(record: Algorithm) -> str:
    """Whether the printed noise keeps what the paper claims, at the settings of the table."""
    printed = [row for row in rows_of(key_of(record)) if row.label not in ("tight", "none")]
    planned = [row for row in printed if row.plan is not None]
    if not planned:
        return "At none of these settings can the printed noise be computed.\n" if printed else ""
    broken = [row for row in planned if not row.keeps_its_promise]
    if broken:
        letters = letters_of(record)
        listed = [_spent(row, letters[row.setting]) for row in broken]
        return f"**The printed noise spends more than it claims** at {'; '.join(listed)}.\n"
    shares = [row.gives / row.setting.epsilon for row in planned]
    least, most = f"{min(shares):.2g}", f"{max(shares):.2g}"
    span = least if least == most else f"{least} to {most}"
    return (
        f"At these settings the printed noise keeps its claim. It gives {span} of the epsilon asked for: "
        "what it has too much of costs accuracy.\n"
    )


def _spent(row: Row, letter: str) -> str:
    return f"{letter} ({row.label}): epsilon {row.gives:.3g}, asked for {row.setting.epsilon:g}"
