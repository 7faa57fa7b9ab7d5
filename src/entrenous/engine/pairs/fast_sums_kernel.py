"""The compiled passes of ``fast_sums``: power moments of the cells, sums between cells, values back at the points.

Moments and local polynomials have one row of `TERMS` numbers per cell, in powers of the point's place ``x`` in
``[-1, 1]`` within its cell. Entry 0 of a moment row is the number of points. `where` holds the cells' integer places,
increasing; cells that nobody is in may be left out.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

TERMS = 8
"""Powers per cell: a row of them is one cache line."""


@njit(cache=True, error_model="numpy")
def _place(score, per_cell):  # type: ignore[no-untyped-def]
    """A score's cell, and its place in ``[-1, 1]`` there.

    `per_cell` is a power of two up to its sign, so that nothing here rounds but the last line.
    """
    v = score * per_cell
    whole = math.floor(v)
    return np.int64(whole), 2.0 * (v - whole) - 1.0


@njit(cache=True, error_model="numpy")
def cells_of(scores, per_cell, first):  # type: ignore[no-untyped-def]
    """Each score's cell, counted from `first`."""
    cells = np.empty(len(scores), np.int64)
    for i in range(len(scores)):
        cells[i] = _place(scores[i], per_cell)[0] - first
    return cells


