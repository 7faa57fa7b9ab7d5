"""Slopes of the weighted logistic loss of single records, cut off at a cap."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit

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

    def at(self, scores: Array, y: AnyArray) -> Array:
        """The slopes with the sign of their record, so that they are what the scores should move by."""
        is_event = np.asarray(y) == 1
        sign = np.where(is_event, 1.0, -1.0)
        slopes = np.minimum(np.where(is_event, self.event, self.other) * expit(-sign * scores), self.cap)
        signed: Array = sign * slopes
        return signed
