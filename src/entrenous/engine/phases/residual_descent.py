"""Descent on the errors of single records, their slopes capped, noise on every gradient."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.path_noise import LaterPath, without_curvature
from entrenous.engine.phases.phase import Released, TargetSpread
from entrenous.engine.phases.record_descent import RecordDescent
from entrenous.engine.phases.scale_noise import MARGIN
from entrenous.engine.phases.tracked_cap import TrackedCap
from entrenous.engine.progress import Progress
from entrenous.engine.rows.error_slopes import FADING, PAIR_WIDTH, ErrorSlopes
from entrenous.engine.rows.rows import Rows
from entrenous.errors import InputError
from entrenous.privacy.lemmas.pointwise import FILLED_WEIGHT, LEMMA_23
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part

CONSTANT = 0.5
"""The constant entry beside a row of norm 1: what learns the intercept."""
NORM = math.hypot(1.0, CONSTANT)
_FIRST_CAP = 2.0
"""In scales of the targets: at first the errors are the targets themselves."""

_LEAST_KEPT = 0.01
"""Share of the noise that an average keeps at least: errors pull back all along, and with momentum far."""


@part
@dataclass(frozen=True)
class ResidualDescent(RecordDescent):
    """Full-batch descent on errors around what `TargetCentre` released; no error pulls harder than a cap (Lemma 23).

    Each release is a gradient in units of its sensitivity, and how much of the cap the errors fill. The cap follows
    that share in the first half of the steps and stays in the second, whose iterates are averaged. Where errors fade,
    those of the second half are the slopes of pairs whose other error is normal. Steps are public; the cap follows from
    what was released.
    """

    lemma: ClassVar[str] = LEMMA_23

    time: float = 1.0
    """Steps times their length, momentum included."""
    shrinkage: float = 0.0
    """Ridge that keeps the noise in directions that rows say little about from growing."""
    fill: float = 0.5
    """Share of the squared cap that the squared errors, cut there, shall fill."""
    fades: bool = True
    """Whether large errors fade in the second half."""
    bandwidth: float | None = None
    """Of pairs of errors, in internal units, where errors fade; ``None``: it follows the errors."""

    def __post_init__(self) -> None:
        sizes = (self.time, self.fill, 1.0 if self.bandwidth is None else self.bandwidth)
        if not (all(0.0 < size < math.inf for size in sizes) and 0.0 <= self.shrinkage < math.inf and self.fill < 1.0):
            raise InputError(
                "a descent needs a time > 0, a share to fill between 0 and 1, a shrinkage >= 0 and a bandwidth > 0",
                f"{self.time!r}, {self.fill!r}, {self.shrinkage!r} and {self.bandwidth!r}",
                "0.5 is the usual share; the others follow from the noise.",
            )

    @property
    def numbers(self) -> dict[str, Any]:
        return {"steps": self.total_steps, "filled_weight": FILLED_WEIGHT}

    @property
    def length(self) -> float:
        """Of a step, with the momentum of the earlier ones."""
        return self.time / self.total_steps

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        """As if errors were half the targets' range and rows said nothing: an upper figure, before any release."""
        decay = 1.0 - min(1.0, self.length * self._ridge(problem))
        return MARGIN * without_curvature(self._noise_per_step(1.0, n), self.total_steps, decay) / NORM

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        n, d = X.shape
        targets = so_far.targets or TargetSpread()
        above = y - targets.centre
        cap = TrackedCap(_FIRST_CAP * targets.scale, self.fill, self.noise.rms(1) / (FILLED_WEIGHT * n))
        ridge, turn = self._ridge(problem), self.total_steps // 2
        step = min(self.length, 1.0, 1.0 / ridge if ridge > 0.0 else math.inf)
        kept = 1.0 - min(1.0, 1.0 / self.length)
        w, speed, later = np.zeros(d + 1), np.zeros(d + 1), LaterPath(d + 1)
        slopes = ErrorSlopes(cap.value, fades=False)
        for k in range(self.total_steps):
            if k == turn:
                cap.settle()
                slopes = self.late_slopes(cap.value)
            direction, filled = self.released_gradient(X, above, w, slopes, noise)
            direction[:-1] -= ridge * w[:-1]
            speed = kept * speed + step * direction
            w[:-1] = problem.domain.project(w[:-1] + speed[:-1])
            w[-1] += speed[-1]
            if k < turn:
                cap.follow(filled)
                slopes = ErrorSlopes(cap.value, fades=False)
            else:
                later.add(w)
            progress(k + 1, self.total_steps)
        mean = later.average / NORM
        level = targets.centre + CONSTANT * float(mean[-1])
        spread = self._spread(later, slopes.cap, n, ridge)
        return Released(mean[:-1], level, self.total_steps, spread[:-1], error_cap=cap.value)

    def late_slopes(self, cap: float) -> ErrorSlopes:
        """The slopes of the second half.

        The slope of Welsch's loss with the bandwidth h, averaged over the normal error of a partner with the sd s, is
        a multiple of that slope with the bandwidth ``sqrt(h^2 + s^2)``. The cap stands for s.
        """
        if not self.fades:
            return ErrorSlopes(cap, fades=False)
        width = PAIR_WIDTH * cap if self.bandwidth is None else self.bandwidth
        return ErrorSlopes(math.hypot(width, cap) / FADING, fades=True)

    def released_gradient(
        self, X: Rows, y: AnyArray, w: Array, slopes: ErrorSlopes, noise: NoiseSource
    ) -> tuple[Array, float]:
        """The direction of descent per record, and the filled share of the cap, as they leave the phase."""
        released = self.noise.release(self.exact(X, y, w, slopes), noise)
        return released[:-1] * (2.0 * slopes.cap / len(X)), float(released[-1]) / (FILLED_WEIGHT * len(X))

    def exact(self, X: Rows, y: AnyArray, w: Array, slopes: ErrorSlopes) -> Array:
        """``sum_i a_i z_i/(2 C)`` for ``z_i = (x_i, 0.5)/sqrt(1.25)``, and ``0.83 sum_i u_i^2``, before noise."""
        total, level, filled = X.residual_sum(w[:-1] / NORM, CONSTANT * float(w[-1]) / NORM, y, slopes)
        return np.append(np.append(total, CONSTANT * level) / (2.0 * slopes.cap * NORM), FILLED_WEIGHT * filled)

    def _ridge(self, problem: Problem) -> float:
        return problem.ridge + self.shrinkage

    def _noise_per_step(self, cap: float, n: int) -> float:
        return self.length * 2.0 * cap / n * self.noise.rms(1)

    def _spread(self, later: LaterPath, cap: float, n: int, ridge: float) -> Array:
        """An estimate of the sd that the noise gives each averaged coordinate; it reads released numbers only."""
        per_step = self._noise_per_step(cap, n)
        most = without_curvature(per_step, self.total_steps, 1.0 - min(1.0, self.length * ridge))
        return MARGIN * most / NORM * later.kept(per_step, self.total_steps, _LEAST_KEPT)
