"""What may be spent: (epsilon, delta) under replace-one adjacency."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from functools import lru_cache

from entrenous.errors import InputError, warn_of_privacy
from entrenous.registry import part

ADJACENCY = "replace-one"
"""Two data sets are neighbours when they have the same n and differ in one record, features and label."""

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 100.0

SMALLEST_DELTA = 1e-18
"""Noise is made of 64 random bits a value, so its tails end near probability 2^-65: no smaller delta can be kept."""


@part
@dataclass(frozen=True)
class Budget:
    """A validated request. ``epsilon = inf`` is a fit without privacy, ``delta = 0`` asks for pure privacy."""

    epsilon: float
    delta: float

    @property
    def is_private(self) -> bool:
        return math.isfinite(self.epsilon)

    @property
    def is_pure(self) -> bool:
        return self.is_private and self.delta == 0.0

    def cautions(self, n: int) -> tuple[str, ...]:
        """What is weak about this budget for n records; every certificate repeats it."""
        if not self.is_private or self.delta < 1.0 / n:
            return ()
        return (
            f"delta={self.delta:g} is not below 1/n={1.0 / n:g}: a mechanism that publishes one whole record at random "
            "would meet it. Use delta=None (1/n**2).",
        )


NO_PRIVACY = Budget(math.inf, 0.0)


@lru_cache(maxsize=64, typed=True)
def asks_for_privacy(epsilon: float | None) -> bool:
    """Whether a fit with this epsilon is private; an error where it is no budget. Remembered: a fit asks often."""
    return budget_for(epsilon, None, 2).is_private


def budget_for(epsilon: float | None, delta: float | None, n: int) -> Budget:
    """Check a request and fill in ``delta = 1/n^2``, or ``1e-18`` where that would be less.

    >>> budget_for(1.0, None, 1000)
    Budget(epsilon=1.0, delta=1e-06)
    """
    if epsilon is None:
        return NO_PRIVACY
    if isinstance(epsilon, bool) or not isinstance(epsilon, numbers.Real) or math.isnan(epsilon) or epsilon <= 0:
        raise InputError(
            "epsilon must be a number > 0",
            f"epsilon={epsilon!r}",
            "1.0 is a common choice, smaller is more private; epsilon=None fits without privacy.",
        )
    if math.isinf(epsilon):
        return NO_PRIVACY
    if epsilon < SMALLEST_EPSILON:
        raise InputError(
            f"epsilon must be at least {SMALLEST_EPSILON:g}: below it there is nothing to learn and nothing to check",
            f"epsilon={epsilon!r}",
            "0.1 is already a strong promise.",
        )
    if epsilon > LARGEST_EPSILON:
        raise InputError(
            f"epsilon must be at most {LARGEST_EPSILON:g}: beyond it e^epsilon promises nothing",
            f"epsilon={epsilon!r}",
            "Use epsilon=None for a fit without privacy.",
        )
    if delta is None:
        return Budget(float(epsilon), max(1.0 / n**2, SMALLEST_DELTA))
    budget = Budget(float(epsilon), checked_delta(delta))
    for caution in budget.cautions(n):
        warn_of_privacy(caution)
    return budget


def checked_delta(delta: float) -> float:
    """0, or a probability that the noise can honour."""
    if isinstance(delta, bool) or not isinstance(delta, numbers.Real) or not 0.0 <= delta < 1.0:
        raise InputError(
            "delta must be a number in [0, 1)",
            f"delta={delta!r}",
            "None means 1/n**2; 0 asks for pure differential privacy.",
        )
    if 0.0 < delta < SMALLEST_DELTA:
        raise InputError(
            f"delta must be 0 or at least {SMALLEST_DELTA:g}: the tails of the noise end near probability 2^-65",
            f"delta={delta!r}",
            f"None means 1/n**2, {SMALLEST_DELTA:g} for very large n; 0 asks for pure differential privacy.",
        )
    return float(delta)
