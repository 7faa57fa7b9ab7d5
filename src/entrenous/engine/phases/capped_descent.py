"""Descent on the weighted logistic loss of single records, slopes capped, noise on every gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.path_noise import LaterPath, without_curvature
from entrenous.engine.phases.phase import Released
from entrenous.engine.phases.record_descent import RecordDescent
from entrenous.engine.phases.scale_noise import MARGIN
from entrenous.engine.progress import Progress
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.rows import Rows
from entrenous.errors import InputError
from entrenous.privacy.lemmas.pointwise import LEMMA_17
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part

CONSTANT = 0.3
"""The constant entry beside a row of norm 1: what learns the intercept. Without it clipping un-centres the rows."""
_NORM = math.hypot(1.0, CONSTANT)
_POWER = 0.75
"""Classes weigh as their share to this negative power: between equal records (0) and equal classes (1)."""


@part
@dataclass(frozen=True)
class CappedDescent(RecordDescent):
    """Full-batch descent; a record's slope is its class's weight times the logistic slope, at most half the larger
    weight (Lemma 17). Noise on every gradient; the later half of the iterates is averaged.

    Gradients are released in units of their sensitivity. What follows from a released share of events is the length of
    the steps, never their number.
    """

    gives_probability: ClassVar[bool] = True
    lemma: ClassVar[str] = LEMMA_17

    stretch: float = 1.0
    """Length of the descent, beside the usual one."""
    added_entries: int = 0
    """Entries of a row beside one per feature: with shapes."""
    added_size: float = 0.0
    """How many entries of usual size the added ones amount to: they are smaller, and so is what their noise does."""

    def __post_init__(self) -> None:
        if not 0.0 < self.stretch < math.inf:
            raise InputError("stretch must be a positive number", repr(self.stretch), "1 is the usual length.")
        if self.added_entries < 0 or not 0.0 <= self.added_size < math.inf:
            raise InputError(
                "added entries need a number and a size >= 0",
                f"{self.added_entries!r} and {self.added_size!r}",
                "0 for rows without shapes.",
            )

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        """As if the loss did not pull back: an upper figure, which needs no released number."""
        slopes = class_weights(None)
        length = self._step_length(slopes, n, problem)
        return MARGIN * without_curvature(self._noise_per_step(slopes, n, length), self.total_steps) / _NORM

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        n, d = X.shape
        if d != problem.n_features + self.added_entries:  # public: it follows from the plan
            raise InputError(
                f"this descent is planned for rows of {problem.n_features + self.added_entries} entries",
                f"{d}",
                "Plan it for the domain that comes before it.",
            )
        slopes = class_weights(so_far.event_share)
        length = self._step_length(slopes, n, problem)
        w, later = np.zeros(d + 1), LaterPath(d + 1)
        for step in range(self.total_steps):
            direction = self.released_gradient(X, y, w, slopes, noise)
            w[:-1] = problem.domain.project(w[:-1] - length * (problem.ridge * w[:-1] - direction[:-1]))
            w[-1] += length * direction[-1]
            if step >= self.total_steps // 2:
                later.add(w)
            progress(step + 1, self.total_steps)
        mean = later.average / _NORM
        level = CONSTANT * float(mean[-1]) - slopes.even_score
        return Released(mean[:-1], level, self.total_steps, self._spread(later, slopes, n, length, problem.ridge)[:-1])

    def released_gradient(self, X: Rows, y: AnyArray, w: Array, slopes: CappedSlopes, noise: NoiseSource) -> Array:
        """The direction of descent as it leaves the phase, per record."""
        return self.noise.release(self.exact(X, y, w, slopes), noise) * (2.0 * slopes.cap / len(X))

    def exact(self, X: Rows, y: AnyArray, w: Array, slopes: CappedSlopes) -> Array:
        """``sum_i a_i s_i z_i/(2 C)`` for ``z_i = (x_i, 0.3)/sqrt(1.09)``, before noise."""
        total, level = X.capped_sum(w[:-1] / _NORM, CONSTANT * float(w[-1]) / _NORM, y, slopes)
        return np.append(total, CONSTANT * level) / (2.0 * slopes.cap * _NORM)

    def step_length(self, slopes: CappedSlopes, n: int, d: float) -> float:
        """Long enough to get there in so many steps, short enough that noise does not carry the parameter away."""
        noise = 2.0 * slopes.cap * noise_to_signal(self.noise.noise_multiplier, self.total_steps, n, d)
        return descent_time(noise, self.stretch) / self.total_steps

    def _step_length(self, slopes: CappedSlopes, n: int, problem: Problem) -> float:
        length = self.step_length(slopes, n, problem.n_features + self.added_size)
        # A longer step would overshoot the ridge's own minimum and blow the noise up.
        return min(length, 1.0 / problem.ridge) if problem.ridge > 0.0 else length

    def _noise_per_step(self, slopes: CappedSlopes, n: int, length: float) -> float:
        return length * 2.0 * slopes.cap / n * self.noise.rms(1)

    def _spread(self, later: LaterPath, slopes: CappedSlopes, n: int, length: float, ridge: float) -> Array:
        """An estimate of the sd that the noise gives each averaged coordinate; it reads released numbers only."""
        per_step = self._noise_per_step(slopes, n, length)
        most = without_curvature(per_step, self.total_steps, 1.0 - length * ridge)
        return MARGIN * most / _NORM * later.kept(per_step, self.total_steps)


def noise_to_signal(multiplier: float, steps: int, n: int, d: float) -> float:
    """Norm of the noise of one gradient at slope 1/2, were it the only release."""
    return math.sqrt(d + 1) * multiplier / math.sqrt(steps) / n


def descent_time(noise: float, stretch: float = 1.0) -> float:
    """Steps times their length: less where noise decides, and never more than what separable classes would use."""
    return min(stretch * min(6.0 / noise, 0.2 / noise**2), 6000.0)


def class_weights(event_share: float | None) -> CappedSlopes:
    """The weights of events and others, which are 1 on average over the records, and the cap."""
    if event_share is None:
        return CappedSlopes(1.0, 1.0, 0.5)
    event, other = event_share**-_POWER, (1.0 - event_share) ** -_POWER
    average = event_share * event + (1.0 - event_share) * other
    return CappedSlopes(event / average, other / average, max(event, other) / average / 2.0)
