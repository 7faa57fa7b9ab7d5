"""Lemma 6's recursion of chosen records along a list of pairs, one touch after the other."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numba import njit

from entrenous.arrays import AnyArray, Array

ONE = np.uint64(1)
"""Indices are unsigned here. With a signed 1 added, numba would make them floats."""

Pairs = tuple[AnyArray, AnyArray, AnyArray, AnyArray]
Numbers = tuple[Array, Array, float, float]
"""Step sizes, weights of the iterates after them, drift and jump."""


def largest_followed(pairs: Pairs, places: AnyArray, used: int, numbers: Numbers, single: bool) -> float:
    """The largest ``sum_s a_s r_s`` over the records whose place is not 0; places count from 1 to `used`."""
    state = np.zeros((used + 1, 8))
    _, _, drift, jump = numbers
    mass, moment, energy = walk(single)(*pairs, places, state, *numbers)
    return float(settle(state, mass, moment, energy, drift, jump)[1].max())


@cache
def walk(single: bool) -> Any:
    """The walk along the steps; with `single` a constant no step asks how many partners it has.

    It brings the rows of `state` up to date and returns the sums of the weights, of weights times energy, and of eta^2.
    """

    @njit(cache=True, error_model="numpy")
    def follow(current, stream, low, high, places, state, eta, weights, drift, jump):  # type: ignore[no-untyped-def]
        # State of a record: r before the last step that touched it, the output before it, the step, the share f there,
        # its eta, and the three sums below. A step may touch a record several times, so a touch counts only when a
        # later step comes to the record.
        mass, moment, energy = 0.0, 0.0, 0.0
        for t in range(len(current)):
            here, first, step = current[t], low[t], eta[t]
            end = first + ONE if single else high[t]
            found, risen = places[here] | places[stream[first]], energy + step * step
            if not single:
                for p in range(first + ONE, end):
                    found |= places[stream[p]]
            if found:
                part, own = 1.0 if single else 1.0 / (end - first), 0.0
                for p in range(first, end + ONE):  # the partners, then the record itself
                    record, share = (stream[p], part) if p < end else (here, own)
                    if (p < end and record == here) or share == 0.0:
                        continue
                    own += share
                    i = places[record]
                    if i == 0:
                        continue
                    if not single and state[i, 2] == t + 1:
                        state[i, 3] += share
                        continue
                    if state[i, 2] > 0.0:
                        # What happened from the last touch to the step before this one.
                        r, paid = since_touched(
                            state[i, 0],
                            1.0 if single else min(1.0, state[i, 3]),
                            state[i, 4],
                            mass - state[i, 5],
                            moment - state[i, 6],
                            state[i, 7],
                            energy,
                            drift,
                            jump,
                        )
                        state[i, 0] = r
                        state[i, 1] += paid
                    state[i, 2], state[i, 3], state[i, 4] = t + 1, share, step
                    state[i, 5], state[i, 6], state[i, 7] = mass, moment, risen
            energy = risen
            mass += weights[t]
            moment += weights[t] * energy
        return mass, moment, energy

    return follow


@njit(cache=True, error_model="numpy")
def settle(state, mass, moment, energy, drift, jump):  # type: ignore[no-untyped-def]
    """R and output of every record when the sums have come to these numbers; those never touched keep theirs."""
    r, output = state[:, 0].copy(), state[:, 1].copy()
    for i in range(len(state)):
        if state[i, 2] > 0.0:
            r[i], paid = since_touched(
                state[i, 0],
                min(1.0, state[i, 3]),
                state[i, 4],
                mass - state[i, 5],
                moment - state[i, 6],
                state[i, 7],
                energy,
                drift,
                jump,
            )
            output[i] += paid
    return r, output


# It takes numbers only: a compiled call that hands over arrays costs ten times what this does.
@njit(cache=True, error_model="numpy")
def since_touched(r, f, step, mass, moment, before, energy, drift, jump):  # type: ignore[no-untyped-def]
    """R after the step that touched the record with share f and the untouched steps behind it; what they all pay.

    Untouched, r^2 grows by ``drift^2 eta^2`` a step, and the root's average is below the root of the average, here
    written without a division: ``mass sqrt(r^2 + drift^2 (moment / mass - before))``.
    """
    if f < 1.0:
        r = math.sqrt(r * r + (step * (1.0 - f) * drift) ** 2)
    r += step * f * jump
    if energy == before:
        return r, mass * r  # touched again at the very next step
    paid = math.sqrt(mass * (mass * r * r + drift * drift * max(moment - mass * before, 0.0)))
    return math.sqrt(r * r + drift * drift * (energy - before)), paid
