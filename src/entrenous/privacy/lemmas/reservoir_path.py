"""Lemmas 5 and 6 for records in order of arrival that meet a reservoir: chunk after chunk, in memory for one of them.

A record that has left the reservoir does not come back, so its result is known as soon as its chunk is over: what
later steps add does not depend on whom they meet. Only records still in the reservoir go on to the next chunk.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from entrenous.arrays import AnyArray, Array
from entrenous.privacy.lemmas.followed import Pairs, settle, walk
from entrenous.problem.streams.stream import Stream

_AT_ONCE = 1 << 20
"""Pairs that are listed at once."""


def draws_reservoir(stream: Stream) -> bool:
    """Whether each record meets a reservoir of those before it, drawn without looking at them."""
    return stream.keep in ("reservoir", "reservoir without replacement")


def smooth_reservoir_exposure(stream: Stream, seed: int, phase: int) -> float:
    """The largest ``sum_t eta_t f_{t,i} A_t`` over the records: Lemma 5 without its D_pair."""

    def add(pairs: Pairs, places: AnyArray, held: Array, eta: Array, weights: Array, rest: Rest) -> tuple[Array, Array]:
        total = held[:, 0].copy()
        _add_exposure(*pairs, places, total, eta * (rest[0] + np.cumsum(weights[::-1])[::-1]))
        return total, total[:, None]

    return _largest(stream, seed, phase, add, 1)


def nonsmooth_reservoir_exposure(stream: Stream, seed: int, phase: int, drift: float, jump: float) -> float:
    """The largest ``sum_s a_s r_s`` over the records: Lemma 6."""

    def follow(
        pairs: Pairs, places: AnyArray, held: Array, eta: Array, weights: Array, rest: Rest
    ) -> tuple[Array, Array]:
        state = np.zeros((len(held), 8))
        state[:, :2] = held
        mass, moment, energy = walk(False)(*pairs, places, state, eta, weights, drift, jump)
        # The steps to come add what they add to all that they do not touch.
        final = mass + rest[0], moment + rest[1] + rest[0] * energy, energy + rest[2]
        # Whoever stays is touched at the very next step, so nothing happens to it between two chunks.
        so_far = np.column_stack(settle(state, mass, moment, energy, drift, jump))
        return settle(state, *final, drift, jump)[1], so_far

    return _largest(stream, seed, phase, follow, 2)


Rest = tuple[float, float, float]
"""What is left after a chunk: the weights, the weights times the energy since the chunk, and that energy."""

Walk = Callable[[Pairs, AnyArray, Array, Array, Array, Rest], tuple[Array, Array]]
"""From a chunk's pairs, where each position's record is among the held and new ones (from 1), what is known of these,
step sizes, weights and the rest: what each comes to if it is not touched again, and what is known of it then."""


def _largest(stream: Stream, seed: int, phase: int, walk_chunk: Walk, known: int) -> float:
    """The largest number that a record has come to when it leaves, or when the stream ends."""
    assert stream.buffer is not None
    size = max(1, _AT_ONCE // stream.buffer)
    chunks = [(start, min(start + size, stream.steps + 1)) for start in range(0, stream.steps + 1, size)]
    buffer = stream.buffer_of(seed, phase)
    worst = 0.0
    held, owners = np.zeros((0, known)), np.zeros(0, np.int64)
    for (start, end), rest in zip(chunks, _rests(stream, chunks), strict=True):
        pairing, kept = buffer.meet(np.zeros(end - start))
        # With replacement a record may be in several places.
        places = np.concatenate([owners, len(held) + np.arange(end - start)]) + 1
        records = np.zeros((len(held) + end - start + 1, known))
        records[1 : len(held) + 1] = held
        # The t-th record, counted from 0, is the current one of step t.
        first, last = max(1, start), end - 1
        eta, weights = stream.step_sizes(first, last), stream.weights(first, last)
        final, records = walk_chunk(pairing.unsigned(), places.astype(np.uint32), records, eta, weights, rest)
        staying, owners = np.unique(places[kept], return_inverse=True)
        held = records[staying]
        if end <= stream.steps:
            final[staying] = 0.0
        worst = max(worst, float(final.max()))
    return worst


def _rests(stream: Stream, chunks: list[tuple[int, int]]) -> list[Rest]:
    """What is left after each chunk."""
    rests, mass, moment, energy = [], 0.0, 0.0, 0.0
    # From the end: taken as a difference, a small rest would lose its digits.
    for start, end in reversed(chunks):
        rests.append((mass, moment, energy))
        weights = stream.weights(max(1, start), end - 1)
        squares = np.square(stream.step_sizes(max(1, start), end - 1))
        within = float(squares.sum())
        moment += mass * within + float(weights @ np.cumsum(squares))
        mass, energy = mass + float(weights.sum()), energy + within
    return rests[::-1]


@njit(cache=True, error_model="numpy")
def _add_exposure(current, stream, low, high, places, total, weighted):  # type: ignore[no-untyped-def]
    for t in range(len(current)):
        part = weighted[t] / (high[t] - low[t])
        for p in range(low[t], high[t]):
            total[places[stream[p]]] += part
        total[places[current[t]]] += weighted[t]
