"""Slopes of the weighted logistic loss of single records, cut off at a cap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from entrenous.arrays import AnyArray, Array


class CappedSlopes(NamedTuple):
    """``min(weight sigma(-s score), cap)``, s = 1 and the weight `event` for events (code 1), else -1 and `other`."""

    event: float
    other: float
    cap: float

    @property
    def even_score(self) -> float:
        """The score at which both classes pull equally hard, so that neither is more likely.

        ``event sigma(-m) = other sigma(m)`` there; the cap, half of the larger weight, is not reached.
        """
        return math.log(self.event / self.other)

    def probability(self, scores: Array) -> Array:
        """The probability of an event at a score: what makes the loss's expected slope vanish."""
        event = np.minimum(self.event * expit(-scores), self.cap)
        other = np.minimum(self.other * expit(scores), self.cap)
        probability: Array = other / (event + other)
        return probability

    def log_odds(self, scores: Array) -> Array:
        """The logit of `probability`, which stays finite; it rises by 1/2 to 1 per unit of the score."""
        cap = math.log(self.cap)
        event = np.minimum(math.log(self.event) + log_expit(-scores), cap)
        log_odds: Array = np.minimum(math.log(self.other) + log_expit(scores), cap) - event
        return log_odds

    def score_at(self, log_odds: float) -> float:
        """The score that has these log-odds: the inverse of `log_odds`."""
        uncapped = log_odds + self.even_score
        if self.event * expit(-uncapped) > self.cap:
            return _logit_of_exp(math.log(self.cap / self.other) + log_odds)
        if self.other * expit(uncapped) > self.cap:
            return -_logit_of_exp(math.log(self.cap / self.event) - log_odds)
        return uncapped

    def at(self, scores: Array, y: AnyArray) -> Array:
        """The slopes with the sign of their record, so that they are what the scores should move by."""
        is_event = np.asarray(y) == 1
        sign = np.where(is_event, 1.0, -1.0)
        slopes = np.minimum(np.where(is_event, self.event, self.other) * expit(-sign * scores), self.cap)
        signed: Array = sign * slopes
        return signed


def _logit_of_exp(log_share: float) -> float:
    """``log(p/(1 - p))`` for ``p = exp(log_share)``, which is at most about 1/2 here."""
    return log_share - math.log1p(-math.exp(log_share))
