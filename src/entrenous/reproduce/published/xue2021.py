"""Tables 2, 3 and 4 of Xue, Yang, Huai, Wang: Differentially Private Pairwise Learning Revisited. IJCAI 2021.

Percent, as printed. Groups: strongly convex (SC) or general convex (C), with delta = 1/n (D) or delta = 0 (P). Keys are
(group, data set, algorithm); the rows without privacy have the algorithm ``None``. Figures 1 to 4 print no numbers.
"""

from __future__ import annotations

from typing import Final

Row = tuple[float, ...]

SIZES: Final = (128, 256, 512)
TABLE_2: Final[dict[tuple[str, str, str | None], Row]] = {
    ("SC-D", "diabetes", None): (71.40, 72.39, 72.88),
    ("SC-D", "diabetes", "offpairstrc"): (63.69, 64.55, 64.63),
    ("SC-D", "diabetes", "dpgdsc"): (64.03, 64.68, 65.85),
    ("C-D", "diabetes", None): (71.73, 72.52, 72.97),
    ("C-D", "diabetes", "offpairc"): (64.20, 64.64, 65.87),
    ("C-D", "diabetes", "dpgdc2"): (71.30, 71.91, 72.46),
    ("C-D", "diabetes", "dpegd"): (71.29, 72.21, 72.84),
    ("SC-P", "diabetes", None): (71.71, 71.99, 72.56),
    ("SC-P", "diabetes", "offpairstrc"): (64.37, 65.64, 66.77),
    ("SC-P", "diabetes", "dpgdsc"): (64.51, 65.28, 67.16),
    ("C-P", "diabetes", None): (71.80, 72.47, 72.80),
    ("C-P", "diabetes", "offpairc"): (64.97, 65.58, 67.28),
    ("C-P", "diabetes", "dpegd"): (70.37, 71.16, 71.24),
    ("SC-D", "debrecen", None): (62.82, 63.84, 65.01),
    ("SC-D", "debrecen", "offpairstrc"): (60.72, 62.14, 63.59),
    ("SC-D", "debrecen", "dpgdsc"): (59.72, 62.82, 65.13),
    ("C-D", "debrecen", None): (61.57, 63.86, 65.03),
    ("C-D", "debrecen", "offpairc"): (60.94, 62.85, 63.29),
    ("C-D", "debrecen", "dpgdc2"): (62.32, 63.09, 64.35),
    ("C-D", "debrecen", "dpegd"): (62.95, 65.21, 66.36),
    ("SC-P", "debrecen", None): (62.39, 63.13, 65.49),
    ("SC-P", "debrecen", "offpairstrc"): (59.32, 61.00, 61.78),
    ("SC-P", "debrecen", "dpgdsc"): (59.48, 61.07, 62.01),
    ("C-P", "debrecen", None): (61.84, 63.42, 65.31),
    ("C-P", "debrecen", "offpairc"): (59.55, 60.70, 61.77),
    ("C-P", "debrecen", "dpegd"): (63.41, 64.51, 66.54),
}
"""Table 2: 3-NN accuracy at epsilon = 1 for n = 128, 256, 512."""

