"""Lemma 6 where each record meets all before it: the recursion of the few records that can be the worst.

Every record is touched at every step after its first turn, so that following all of them takes n T steps. A bound that
is right to second order (docs/proofs.md, Lemma 6, *All previous*) is found for all of them at once in a few walks along
the steps; the records are then followed from the largest bound down, until no bound is above what was found.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from entrenous.arrays import Array, Codes

MOST_FOLLOWED = 5 * 10**8
"""Steps that records are followed for in all, each through all of its steps; from there on the bound itself counts."""


def largest_recursion_all_previous(
    order: Codes,
    n: int,
    step_sizes: Array,
    weights: Array,
    drift: float,
    jump: float,
    most_followed: int = MOST_FOLLOWED,
) -> float:
    """The largest ``sum_s a_s r_s`` over the records, each met by all that `order` draws later.

    `order` is longer than the steps by the records that come before the first one.
    """
    unpaired = len(order) - len(step_sizes)
    bounds = upper_bounds(order, n, step_sizes, weights, drift, jump)
    worst, room = 0.0, most_followed // len(step_sizes)
    for place, i in enumerate(np.argsort(-bounds, kind="stable")):
        if bounds[i] <= worst:
            break
        if place == room:
            return float(bounds[i])
        worst = max(worst, float(_followed(order, unpaired, i, step_sizes, weights[1:], drift, jump)[0]))
    return worst


def upper_bounds(order: Codes, n: int, step_sizes: Array, weights: Array, drift: float, jump: float) -> Array:
    """An upper bound of ``sum_s a_s r_s`` for each record; 0 for those that meet nobody."""
    unpaired, after = len(order) - len(step_sizes), weights[1:]
    first = int(_first_meeting(order, unpaired))
    if first == len(order):
        return np.zeros(n)
    # The record that is there from the first meeting on: its path is close to the worst one's.
    _, path = _followed(order, unpaired, order[0], step_sizes, after, drift, jump)
    path = np.maximum(path, np.finfo(float).tiny)  # any positive number will do
    top = _envelope(order, unpaired, n, step_sizes, drift, jump)
    return _bounds(order, unpaired, n, first, step_sizes, after, drift, jump, path, top)


@njit(cache=True, error_model="numpy")
def _first_meeting(order, unpaired):  # type: ignore[no-untyped-def]
    """The place in the order of the first step at which two different records meet."""
    same = True
    for t in range(1, len(order)):
        same &= order[t] == order[0]
        if t >= unpaired and not same:
            return t
    return len(order)


@njit(cache=True, error_model="numpy")
def _followed(order, unpaired, i, eta, weights, drift, jump):  # type: ignore[no-untyped-def]
    """``sum_s a_s r_s`` of record i, and its r after every step."""
    path = np.zeros(len(eta))
    r, output, count = 0.0, 0.0, 0.0
    for t in range(unpaired):
        count += order[t] == i
    for t in range(unpaired, len(order)):
        here, s = order[t] == i, t - unpaired
        f = (t - count) / t if here else count / t
        count += here
        if f > 0.0 or r > 0.0:
            r = math.sqrt(r * r + (eta[s] * (1.0 - f) * drift) ** 2) + eta[s] * f * jump
            output += weights[s] * r
            path[s] = r
    return output, path


@njit(cache=True, error_model="numpy")
def _envelope(order, unpaired, n, eta, drift, jump):  # type: ignore[no-untyped-def]
    """For every step an upper bound of all records' r."""
    top = np.zeros(len(eta))
    # Of every record: how often it came, a bound on r^2 after its last turn, and the sums below at that time.
    count, square, flat_then, linear_then = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    flat, linear, most, r = 0.0, 0.0, 0.0, 0.0
    for t in range(len(order)):
        here = order[t]
        c = count[here]
        if t >= unpaired:
            step = eta[t - unpaired]
            own = 0.0
            if c > 0.0:
                own = min(r * r, square[here] + flat - flat_then[here] + c * (linear - linear_then[here]))
            own = math.sqrt(own + (step * c / t * drift) ** 2) + step * (t - c) / t * jump
            # The others: whoever was touched before came once at least, and `most` times at most.
            grown = (step * (t - 1) / t * drift) ** 2
            r = max(math.sqrt(r * r + grown) + step * most / t * jump, own)
            top[t - unpaired] = r
            flat += grown
            linear += 2.0 * step * jump * r / t
            square[here], flat_then[here], linear_then[here] = own * own, flat, linear
        count[here] = c + 1.0
        most = max(most, c + 1.0)
    return top


@njit(cache=True, error_model="numpy")
def _bounds(order, unpaired, n, first, eta, weights, drift, jump, path, top):  # type: ignore[no-untyped-def]
    """The bound of *All previous* for every record, around this path and below this envelope."""
    T = len(eta)
    later = np.zeros(T + 1)  # of the weights over twice the path, from a step on
    for s in range(T - 1, first - unpaired - 1, -1):
        later[s] = later[s + 1] + 0.5 * weights[s] / path[s]
    count, bound, then = np.zeros(n), np.zeros(n), np.zeros((n, 3))
    # A step that is not its own adds ``flat + c linear + c^2 square`` to the bound of a record that came c times.
    flat, linear, square, linear_size, square_size = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(len(order)):
        here = order[t]
        c = count[here]
        if t >= first:
            s = t - unpaired
            step, grown, stretch = eta[s], later[s], 0.5 * weights[s] * path[s]
            if c > 0.0:
                bound[here] += flat - then[here, 0] + c * (linear - then[here, 1]) + c * c * (square - then[here, 2])
            z, y = step * c / t * drift, step * (t - c) / t * jump
            bound[here] += stretch + grown * (z * z + y * (2.0 * top[s] - y))
            flat += stretch + grown * (step * drift) ** 2
            more = grown * 2.0 * step / t * (jump * top[s] - step * drift * drift)
            curved = grown * (step / t) ** 2 * (drift * drift - jump * jump)
            linear, linear_size = linear + more, linear_size + abs(more)
            square, square_size = square + curved, square_size + abs(curved)
            then[here, 0], then[here, 1], then[here, 2] = flat, linear, square
        count[here] = c + 1.0
    # Sums of T terms are off by T roundings of the whole at most: every bound is widened by more.
    slack = 8.0 * T * 2.0**-52
    for i in range(n):
        c = count[i]
        if c > 0.0:
            bound[i] += flat - then[i, 0] + c * (linear - then[i, 1]) + c * c * (square - then[i, 2])
            bound[i] += slack * (bound[i] + flat + c * linear_size + c * c * square_size)
    return bound
