"""Named algorithms. One file per paper, one for our own; importing them fills the registry."""

from entrenous.planners import ours, wang2024, xue2021
from entrenous.planners.registry import Algorithm, Algorithms, algorithm_named, algorithms

__all__ = ["Algorithm", "Algorithms", "algorithm_named", "algorithms", "ours", "wang2024", "xue2021"]
