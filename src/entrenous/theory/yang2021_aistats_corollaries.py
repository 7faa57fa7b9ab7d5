"""Corollaries 1-4 of Yang, Lei, Lyu, Ying (AISTATS 2021): its theorems for rankings and metrics.

T = n^2, eta of order n^(-3/2). All hide logarithms and a constant. The stored print leaves open what stands under its
roots; epsilon stands outside, as eq. (5) wants.
"""

from __future__ import annotations

import math

from entrenous.theory.checks import counts, positive
from entrenous.theory.stated import statement


@statement(
    "excess risk",
    "Corollary 1",
    bounds="excess population risk of a ranking, high probability",
    formula="C sqrt(kappa/n)",
    constant="C",
    at=lambda s: {"n": s.n, "kappa": s.kappa},
)
def corollary_1(n: int, kappa: float, *, C: float = 1.0) -> float:
    """Theorem 2 for the hinge loss over pairs.

    The theorem itself grows with kappa, not with its root (G is 2 kappa).
    """
    counts(n=n)
    positive(kappa=kappa, C=C)
    return C * math.sqrt(kappa / n)


@statement(
    "excess risk",
    "Corollary 2",
    bounds="excess population risk of a ranking, private, high probability",
    formula="C sqrt(kappa d)/(sqrt(n) epsilon)",
    constant="C",
    at=lambda s: {"n": s.n, "d": s.d, "epsilon": s.epsilon, "kappa": s.kappa},
)
def corollary_2(n: int, d: int, epsilon: float, kappa: float, *, C: float = 1.0) -> float:
    """Theorem 5 for the hinge loss over pairs, with the noise of eq. (5)."""
    counts(n=n, d=d)
    positive(epsilon=epsilon, kappa=kappa, C=C)
    return C * math.sqrt(kappa * d / n) / epsilon


@statement(
    "excess risk",
    "Corollary 3",
    bounds="excess population risk of a metric, high probability",
    formula="C sqrt(chi log d)/n",
    constant="C",
    conditions=("d >= 3",),
    at=lambda s: {"n": s.n, "d": s.d, "chi": s.chi},
)
def corollary_3(n: int, d: int, chi: float, *, C: float = 1.0) -> float:
    """Theorem 2 for metrics, as printed.

    **Only its Rademacher term falls as 1/n**: the theorem's others fall as 1/sqrt(n).
    """
    counts(n=n)
    counts(3, d=d)
    positive(chi=chi, C=C)
    return C * math.sqrt(chi * math.log(d)) / n


@statement(
    "excess risk",
    "Corollary 4",
    bounds="excess population risk of a metric, private, high probability",
    formula="C sqrt(chi d log d)/(sqrt(n) epsilon)",
    constant="C",
    conditions=("d >= 3",),
    at=lambda s: {"n": s.n, "d": s.d, "epsilon": s.epsilon, "chi": s.chi},
)
def corollary_4(n: int, d: int, epsilon: float, chi: float, *, C: float = 1.0) -> float:
    """Theorem 5 for metrics.

    A d x d matrix has d^2 coordinates of noise: Theorem 5 gives d where the print has sqrt(d).
    """
    counts(n=n)
    counts(3, d=d)
    positive(epsilon=epsilon, chi=chi, C=C)
    return C * math.sqrt(chi * d * math.log(d) / n) / epsilon
