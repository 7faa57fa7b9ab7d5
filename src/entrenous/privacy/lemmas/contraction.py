"""One step of Lemma 10's recursion; without strong convexity it is Lemma 6's, or Lemma 5's."""

from __future__ import annotations

import math
from typing import NamedTuple

from numba import njit


class Contraction(NamedTuple):
    """The constants of a step in Lemma 10.

    Strong convexity, the longest step of the smooth rule, g (`drift`), D_pair at one parameter and across two, and the
    diameter of the parameter domain.
    """

    strong_convexity: float
    smooth_step: float
    drift: float
    jump_same: float
    jump_across: float
    diameter: float


def nonsmooth_step(drift: float, jump: float) -> Contraction:
    """The constants that turn Lemma 10's step into Lemma 6's; with ``drift = 0`` into Lemma 5's."""
    return Contraction(0.0, 0.0, drift, jump, jump, math.inf)


@njit(cache=True, error_model="numpy")
def after_step(r, eta, f, alpha, smooth_step, drift, same, across, diameter):  # type: ignore[no-untyped-def]
    """The distance of two runs after a step that touches the exchanged record with share f."""
    keep = 1.0 - eta * alpha
    if keep >= 0.0:
        moved = math.sqrt((keep * r) ** 2 + (eta * (1.0 - f) * drift) ** 2) + eta * f * across
    else:
        moved = -keep * r + eta * (1.0 - f) * drift + eta * f * across
    if eta <= smooth_step:
        moved = min(moved, keep * r + eta * f * same)
    return min(moved, diameter)
