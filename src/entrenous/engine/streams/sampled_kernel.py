"""The compiled loop of descent on fresh samples. It sees indices and noise that were drawn outside."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numba import njit

from entrenous.arrays import Array, Codes
from entrenous.engine.pairs.surrogate_kernels import slope
from entrenous.engine.prefetch import hint_row
from entrenous.engine.streams.stream_kernel import project_psd

_AHEAD = 16
"""Rows between asking for one and reading it."""


@njit(cache=True, error_model="numpy")
def _samples(draws, order):  # type: ignore[no-untyped-def]
    """A uniform sample without replacement per row of `draws`, whatever permutation `order` was before.

    Entry k of a row is uniform below ``n - k``: entry k of `order` is exchanged with the one so many places on.
    """
    samples = np.empty_like(draws)
    for step in range(draws.shape[0]):
        for k in range(draws.shape[1]):
            other = k + draws[step, k]
            chosen = order[other]
            order[other] = order[k]
            order[k] = chosen
            samples[step, k] = chosen
    return samples


@njit(cache=True, error_model="numpy")
def _mixed(samples, sides):  # type: ignore[no-untyped-def]
    """Which samples hold records of both sides."""
    mixed = np.zeros(len(samples), np.bool_)
    for step in range(len(samples)):
        first = sides[samples[step, 0]]
        for k in range(1, samples.shape[1]):
            mixed[step] |= sides[samples[step, k]] != first
    return mixed


@cache
def sampled_kernel(code, pairwise):  # type: ignore[no-untyped-def]
    """The loop of one surrogate, on pairs or on records: both are constants there, so that no step asks for them."""

    # Sums in any order: what a step adds up in one is rounding, and the loops use the vector units.
    @njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    def steps(  # type: ignore[no-untyped-def]
        rows, sides, offsets, draws, noise, order, w, total, parameter, inner, outer, weight, ridge, step_size, radius
    ):
        """One step per row of `draws` and `noise`; `w`, `total` and `order` are changed in place.

        Pairwise: every pair of unlike `sides` in the sample pays, the event (side 1) first, times `weight`. Pointwise:
        every record pays ``phi(offset + side <w, x>)`` times `weight`. `total` collects the parameters at which
        gradients are taken.
        """
        size = draws.shape[1]
        dimension = w.size
        scores = np.empty(size)
        slopes = np.empty(size)
        samples = _samples(draws, order)
        # Of a pair of like labels nothing but the noise comes, and no row is needed.
        mixed = _mixed(samples, sides)
        ahead = max(1, _AHEAD // size)
        for step in range(len(samples)):
            if step + ahead < len(samples) and (not pairwise or mixed[step + ahead]):
                for k in range(size):
                    hint_row(rows, samples[step + ahead, k])  # type: ignore[call-arg]
            slopes[:] = 0.0
            if not pairwise or mixed[step]:
                for k in range(size):
                    score, i = 0.0, samples[step, k]
                    for f in range(dimension):
                        score += rows[i, f] * w[f]
                    scores[k] = score
            if pairwise and mixed[step]:
                for k in range(size):
                    side = sides[samples[step, k]]
                    for m in range(k):
                        if side != sides[samples[step, m]]:
                            s = weight * slope(code, parameter, inner, outer, side * (scores[k] - scores[m]))
                            slopes[k] += side * s
                            slopes[m] -= side * s
            if not pairwise:
                for k in range(size):
                    i = samples[step, k]
                    s = slope(code, parameter, inner, outer, offsets[i] + sides[i] * scores[k])
                    slopes[k] = weight * sides[i] * s
            squares = 0.0
            for f in range(dimension):
                before = w[f]
                total[f] += before
                after = before - step_size * (ridge * before + noise[step, f])
                w[f] = after
                squares += after * after
            for k in range(size):
                if slopes[k] != 0.0:
                    move, i, squares = step_size * slopes[k], samples[step, k], 0.0
                    for f in range(dimension):
                        after = w[f] - move * rows[i, f]
                        w[f] = after
                        squares += after * after
            if squares > radius * radius:
                shrink = radius / math.sqrt(squares)
                for f in range(dimension):
                    w[f] *= shrink

    return steps


@njit(cache=True, error_model="numpy")
def sampled_matrix_steps(
    rows: Array,
    codes: Codes,
    draws: Codes,
    noise: Array,
    order: Codes,
    w: Array,
    total: Array,
    surrogate: tuple[int, float, float, float],
    weight: float,
    ridge: float,
    step_size: float,
    radius: float,
    nuclear: bool,
) -> None:
    """`sampled_kernel` for a metric: every pair of the sample pays, times `weight`; `noise` holds one matrix a step."""
    code, parameter, inner, outer = surrogate
    size = draws.shape[1]
    d = rows.shape[1]
    gap = np.empty(d)
    gradient = np.empty((d, d))
    samples = _samples(draws, order)
    for step in range(len(samples)):
        sample = samples[step]
        gradient[:] = ridge * w + noise[step]
        for k in range(size):
            for m in range(k):
                i, j = sample[k], sample[m]
                tau = 1.0 if codes[i] == codes[j] else -1.0
                for f in range(d):
                    gap[f] = rows[i, f] - rows[j, f]
                distance = 0.0
                for f in range(d):
                    row = 0.0
                    for g in range(d):
                        row += w[f, g] * gap[g]
                    distance += row * gap[f]
                s = -weight * tau * slope(code, parameter, inner, outer, tau * (1.0 - distance))
                for f in range(d):
                    for g in range(d):
                        gradient[f, g] += s * gap[f] * gap[g]
        total += w
        w -= step_size * gradient
        project_psd(w, radius, nuclear)
