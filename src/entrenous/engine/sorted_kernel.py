"""The hinge family over all pairs of events and others in one sort, compiled.

Every member is ``phi(g) = g - width/2`` where the gap ``g = 1 - inner (a - b)`` of a pair reaches the width, a parabola
``curvature/2 g^2`` below it, and 0 where g is not positive. Sweeping one class from its best score down, gaps only
grow: the sums over partners gain terms and every term grows, so nothing large cancels, whatever the scores are. The
test ``inner (a - b) < 1`` is made on the scores as they are, so a pair at the kink falls on the side where the
definition puts it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_FREE_ORDER = {"reassoc", "contract", "nsz"}
"""Sums of products may be reordered, so that they become vector instructions; NaN and infinity keep their meaning."""

_ROWS = 512
"""Rows whose products are added up before they join the total: keeps rounding from growing with n."""


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
def row_scores(X, w):  # type: ignore[no-untyped-def]
    """``X @ w`` for rows that are contiguous; for narrow X it runs at the speed of memory, where BLAS does not."""
    n, d = X.shape
    scores = np.empty(n)
    for i in range(n):
        score = 0.0
        for k in range(d):
            score += X[i, k] * w[k]
        scores[i] = score
    return scores


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
def weighted_row_sum(X, weight):  # type: ignore[no-untyped-def]
    """``X.T @ weight``, as `row_scores`."""
    n, d = X.shape
    total, part = np.zeros(d), np.empty(d)
    for start in range(0, n, _ROWS):
        part[:] = 0.0
        for i in range(min(_ROWS, n - start)):
            c = weight[start + i]
            row = X[start + i]
            for k in range(d):
                part[k] += c * row[k]
        for k in range(d):
            total[k] += part[k]
    return total


@njit(cache=True, error_model="numpy")
def hinge_sum(scores, y, inner, width, curvature, want_value):  # type: ignore[no-untyped-def]
    """``(sum of phi, d/dscores of it)`` over all pairs of an event and an other; scores must be finite."""
    weight = np.zeros(len(scores))
    best_other, worst_event = -np.inf, np.inf
    for i in range(len(scores)):
        if y[i] == 1.0:
            worst_event = min(worst_event, scores[i])
        elif y[i] == 0.0:
            best_other = max(best_other, scores[i])
    if not inner * (worst_event - best_other) < 1.0:
        return 0.0, weight
    # A pair pays only if its event pays against the best other and its other against the worst event.
    events, event_rows = _sorted_class(scores, y, 1.0, inner, best_other)
    others, other_rows = _sorted_class(scores, y, 0.0, inner, worst_event)
    value = _sweep(events[::-1], event_rows[::-1], 1.0, others[::-1], 1.0, inner, width, curvature, want_value, weight)
    # Seen from the others, a pair of scores (a, b) is the pair (-b, -a): the worst other is the best "event".
    _sweep(others, other_rows, -1.0, events, -1.0, inner, width, curvature, False, weight)
    return value, weight


@njit(cache=True, error_model="numpy")
def _sorted_class(scores, y, label, inner, opposite):  # type: ignore[no-untyped-def]
    """Ascending scores of one class that pay against the opposite class's extreme score, and their rows."""
    sign = 1.0 if label == 1.0 else -1.0
    count, low, high = 0, np.inf, -np.inf
    for i in range(len(scores)):
        s = scores[i]
        if y[i] == label and inner * (sign * (s - opposite)) < 1.0:
            count += 1
            low, high = min(low, s), max(high, s)
    # Buckets of equal breadth hold few scores each, unless the scores are far from evenly spread.
    buckets = max(1, count // 2)
    scale = buckets / (high - low) if high > low else 0.0
    if not scale < np.inf:
        scale = 0.0
    ends = np.zeros(buckets + 1, dtype=np.int64)
    for i in range(len(scores)):
        s = scores[i]
        if y[i] == label and inner * (sign * (s - opposite)) < 1.0:
            ends[min(int((s - low) * scale), buckets - 1) + 1] += 1
    for k in range(buckets):
        ends[k + 1] += ends[k]
    # From here ends[k] is where the next score of bucket k goes, and at last where the bucket ends.
    keys, rows = np.empty(count), np.empty(count, dtype=np.int64)
    for i in range(len(scores)):
        s = scores[i]
        if y[i] == label and inner * (sign * (s - opposite)) < 1.0:
            k = min(int((s - low) * scale), buckets - 1)
            keys[ends[k]] = s
            rows[ends[k]] = i
            ends[k] += 1
    start = 0
    for k in range(buckets):
        stop = ends[k]
        if stop - start > 32:
            order = np.argsort(keys[start:stop], kind="mergesort")
            keys[start:stop] = keys[start:stop][order]
            rows[start:stop] = rows[start:stop][order]
        else:
            for m in range(start + 1, stop):
                key, row = keys[m], rows[m]
                p = m
                while p > start and keys[p - 1] > key:
                    keys[p] = keys[p - 1]
                    rows[p] = rows[p - 1]
                    p -= 1
                keys[p] = key
                rows[p] = row
        start = stop
    return keys, rows


@njit(cache=True, error_model="numpy")
def _sweep(heads, rows, head_sign, partners, partner_sign, inner, width, curvature, want_value, weight):  # type: ignore[no-untyped-def]
    """Adds ``d/dscore`` of the heads to their weights; returns the sum over all pairs if it is wanted.

    `head_sign * heads` and `partner_sign * partners` descend. Partners ``[0, steep)`` are on the line, ``[steep,
    entered)`` on the parabola. Sums over them are kept with what their rounding lost, as n steps would let it grow.
    """
    entered = steep = 0
    line, line_lost = 0.0, 0.0  # sum of g - width/2 on the line
    bend, bend_lost = 0.0, 0.0  # sum of g on the parabola
    square, square_lost = 0.0, 0.0  # sum of g^2 on the parabola
    value, value_lost = 0.0, 0.0
    curved = curvature > 0.0
    before = head_sign * heads[0]
    for h in range(len(heads)):
        a = head_sign * heads[h]
        step = inner * (before - a)
        if want_value:
            line, line_lost = _add(line, line_lost, steep * step)
        if curved:
            # Partners that leave the parabola go before the step, when their gaps are at most the width.
            while steep < entered and 1.0 - inner * (a - partner_sign * partners[steep]) >= width:
                b = partner_sign * partners[steep]
                g = 1.0 - inner * (before - b)
                bend, bend_lost = _add(bend, bend_lost, -g)
                square, square_lost = _add(square, square_lost, -g * g)
                line, line_lost = _add(line, line_lost, 1.0 - inner * (a - b) - 0.5 * width)
                steep += 1
            if steep == entered:
                bend = bend_lost = square = square_lost = 0.0
            if want_value:
                square, square_lost = _add(square, square_lost, step * (2.0 * bend + (entered - steep) * step))
            bend, bend_lost = _add(bend, bend_lost, (entered - steep) * step)
        while entered < len(partners):
            margin = inner * (a - partner_sign * partners[entered])
            if not margin < 1.0:
                break
            g = 1.0 - margin
            entered += 1
            if g >= width:
                steep += 1
                if want_value:
                    line, line_lost = _add(line, line_lost, g - 0.5 * width)
            else:
                bend, bend_lost = _add(bend, bend_lost, g)
                square, square_lost = _add(square, square_lost, g * g)
        before = a
        weight[rows[h]] = -head_sign * inner * (steep + curvature * (bend + bend_lost))
        if want_value:
            phi = (line + line_lost) + 0.5 * curvature * (square + square_lost)
            value, value_lost = _add(value, value_lost, phi)
    return value + value_lost


@njit(cache=True, error_model="numpy")
def _add(total, lost, term):  # type: ignore[no-untyped-def]
    """``total + term`` and, added to `lost`, what its rounding dropped (Knuth's two-sum, no branch)."""
    new = total + term
    shown = new - total
    return new, lost + ((total - (new - shown)) + (term - shown))
