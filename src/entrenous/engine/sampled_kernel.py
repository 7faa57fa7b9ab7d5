"""The compiled loop of descent on fresh samples. It sees indices and noise that were drawn outside."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from entrenous.arrays import Array, Codes
from entrenous.engine.kernels import slope
from entrenous.engine.prefetch import hint_row
from entrenous.engine.streaming_kernel import project_psd

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


# Sums in any order: what a step adds up in one is rounding, and the loops use the vector units.
@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def sampled_steps(
    rows: Array,
    sides: Array,
    offsets: Array,
    draws: Codes,
    noise: Array,
    order: Codes,
    w: Array,
    total: Array,
    surrogate: tuple[int, float, float, float],
    pairwise: bool,
    weight: float,
    ridge: float,
    step_size: float,
    radius: float,
) -> None:
    """One step per row of `draws` and `noise`; `w`, `total` and `order` are changed in place.

    Pairwise: every pair of unlike `sides` in the sample pays, the event (side 1) first, times `weight`. Pointwise:
    every record pays ``phi(offset + side <w, x>)`` times `weight`. `total` collects the parameters at which gradients
    are taken.
    """
    code, parameter, inner, outer = surrogate
    size = draws.shape[1]
    dimension = w.size
    scores = np.empty(size)
    slopes = np.empty(size)
    gradient = np.empty(dimension)
    samples = _samples(draws, order)
    ahead = max(1, _AHEAD // size)
    for step in range(len(samples)):
        sample = samples[step]
        if step + ahead < len(samples):
            for k in range(size):
                hint_row(rows, samples[step + ahead, k])  # type: ignore[call-arg]
        for k in range(size):
            score = 0.0
            for f in range(dimension):
                score += rows[sample[k], f] * w[f]
            scores[k] = score
            slopes[k] = 0.0
        if pairwise:
            for k in range(size):
                for m in range(k):
                    side = sides[sample[k]]
                    if side != sides[sample[m]]:
                        s = weight * slope(code, parameter, inner, outer, side * (scores[k] - scores[m]))
                        slopes[k] += side * s
                        slopes[m] -= side * s
        else:
            for k in range(size):
                side = sides[sample[k]]
                s = slope(code, parameter, inner, outer, offsets[sample[k]] + side * scores[k])
                slopes[k] = weight * side * s
        for f in range(dimension):
            total[f] += w[f]
            gradient[f] = ridge * w[f] + noise[step, f]
        for k in range(size):
            if slopes[k] != 0.0:
                for f in range(dimension):
                    gradient[f] += slopes[k] * rows[sample[k], f]
        squares = 0.0
        for f in range(dimension):
            new = w[f] - step_size * gradient[f]
            w[f] = new
            squares += new * new
        norm = math.sqrt(squares)
        if norm > radius:
            for f in range(dimension):
                w[f] *= radius / norm


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
    """`sampled_steps` for a metric: every pair of the sample pays, times `weight`; `noise` holds one matrix a step."""
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
