"""Descent on fresh secret samples: one random pair, one record or a minibatch per step (Wang et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array, Codes
from entrenous.engine.phases.phase import Phase, Released, geometric_sum
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.privacy.lemmas.gradients import LEMMA_1, LEMMA_2, LEMMA_9
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.mechanisms.sampling import Sampling, without_replacement
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.pair_scores import Mahalanobis
from entrenous.problem.parameter_domains import NuclearPSD
from entrenous.problem.point_scores import Residual, with_ones
from entrenous.problem.problem import Problem
from entrenous.registry import part

BLOCK = 1 << 16
"""Noise values drawn at once: many for the compiled loop, few enough to stay in a cache (512 kB)."""


@part
@dataclass(frozen=True)
class SampledDescent(Phase):
    """Projected descent; every step's gradient from a sample without replacement, drawn as secretly as the noise.

    `batch` ``None``: one random pair, paying what one pair pays (a sample of 2), or one record. A number m: the mean
    over the ``m(m-1)`` ordered pairs, or over the m records, of a minibatch. For pairs these are two normalisations:
    the minibatch of 2 has half the gradient, and half the sensitivity, of the one random pair. Releases the average of
    the parameters at which gradients were taken, the public start included.
    """

    pairwise: bool
    total_steps: int
    step_size: float
    batch: int | None = None
    gradient_noise: Mechanism | None = None

    @property
    def mechanism(self) -> Mechanism | None:
        return self.gradient_noise

    @property
    def releases(self) -> int:
        return self.total_steps

    def sampling(self, n: int) -> Sampling | None:
        return without_replacement(n, self.sample)

    @property
    def lemmas(self) -> tuple[str, ...]:
        if not self.pairwise:
            return (LEMMA_9,)
        return (LEMMA_1,) if self.batch is None else (LEMMA_2,)

    @property
    def numbers(self) -> dict[str, Any]:
        return {"steps": self.total_steps, "step_size": self.step_size, "batch": self.batch}

    @property
    def unit_rows(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.total_steps

    @property
    def one_pair(self) -> bool:
        """Whether a step pays what one random pair pays, rather than a mean over a minibatch."""
        return self.pairwise and self.batch is None

    @property
    def sample(self) -> int:
        """How many records a step looks at."""
        return (2 if self.pairwise else 1) if self.batch is None else self.batch

    def pair_gradients(self, n: int) -> int:
        return self.total_steps * self.sample * (self.sample - 1) // 2 if self.pairwise else 0

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        if self.gradient_noise is None:
            return 0.0
        # The noise of step t is in w_{t+1}..w_T, of which T - t are averaged; each step shrinks it by the ridge.
        kept = 1.0 - min(1.0, self.step_size * self.ridge_of(problem))
        share = geometric_sum(kept, np.arange(self.total_steps)) / self.total_steps
        per_step = self.step_size * self.gradient_noise.rms(problem.dimension)
        return per_step * float(np.sqrt(np.sum(np.square(share))))

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        n, m = len(X), self.sample
        step = self._steps_on(problem, X.array(), y)
        order: Codes = np.arange(n)
        w = np.array(problem.domain.project(so_far.w), dtype=float)
        total = np.zeros_like(w)
        block = max(1, BLOCK // max(w.size, m))
        for done in range(0, self.total_steps, block):
            size = min(block, self.total_steps - done)
            draws = noise.integers(range(n, n - m, -1), size)
            step(draws, self._noise_of(size, problem, noise), order, w, total)
            progress(done + size, self.total_steps)
        # Rounding may leave the average of points of a ball a hair outside.
        released = problem.domain.project(total / self.total_steps)
        if not self.pairwise:
            return Released(released[:-1], float(released[-1]), self.total_steps)
        return Released(released, None, self.total_steps)

    def _noise_of(self, steps: int, problem: Problem, noise: NoiseSource) -> Array:
        """What is added to the gradients of so many steps."""
        drawn = np.zeros((steps, problem.dimension))
        if self.gradient_noise is not None:
            drawn = self.gradient_noise.noise_of_steps(noise, steps, problem.dimension)
        return problem.score.from_coordinates(drawn, problem.n_features)

    def _steps_on(self, problem: Problem, X: Array, y: AnyArray) -> Callable[[Codes, Array, Codes, Array, Array], None]:
        """The compiled loop for this task, with its records and public numbers bound."""
        # Imported here: numba takes half a second, and most fits do without.
        from entrenous.engine.pairs.own_slope import need_compiled_loop, with_slope_of
        from entrenous.engine.pairs.surrogate_kernels import surrogate_code
        from entrenous.engine.streams.sampled_kernel import sampled_kernel, sampled_matrix_steps

        n, m = len(X), self.sample
        paid = problem.pair_loss if self.one_pair else problem.loss
        loss = surrogate_code(paid)
        weight = 1.0 if self.one_pair else 1.0 / (m * (m - 1) if self.pairwise else m)
        rest = (self.ridge_of(problem), self.step_size, problem.domain.radius)
        need_compiled_loop(problem.score)
        if isinstance(problem.score, Mahalanobis):
            rows, codes = X, np.ascontiguousarray(y, dtype=np.int64)
            # Of a minibatch's ordered pairs both orders pay.
            both = weight * (1.0 if self.one_pair else 2.0)
            nuclear = isinstance(problem.domain, NuclearPSD)
            matrix_kernel = with_slope_of(paid, sampled_matrix_steps)

            def matrix(draws: Codes, values: Array, order: Codes, w: Array, total: Array) -> None:
                matrix_kernel(rows, codes, draws, values, order, w, total, loss, both, *rest, nuclear)

            return matrix
        rows = X if self.pairwise else np.ascontiguousarray(with_ones(X))
        regression = isinstance(problem.score, Residual)
        sides = np.ones(n, np.int8) if regression else np.where(np.asarray(y) == 1, 1, -1).astype(np.int8)
        offsets = 1.0 - np.asarray(y, dtype=float) if regression else np.zeros(n)
        code, *shape = loss
        kernel = with_slope_of(paid, sampled_kernel(code, self.pairwise))

        def vector(draws: Codes, values: Array, order: Codes, w: Array, total: Array) -> None:
            kernel(rows, sides, offsets, draws, values, order, w, total, *shape, weight, *rest)

        return vector

    def ridge_of(self, problem: Problem) -> float:
        """The ridge, with the weight that leaves the minimiser what it is over all pairs.

        One random pair pays in whichever order counts, which is twice the mean over ordered pairs in which only one
        order counts.
        """
        return problem.ridge * (2.0 * problem.order_share / problem.score.counted_orders if self.one_pair else 1.0)
