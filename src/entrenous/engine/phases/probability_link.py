"""From a score to the probability of an event: the link of the loss, and what calibration makes of it."""

from __future__ import annotations

from typing import NamedTuple

from scipy.special import expit

from entrenous.arrays import Array
from entrenous.engine.rows.capped_slopes import CappedSlopes


class LogOddsMap(NamedTuple):
    """``slope * l + shift`` in place of the log-odds l; the slope is positive, so the ranking stays."""

    slope: float = 1.0
    shift: float = 0.0


class ProbabilityLink(NamedTuple):
    """The probability of an event at a score of the loss: its own link, its log-odds mapped."""

    slopes: CappedSlopes
    log_odds_map: LogOddsMap = LogOddsMap()

    @property
    def even_score(self) -> float:
        """The score at which the probability is 1/2: a model's `decision_function` counts from there."""
        slope, shift = self.log_odds_map
        return self.slopes.even_score if shift == 0.0 else self.slopes.score_at(-shift / slope)

    def probability(self, scores: Array) -> Array:
        """The probability of an event at a score of the loss."""
        if self.log_odds_map == LogOddsMap():
            return self.slopes.probability(scores)
        slope, shift = self.log_odds_map
        probability: Array = expit(slope * self.slopes.log_odds(scores) + shift)
        return probability
