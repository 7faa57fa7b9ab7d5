"""Exact Gaussian differential privacy: the curve of a Gaussian release and its two inverses.

A Gaussian release with l2 sensitivity D and standard deviation s is mu-GDP with mu = D/s; releases compose to
``mu^2 = sum mu_t^2``, adaptively too (Dong, Roth, Su 2022). The curve is the tight one of the analytic Gaussian
mechanism (Balle and Wang 2018).
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr

_CONSERVATIVE = 1e-11
"""Relative step to the safe side after root finding, far above the solver's tolerance."""


def log_delta(epsilon: float, mu: float) -> float:
    """``log(Phi(-eps/mu + mu/2) - e^eps Phi(-eps/mu - mu/2))``, in log space so that tiny deltas keep their digits."""
    if mu <= 0.0:
        return -math.inf
    first = float(log_ndtr(-epsilon / mu + mu / 2.0))
    second = epsilon + float(log_ndtr(-epsilon / mu - mu / 2.0))
    return first + math.log(-math.expm1(second - first)) if second < first else -math.inf


def delta_of(epsilon: float, mu: float) -> float:
    """The smallest delta for which mu-GDP is (epsilon, delta)-DP."""
    return math.exp(log_delta(epsilon, mu))


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon for which mu-GDP is (epsilon, delta)-DP; ``inf`` for ``delta = 0``.

    >>> round(epsilon_of(1 / 3.7306, 1e-5), 4)
    1.0
    """
    if mu <= 0.0:
        return 0.0
    if delta <= 0.0:
        return math.inf
    target = math.log(delta)
    if log_delta(0.0, mu) <= target:
        return 0.0
    high = 1.0
    while log_delta(high, mu) > target:
        high *= 2.0
    root: float = brentq(lambda epsilon: log_delta(epsilon, mu) - target, 0.0, high, xtol=1e-18, rtol=1e-14)
    return root * (1.0 + _CONSERVATIVE)


def mu_for(epsilon: float, delta: float) -> float:
    """The largest mu for which mu-GDP is (epsilon, delta)-DP.

    >>> round(1 / mu_for(1.0, 1e-5), 4)
    3.7306
    """
    target = math.log(delta)
    low = high = 1.0
    while log_delta(epsilon, low) > target:
        low /= 2.0
    while log_delta(epsilon, high) <= target:
        high *= 2.0
    root: float = brentq(lambda mu: log_delta(epsilon, mu) - target, low, high, xtol=1e-18, rtol=1e-14)
    return root * (1.0 - _CONSERVATIVE)
