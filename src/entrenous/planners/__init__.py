"""Named algorithms. One file per paper, one for our own; importing them fills the registry."""

from entrenous.planners import (
    baselines,
    huai2020,
    kang2021,
    ours,
    wang2024,
    xue2021,
    yang2021_aistats,
    yang2021_neurips,
)
from entrenous.planners.registry import Algorithm, Algorithms, algorithm_named, algorithms

__all__ = [
    "Algorithm",
    "Algorithms",
    "algorithm_named",
    "algorithms",
    "baselines",
    "huai2020",
    "kang2021",
    "ours",
    "wang2024",
    "xue2021",
    "yang2021_aistats",
    "yang2021_neurips",
]
