"""Metric learning over all pairs at the speed of matrix products: squared distances in square tiles, slopes in place.

With ``W`` symmetric and ``q_i = x_i^T W x_i`` the distance of a pair is ``q_i + q_j - 2 x_i^T W x_j``: one product per
tile. With the slopes ``s_ij`` by the distance, the gradient ``sum s_ij (x_i - x_j)(x_i - x_j)^T`` needs the row and
column sums of s and ``s @ X``: a second product. Both orders of a pair pay alike, so only tiles on and above the
diagonal are visited. Memory is one tile and some copies of the rows.

The rows are not centred first, though that would save digits far from the origin: the margin of a pair has to depend on
its two records only. At a kink a slope jumps, and if the mean of all records entered the rounding, replacing one of
them could turn the slopes of pairs it is not in.
"""

from __future__ import annotations

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.kernels import is_compiled, surrogate_code
from entrenous.engine.metric_kernel import tile_kernel
from entrenous.parts.problem import Problem

TILE = 128
"""Rows and columns of a tile: 128 kB, which stay in a core's cache from one product to the other.

Larger tiles, which BLAS would rather spread over threads, were slower on one thread and on busy cores.
"""


def metric_sum(problem: Problem, w: Array, X: Array, y: AnyArray, *, want_value: bool) -> tuple[float, Array] | None:
    """The sum of the losses over all ordered pairs and its gradient; None for a surrogate that kernels do not know.

    Without `want_value` the first number means nothing.
    """
    if not is_compiled(problem.loss):
        return None
    code, *numbers = surrogate_code(problem.loss)
    kernel = tile_kernel(code)
    threshold: float = problem.score.threshold  # type: ignore[attr-defined]
    rows = np.ascontiguousarray(X, dtype=np.float64)
    n, d = rows.shape
    mapped = rows @ -(w + w.T)
    squares = np.einsum("ij,ij->i", mapped, rows) / -2.0
    labels = np.unique(y, return_inverse=True)[1]
    sums, spread = np.zeros(n), np.zeros((n, d))
    losses = np.zeros(n if want_value else 0)
    starts = range(0, n, TILE)
    blocks = [rows[start : start + TILE] for start in starts]
    turned = [np.ascontiguousarray(block.T) for block in blocks]
    tile_space, product_space = np.empty(TILE * TILE), np.empty((TILE, d))
    for k, top in enumerate(starts):
        height = len(blocks[k])
        left_factor, target, product = mapped[top : top + TILE], spread[top : top + TILE], product_space[:height]
        for left, block, turned_block in zip(starts[k:], blocks[k:], turned[k:], strict=True):
            tile = tile_space[: height * len(block)].reshape(height, -1)
            np.matmul(left_factor, turned_block, out=tile)
            kernel(tile, top, left, *numbers, threshold, squares, labels, sums, losses)
            target += np.matmul(tile, block, out=product)
    half = rows.T @ (sums[:, None] * rows - 2.0 * spread)
    return 2.0 * float(losses.sum()), half + half.T
