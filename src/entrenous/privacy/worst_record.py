"""Lemma 6 for a list of pairs: the recursion of the records that can be the worst, in three walks along the steps.

Few can be: a record has less to gain the later its first touch comes. The first walk counts touches and follows one
record through, the second leaves out whoever cannot come to as much as that one, the third follows those that are left
(docs/proofs.md, Lemma 6, *Who can be the worst*). Each walk asks little of memory, which is what steps wait for. In
many passes over the records all of them come to much the same, and all are followed.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numba import njit

from entrenous.arrays import Array
from entrenous.parts.pairing import Pairing

_MANY_PASSES = 32
"""Passes over the records from which on so many can be the worst that all are followed at once."""

_ONE = np.uint64(1)
"""An index is unsigned here, and stays it only among its kind."""


def largest_recursion(pairing: Pairing, n: int, step_sizes: Array, weights: Array, drift: float, jump: float) -> float:
    """The largest ``sum_s a_s r_s`` over the records."""
    # Sums begin where a record is touched: what the output does before would only cost them digits.
    start = int(_first_touch(*pairing))
    if start == pairing.steps:
        return 0.0
    current, stream, low, high = pairing.unsigned()
    pairs = current[start:], stream, low[start:], high[start:]
    numbers = step_sizes[start:], weights[start + 1 :], drift, jump
    single = bool(_have_one_partner(low, high))
    survey, candidates, follow = _walks(single)
    if pairing.steps > _MANY_PASSES * n:
        return float(follow(*pairs, np.arange(1, n + 1, dtype=np.uint32), n, *numbers))
    # With one partner a touch is a whole one, so that it can be counted in half the memory.
    touched = np.zeros(n, np.uint32 if single else np.float64)
    least, *sums = survey(*pairs, touched, *numbers)
    places = touched.view(np.uint32)[:n]  # in the same memory, which is near now
    used = candidates(*pairs, touched, places, *numbers, least, *sums)
    return max(least, float(follow(*pairs, places, used, *numbers)))


@njit(cache=True, error_model="numpy")
def _have_one_partner(low, high):  # type: ignore[no-untyped-def]
    alone = True
    for t in range(len(low)):
        alone &= high[t] - low[t] == _ONE
    return alone


@cache
def _walks(single):  # type: ignore[no-untyped-def]
    """The three walks; with `single` a constant no step asks how many partners it has."""

    @njit(cache=True, error_model="numpy")
    def survey(current, stream, low, high, touched, eta, weights, drift, jump):  # type: ignore[no-untyped-def]
        """Adds every record's shares to `touched`.

        Returns what the first record comes to, the sums of the weights and of the weights times energy, and the longest
        of the steps that are longer than the one before.
        """
        chosen = current[0]
        mass, moment, energy, longest, before = 0.0, 0.0, 0.0, 0.0, eta[0]
        r, output, share, taken, mass_then, moment_then, energy_then = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for t in range(len(current)):
            here, first, step = current[t], low[t], eta[t]
            end = first + _ONE if single else high[t]
            part = 1 if single else 1.0 / (end - first)
            own, f = 0 * part, 0 * part
            for p in range(first, end):
                other = stream[p]
                if other != here:
                    own += part
                    touched[other] += part
                    if other == chosen:
                        f += part
            touched[here] += own
            if here == chosen:
                f = own
            risen = energy + step * step
            if f > 0:
                if share > 0.0:
                    r, paid = _since_touched(
                        r, share, taken, mass - mass_then, moment - moment_then, energy_then, energy, drift, jump
                    )
                    output += paid
                share, taken, mass_then, moment_then, energy_then = min(1.0, f), step, mass, moment, risen
            if step > before:
                longest = max(longest, step)
            before, energy = step, risen
            mass += weights[t]
            moment += weights[t] * energy
        r, paid = _since_touched(
            r, share, taken, mass - mass_then, moment - moment_then, energy_then, energy, drift, jump
        )
        return output + paid, mass, moment, longest

    @njit(cache=True, error_model="numpy")
    def candidates(  # type: ignore[no-untyped-def]
        current, stream, low, high, touched, places, eta, weights, drift, jump, least, mass, moment, longest
    ):
        """The records that may come to `least` or more, by the bound of the lemma; takes them out of `touched`."""
        most = touched[0]
        for i in range(len(touched)):
            most = max(most, touched[i])
        # Sums of T terms are off by T roundings of the whole at most: every part of the bound is widened by more.
        slack = 8.0 * len(current) * 2.0**-52
        chosen = np.empty(len(touched), np.int64)
        used, energy, mass_before, moment_before = 0, 0.0, 0.0, 0.0
        for t in range(len(current)):
            rest = mass - mass_before
            spread = max(moment - moment_before - rest * energy, 0.0) + slack * (moment + mass * energy)
            rest += slack * mass
            grown = rest * spread
            base, reach = drift * math.sqrt(grown), jump * max(eta[t], longest) * rest
            if (base + reach * most) * (1.0 + slack) < least:
                break
            end = low[t] + _ONE if single else high[t]
            for p in range(low[t], end + _ONE):
                i = stream[p] if p < end else current[t]
                if touched[i] > 0 and (base + reach * touched[i]) * (1.0 + slack) >= least:
                    chosen[used] = i
                    used += 1
                    touched[i] = 0  # listed once
            energy += eta[t] * eta[t]
            mass_before += weights[t]
            moment_before += weights[t] * energy
        places[:] = 0
        for k in range(used):
            places[chosen[k]] = k + 1
        return used

    @njit(cache=True, error_model="numpy")
    def follow(current, stream, low, high, places, used, eta, weights, drift, jump):  # type: ignore[no-untyped-def]
        # State of a record: r before the last step that touched it, the output before it, the step, the share f there,
        # its eta, and the three sums below. A step may touch a record several times, so a touch counts only when a
        # later step comes to the record.
        state = np.zeros((used + 1, 8))
        mass, moment, energy = 0.0, 0.0, 0.0  # of the weights, of weights times energy, of eta^2: steps so far
        for t in range(len(current)):
            here, first, step = current[t], low[t], eta[t]
            end = first + _ONE if single else high[t]
            found, risen = places[here] | places[stream[first]], energy + step * step
            if not single:
                for p in range(first + _ONE, end):
                    found |= places[stream[p]]
            if found:
                part, own = 1.0 if single else 1.0 / (end - first), 0.0
                for p in range(first, end + _ONE):  # the partners, then the record itself
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
                        r, paid = _since_touched(
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
        worst = 0.0
        for i in range(1, used + 1):
            if state[i, 2] == 0.0:
                continue
            _, paid = _since_touched(
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
            worst = max(worst, state[i, 1] + paid)
        return worst

    return survey, candidates, follow


@njit(cache=True, error_model="numpy")
def _first_touch(current, stream, low, high):  # type: ignore[no-untyped-def]
    """The first step at which two different records meet."""
    for t in range(len(current)):
        for p in range(low[t], high[t]):
            if stream[p] != current[t]:
                return t
    return len(current)


# It takes numbers only: a compiled call that hands over arrays costs ten times what this does.
@njit(cache=True, error_model="numpy")
def _since_touched(r, f, step, mass, moment, before, energy, drift, jump):  # type: ignore[no-untyped-def]
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
