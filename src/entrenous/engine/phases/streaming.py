"""Streaming SGD as a phase: run a stream on the records, then add noise to its average."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import OnlinePhase, Released, release_parameter
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.engine.streams.fold import Fold
from entrenous.engine.streams.stream_run import StreamRun
from entrenous.privacy.lemmas.stream_lemmas import STREAM_LEMMAS
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.problem.streams.indices import uniform
from entrenous.problem.streams.stream import Stream
from entrenous.registry import part

_AT_ONCE = 1 << 16
"""Records between two updates of the progress bar."""


@part
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
    def mechanism(self) -> Mechanism | None:
        return self.output_noise

    @property
    def lemmas(self) -> tuple[str, ...]:
        return STREAM_LEMMAS

    @property
    def numbers(self) -> dict[str, Any]:
        anchor = {"anchor_ridge": self.anchor_ridge} if self.anchor_ridge else {}
        return {"phase": self.number, "index_seed": self.seed, **anchor, "stream": asdict(self.stream)}

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

    def up_to(self, n: int) -> Streaming:
        return replace(self, stream=self.stream.up_to(n))

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        fold, rows = self.begin(problem, so_far.w), X.array()
        if self.in_order:
            for start in range(0, len(rows), _AT_ONCE):
                fold.feed(rows[start : start + _AT_ONCE], y[start : start + _AT_ONCE])
                progress(fold.done, self.steps)
        else:
            fold.advance(rows, y, self.stream.pairing(len(rows), self.seed, self.number))
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
        unit = float(self._divisor(step))
        return problem.domain.project(release_parameter(self._covering_grid(problem), problem, w, noise, unit=unit))

    def _covering_grid(self, problem: Problem) -> Mechanism | None:
        """The mechanism; where every iterate is released, one bound is for all, and so is what the grid rounds."""
        mechanism = self.output_noise
        if mechanism is None or mechanism.grid is None or not self.every_iterate:
            return mechanism
        rounded = math.sqrt(self.steps * problem.dimension) * mechanism.grid / 2.0
        return replace(mechanism, bound=replace(mechanism.bound, error=mechanism.bound.error + rounded))

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
