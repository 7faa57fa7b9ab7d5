"""Settings of Figures 1 and 2 of Wang et al. 2024, section 5, which print no numbers.

Wang, Lei, Ying, Zhou: Differentially private stochastic gradient descent with low-noise. 2024.
"""

from __future__ import annotations

from typing import Final

N, STEPS, STEP_SIZE, REPETITIONS = 5000, 1000, 0.01, 500
TRUTH: Final = {
    "least squares": (0.5, 0.3, 0.0, 0.1, 0.2, 0.0, 0.0, 0.0, 0.0, 0.1),
    "logistic": (5.0, 3.0, 0.0, 0.1, 0.2, 0.0, 0.0, 0.0, 0.0, 0.1),
}
NOISE: Final = {"least squares": (0.0, 0.1, 0.15), "logistic": (0.0, 0.4, 0.6)}
EPSILONS: Final = {
    "least squares": (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5),
    "logistic": (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0),
}
LARGEST_TARGET: Final = 0.5
"""Least squares: rows with a larger target are not drawn."""
