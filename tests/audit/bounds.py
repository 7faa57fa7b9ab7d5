"""From counted events to a lower bound on epsilon, and the bound to expect before anything is drawn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

CONFIDENCE = 1.0 - 1e-6
"""Of one lower bound, over the two directions and the two probabilities in each."""

_ERROR = (1.0 - CONFIDENCE) / 4.0


def least_probability(hits, draws):
    """Clopper-Pearson: the probability is at least this, at the confidence of one side."""
    hits = np.asarray(hits, dtype=float)
    return np.where(hits > 0, beta.ppf(_ERROR, hits, draws - hits + 1.0), 0.0)


def largest_probability(hits, draws):
    """Clopper-Pearson: the probability is at most this, at the confidence of one side."""
    hits = np.asarray(hits, dtype=float)
    return np.where(hits < draws, beta.ppf(1.0 - _ERROR, hits + 1.0, draws - hits), 1.0)


def least_epsilon(hits, hits_of_the_other, draws, delta):
    """``log((p - delta)/q)`` at the ends of the intervals that favour the claim; 0 where nothing follows."""
    surplus = least_probability(hits, draws) - delta
    ratio = np.maximum(surplus, 0.0) / largest_probability(hits_of_the_other, draws)
    return np.log(np.maximum(ratio, 1.0))


@dataclass(frozen=True)
class Statistic:
    """What the attacker computes from a release: one of several exact values, each with its share, plus known noise."""

    values: np.ndarray
    shares: np.ndarray
    noise: Any
    """A symmetric scipy distribution."""

    def mirrored(self):
        """The law of the negative."""
        return Statistic(-self.values, self.shares, self.noise)

    def above(self, thresholds):
        """Probabilities to be above each threshold."""
        return self.noise.sf(thresholds[:, None] - self.values) @ self.shares


@dataclass(frozen=True)
class Event:
    """ "The statistic is above the threshold" as evidence for one data set against another."""

    threshold: float
    expected: float
    """The bound on epsilon from counts that are what they are on average."""
    pessimistic: float
    """The bound from counts that are both three standard deviations off, on the claim's side."""

    def least_epsilon(self, seen, seen_of_the_other, delta):
        """The bound from the statistics of as many real releases of each data set."""
        hits, others = np.sum(seen > self.threshold), np.sum(seen_of_the_other > self.threshold)
        return float(least_epsilon(hits, others, len(seen), delta))


def best_event(one: Statistic, other: Statistic, draws: int, delta: float) -> Event:
    """The threshold with the largest expected bound, from what is known before anything is drawn."""
    width = 6.0 * one.noise.std()
    thresholds = np.linspace(other.values.min() - width, one.values.max() + width, 1201)
    p, q = one.above(thresholds), other.above(thresholds)
    expected = least_epsilon(draws * p, draws * q, draws, delta)
    best = int(np.argmax(expected))
    fewer = np.maximum(0.0, draws * p - 3.0 * np.sqrt(draws * p * (1.0 - p)))
    more = np.minimum(draws, draws * q + 3.0 * np.sqrt(draws * q * (1.0 - q)))
    pessimistic = float(least_epsilon(fewer[best], more[best], draws, delta))
    return Event(float(thresholds[best]), float(expected[best]), pessimistic)
