"""The least noise that keeps a release within a budget."""

from __future__ import annotations

import math

from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.gaussian import Gaussian, SampledGaussian
from entrenous.privacy.mechanisms.laplace import L2Laplace
from entrenous.privacy.mechanisms.mechanism import EVERYWHERE, Mechanism
from entrenous.privacy.mechanisms.sampling import Sampling
from entrenous.privacy.subsampling import sampled_multiplier


def calibrated(
    budget: Budget, bound: Bound, *, count: int = 1, sampling: Sampling | None = None, scope: str = EVERYWHERE
) -> Mechanism:
    """The mechanism with the least noise that spends exactly the budget.

    Gaussian with exact GDP composition for ``delta > 0``; for pure privacy the l2 (K-norm) mechanism, whose noise is
    ``sqrt(2p/(p+1))`` smaller in rms than coordinate-wise Laplace. With `sampling`, normal noise for releases on fresh
    secret samples.
    """
    bound = bound.l2_only()
    if sampling is not None:
        sigma = bound.value * sampled_multiplier(budget.epsilon, budget.delta, count, sampling)
        return SampledGaussian(bound, sigma, count=count, scope=scope, sampling=sampling)
    if budget.is_pure:
        return L2Laplace(bound, count * bound.value / budget.epsilon, count=count, scope=scope)
    per_release = mu_for(budget.epsilon, budget.delta) / math.sqrt(count)
    return Gaussian(bound, bound.value / per_release, count=count, scope=scope)
