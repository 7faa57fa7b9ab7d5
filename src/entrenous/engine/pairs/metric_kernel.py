"""What stands between the two matrix products of a metric tile: distances to margins to slopes, in place, and sums."""

from __future__ import annotations

from functools import cache

from numba import njit

from entrenous.engine.pairs.surrogate_kernels import slope, value


@njit(cache=True, error_model="numpy", fastmath={"reassoc"})
def _total(row):  # type: ignore[no-untyped-def]
    """The sum, in as many lanes as the machine adds at once."""
    total = 0.0
    for j in range(len(row)):
        total += row[j]
    return total


@cache
def tile_kernel(code):  # type: ignore[no-untyped-def]
    """The kernel of one surrogate: its code is a constant there, without which the loops would not run in vectors."""

    @njit(cache=True, error_model="numpy", nogil=True)
    def fill(tile, top, left, parameter, inner, outer, threshold, squares, labels, sums, losses):  # type: ignore[no-untyped-def]
        """Turns ``-2 x_i^T W x_j`` into the slope by the pair's distance, and adds every slope to both records' sums.

        The tile's corner is the pair ``(top, left)``. On the diagonal only the pairs above it count, and the rest
        becomes 0. `losses` receives the losses, at the second record, unless it is empty.
        """
        height, width = tile.shape
        for i in range(height):
            skipped = i + 1 if top == left else 0
            for j in range(skipped):
                tile[i, j] = 0.0
            row = tile[i, skipped:]
            others = slice(left + skipped, left + width)
            square, other_squares = squares[top + i], squares[others]
            label, other_labels = labels[top + i], labels[others]
            if len(losses):
                paid = losses[others]
                for j in range(len(row)):
                    tau = 1.0 if other_labels[j] == label else -1.0
                    margin = tau * (threshold - (square + other_squares[j] + row[j]))
                    paid[j] += value(code, parameter, inner, outer, margin)
            other_sums = sums[others]
            for j in range(len(row)):
                tau = 1.0 if other_labels[j] == label else -1.0
                margin = tau * (threshold - (square + other_squares[j] + row[j]))
                row[j] = -tau * slope(code, parameter, inner, outer, margin)
                other_sums[j] += row[j]
            sums[top + i] += _total(row)

    return fill