EPSILONS_3: Final = (0.2, 0.5, 0.8, 1.0, 1.5, 2.0)
TABLE_3: Final[dict[tuple[str, str, str], Row]] = {
    ("SC-D", "diabetes", "offpairstrc"): (63.49, 63.50, 63.93, 63.44, 63.53, 64.26),
    ("SC-D", "diabetes", "dpgdsc"): (64.18, 64.92, 65.72, 63.91, 64.01, 64.29),
    ("SC-D", "debrecen", "offpairstrc"): (60.30, 60.40, 60.47, 63.44, 63.53, 64.26),
    ("SC-D", "debrecen", "dpgdsc"): (60.63, 61.81, 62.57, 63.91, 64.01, 64.29),
    ("C-D", "diabetes", "offpairc"): (63.59, 63.63, 63.97, 63.71, 63.96, 65.07),
    ("C-D", "diabetes", "dpgdc2"): (71.72, 70.61, 72.11, 71.05, 70.83, 71.36),
    ("C-D", "diabetes", "dpegd"): (71.46, 71.49, 71.66, 71.32, 71.50, 71.45),
    ("C-D", "debrecen", "offpairc"): (60.21, 60.29, 60.71, 63.71, 63.96, 65.07),
    ("C-D", "debrecen", "dpgdc2"): (61.27, 61.79, 60.87, 71.05, 70.83, 71.36),
    ("C-D", "debrecen", "dpegd"): (62.58, 62.84, 62.89, 71.32, 71.50, 71.45),
    ("SC-P", "diabetes", "offpairstrc"): (64.28, 64.49, 64.53, 64.38, 64.40, 64.84),
    ("SC-P", "diabetes", "dpgdsc"): (64.45, 64.84, 64.84, 64.63, 64.79, 64.81),
    ("SC-P", "debrecen", "offpairstrc"): (59.54, 59.57, 59.60, 64.38, 64.40, 64.84),
    ("SC-P", "debrecen", "dpgdsc"): (59.60, 59.70, 59.50, 64.63, 64.79, 64.81),
    ("C-P", "diabetes", "offpairc"): (64.34, 64.38, 64.49, 64.09, 64.29, 64.30),
    ("C-P", "diabetes", "dpegd"): (70.28, 70.49, 70.51, 70.48, 70.59, 70.82),
    ("C-P", "debrecen", "offpairc"): (59.54, 59.59, 59.80, 64.09, 64.29, 64.30),
    ("C-P", "debrecen", "dpegd"): (62.87, 62.84, 62.87, 70.48, 70.59, 70.82),
}
"""Table 3: 3-NN accuracy. The caption says n = 128, the text n = 512; from epsilon 1 on debrecen repeats diabetes."""

EPSILONS_4: Final = (0.5, 0.8, 1.0, 2.0)
TABLE_4: Final[dict[tuple[str, str, str], Row]] = {
    ("SC-D", "diabetes", "offpairstrc"): (53.71, 56.05, 59.52, 64.93),
    ("SC-D", "diabetes", "dpgdsc"): (63.26, 63.92, 64.46, 65.51),
    ("SC-D", "debrecen", "offpairstrc"): (56.33, 59.27, 62.92, 67.01),
    ("SC-D", "debrecen", "dpgdsc"): (65.65, 66.30, 67.23, 67.04),
    ("C-D", "diabetes", "offpairc"): (52.01, 52.62, 54.51, 57.44),
    ("C-D", "diabetes", "dpgdc2"): (52.94, 53.09, 54.61, 59.96),
    ("C-D", "diabetes", "dpegd"): (64.52, 64.47, 64.41, 64.37),
    ("C-D", "debrecen", "offpairc"): (50.08, 52.90, 54.27, 62.92),
    ("C-D", "debrecen", "dpgdc2"): (54.37, 58.06, 60.03, 60.44),
    ("C-D", "debrecen", "dpegd"): (66.19, 66.21, 66.29, 66.09),
    ("SC-P", "diabetes", "offpairstrc"): (50.65, 56.45, 59.94, 64.13),
    ("SC-P", "diabetes", "dpgdsc"): (59.16, 62.98, 62.67, 64.63),
    ("SC-P", "debrecen", "offpairstrc"): (52.24, 54.74, 57.54, 66.25),
    ("SC-P", "debrecen", "dpgdsc"): (62.75, 64.56, 65.47, 66.94),
    ("C-P", "diabetes", "offpairc"): (50.25, 50.90, 52.57, 60.13),
    ("C-P", "diabetes", "dpegd"): (59.16, 64.35, 64.50, 64.47),
    ("C-P", "debrecen", "offpairc"): (52.26, 50.13, 51.43, 58.06),
    ("C-P", "debrecen", "dpegd"): (66.34, 66.50, 66.04, 66.38),
}
"""Table 4: AUC at n = 256. It has no row without privacy."""
