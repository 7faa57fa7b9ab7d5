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

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.metric_kernel import tile_kernel
from entrenous.engine.pairs.surrogate_kernels import is_compiled, surrogate_code
from entrenous.problem.problem import Problem

TILE = 128
"""Rows and columns of a tile: 128 kB, which stay in a core's cache from one product to the other.

Larger tiles, which BLAS would rather spread over threads, were slower on one thread and on busy cores.
"""

_WORTH_A_WORKER = 4
"""Rows of tiles for which a thread of their own pays."""


def metric_sum(problem: Problem, w: Array, X: Array, y: AnyArray, *, want_value: bool) -> tuple[float, Array] | None:
    """The sum of the losses over all ordered pairs and its gradient; None for a surrogate that kernels do not know.

    Without `want_value` the first number means nothing.
    """
    if not is_compiled(problem.loss):
        return None
    with one_blas_thread() as allowed:
        return _tiled(problem, w, X, y, want_value, allowed)


def _tiled(problem: Problem, w: Array, X: Array, y: AnyArray, want_value: bool, allowed: int) -> tuple[float, Array]:
    """`metric_sum` on as many threads as are allowed."""
    code, *numbers = surrogate_code(problem.loss)
    kernel = tile_kernel(code)
    threshold: float = problem.score.threshold  # type: ignore[attr-defined]
    rows = np.ascontiguousarray(X, dtype=np.float64)
    n, d = rows.shape
    mapped = rows @ -(w + w.T)
    squares = np.einsum("ij,ij->i", mapped, rows) / -2.0
    labels = np.unique(y, return_inverse=True)[1]
    spread = np.zeros((n, d))
    starts = range(0, n, TILE)
    blocks = [rows[start : start + TILE] for start in starts]
    turned = [np.ascontiguousarray(block.T) for block in blocks]

    def visit(worker: int, workers: int) -> tuple[Array, Array]:
        """Every so-manieth row of tiles, for a fixed order of addition: its own rows of `spread`, sums of its own."""
        sums, losses = np.zeros(n), np.zeros(n if want_value else 0)
        tile_space, product_space = np.empty(TILE * TILE), np.empty((TILE, d))
        for k in range(worker, len(starts), workers):
            top, height = starts[k], len(blocks[k])
            left_factor, target, product = mapped[top : top + TILE], spread[top : top + TILE], product_space[:height]
            for left, block, turned_block in zip(starts[k:], blocks[k:], turned[k:], strict=True):
                tile = tile_space[: height * len(block)].reshape(height, -1)
                np.matmul(left_factor, turned_block, out=tile)
                kernel(tile, top, left, *numbers, threshold, squares, labels, sums, losses)
                target += np.matmul(tile, block, out=product)
        return sums, losses

    workers = max(1, min(allowed, len(starts) // _WORTH_A_WORKER))
    if workers == 1:
        parts = [visit(0, 1)]
    else:
        with ThreadPoolExecutor(workers) as pool:
            parts = list(pool.map(visit, range(workers), [workers] * workers))
    sums, losses = (sum(part[1:], part[0]) for part in zip(*parts, strict=True))
    half = rows.T @ (sums[:, None] * rows - 2.0 * spread)
    return 2.0 * float(losses.sum()), half + half.T


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[int]:
    """BLAS on one thread, and how many it had before: threads of ours on top of its own are slower than either."""
    found = _libraries().select(user_api="blas")
    allowed = max((library["num_threads"] for library in found.info()), default=1)
    with found.limit(limits=1):
        yield allowed
