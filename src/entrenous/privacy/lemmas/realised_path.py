"""How often each record is touched by a realised stream of pairs, and what that adds up to (Lemmas 5, 6 and 10).

The pairs are drawn without looking at the records, so calibrating to the pairs that were drawn is private whatever they
are. Lemmas 5 and 6 are linear in the number of touches, or in the steps when each record meets all before it; Lemma 10
walks through all steps for every record.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from entrenous.arrays import Array
from entrenous.privacy.lemmas.all_previous import largest_recursion_all_previous
from entrenous.privacy.lemmas.contraction import Contraction, after_step
from entrenous.privacy.lemmas.worst_record import largest_recursion
from entrenous.problem.streams.pairing import Pairing


def smooth_exposure(pairing: Pairing, n: int, step_sizes: Array, weights: Array) -> float:
    """``max_i sum_t eta_t f_{t,i} A_t``: Lemma 5 without its D_pair.

    `weights` are the shares ``a_0..a_T`` of the iterates in the output; ``A_t = a_t + ... + a_T``.
    """
    if not pairing.steps:
        return 0.0
    if _sees_all_before(pairing):
        remaining = np.cumsum(weights[::-1])[::-1][1:]
        return float(_exposure_all_before(pairing.stream, n, step_sizes * remaining).max())
    return float(_exposure(*pairing, n, step_sizes, weights).max())


def nonsmooth_exposure(pairing: Pairing, n: int, step_sizes: Array, weights: Array, drift: float, jump: float) -> float:
    """The largest ``sum_s a_s r_s`` over the records: Lemma 6.

    `drift` is g, how far two runs' gradients of the same pair can be apart; `jump` is D_pair.
    """
    if not pairing.steps:
        return 0.0
    if _sees_all_before(pairing):
        return largest_recursion_all_previous(pairing.stream, n, step_sizes, weights, drift, jump)
    return largest_recursion(pairing, n, step_sizes, weights, drift, jump)


def contracting_exposure(
    pairing: Pairing, n: int, step_sizes: Array, linear: Array, quadratic: Array, step: Contraction
) -> float:
    """The largest ``sum_s linear_s r_s + sqrt(sum_s (quadratic_s r_s)^2)`` over the records: Lemma 10."""
    if _sees_all_before(pairing):
        skipped = len(pairing.stream) - 1 - pairing.steps
        return float(_contracting_all_before(pairing.stream, skipped, n, step_sizes, linear, quadratic, *step))
    starts, steps, shares = _touches(*pairing, n)
    return float(_contracting(starts, steps, shares, step_sizes, linear, quadratic, *step))


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
    prefix, unpaired = 0.0, len(order) - len(weighted)
    for t in range(len(order)):
        here = order[t]
        if t >= unpaired:
            part = weighted[t - unpaired] / t
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
            r = after_step(r, eta[t - 1], f, alpha, smooth_step, drift, same, across, diameter)
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
                    r = after_step(r, eta[s - 1], f, alpha, smooth_step, drift, same, across, diameter)
                    average += linear[s] * r
                    energy += (quadratic[s] * r) ** 2
            if here:
                count += 1.0
        worst = max(worst, average + math.sqrt(energy))
    return worst
