"""A stream under way: the fold that batch fits feed once and online fits feed chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.streams.fold import Fold
from entrenous.engine.streams.stream_kernel import run_stream
from entrenous.problem.problem import Problem
from entrenous.problem.streams.buffers import Buffer
from entrenous.problem.streams.pairing import Pairing
from entrenous.problem.streams.stream import Stream

CHUNK_PAIRS = 1 << 20
"""Pairs listed at once, so that a long stream against a large reservoir does not list them all: 8 MB of positions."""


class StreamRun(Fold):
    """Parameter, running average and, in order of arrival, the buffer's rows. All of it private; only noise may leave.

    `points` are the public points before the first step, the last of them the start; `pull` as in `run_stream`.
    """

    def __init__(
        self, problem: Problem, stream: Stream, points: Sequence[Array], pull: Array, buffer: Buffer | None
    ) -> None:
        self._problem, self._stream, self._pull, self._buffer = problem, stream, pull, buffer
        self.done = 0
        self.last = points[-1]
        self._total = (
            sum(points[:-1], np.zeros_like(self.last)) if stream.average == "all" else np.zeros_like(self.last)
        )
        # The newest iterates, which enter the average one or two steps late.
        self._waiting = [(0, self.last)]
        self._rows = np.empty((0, problem.n_features))
        self._labels = np.empty(0)

    def feed(self, X: Array, y: AnyArray) -> None:
        """Records in order of arrival; those after the last step are not looked at."""
        assert self._buffer is not None
        size = max(1, CHUNK_PAIRS // (self._stream.buffer or 1))
        for start in range(0, len(X), size):
            if self.done == self._stream.steps > 0:
                return
            chunk = slice(start, start + size)
            pairing, kept = self._buffer.meet(y[chunk])
            rows = np.concatenate([self._rows, X[chunk]])
            labels = np.concatenate([self._labels, y[chunk]])
            self.advance(rows, labels, pairing)
            self._rows, self._labels = rows[kept], labels[kept]

    def advance(self, X: Array, y: AnyArray, pairing: Pairing) -> None:
        """The steps of a pairing among these rows, as far as the stream goes."""
        steps = min(pairing.steps, self._stream.steps - self.done)
        if steps == 0:
            return
        counted = self.done + steps - self._stream.lag
        # The last step on its own: then both of the newest iterates are at hand for an average that lags by two.
        for part in (slice(0, steps - 1), slice(steps - 1, steps)):
            self._take(
                X, y, Pairing(pairing.current[part], pairing.stream, pairing.low[part], pairing.high[part]), counted
            )

    def _take(self, X: Array, y: AnyArray, pairing: Pairing, counted: int) -> None:
        first, end = self.done + 1, self.done + pairing.steps
        if end < first:
            return
        weights = np.zeros(pairing.steps + 1)
        entering = max(0, min(counted, end) - self.done)
        weights[1 : entering + 1] = self._stream.iterate_weights(first, self.done + entering)
        sizes = self._stream.step_sizes(first, end)
        self.last, added = run_stream(self._problem, X, y, pairing, sizes, weights, self.last, self._pull)
        self._total = self._total + added
        self.done = end
        if end > counted:
            self._waiting.append((end, self.last))
        self._settle(counted)

    def _settle(self, counted: int) -> None:
        for number, w in self._waiting:
            if number <= counted:
                self._total = self._total + self._stream.iterate_weights(number, number)[0] * w
        self._waiting = [(number, w) for number, w in self._waiting if number > counted]

    def result(self) -> Array:
        """The stream's average over the steps so far, or its last iterate; without noise."""
        if self._stream.average == "last":
            return self.last
        if self.done < self._stream.lag:
            # Nothing but the start has a share yet.
            return self._waiting[0][1]
        self._settle(self.done - self._stream.lag)
        average: Array = self._total / self._stream.total_weight(self.done)
        return average
