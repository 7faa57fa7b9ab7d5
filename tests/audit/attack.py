"""The attacker: knows the plan, both data sets and the noise's law, and sees one release of the phase under attack."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import stats

from audit.bounds import Statistic, best_event
from entrenous.engine.phases.calibrate import Calibrate
from entrenous.engine.phases.capped_descent import CappedDescent, class_weights
from entrenous.engine.phases.metric_release import MetricRelease
from entrenous.engine.phases.moment_release import MomentRelease
from entrenous.engine.phases.phase import Released
from entrenous.engine.phases.residual_descent import ResidualDescent
from entrenous.engine.phases.target_centre import TargetCentre
from entrenous.engine.phases.whiten import Whiten
from entrenous.engine.rows.error_slopes import ErrorSlopes
from entrenous.engine.rows.registry import rows_of
from entrenous.privacy.noise import SeededNoise

_PLACES = ("output_noise", "gradient_noise", "noise")
_SAMPLES = 2000
"""How often a phase on secret samples is run without noise, to learn what it can return and how often."""


def mechanism_of(phase):
    """The noise of a phase, wherever it is put."""
    return getattr(phase, _place(phase))


def with_noise(phase, mechanism):
    """The same phase with other noise in the same place, or with none."""
    return replace(phase, **{_place(phase): mechanism})


def with_less_noise(phase, divisor):
    """The same phase with its noise divided."""
    mechanism = mechanism_of(phase)
    return with_noise(phase, replace(mechanism, **{mechanism.noise_field: mechanism.noise_size / divisor}))


def releases(phase, problem, data, start, noise):
    """A function that draws one release; where the noise is on the output, only the noise is drawn again."""
    if isinstance(phase, MomentRelease):
        exact = rows_of(data[0]).class_moments(data[1])
        return lambda: phase.release(exact, noise).weighted(phase.weights)
    if isinstance(phase, MetricRelease):
        return lambda: phase.release(rows_of(data[0]), data[1], noise)
    if isinstance(phase, Whiten):
        moments = phase.exact(rows_of(data[0]))
        return lambda: moments if phase.noise is None else phase.noise.release(moments, noise)
    if isinstance(phase, CappedDescent):
        # One gradient, at 0 where every slope is at its cap.
        start = np.zeros(data[0].shape[1] + 1)
        gradient = phase.exact(rows_of(data[0]), data[1], start, class_weights(None))
        return lambda: gradient if phase.noise is None else phase.noise.release(gradient, noise)
    if isinstance(phase, ResidualDescent):
        # One gradient, at 0 where the errors are the targets.
        start = np.zeros(data[0].shape[1] + 1)
        pull = phase.exact(rows_of(data[0]), data[1], start, ErrorSlopes(1.0, fades=False))
        return lambda: pull if phase.noise is None else phase.noise.release(pull, noise)
    if isinstance(phase, TargetCentre):
        bins = phase.exact(data[1])
        return lambda: bins if phase.noise is None else phase.noise.release(bins, noise)
    if isinstance(phase, Calibrate):
        counts = phase.exact(rows_of(data[0]), data[1], Released(start, 0.0)).ravel()
        return lambda: counts if phase.noise is None else phase.noise.release(counts, noise)
    if getattr(phase, "output_noise", None) is not None:
        exact = with_noise(phase, None).run(problem, rows_of(data[0]), data[1], Released(start), noise, _silent).w
        return lambda: phase.release(problem, exact, noise).ravel()

    def run():
        released = phase.run(problem, rows_of(data[0]), data[1], Released(start), noise, _silent)
        return np.append(released.w, [] if released.intercept is None else released.intercept)

    return run


@dataclass(frozen=True)
class Attack:
    """One phase of a plan against two data sets; the statistic is the release along the line between their results.

    Projections only cut off what is farther out than any threshold, so they are left out of the statistic's law.
    """

    problem: object
    phase: object
    first: tuple
    second: tuple
    start: np.ndarray
    """The public start, or what an earlier phase may have released."""
    delta: float

    @cached_property
    def exact(self):
        """What the phase returns without noise for both data sets, one row per run."""
        noiseless, noise = with_noise(self.phase, None), SeededNoise(np.random.default_rng(0))
        runs = _SAMPLES if mechanism_of(self.phase).secret_sample else 1
        draws = [releases(noiseless, self.problem, data, self.start, noise) for data in (self.first, self.second)]
        return [np.array([draw() for _ in range(runs)]) for draw in draws]

    @cached_property
    def direction(self):
        """From the second data set's result to the first one's."""
        first, second = self.exact
        difference = first.mean(axis=0) - second.mean(axis=0)
        return difference / np.linalg.norm(difference)

    def noise(self, divisor=1.0):
        """Distribution of the noise in the statistic, from public numbers."""
        phase = with_less_noise(self.phase, divisor)
        added_to_a_vector = MomentRelease | MetricRelease | Whiten | CappedDescent | Calibrate | ResidualDescent
        if isinstance(phase, added_to_a_vector | TargetCentre):
            return stats.norm(scale=phase.mechanism.sigma)
        spread = phase.noise_per_coefficient(self.problem, len(self.first[0]))
        if mechanism_of(phase).gdp is not None:
            return stats.norm(scale=spread)
        assert self.problem.dimension == 1, "only in one dimension is the l2 mechanism's noise Laplace's"
        return stats.laplace(scale=spread / math.sqrt(2.0))

    @property
    def attained(self):
        """How far apart the two results can be in units of noise, as a share of what the mechanism is priced for."""
        first, second = (exact @ self.direction for exact in self.exact)
        mechanism = mechanism_of(self.phase)
        priced = math.sqrt(mechanism.gdp) if mechanism.gdp is not None else mechanism.pure
        return float(first.max() - second.min()) / self.noise().kwds["scale"] / priced

    def events(self, draws, divisor=1.0):
        """The best evidence for the first data set and, on the negative statistic, for the second one."""
        noise = self.noise(divisor)
        first, second = (Statistic(*_shares(exact @ self.direction), noise) for exact in self.exact)
        return (
            best_event(first, second, draws, self.delta),
            best_event(second.mirrored(), first.mirrored(), draws, self.delta),
        )

    def least_epsilon(self, draws, seed, divisor=1.0):
        """The larger of the lower bounds in the two directions, from real releases with the noise divided."""
        noise = SeededNoise(np.random.default_rng(seed))
        phase = with_less_noise(self.phase, divisor)
        seen = []
        for data in (self.first, self.second):
            draw = releases(phase, self.problem, data, self.start, noise)
            seen.append(np.array([draw() @ self.direction for _ in range(draws)]))
        (first, second), (upwards, downwards) = seen, self.events(draws, divisor)
        return max(
            upwards.least_epsilon(first, second, self.delta), downwards.least_epsilon(-second, -first, self.delta)
        )


def _place(phase):
    return next(name for name in _PLACES if getattr(phase, name, None) is not None)


def _shares(values):
    """Different values, up to rounding, and how often each comes."""
    different, counts = np.unique(np.round(values, 12), return_counts=True)
    return different, counts / counts.sum()


def _silent(done, total):
    """Nobody watches."""
