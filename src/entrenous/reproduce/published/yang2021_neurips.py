"""Table 1 of Yang et al. 2021, NeurIPS: AUC as printed, mean and standard deviation.

Yang, Lei, Wang, Yang, Ying: Simple Stochastic and Online Gradient Descent Algorithms for Pairwise Learning. Figure 1
and the figures of the appendix print no numbers.
"""

from __future__ import annotations

from typing import Final

DATA: Final = ("diabetes", "german", "ijcnn1", "letter", "mnist", "usps")
TABLE_1: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    "sgd-previous": ((0.831, 0.030), (0.793, 0.021), (0.934, 0.002), (0.810, 0.007), (0.932, 0.001), (0.926, 0.006)),
    "sgd-pair": ((0.830, 0.028), (0.794, 0.023), (0.934, 0.003), (0.811, 0.008), (0.932, 0.001), (0.925, 0.006)),
    "olp": ((0.825, 0.028), (0.787, 0.028), (0.916, 0.003), (0.808, 0.010), (0.927, 0.003), (0.917, 0.006)),
    "oam": ((0.828, 0.026), (0.785, 0.029), (0.930, 0.003), (0.806, 0.008), (0.898, 0.002), (0.916, 0.005)),
    "spauc": ((0.828, 0.031), (0.799, 0.026), (0.932, 0.002), (0.809, 0.008), (0.927, 0.002), (0.923, 0.005)),
}
"""Rows of the table under the library's names: Ours, SGD_pair, OLP, OAM_gra, SPAUC."""
