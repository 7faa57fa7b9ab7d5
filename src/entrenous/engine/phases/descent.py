"""Full-batch projected gradient descent over all pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.phases.phase import Phase, Released, geometric_sum, release_parameter
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.errors import PrivacyError
from entrenous.privacy.lemmas.descent import LEMMA_3, LEMMA_4
from entrenous.privacy.lemmas.gradients import LEMMA_2
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part


@part
@dataclass(frozen=True)
class Descent(Phase):
    """Full-batch projected gradient descent; noise on every gradient, or on the result, or none.

    Releases the average of ``w_m..w_T``, m = `average_from` (m = T is the last iterate).
    """

    total_steps: int
    step_size: float
    average_from: int
    gradient_noise: Mechanism | None = None
    output_noise: Mechanism | None = None
    share: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.gradient_noise is not None and self.output_noise is not None:
            raise PrivacyError(
                "descent has noise on its gradients or on its result", "both", "Leave one of the two mechanisms out."
            )

    @property
    def records(self) -> tuple[int, int] | None:
        return self.share

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.total_steps

    @property
    def mechanism(self) -> Mechanism | None:
        """On every gradient or on the result: both at once would be two releases, which no algorithm here makes."""
        return self.gradient_noise or self.output_noise

    @property
    def releases(self) -> int:
        return 1 if self.gradient_noise is None else self.total_steps

    @property
    def lemmas(self) -> tuple[str, ...]:
        return (LEMMA_3, LEMMA_4) if self.gradient_noise is None else (LEMMA_2,)

    @property
    def numbers(self) -> dict[str, Any]:
        return {"steps": self.total_steps, "step_size": self.step_size, "average_from": self.average_from}

    def pair_gradients(self, n: int) -> int:
        seen = n if self.share is None else self.share[1] - self.share[0]
        return self.total_steps * seen * (seen - 1) // 2

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        variance = 0.0
        if self.gradient_noise is not None:
            # The noise of step t stays in w_t..w_T, of which the average takes those from m on; a step shrinks what
            # came before it by the ridge at least.
            t = np.arange(1, self.total_steps + 1)
            first = np.maximum(t, self.average_from)
            kept = 1.0 - min(1.0, self.step_size * problem.ridge)
            share = kept ** (first - t) * geometric_sum(kept, self.total_steps - first + 1)
            share /= self.total_steps - self.average_from + 1
            per_step = self.step_size * self.gradient_noise.rms(problem.dimension)
            variance += per_step**2 * float(np.sum(np.square(share)))
        if self.output_noise is not None:
            variance += self.output_noise.rms(problem.dimension) ** 2
        return float(np.sqrt(variance))

    def gradient(self, problem: Problem, w: Array, X: Rows, y: AnyArray) -> Array:
        """What noise is added to at each step."""
        return all_pairs_gradient(problem, w, X, y)

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        w = problem.domain.project(so_far.w)
        total = w if self.average_from == 0 else np.zeros_like(w)
        # The ridge reads no record, so it joins after the noise, and its rounding tells nothing.
        of_records = replace(problem, ridge=0.0)
        for t in range(1, self.total_steps + 1):
            gradient = release_parameter(self.gradient_noise, problem, self.gradient(of_records, w, X, y), noise)
            w = problem.domain.project(w - self.step_size * (gradient + problem.ridge * w))
            if t >= self.average_from:
                total = total + w
            progress(t, self.total_steps)
        released = self.release(problem, total / (self.total_steps - self.average_from + 1), noise)
        return Released(released, None, self.total_steps)

    def release(self, problem: Problem, w: Array, noise: NoiseSource) -> Array:
        """A result as it leaves the phase: with the output noise and projected, or as it is where there is none."""
        if self.output_noise is None:
            return w
        return problem.domain.project(release_parameter(self.output_noise, problem, w, noise))
