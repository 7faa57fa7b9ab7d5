"""The streaming loop, compiled: one pass over the steps of a `Pairing`, in place.

One kernel for parameters that are vectors (ranking, error entropy), one for matrices (metric). Both take a gradient
averaged over the step's pairs, add the ridge's, project, and add the iterate's share to the running average.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit

from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.own_slope import need_compiled_loop, with_slope_of
from entrenous.engine.pairs.surrogate_kernels import slope, surrogate_code
from entrenous.engine.prefetch import hint_row
from entrenous.problem.pair_scores import LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import NuclearPSD
from entrenous.problem.problem import Problem
from entrenous.problem.streams.pairing import Pairing

_AHEAD = 16
"""Steps between asking for a row and reading it: memory answers within fewer."""

_BLOCK = 1024
"""Steps that are looked through before the first of them is taken."""

_ONE = np.uint64(1)
"""An index is unsigned here, and stays it only among its kind."""


def run_stream(
    problem: Problem,
    X: Array,
    y: AnyArray,
    pairing: Pairing,
    step_sizes: Array,
    weights: Array,
    w: Array,
    pull: Array | None = None,
) -> tuple[Array, Array]:
    """The last iterate and the average ``sum_s weights[s] w_s`` over ``w_0..w_T``, from ``w_0 = w``.

    `pull` is a constant part of the gradient with its sign turned: ``lam a`` for a ridge around a rather than 0.
    """
    loss = surrogate_code(problem.pair_loss)
    last, total = w.copy(), weights[0] * w
    need_compiled_loop(problem.score)
    ranking = isinstance(problem.score, LinearDifference)
    # A byte for a class: the labels of many rows are in a cache at once.
    labels = np.ascontiguousarray(y, dtype=np.int8 if ranking else np.float64)
    rows = np.ascontiguousarray(X)
    constant = np.zeros_like(w) if pull is None else pull
    if isinstance(problem.score, Mahalanobis):
        nuclear = isinstance(problem.domain, NuclearPSD)
        with_slope_of(problem.pair_loss, _matrix_steps)(
            rows,
            labels,
            *pairing,
            step_sizes,
            weights,
            *loss,
            problem.ridge,
            problem.domain.radius,
            nuclear,
            constant,
            last,
            total,
        )
    else:
        code, *shape = loss
        with_slope_of(problem.pair_loss, vector_kernel(code, ranking))(
            rows,
            labels,
            *pairing.unsigned(),
            step_sizes,
            weights,
            *shape,
            problem.ridge,
            problem.domain.radius,
            constant,
            last,
            total,
        )
    return last, total


@cache
def vector_kernel(code, ranking):  # type: ignore[no-untyped-def]
    """The loop of one surrogate on one task: both are constants there, so that no step asks which they are."""

    @njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    def steps(  # type: ignore[no-untyped-def]
        X,
        y,
        current,
        partners,
        low,
        high,
        eta,
        weights,
        parameter,
        inner,
        outer,
        ridge,
        radius,
        constant,
        w,
        total,
    ):
        d = X.shape[1]
        gradient = np.empty(d)
        # Without these two a step whose pairs all have slope 0 leaves w where it is, if it is in the domain.
        always_moves = ridge != 0.0 or np.any(constant != 0.0)
        inside = (w * w).sum() <= radius * radius
        # Which steps have a pair to learn from is found for a block of them beforehand: in the loop the processor would
        # guess, every other time wrongly, and rows would be asked for that nobody reads.
        busy, owing = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK)
        # Weight of the steps since the last busy one, and since w last moved: their share of the average is added in
        # one go.
        waiting, owed = 0.0, 0.0
        for block in range(0, len(current), _BLOCK):
            found = 0
            for t in range(np.uint64(block), np.uint64(min(block + _BLOCK, len(current)))):
                busy[found], owing[found] = t, waiting
                alike = ranking and high[t] - low[t] == _ONE and y[current[t]] == y[partners[low[t]]]
                taken = always_moves or not inside or not alike
                found += 1 if taken else 0
                waiting = weights[t + _ONE] + (0.0 if taken else waiting)
            for q in range(found):
                if q + _AHEAD < found:
                    soon = busy[q + _AHEAD]
                    partner = partners[high[soon] - _ONE]
                    hint_row(X, current[soon])  # type: ignore[call-arg]
                    if partner != current[busy[q + _AHEAD - 1]]:
                        hint_row(X, partner)
                t = busy[q]
                owed += owing[q]
                i = current[t]
                active, single, partner = 0, 0.0, i
                for p in range(low[t], high[t]):
                    j = partners[p]
                    if j == i or (ranking and y[i] == y[j]):
                        continue
                    gap = 0.0
                    for k in range(d):
                        gap += w[k] * (X[i, k] - X[j, k])
                    if ranking:
                        # The pair pays in whichever order puts the event first.
                        sign = 1.0 if y[i] == 1.0 else -1.0
                        c = sign * slope(code, parameter, inner, outer, sign * gap)
                    else:
                        c = -slope(code, parameter, inner, outer, (y[i] - y[j]) - gap)
                    if c != 0.0:
                        active += 1
                        if active == 1:
                            single, partner = c, j
                        else:
                            if active == 2:
                                for k in range(d):
                                    gradient[k] = single * (X[i, k] - X[partner, k])
                            for k in range(d):
                                gradient[k] += c * (X[i, k] - X[j, k])
                if not (active or always_moves or not inside):
                    continue
                if owed != 0.0:
                    for k in range(d):
                        total[k] += owed * w[k]
                    owed = 0.0
                scale = eta[t] / (high[t] - low[t])
                if always_moves:
                    for k in range(d):
                        w[k] += eta[t] * (constant[k] - ridge * w[k])
                square = 0.0
                if active < 2:
                    # The most frequent case by far: nothing to add up first.
                    for k in range(d):
                        new = w[k] - scale * single * (X[i, k] - X[partner, k])
                        w[k] = new
                        square += new * new
                else:
                    for k in range(d):
                        new = w[k] - scale * gradient[k]
                        w[k] = new
                        square += new * new
                if square > radius * radius:
                    shrink = radius / np.sqrt(square)
                    for k in range(d):
                        w[k] *= shrink
                inside = True
        for k in range(d):
            total[k] += (owed + waiting) * w[k]

    return steps


@njit(cache=True, error_model="numpy")
def _matrix_steps(  # type: ignore[no-untyped-def]
    X,
    y,
    current,
    partners,
    low,
    high,
    eta,
    weights,
    code,
    parameter,
    inner,
    outer,
    ridge,
    radius,
    nuclear,
    constant,
    w,
    total,
):
    d = X.shape[1]
    gap = np.empty(d)
    gradient = np.empty((d, d))
    for t in range(len(current)):
        i = current[t]
        gradient[:] = 0.0
        for p in range(low[t], high[t]):
            j = partners[p]
            if j == i:
                continue
            tau = 1.0 if y[i] == y[j] else -1.0
            for k in range(d):
                gap[k] = X[i, k] - X[j, k]
            distance = 0.0
            for k in range(d):
                row = 0.0
                for m in range(d):
                    row += w[k, m] * gap[m]
                distance += row * gap[k]
            c = -tau * slope(code, parameter, inner, outer, tau * (1.0 - distance))
            for k in range(d):
                for m in range(d):
                    gradient[k, m] += c * gap[k] * gap[m]
        scale = eta[t] / (high[t] - low[t])
        keep = 1.0 - eta[t] * ridge
        for k in range(d):
            for m in range(d):
                w[k, m] = keep * w[k, m] + eta[t] * constant[k, m] - scale * gradient[k, m]
        project_psd(w, radius, nuclear)
        a = weights[t + 1]
        if a != 0.0:
            for k in range(d):
                for m in range(d):
                    total[k, m] += a * w[k, m]


@njit(cache=True, error_model="numpy")
def project_psd(w, radius, nuclear):  # type: ignore[no-untyped-def]
    """In place, onto the PSD cone cut by a Frobenius ball or by a bound on the trace."""
    d = w.shape[0]
    values, vectors = np.linalg.eigh((w + w.T) / 2.0)
    values = np.maximum(values, 0.0)
    if nuclear:
        if values.sum() > radius:
            descending = np.sort(values)[::-1]
            running, threshold = 0.0, 0.0
            for k in range(d):
                running += descending[k]
                excess = (running - radius) / (k + 1)
                if descending[k] > excess:
                    threshold = excess
            values = np.maximum(values - threshold, 0.0)
    else:
        norm = np.sqrt((values * values).sum())
        if norm > radius:
            values *= radius / norm
    w[:] = (vectors * values) @ vectors.T
