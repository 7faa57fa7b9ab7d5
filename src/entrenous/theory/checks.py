"""What the numbers in a theorem must be, with errors in three parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import AssumptionError, InputError

Steps = float | Sequence[float] | Array
"""One step size for all steps, or one for each."""


def positive(**values: float) -> None:
    """Finite numbers above 0."""
    for name, value in values.items():
        if not (_is_number(value) and 0.0 < value < math.inf):
            raise InputError(f"{name} must be a finite number above 0", repr(value), f"Give {name} > 0.")


def not_negative(**values: float) -> None:
    """Finite numbers that may be 0."""
    for name, value in values.items():
        if not (_is_number(value) and 0.0 <= value < math.inf):
            raise InputError(f"{name} must be a finite number, 0 or more", repr(value), f"Give {name} >= 0.")


def counts(least: int = 1, **values: int) -> None:
    """Whole numbers."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(
                f"{name} must be a whole number, {least} or more",
                repr(value),
                f"Give {name} as an int of at least {least}.",
            )


def probabilities(**values: float) -> None:
    """Numbers strictly between 0 and 1."""
    for name, value in values.items():
        if not (_is_number(value) and 0.0 < value < 1.0):
            raise InputError(f"{name} must lie strictly between 0 and 1", repr(value), f"Give 0 < {name} < 1.")


def assume(holds: bool, needs: str, got: str, way_out: str) -> None:
    """A condition that the theorem itself states."""
    if not holds:
        raise AssumptionError(needs, got, way_out)


def no_larger_step(eta: Steps, most: float, where: str) -> None:
    """The largest step that a theorem allows."""
    largest = float(np.max(np.asarray(eta, dtype=float)))
    # A step that was computed as the limit may come out one rounding above it.
    fits = largest <= most * (1.0 + 1e-12)
    assume(fits, f"{where} needs steps of at most {most:.6g}", f"{largest:.6g}", f"Take eta <= {most:.6g}.")


@dataclass(frozen=True)
class StepSums:
    """What bounds need of the steps: their sum, sum of squares, and sum of products with the step before."""

    total: float
    squares: float
    lagged: float


def step_sums(eta: Steps, T: int) -> StepSums:
    """The sums for a constant step (any T, nothing is stored) or for T given steps.

    The step before the first, which the papers call eta_0 and never use, counts as the first.
    """
    counts(T=T)
    if isinstance(eta, int | float | np.floating):
        positive(eta=float(eta))
        return StepSums(T * float(eta), T * float(eta) ** 2, T * float(eta) ** 2)
    steps = np.asarray(eta, dtype=float)
    if steps.shape != (T,):
        raise InputError(f"eta must be one number or {T} of them", f"shape {steps.shape}", "Give one step for every t.")
    if not (np.isfinite(steps).all() and (steps > 0.0).all()):
        raise InputError("every step must be a finite number above 0", "another one", "Give positive steps.")
    before = np.concatenate([steps[:1], steps[:-1]])
    return StepSums(float(steps.sum()), float((steps**2).sum()), float((steps * before).sum()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