@njit(cache=True, error_model="numpy")
def occupied(cells):  # type: ignore[no-untyped-def]
    """The cells that somebody is in, sorted, and each point's index among them: a hash table, where a sort is slow."""
    bits = 4
    while (1 << bits) < 2 * len(cells):
        bits += 1
    table = np.full(1 << bits, -1)
    seen = np.empty(len(cells), np.int64)
    index = np.empty(len(cells), np.int64)
    n_seen = 0
    for i in range(len(cells)):
        # Multiplying by 2^64 over the golden ratio spreads neighbouring cells (Knuth, volume 3, section 6.4).
        at = np.int64((np.uint64(cells[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
        while table[at] >= 0 and seen[table[at]] != cells[i]:
            at = (at + 1) & ((1 << bits) - 1)
        if table[at] < 0:
            table[at] = n_seen
            seen[n_seen] = cells[i]
            n_seen += 1
        index[i] = table[at]
    order = np.argsort(seen[:n_seen])
    rank = np.empty(n_seen, np.int64)
    for k in range(n_seen):
        rank[order[k]] = k
    for i in range(len(cells)):
        index[i] = rank[index[i]]
    return seen[order], index


@njit(cache=True, error_model="numpy")
def moments(scores, per_cell, first, index, side, n_sides, n_cells):  # type: ignore[no-untyped-def]
    """``sum x^k`` over the points of every cell, apart for each side; a negative side is left out.

    Cells are those of `cells_of`, unless `index` gives others. They are found anew in each pass, which is faster than
    to write them down.
    """
    sums = np.zeros((n_sides, n_cells, TERMS))
    for i in range(len(scores)):
        if side[i] >= 0:
            cell, x1 = _place(scores[i], per_cell)
            row = sums[side[i], index[i] if len(index) else cell - first]
            x2 = x1 * x1
            x3 = x2 * x1
            x4 = x2 * x2
            row[0] += 1.0
            row[1] += x1
            row[2] += x2
            row[3] += x3
            row[4] += x4
            row[5] += x4 * x1
            row[6] += x4 * x2
            row[7] += x4 * x3
    return sums


@njit(cache=True, error_model="numpy")
def evaluate(scores, per_cell, first, index, side, local, values):  # type: ignore[no-untyped-def]
    """The local polynomial of the point's side and cell, at the point; 0 for a negative side.

    It fills `values`, which may be the scores.
    """
    for i in range(len(scores)):
        if side[i] < 0:
            values[i] = 0.0
        else:
            cell, x1 = _place(scores[i], per_cell)
            c = local[side[i], index[i] if len(index) else cell - first]
            x2 = x1 * x1
            low = (c[0] + c[1] * x1) + (c[2] + c[3] * x1) * x2
            high = (c[4] + c[5] * x1) + (c[6] + c[7] * x1) * x2
            values[i] = low + high * (x2 * x2)
    return values


@njit(cache=True, error_model="numpy")
def add_near(where, near, rows, columns, mirrored, slopes, slopes_turned, values_turned, local_rows, local_columns):  # type: ignore[no-untyped-def]
    """The pairs of cells at most `near` apart: returns their loss, adds their slopes to both sides' polynomials.

    ``slopes[near + offset]`` is the matrix of the kernel between a row cell and the column cell `offset` places to its
    left; the turned ones are transposed, so that every inner loop adds a multiple of a row. `mirrored` says that rows
    and columns are the same points and the kernel even: a pair of cells then stands for its mirror image too, in the
    loss and in ``local_rows - local_columns``.
    """
    loss = 0.0
    begin = 0
    potential = np.empty(TERMS)
    for c in range(len(where)):
        while where[c] - where[begin] > near:
            begin += 1
        if rows[c, 0] == 0.0:
            continue
        for k in range(TERMS):
            potential[k] = 0.0
        d = c if mirrored else begin
        while d < len(where) and where[d] - where[c] <= near:
            if columns[d, 0] != 0.0:
                at = near + where[c] - where[d]
                times = 2.0 if mirrored and d > c else 1.0
                for term in range(TERMS):
                    source, target = times * columns[d, term], times * rows[c, term]
                    for k in range(TERMS):
                        local_rows[c, k] += source * slopes_turned[at, term, k]
                        potential[k] += source * values_turned[at, term, k]
                        local_columns[d, k] += target * slopes[at, term, k]
            d += 1
        for k in range(TERMS):
            loss += rows[c, k] * potential[k]
    return loss


@njit(cache=True, error_model="numpy")
def add_far(where, near, width, forward, sources, targets, outgoing, incoming, values, slopes, linear, flat, local):  # type: ignore[no-untyped-def]
    """A kernel from cells more than `near` behind: returns the loss, adds the slopes to `local`.

    At distance t > 0 the kernel is ``flat + linear t + sum_m values_m e^(-mt)``, its slope ``sum_m slopes_m e^(-mt)``
    less `linear`; each term moves from cell to cell as a factor. Forward, sources lie to the left.
    """
    n_rates = len(outgoing)
    carried = np.zeros(n_rates)
    count, distance, loss = 0.0, 0.0, 0.0
    step, at, entering = (1, 0, 0) if forward else (-1, len(where) - 1, len(where) - 1)
    before = at
    for _ in range(len(where)):
        gap = width * abs(where[at] - where[before])
        if count > 0.0:
            decay, power = math.exp(-gap), 1.0
            for m in range(n_rates):
                power *= decay
                carried[m] *= power
            distance += count * gap
        while abs(where[at] - where[entering]) > near:
            if sources[entering, 0] != 0.0:
                gap = width * abs(where[at] - where[entering])
                decay, power = math.exp(-gap), 1.0
                for m in range(n_rates):
                    power *= decay
                    mass = 0.0
                    for k in range(TERMS):
                        mass += sources[entering, k] * outgoing[m, k]
                    carried[m] += power * mass
                count += sources[entering, 0]
                distance += sources[entering, 0] * gap - step * sources[entering, 1] * width / 2.0
            entering += step
        if count > 0.0 and targets[at, 0] != 0.0:
            for m in range(n_rates):
                mass = 0.0
                for k in range(TERMS):
                    mass += targets[at, k] * incoming[m, k]
                    local[at, k] += slopes[m] * carried[m] * incoming[m, k]
                loss += values[m] * carried[m] * mass
            local[at, 0] -= linear * count
            loss += linear * (targets[at, 0] * distance + step * count * targets[at, 1] * width / 2.0)
            loss += flat * count * targets[at, 0]
        before = at
        at += step
    return loss


@njit(cache=True, error_model="numpy")
def far_pairs(where, near, counts):  # type: ignore[no-untyped-def]
    """How many ordered pairs of points lie in cells more than `near` apart."""
    pairs, behind, entering = 0.0, 0.0, 0
    for c in range(len(where)):
        while where[c] - where[entering] > near:
            behind += counts[entering]
            entering += 1
        pairs += 2.0 * behind * counts[c]
    return pairs
