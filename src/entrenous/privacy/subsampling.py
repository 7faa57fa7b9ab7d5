"""Normal noise on a fresh secret sample at every release: a Renyi bound for many releases, the exact curve of one.

A record that is rarely looked at is rarely at risk. The price of fixed-size sampling without replacement under
replace-one adjacency is dp-accounting's Renyi bound (Wang, Balle, Kasiviswanathan 2019, Theorem 27). Its noise
multiplier is relative to the sensitivity of a replacement, which is what our sensitivities are: nothing is doubled
here, unlike in its privacy loss distributions. ``docs/proofs.md``, "Sampling without replacement".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from entrenous.privacy.gaussian_dp import epsilon_of, mu_for

if TYPE_CHECKING:
    from entrenous.privacy.mechanisms.mechanism import Mechanism
    from entrenous.privacy.mechanisms.sampling import Sampling

ORDERS = (1.5, 2, 2.5, *range(3, 21), 24, 28, 32, 40, 48, 64, 96, 128, 256, 512, 1024)
"""Renyi orders. Any choice is valid; between integers the bound is interpolated, so more fractions gain little."""

_PRECISION = 1e-10
"""Of the calibrated noise multiplier, relative."""


def renyi_epsilon(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """Epsilon at this delta of normal mechanisms, sampled or not, composed adaptively, by Renyi divergences."""
    return _renyi_epsilon(tuple((m.noise_multiplier, m.count, m.secret_sample) for m in mechanisms), delta)


@lru_cache(maxsize=1024)
def _renyi_epsilon(releases: tuple[tuple[float, int, Sampling | None], ...], delta: float) -> float:
    if delta <= 0.0:
        return math.inf
    # Imported here: it takes about a second, and only a fit or a check needs it.
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(list(ORDERS), dp_accounting.NeighboringRelation.REPLACE_ONE)
    for multiplier, count, sampling in releases:
        event: dp_accounting.DpEvent = dp_accounting.GaussianDpEvent(multiplier)
        if sampling is not None:
            event = dp_accounting.SampledWithoutReplacementDpEvent(sampling.population, sampling.sample, event)
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))


_TINY = 1e-100
"""A delta at which the conversion from Renyi divergence to epsilon is one formula, so that it can be undone."""
_SAFE = 1e-12
"""More than what the rounding in that can take away."""


def renyi_divergence(mechanism: Mechanism, order: int) -> float:
    """What normal releases, sampled or not, cost at one Renyi order; ``order mu^2 / 2`` where nothing is sampled."""
    assert mechanism.gdp is not None
    plain = order * mechanism.gdp / 2.0
    sampling = mechanism.secret_sample
    if sampling is None:
        return plain
    return min(plain, _sampled_divergence(mechanism.noise_multiplier, mechanism.count, sampling, order))


@lru_cache(maxsize=256)
def _sampled_divergence(multiplier: float, count: int, sampling: Sampling, order: int) -> float:
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant([order], dp_accounting.NeighboringRelation.REPLACE_ONE)
    one = dp_accounting.GaussianDpEvent(multiplier)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(sampling.population, sampling.sample, one), count)
    offset = math.log1p(-1.0 / order) - (math.log(_TINY) + math.log(order)) / (order - 1)
    return float(accountant.get_epsilon(_TINY)) - offset + _SAFE


def one_release_epsilon(noise_multiplier: float, share: float, delta: float) -> float:
    """Epsilon at this delta of ONE release on a sample that holds a given record with probability `share`, exactly.

    ``delta'(eps') = q delta(eps)`` with ``eps' = log(1 + q (e^eps - 1))`` (Balle, Barthe, Gaboardi 2018), delta(.) the
    exact Gaussian curve.
    """
    if delta >= share:
        return 0.0
    epsilon = epsilon_of(1.0 / noise_multiplier, delta / share)
    return max(0.0, float(np.logaddexp(math.log1p(-share), math.log(share) + epsilon))) if share < 1.0 else epsilon


@lru_cache(maxsize=256)
def sampled_multiplier(epsilon: float, delta: float, count: int, sampling: Sampling) -> float:
    """The least noise per unit of sensitivity for which `count` sampled releases spend at most epsilon.

    Bisection on what `total_epsilon` says, ending on the safe side of the root. Noise that suffices without sampling
    always suffices, so there is an upper end to start from.
    """
    from scipy.optimize import brentq

    def excess(log_multiplier: float) -> float:
        return math.log(max(price(math.exp(log_multiplier), count, sampling, delta), 1e-300) / epsilon)

    high = math.log(math.sqrt(count) / mu_for(epsilon, delta))
    low = high - 1.0
    while excess(low) <= 0.0:
        low, high = low - 1.0, low
    found = float(brentq(excess, low, high, xtol=_PRECISION, rtol=4.0 * np.finfo(float).eps))
    step = _PRECISION
    while excess(found) > 0.0:
        # Rounding inside the Renyi bound makes it jump where the sample is most of the population.
        found, step = found + step, 2.0 * step
    return math.exp(found)


def price(noise_multiplier: float, count: int, sampling: Sampling, delta: float) -> float:
    """Epsilon at this delta of sampled releases: the Renyi bound, or exact composition that ignores the sampling.

    Both hold, so the smaller one does: secrecy of the sample is never needed, it only helps. The second wins where the
    sample is most of the population or epsilon is so small that no order of `ORDERS` reaches it.
    """
    plain = epsilon_of(math.sqrt(count) / noise_multiplier, delta)
    return min(plain, _renyi_epsilon(((noise_multiplier, count, sampling),), delta))
