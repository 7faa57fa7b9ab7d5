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
from entrenous.privacy.lemmas.followed import ONE, largest_followed, since_touched
from entrenous.problem.streams.pairing import Pairing

_MANY_PASSES = 32
"""Passes over the records from which on so many can be the worst that all are followed at once."""


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
    survey, candidates = _walks(single)
    if pairing.steps > _MANY_PASSES * n:
        return largest_followed(pairs, np.arange(1, n + 1, dtype=np.uint32), n, numbers, single)
    # With one partner a touch is a whole one, so that it can be counted in half the memory.
    touched = np.zeros(n, np.uint32 if single else np.float64)
    least, *sums = survey(*pairs, touched, *numbers)
    places = touched.view(np.uint32)[:n]  # in the same memory, which is near now
    used = candidates(*pairs, touched, places, *numbers, least, *sums)
    return max(least, largest_followed(pairs, places, used, numbers, single))


@njit(cache=True, error_model="numpy")
def _have_one_partner(low, high):  # type: ignore[no-untyped-def]
    alone = True
    for t in range(len(low)):
        alone &= high[t] - low[t] == ONE
    return alone


@cache
def _walks(single):  # type: ignore[no-untyped-def]
    """The first two walks; with `single` a constant no step asks how many partners it has."""

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
            end = first + ONE if single else high[t]
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
                    r, paid = since_touched(
                        r, share, taken, mass - mass_then, moment - moment_then, energy_then, energy, drift, jump
                    )
                    output += paid
                share, taken, mass_then, moment_then, energy_then = min(1.0, f), step, mass, moment, risen
            if step > before:
                longest = max(longest, step)
            before, energy = step, risen
            mass += weights[t]
            moment += weights[t] * energy
        r, paid = since_touched(
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
            end = low[t] + ONE if single else high[t]
            for p in range(low[t], end + ONE):
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

    return survey, candidates


@njit(cache=True, error_model="numpy")
def _first_touch(current, stream, low, high):  # type: ignore[no-untyped-def]
    """The first step at which two different records meet."""
    for t in range(len(current)):
        for p in range(low[t], high[t]):
            if stream[p] != current[t]:
                return t
    return len(current)
