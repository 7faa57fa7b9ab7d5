"""The one array type of the library: float64, any shape; and how a large one is walked through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
"""Class codes 0..k-1, or any integer array."""
AnyArray = npt.NDArray[Any]

_BLOCK = 1 << 14
"""Numbers per block: 128 kB of float64, so that a block and what is made of it stay in a core's cache."""


def row_blocks(X: AnyArray, least: int = 1, most: int | None = None) -> Iterator[slice]:
    """Slices of a table's rows: work on one after the other needs no second table, and no second trip to memory.

    `least` rows go into each, where work on few would not pay, and at most `most`.
    """
    step = max(least, _BLOCK // max(1, X.shape[1]))
    step = step if most is None else min(step, most)
    return (slice(start, start + step) for start in range(0, len(X), step))
