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

from entrenous.arrays import AnyArray, Array


def work_space(n: int) -> tuple[Array, AnyArray, AnyArray, Array]:
    """What `hinge_sum` needs for n scores; NumPy asks for huge pages, which compiled code would not get."""
    return np.empty(n + 2), np.empty(n + 2, dtype=np.int32), np.empty(n + 1, dtype=np.int32), np.empty((n, 2))


@njit(cache=True, error_model="numpy")
def hinge_sum(scores, events, others, inner, width, curvature, want_value, kept, rows, ends, records):  # type: ignore[no-untyped-def]
    """The sum of phi over all pairs of an event and an other; its derivative takes the place of the scores.

    Scores must be finite. The last four are work space, from `work_space`.
    """
    n = len(scores)
    worst_event, best_other = np.inf, -np.inf
    for i in range(n):
        s = scores[i]
        if s < worst_event and events[i]:
            worst_event = s
        if s > best_other and others[i]:
            best_other = s
    # A pair pays only if its event pays against the best other and its other against the worst event. Events gather at
    # the front and others at the back, without a branch on labels, which no processor can foresee: what is not kept is
    # written over.
    front, back = 0, n + 1
    for i in range(n):
        s = scores[i]
        scores[i] = 0.0
        kept[front] = kept[back] = s
        rows[front] = rows[back] = i
        front += events[i] & (inner * (s - best_other) < 1.0)
        back -= others[i] & (inner * (worst_event - s) < 1.0)
    if front == 0 or back == n + 1:
        return 0.0
    a, b = records[:front], records[back - 1 :]
    _put_in_order(kept[:front], rows[:front], ends, a)
    _put_in_order(kept[back + 1 :], rows[back + 1 :], ends, b)
    value = _sweep(a[::-1], 1.0, b[::-1], inner, width, curvature, want_value, scores)
    # Seen from the others, a pair of scores (a, b) is the pair (-b, -a): the worst other is the best "event".
    _sweep(b, -1.0, a, inner, width, curvature, False, scores)
    return value


@njit(cache=True, error_model="numpy")
def _put_in_order(scores, rows, ends, records):  # type: ignore[no-untyped-def]
    """Fills two columns, scores in ascending order and their rows; side by side, a record is one place in memory."""
    count = len(scores)
    low, high = scores[0], scores[0]
    for i in range(count):
        low, high = min(low, scores[i]), max(high, scores[i])
    if low == high:
        # As at w = 0: equal scores are in order, and one bucket of all of them would be slow and large to sort.
        for i in range(count):
            records[i, 0] = scores[i]
            records[i, 1] = rows[i]
        return
    # Buckets of equal breadth hold about one score each, unless the scores are far from evenly spread.
    scale = count / (high - low)
    if not scale < np.inf:
        scale = 0.0
    ends[: count + 1] = 0
    for i in range(count):
        ends[min(int((scores[i] - low) * scale), count - 1) + 1] += 1
    for k in range(count):
        ends[k + 1] += ends[k]
    # From here ends[k] is where the next score of bucket k goes, and at last where the bucket ends.
    for i in range(count):
        s = scores[i]
        k = min(int((s - low) * scale), count - 1)
        p = ends[k]
        records[p, 0] = s
        records[p, 1] = rows[i]
        ends[k] = p + 1
    start = 0
    for k in range(count):
        stop = ends[k]
        if stop - start > 32:
            records[start:stop] = records[start:stop][np.argsort(records[start:stop, 0], kind="mergesort")]
        else:
            for m in range(start + 1, stop):
                key, row = records[m, 0], records[m, 1]
                p = m
                while p > start and records[p - 1, 0] > key:
                    records[p, 0] = records[p - 1, 0]
                    records[p, 1] = records[p - 1, 1]
                    p -= 1
                records[p, 0] = key
                records[p, 1] = row
        start = stop


@njit(cache=True, error_model="numpy")
def _sweep(heads, sign, partners, inner, width, curvature, want_value, weight):  # type: ignore[no-untyped-def]
    """Writes ``d/dscore`` of the heads to the weights of their rows; returns the sum over all pairs if it is wanted.

    Scores times `sign` descend. Partners ``[0, steep)`` are on the line, ``[steep,
    entered)`` on the parabola. Sums over them are kept with what their rounding lost, as n steps would let it grow.
    """
    entered = steep = 0
    line, line_lost = 0.0, 0.0  # sum of g - width/2 on the line
    bend, bend_lost = 0.0, 0.0  # sum of g on the parabola
    square, square_lost = 0.0, 0.0  # sum of g^2 on the parabola
    value, value_lost = 0.0, 0.0
    curved = curvature > 0.0
    before = sign * heads[0, 0]
    for h in range(len(heads)):
        a = sign * heads[h, 0]
        step = inner * (before - a)
        if want_value:
            line, line_lost = _add(line, line_lost, steep * step)
        if curved:
            # Partners that leave the parabola go before the step, when their gaps are at most the width.
            while steep < entered and 1.0 - inner * (a - sign * partners[steep, 0]) >= width:
                b = sign * partners[steep, 0]
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
            margin = inner * (a - sign * partners[entered, 0])
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
        weight[int(heads[h, 1])] = -sign * inner * (steep + curvature * (bend + bend_lost))
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
