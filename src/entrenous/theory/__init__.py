"""Every bound of the five papers as a function: stability, risk, complexity, printed noise, recommended steps.

One module per paper, functions named after the theorem: ``yang2021_neurips.theorem_4(n, T, eta, G)``. Where a paper
gives constants they are explicit; where it does not they are keywords, 1 unless given. `table` prints all of them
side by side, `plot` draws them against n, and `bites_from` says from which n one says anything.
"""

from __future__ import annotations

from entrenous.theory import (
    kang2021,
    wang2024,
    xue2021,
    yang2021_aistats,
    yang2021_aistats_corollaries,
    yang2021_neurips,
)
from entrenous.theory.plot import plot
from entrenous.theory.stated import SCHEDULES, STATEMENTS, Schedule, Setting, Stated
from entrenous.theory.table import Table, bites_from, table

__all__ = [
    "SCHEDULES",
    "STATEMENTS",
    "Schedule",
    "Setting",
    "Stated",
    "Table",
    "bites_from",
    "kang2021",
    "plot",
    "table",
    "wang2024",
    "xue2021",
    "yang2021_aistats",
    "yang2021_aistats_corollaries",
    "yang2021_neurips",
]
