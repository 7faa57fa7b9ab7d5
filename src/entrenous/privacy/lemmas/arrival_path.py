"""Lemmas 5, 6 and 10 for records in order of arrival that meet all before them: the few records that can be the worst.

From its turn on every record has the same share at every step, one in t, so two records whose distances are in some
order keep that order (docs/proofs.md, Lemma 10, *All previous, in order of arrival*). One walk finds what no distance
is above; the records are then followed from the first on, leaving out those that start below one that was followed,
until the walk says that those who come later cannot come to more.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from entrenous.arrays import Array
from entrenous.privacy.lemmas.contraction import Contraction, after_step
from entrenous.problem.streams.stream import Stream

MOST_FOLLOWED = 2 * 10**8
"""Steps that records are followed for in all; from there on the bound itself counts."""


def meets_all_before(stream: Stream) -> bool:
    """Whether each record comes once, and meets all before it."""
    return stream.order == "arrival" and stream.keep == "latest" and stream.buffer is None


def arrival_exposure(
    unpaired: int,
    step_sizes: Array,
    linear: Array,
    quadratic: Array | None,
    step: Contraction,
    most_followed: int = MOST_FOLLOWED,
) -> float:
    """The largest ``sum_s linear_s r_s + sqrt(sum_s (quadratic_s r_s)^2)`` over the records.

    `unpaired` is how many records come before the first step; no `quadratic` is one of zeros.
    """
    if quadratic is None:
        quadratic = np.zeros_like(linear)
    return float(_largest(unpaired, step_sizes, linear[1:], quadratic[1:], most_followed, *step))


@njit(cache=True, error_model="numpy")
def _largest(  # type: ignore[no-untyped-def]
    unpaired, eta, linear, quadratic, most_followed, alpha, smooth_step, drift, same, across, diameter
):
    T = len(eta)
    start, average, energy = np.zeros(T), np.zeros(T + 1), np.zeros(T + 1)
    r = 0.0
    for s in range(T):
        start[s] = after_step(0.0, eta[s], 1.0, alpha, smooth_step, drift, same, across, diameter)
        r = after_step(r, eta[s], 1.0 / (unpaired + s), alpha, smooth_step, drift, same, across, diameter)
        r = max(r, start[s])
        average[s], energy[s] = linear[s] * r, (quadratic[s] * r) ** 2
    for s in range(T - 1, -1, -1):
        average[s] += average[s + 1]
        energy[s] += energy[s + 1]
    # The records before the first step share its first pairs with the current one; then one record starts at each step.
    reached, worst, followed = np.zeros(T), 0.0, 0
    for first in range(-1, T):
        s = max(first, 0)
        bound = average[s] + math.sqrt(energy[s])
        if bound <= worst:
            break
        if first >= 0 and start[s] <= reached[s]:
            continue
        if followed > most_followed - T + s:
            return bound
        followed += T - s
        r, moved, squares = 0.0, 0.0, 0.0
        for u in range(s, T):
            f = 1.0 if u == first else 1.0 / (unpaired + u)
            r = after_step(r, eta[u], f, alpha, smooth_step, drift, same, across, diameter)
            reached[u] = max(reached[u], r)
            moved += linear[u] * r
            squares += (quadratic[u] * r) ** 2
        worst = max(worst, moved + math.sqrt(squares))
    return worst
