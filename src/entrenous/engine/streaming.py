"""Streaming SGD as a phase: run a stream on the records, then add noise to its average."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases import Fold, OnlinePhase, Released, noise_for
from entrenous.engine.progress import Progress
from entrenous.engine.stream_run import StreamRun
from entrenous.parts.indices import uniform
from entrenous.parts.problem import Problem
from entrenous.parts.streams import Stream
from entrenous.privacy.mechanisms import Mechanism
from entrenous.privacy.noise import NoiseSource

_AT_ONCE = 1 << 16
"""Records between two signs of progress."""


@dataclass(frozen=True)
class Streaming(OnlinePhase):
    """Run a `Stream` on the records of this phase, then add noise to its average."""

    stream: Stream
    seed: int
    number: int
    share: tuple[int, int] | None = None
    output_noise: Mechanism | None = None
    anchor_ridge: float = 0.0
    """Strength of a ridge around the parameter that this phase starts from."""

    @property
    def records(self) -> tuple[int, int] | None:
        return self.share

    @property
    def unit_rows(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.stream.steps

    def pair_gradients(self, n: int) -> int:
        return self.stream.pair_gradients()

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        return 0.0 if self.output_noise is None else self.output_noise.rms(problem.dimension) / self._divisor()

    @property
    def in_order(self) -> bool:
        return self.stream.order == "arrival"

    @property
    def every_iterate(self) -> bool:
        return self.stream.release == "every iterate"

    @property
    def described(self) -> dict[str, Any]:
        return {"phase": self.number, "stream": asdict(self.stream)}

    def up_to(self, n: int) -> Streaming:
        return replace(self, stream=self.stream.up_to(n))

    def run(
        self, problem: Problem, X: Array, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress
    ) -> Released:
        fold = self.begin(problem, w)
        if self.in_order:
            for start in range(0, len(X), _AT_ONCE):
                fold.feed(X[start : start + _AT_ONCE], y[start : start + _AT_ONCE])
                progress(fold.done, self.steps)
        else:
            fold.advance(X, y, self.stream.pairing(len(X), self.seed, self.number))
        progress(self.steps, self.steps)
        return self.finish(problem, fold, noise)

    def begin(self, problem: Problem, w: Array) -> StreamRun:
        stream = self.stream
        points = [problem.domain.project(w)]
        if stream.warmup:
            points = public_points(problem, self.seed, self.number, stream.warmup)
        ridged = replace(problem, ridge=problem.ridge + self.anchor_ridge)
        buffer = stream.buffer_of(self.seed, self.number) if self.in_order else None
        return StreamRun(ridged, stream, points, self.anchor_ridge * points[-1], buffer)

    def finish(self, problem: Problem, fold: Fold, noise: NoiseSource) -> Released:
        return Released(self.release(problem, fold.result(), noise, fold.done), None, fold.done)

    def release(self, problem: Problem, w: Array, noise: NoiseSource, step: int | None = None) -> Array:
        """The result of a step (the last) as it leaves the phase: with noise and projected; as it is without noise."""
        if self.output_noise is None:
            return w
        return problem.domain.project(w + noise_for(self.output_noise, problem, noise) / self._divisor(step))

    def _divisor(self, step: int | None = None) -> int:
        """Every iterate is released in units of t w_t, so the noise of w_t is divided by its own t."""
        return (self.steps if step is None else step) + self.stream.warmup if self.every_iterate else 1


def public_points(problem: Problem, seed: int, phase: int, count: int) -> list[Array]:
    """Random points of the parameter domain, drawn from the index stream: they depend on no record."""
    values = uniform(seed, phase, (count, problem.dimension + 1))
    points = []
    for direction, height in zip(ndtri(values[:, :-1]), values[:, -1], strict=True):
        length = problem.domain.radius * height ** (1.0 / problem.dimension)
        vector = direction * (length / np.linalg.norm(direction))
        points.append(problem.domain.project(problem.score.from_coordinates(vector, problem.n_features)))
    return points
