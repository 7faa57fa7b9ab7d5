"""What a plan can do with the records, phase by phase. Fields are public numbers; rows and noise are arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.all_pairs import all_pairs_gradient
from entrenous.engine.minimise import minimise
from entrenous.engine.moments import ClassMoments, ranking_from_moments
from entrenous.engine.progress import Progress
from entrenous.engine.sparse_rows import Rows
from entrenous.parts.pair_list import PairList
from entrenous.parts.problem import Problem
from entrenous.privacy.mechanisms import Mechanism
from entrenous.privacy.noise import NoiseSource, SeededNoise

BOOTSTRAP = 64
"""Draws behind the noise that `moments` states for its coefficients: their sd is known to about a tenth."""


class Released(NamedTuple):
    """What leaves a phase: a parameter, and an intercept where the release pays for one. Internal units."""

    w: Array
    intercept: float | None
    steps: int
    noise: Array | None = None
    """Sd of the noise in each coefficient where the phase knows better than `noise_per_coefficient`."""


@dataclass(frozen=True)
class Phase(ABC):
    """One stretch of a plan, on all records or on the share of the index stream's order that `records` names."""

    @property
    def records(self) -> tuple[int, int] | None:
        """Slice of the index stream's order that this phase sees; ``None``: all records, as they came."""
        return None

    @property
    def pair_list(self) -> PairList | None:
        """Public numbers of the list of pairs that it takes in place of labels; ``None``: it takes labels."""
        return None

    @property
    def unit_rows(self) -> bool:
        """Whether it needs rows of norm at most 1 even without privacy: its step size does not adapt to the rows."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether `run` takes `SparseRows` too: it asks nothing of the rows but scores, sums and second moments."""
        return False

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many gradient steps it takes at most."""

    @abstractmethod
    def pair_gradients(self, n: int) -> int:
        """How many pair gradients it evaluates."""

    @abstractmethod
    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        """Standard deviation that the noise alone gives each released coefficient, before projection."""

    @abstractmethod
    def run(
        self, problem: Problem, X: Array, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress
    ) -> Released:
        """Do it."""


class Fold(ABC):
    """A phase under way on records that come in chunks. It holds private rows and iterates: in memory, nowhere else."""

    done: int
    """Steps taken so far."""

    @abstractmethod
    def feed(self, X: Array, y: AnyArray) -> None:
        """The next records, in internal units."""

    @abstractmethod
    def result(self) -> Array:
        """What noise is to be added to, after the records so far."""


@dataclass(frozen=True)
class OnlinePhase(Phase):
    """A phase that can take its records one by one: `begin`, feed the fold, `finish`."""

    @property
    def in_order(self) -> bool:
        """Whether records are used in order of arrival, so that chunks will do."""
        return True

    @property
    def every_iterate(self) -> bool:
        """Whether its noise pays for a release after every record, not only after the last."""
        return False

    @property
    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Its public numbers, as a plan and its certificate state them."""

    @abstractmethod
    def up_to(self, n: int) -> OnlinePhase:
        """The same phase for the first n records."""

    @abstractmethod
    def begin(self, problem: Problem, w: Array) -> Fold:
        """A fold that has seen no record, started from the public w."""

    @abstractmethod
    def finish(self, problem: Problem, fold: Fold, noise: NoiseSource) -> Released:
        """What leaves, noise added."""


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

    @property
    def records(self) -> tuple[int, int] | None:
        return self.share

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.total_steps

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

    def run(self, problem: Problem, X: Rows, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress) -> Released:
        w = problem.domain.project(w)
        total = w if self.average_from == 0 else np.zeros_like(w)
        for t in range(1, self.total_steps + 1):
            gradient = self.gradient(problem, w, X, y)
            if self.gradient_noise is not None:
                gradient = gradient + noise_for(self.gradient_noise, problem, noise)
            w = problem.domain.project(w - self.step_size * gradient)
            if t >= self.average_from:
                total = total + w
            progress(t, self.total_steps)
        released = self.release(problem, total / (self.total_steps - self.average_from + 1), noise)
        return Released(released, None, self.total_steps)

    def release(self, problem: Problem, w: Array, noise: NoiseSource) -> Array:
        """A result as it leaves the phase: with the output noise and projected, or as it is where there is none."""
        if self.output_noise is None:
            return w
        return problem.domain.project(w + noise_for(self.output_noise, problem, noise))


@dataclass(frozen=True)
class MomentRelease(Phase):
    """One noisy release of class counts, sums and second moments, then least squares on what was released."""

    weights: tuple[float, float, float]
    mechanism: Mechanism | None
    shrinkage: float

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return 1

    def pair_gradients(self, n: int) -> int:
        return 0

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        """Noise of the class-mean difference, classes balanced."""
        if self.mechanism is None or self.mechanism.sigma is None:
            return 0.0
        return self.mechanism.sigma / self.weights[1] * float(np.sqrt(2.0)) / (n / 2.0)

    def run(self, problem: Problem, X: Rows, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress) -> Released:
        moments = self.release(ClassMoments.of(X, y), noise)
        w, intercept = self._solved(problem, moments)
        progress(1, 1)
        return Released(w, intercept, 1, self._spread(problem, moments))

    def _solved(self, problem: Problem, moments: ClassMoments) -> tuple[Array, float]:
        noise_in_moments = 0.0
        if self.mechanism is not None:
            assert self.mechanism.sigma is not None
            noise_in_moments = self.mechanism.sigma / self.weights[2]
        return ranking_from_moments(
            moments, ridge=problem.ridge, noise_in_moments=noise_in_moments, shrinkage=self.shrinkage
        )

    def _spread(self, problem: Problem, released: ClassMoments) -> Array:
        """Sd of each coefficient when noise like the release's is put on what was released: a parametric bootstrap.

        It reads nothing but the release and public numbers, and its own draws are no secret.
        """
        if self.mechanism is None:
            return np.zeros(problem.n_features)
        again = SeededNoise(np.random.default_rng(0))
        draws = [self._solved(problem, self.release(released, again))[0] for _ in range(BOOTSTRAP)]
        return np.std(draws, axis=0)

    def release(self, moments: ClassMoments, noise: NoiseSource) -> ClassMoments:
        """The moments as they leave the phase: with the mechanism's noise, or as they are where there is none."""
        if self.mechanism is None:
            return moments
        flat = moments.weighted(self.weights)
        flat = flat + self.mechanism.draw(noise, flat.size)
        return ClassMoments.from_weighted(flat, self.weights, moments.n, moments.sums.shape[1])


@dataclass(frozen=True)
class Minimise(Phase):
    """The non-private twin of an iterative algorithm: its objective, minimised to a stated tolerance."""

    max_iter: int
    tolerance: float

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return self.max_iter

    def pair_gradients(self, n: int) -> int:
        return self.max_iter * n * (n - 1) // 2

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        return 0.0

    def run(self, problem: Problem, X: Rows, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress) -> Released:
        w, iterations = minimise(problem, X, y, w, self.tolerance, self.max_iter, progress)
        return Released(w, None, iterations)


def geometric_sum(ratio: float, terms: AnyArray) -> Array:
    """``1 + r + ... + r^(terms - 1)``, for each entry of `terms`."""
    return np.asarray(terms, dtype=float) if ratio == 1.0 else (1.0 - ratio**terms) / (1.0 - ratio)


def noise_for(mechanism: Mechanism, problem: Problem, noise: NoiseSource) -> Array:
    """Noise of a mechanism in the shape of the problem's parameter."""
    return problem.score.from_coordinates(mechanism.draw(noise, problem.dimension), problem.n_features)
