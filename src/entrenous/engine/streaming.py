"""Streaming SGD as a phase: run a stream on the records, then add noise to its average."""

from __future__ import annotations

from dataclasses import dataclass

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases import Phase, Released, noise_for
from entrenous.engine.progress import Progress
from entrenous.engine.streaming_kernel import run_stream
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

    @property
    def records(self) -> tuple[int, int] | None:
        return self.share

    @property
    def needs_unit_rows(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.stream.steps

    def pair_gradients(self, n: int) -> int:
        return self.stream.pair_gradients()

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        return 0.0 if self.output_noise is None else self.output_noise.rms(problem.dimension)

    def run(
        self, problem: Problem, X: Array, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress
    ) -> Released:
        pairing = self.stream.pairing(len(X), self.seed, self.number)
        start = problem.domain.project(w)
        _, released = run_stream(problem, X, y, pairing, self.stream.step_sizes(), self.stream.weights(), start)
        if self.output_noise is not None:
            released = problem.domain.project(released + noise_for(self.output_noise, problem, noise))
        progress(self.steps, self.steps)
        return Released(released, None, self.steps)
