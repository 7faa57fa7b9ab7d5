"""How often each record is touched by a realised stream of pairs, and what that adds up to (Lemmas 5 and 6).

The pairs are drawn without looking at the records, so calibrating to the pairs that were drawn is private whatever they
are. Everything here is linear in the number of touches: a few per step for a short buffer, n per step when each record
meets all before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from entrenous.arrays import Array
from entrenous.parts.pairing import Pairing
from entrenous.privacy.worst_record import largest_recursion


def smooth_exposure(pairing: Pairing, n: int, step_sizes: Array, weights: Array) -> float:
    """``max_i sum_t eta_t f_{t,i} A_t``: Lemma 5 without its D_pair.

    `weights` are the shares ``a_0..a_T`` of the iterates in the output; ``A_t = a_t + ... + a_T``.
    """
    if not pairing.steps:
        return 0.0
    if _sees_all_before(pairing) and pairing.steps == len(pairing.stream) - 1:
        remaining = np.cumsum(weights[::-1])[::-1][1:]
        return float(_exposure_all_before(pairing.stream, n, step_sizes * remaining).max())
    return float(_exposure(*pairing, n, step_sizes, weights).max())


def nonsmooth_exposure(pairing: Pairing, n: int, step_sizes: Array, weights: Array, drift: float, jump: float) -> float:
    """The largest ``sum_s a_s r_s`` over the records: Lemma 6.

    `drift` is g, how far two runs' gradients of the same pair can be apart; `jump` is D_pair.
    """
    if not pairing.steps:
        return 0.0
    if _sees_all_before(pairing) and pairing.steps == len(pairing.stream) - 1:
        # Every record is touched at every step after its first turn: listing the touches would take T^2 memory.
        return float(_largest_recursion_all_before(pairing.stream, n, step_sizes, weights, drift, jump))
    return largest_recursion(pairing, n, step_sizes, weights, drift, jump)


@dataclass(frozen=True)
class Contraction:
    """What Lemma 10 knows of a step: strong convexity, the longest smooth step, g, the two D_pair, and the diameter."""

    strong_convexity: float
    smooth_step: float
    drift: float
    jump_same: float
    jump_across: float
    diameter: float


def contracting_exposure(
    pairing: Pairing, n: int, step_sizes: Array, linear: Array, quadratic: Array, step: Contraction
) -> float:
    """The largest ``sum_s linear_s r_s + sqrt(sum_s (quadratic_s r_s)^2)`` over the records: Lemma 10."""
    numbers = (
        step.strong_convexity,
        step.smooth_step,
        step.drift,
        step.jump_same,
        step.jump_across,
        step.diameter,
    )
    if _sees_all_before(pairing):
        skipped = len(pairing.stream) - 1 - pairing.steps
        return float(_contracting_all_before(pairing.stream, skipped, n, step_sizes, linear, quadratic, *numbers))
    starts, steps, shares = _touches(*pairing, n)
    return float(_contracting(starts, steps, shares, step_sizes, linear, quadratic, *numbers))


def _sees_all_before(pairing: Pairing) -> bool:
    return bool(pairing.steps > 1 and pairing.low[-1] == 0 and pairing.high[-1] == len(pairing.stream) - 1)


@njit(cache=True, error_model="numpy")
def _exposure(current, stream, low, high, n, eta, weights):  # type: ignore[no-untyped-def]
    total = np.zeros(n)
    remaining = 0.0
    # From the last step to the first, as the weights that are still to come add up.
    for t in range(len(current) - 1, -1, -1):
        remaining += weights[t + 1]
        here = current[t]
        part = eta[t] * remaining / (high[t] - low[t])
        for p in range(low[t], high[t]):
            other = stream[p]
            if other != here:
                total[here] += part
                total[other] += part
    return total


@njit(cache=True, error_model="numpy")
def _exposure_all_before(order, n, weighted):  # type: ignore[no-untyped-def]
    # Between its own turns a record's share is count/t, so one prefix sum of weighted/t serves all records.
    total, count, seen_at = np.zeros(n), np.zeros(n), np.zeros(n)
    prefix = 0.0
    count[order[0]] = 1.0
    for t in range(1, len(order)):
        here, part = order[t], weighted[t - 1] / t
        total[here] += count[here] * (prefix - seen_at[here]) + part * (t - count[here])
        prefix += part
        seen_at[here] = prefix
        count[here] += 1.0
    for i in range(n):
        total[i] += count[i] * (prefix - seen_at[i])
    return total


@njit(cache=True, error_model="numpy")
def _touches(current, stream, low, high, n):  # type: ignore[no-untyped-def]
    """For each record the steps (from 1) that touch it and its share there, grouped by record, in order of time."""
    counts = np.zeros(n + 1, np.int64)
    last = np.full(n, -1, np.int64)
    for fill in range(2):
        if fill == 1:
            starts = np.zeros(n + 1, np.int64)
            for i in range(n):
                starts[i + 1] = starts[i] + counts[i]
            place = starts[:-1].copy()
            steps = np.empty(starts[n], np.int64)
            shares = np.zeros(starts[n])
            last[:] = -1
        for t in range(len(current)):
            here = current[t]
            part = 1.0 / (high[t] - low[t])
            for p in range(low[t], high[t]):
                other = stream[p]
                if other == here:
                    continue
                for record in (here, other):
                    if last[record] != t:
                        last[record] = t
                        if fill == 0:
                            counts[record] += 1
                        else:
                            steps[place[record]] = t + 1
                            place[record] += 1
                    if fill == 1:
                        shares[place[record] - 1] += part
    return starts, steps, shares


@njit(cache=True, error_model="numpy")
def _largest_recursion_all_before(order, n, eta, weights, drift, jump):  # type: ignore[no-untyped-def]
    worst = 0.0
    for i in range(n):
        r, output = 0.0, 0.0
        count = 1.0 if order[0] == i else 0.0
        for t in range(1, len(order)):
            here = order[t] == i
            f = (t - count) / t if here else count / t
            if here:
                count += 1.0
            if f > 0.0 or r > 0.0:
                step = eta[t - 1]
                r = math.sqrt(r * r + (step * (1.0 - f) * drift) ** 2) + step * f * jump
                output += weights[t] * r
        worst = max(worst, output)
    return worst


@njit(cache=True, error_model="numpy")
def _after_step(r, eta, f, alpha, smooth_step, drift, same, across, diameter):  # type: ignore[no-untyped-def]
    keep = 1.0 - eta * alpha
    if keep >= 0.0:
        moved = math.sqrt((keep * r) ** 2 + (eta * (1.0 - f) * drift) ** 2) + eta * f * across
    else:
        moved = -keep * r + eta * (1.0 - f) * drift + eta * f * across
    if eta <= smooth_step:
        moved = min(moved, keep * r + eta * f * same)
    return min(moved, diameter)


@njit(cache=True, error_model="numpy")
def _contracting(  # type: ignore[no-untyped-def]
    starts, steps, shares, eta, linear, quadratic, alpha, smooth_step, drift, same, across, diameter
):
    worst = 0.0
    for i in range(len(starts) - 1):
        r, average, energy, k = 0.0, 0.0, 0.0, starts[i]
        if starts[i] == starts[i + 1]:
            continue
        for t in range(steps[k], len(eta) + 1):
            f = 0.0
            if k < starts[i + 1] and steps[k] == t:
                f = min(1.0, shares[k])
                k += 1
            r = _after_step(r, eta[t - 1], f, alpha, smooth_step, drift, same, across, diameter)
            average += linear[t] * r
            energy += (quadratic[t] * r) ** 2
        worst = max(worst, average + math.sqrt(energy))
    return worst


@njit(cache=True, error_model="numpy")
def _contracting_all_before(  # type: ignore[no-untyped-def]
    order, skipped, n, eta, linear, quadratic, alpha, smooth_step, drift, same, across, diameter
):
    worst = 0.0
    for i in range(n):
        r, average, energy, count = 0.0, 0.0, 0.0, 0.0
        for t in range(len(order)):
            here = order[t] == i
            if t > skipped:
                f = (t - count) / t if here else count / t
                if f > 0.0 or r > 0.0:
                    s = t - skipped
                    r = _after_step(r, eta[s - 1], f, alpha, smooth_step, drift, same, across, diameter)
                    average += linear[s] * r
                    energy += (quadratic[s] * r) ** 2
            if here:
                count += 1.0
        worst = max(worst, average + math.sqrt(energy))
    return worst
