"""Which records meet at each step of a stream: the current record with a window of earlier ones.

A `Pairing` is drawn without looking at any record. Step t pairs record ``current[t]`` with the records
``stream[low[t]:high[t]]``, one at least, and averages; a record paired with itself gives no gradient.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from entrenous.arrays import AnyArray, Codes


class Pairing(NamedTuple):
    """The pairs of all steps, by index."""

    current: Codes
    stream: Codes
    low: Codes
    high: Codes

    @property
    def steps(self) -> int:
        return len(self.current)

    def unsigned(self) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        """The same, so that no compiled loop asks whether an index counts from the end: a fifth of its time."""
        current, stream, low, high = (np.asarray(indices, dtype=np.int64).view(np.uint64) for indices in self)
        return current, stream, low, high


def with_previous(order: Codes, buffer: int | None) -> Pairing:
    """Each record with the last `buffer` ones before it (FIFO), or with all before it for ``None``.

    The first record of the order has nothing before it, so there is one step less than there are records.
    """
    steps = np.arange(1, len(order))
    low = np.zeros_like(steps) if buffer is None else np.maximum(0, steps - buffer)
    return Pairing(order[1:], order, low, steps)


def random_pairs(first: Codes, second: Codes) -> Pairing:
    """A fresh pair at every step."""
    steps = np.arange(len(first))
    return Pairing(first, second, steps, steps + 1)
