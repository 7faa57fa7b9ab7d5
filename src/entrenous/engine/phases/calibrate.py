"""How often records of a given score are events, with noise: probabilities that hold on the training rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.capped_descent import class_weights
from entrenous.engine.phases.phase import Released, StatisticPhase
from entrenous.engine.phases.probability_link import LogOddsMap, ProbabilityLink
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows, bin_of
from entrenous.privacy.lemmas.statistics import LEMMA_19
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part

BINS = 16
_FARTHEST = 6.0
"""Log-odds beyond which all records are in the end bins."""
_NARROWEST = 1e-3
"""Width of the bins together, where a released parameter of 0 gives all records one score."""
_STANDS_OUT = 3.0
"""Standard deviations of noise above which a bin is believed to hold records."""
_SLOPE_SPREAD, _SHIFT_SPREAD = 0.3, 0.2
"""How far slope and shift are from 1 and 0, typically: counts that are mostly noise leave them there. These two and the
constants above were chosen on diabetes, debrecen, usps, ijcnn1 and a9a."""
_SLOPES, _SHIFTS = (0.1, 10.0), (-10.0, 10.0)


@part
@dataclass(frozen=True)
class Calibrate(StatisticPhase):
    """Counts of events and others by bins of their score, with noise (Lemma 19), at the parameter that came before.

    The bins are equal in the log-odds of the loss's own link. They span what a row of norm 1 can reach, up to 6 either
    way: released numbers only. A map of the log-odds follows from the counts alone.
    """

    lemma: ClassVar[str] = LEMMA_19
    on_grid: ClassVar[bool] = True

    share: float
    """Of the budget."""
    noise: Mechanism
    bins: int = BINS

    @property
    def mechanism(self) -> Mechanism:
        return self.noise

    @property
    def numbers(self) -> dict[str, Any]:
        return {"calibrate": {"share": self.share, "bins": self.bins}}

    @property
    def unit_rows(self) -> bool:
        return True

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        fitted = self.fitted(self.release(X, y, so_far, noise), so_far)
        before, after = _link(so_far), ProbabilityLink(_link(so_far).slopes, fitted)
        # The score counts from where the probability is 1/2.
        level = _level(so_far) + before.even_score - after.even_score
        return Released(so_far.w, level, log_odds_map=fitted)

    def release(self, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource) -> Array:
        """The counts as they leave the phase: a row for others, a row for events."""
        return self.noise.release(self.exact(X, y, so_far), noise)

    def exact(self, X: Rows, y: AnyArray, so_far: Released) -> Array:
        """The counts before noise."""
        link = _link(so_far)
        log_odds = link.slopes.log_odds(X.scores(so_far.w) + _level(so_far) + link.even_score)
        cell = bin_of(log_odds, *self.ends(so_far), self.bins) + self.bins * (np.asarray(y) == 1)
        return np.bincount(cell, minlength=2 * self.bins).reshape(2, self.bins).astype(float)

    def ends(self, so_far: Released) -> tuple[Any, Any]:
        """The log-odds where the bins begin and end."""
        link, norm = _link(so_far), float(np.linalg.norm(so_far.w))
        reach = np.array([-norm, norm]) + _level(so_far) + link.even_score
        low, high = np.clip(link.slopes.log_odds(reach), -_FARTHEST, _FARTHEST)
        return low, max(high, low + _NARROWEST)

    def fitted(self, counts: Array, so_far: Released) -> LogOddsMap:
        """The map that these noisy counts suggest: a logistic fit of few parameters, drawn to leaving all as it is.

        Every bin weighs as the share that chance of its own records has in its spread; noise has the rest. With these
        weights the prior on slope and shift counts for as much as the noise asks.
        """
        low, high = self.ends(so_far)
        middle = low + (high - low) * (np.arange(self.bins) + 0.5) / self.bins
        sd = self.noise.rms(1)
        both = counts.sum(axis=0)
        held = np.where(both > _STANDS_OUT * math.sqrt(2.0) * sd, both, 0.0)
        p = expit(middle)
        by_chance = held * p * (1.0 - p)
        weight = by_chance / (by_chance + sd**2 * (p**2 + (1.0 - p) ** 2))
        records, events = weight * held, weight * np.where(held > 0.0, counts[1], 0.0)

        def loss(at: Array) -> tuple[float, Array]:
            slope, shift = at
            z = slope * middle + shift
            apart, off = (slope - 1.0) / _SLOPE_SPREAD, shift / _SHIFT_SPREAD
            value = float(np.sum(records * np.logaddexp(0.0, z) - events * z)) + (apart**2 + off**2) / 2.0
            pull = records * expit(z) - events
            return value, np.array([pull @ middle + apart / _SLOPE_SPREAD, pull.sum() + off / _SHIFT_SPREAD])

        slope, shift = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=(_SLOPES, _SHIFTS)).x
        return LogOddsMap(float(slope), float(shift))


def _link(so_far: Released) -> ProbabilityLink:
    return ProbabilityLink(class_weights(so_far.event_share))


def _level(so_far: Released) -> float:
    return 0.0 if so_far.intercept is None else so_far.intercept
