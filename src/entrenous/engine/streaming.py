"""Streaming SGD as a phase: run a stream on the records, then add noise to its average."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases import Phase, Released, noise_for
from entrenous.engine.progress import Progress
from entrenous.engine.streaming_kernel import run_stream
from entrenous.parts.indices import uniform
from entrenous.parts.problem import Problem
from entrenous.parts.streams import Stream
from entrenous.privacy.mechanisms import Mechanism
from entrenous.privacy.noise import NoiseSource


@dataclass(frozen=True)
class Streaming(Phase):
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
        return 0.0 if self.output_noise is None else self.output_noise.rms(problem.dimension) / self._divisor

    @property
    def _divisor(self) -> float:
        # Every iterate is released in units of t w_t, so the last one's noise is divided by its own t.
        return 1.0 if self.stream.release == "average" else float(self.stream.steps + self.stream.warmup)

    def run(
        self, problem: Problem, X: Array, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress
    ) -> Released:
        stream = self.stream
        problem = replace(problem, ridge=problem.ridge + self.anchor_ridge)
        pairing = stream.pairing_of(y, self.seed, self.number)
        points = [problem.domain.project(w)]
        if stream.warmup:
            points = public_points(problem, self.seed, self.number, stream.warmup)
        last, average = run_stream(
            problem, X, y, pairing, stream.step_sizes(), stream.weights(), points[-1], self.anchor_ridge * points[-1]
        )
        released = last if stream.release == "every iterate" else average
        if stream.average == "all":
            released = released + sum(points[:-1], np.zeros_like(released)) / (stream.steps + len(points))
        released = self.release(problem, released, noise)
        progress(self.steps, self.steps)
        return Released(released, None, self.steps)

    def release(self, problem: Problem, w: Array, noise: NoiseSource) -> Array:
        """A result as it leaves the phase: with the output noise and projected, or as it is where there is none."""
        if self.output_noise is None:
            return w
        return problem.domain.project(w + noise_for(self.output_noise, problem, noise) / self._divisor)


def public_points(problem: Problem, seed: int, phase: int, count: int) -> list[Array]:
    """Random points of the parameter domain, drawn from the index stream: they depend on no record."""
    values = uniform(seed, phase, (count, problem.dimension + 1))
    points = []
    for direction, height in zip(ndtri(values[:, :-1]), values[:, -1], strict=True):
        length = problem.domain.radius * height ** (1.0 / problem.dimension)
        vector = direction * (length / np.linalg.norm(direction))
        points.append(problem.domain.project(problem.score.from_coordinates(vector, problem.n_features)))
    return points
