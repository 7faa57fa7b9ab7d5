"""The rules by which fits of one data set add up: filters, proved for fits that are chosen by looking at earlier ones.

A rule is fixed when a data set is entered and never changes. Each has one unit of cost that simply adds; a fit is
refused if the sum would pass the limit. ``docs/ledger.md`` has the proofs that this is sound.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from scipy.special import log_expit, ndtri_exp

from entrenous.errors import BudgetError, InputError
from entrenous.privacy.gaussian_dp import epsilon_of, mu_for
from entrenous.privacy.mechanisms.mechanism import EVERYWHERE, Mechanism
from entrenous.privacy.subsampling import renyi_divergence

ORDERS = range(2, 257)
"""Orders that ``rdp`` may be fixed at: the bound for secret samples is tight at whole numbers only."""
ROUNDING = 1e-11
"""Relative slack of a sum of costs. Limits are below the true ones by more than this, so it gives nothing away."""

_SAFE = 1e-14
"""More than the rounding of a divergence near 0 can take away."""


@dataclass(frozen=True)
class Rule(ABC):
    """How costs are computed and what limit a budget of (epsilon, delta) means."""

    name: ClassVar[str]

    @abstractmethod
    def limit(self, epsilon: float, delta: float) -> float:
        """The largest sum of costs that keeps (epsilon, delta)."""

    @abstractmethod
    def epsilon(self, cost: float, delta: float) -> float:
        """Epsilon at this delta of fits that cost so much together."""

    @abstractmethod
    def cost_within(self, mechanisms: Sequence[Mechanism]) -> float:
        """The cost of releases that all look at the same records."""

    def cost(self, mechanisms: Sequence[Mechanism]) -> float:
        """The cost of one fit; of phases on disjoint records the dearest counts."""
        unpriced = [m.kind for m in mechanisms if m.gdp is None and m.pure is None]
        if unpriced:
            raise BudgetError(
                "a ledger needs a price for all noise of a fit", f"a {unpriced[0]} without one", "Define it."
            )
        scopes = {m.scope for m in mechanisms} - {EVERYWHERE} or {EVERYWHERE}
        cost = max(self.cost_within([m for m in mechanisms if m.scope in (EVERYWHERE, scope)]) for scope in scopes)
        if not 0.0 < cost < math.inf:
            raise BudgetError(
                "a fit in a ledger needs a finite cost above 0",
                f"{cost!r}",
                "Use noise that this rule can price.",
            )
        return cost


@dataclass(frozen=True)
class GaussianRule(Rule):
    """``gdp``: mu^2 of Gaussian differential privacy adds; exact for Gaussian noise."""

    name: ClassVar[str] = "gdp"

    def limit(self, epsilon: float, delta: float) -> float:
        return mu_for(epsilon, delta) ** 2

    def epsilon(self, cost: float, delta: float) -> float:
        return epsilon_of(math.sqrt(cost), delta)

    def cost_within(self, mechanisms: Sequence[Mechanism]) -> float:
        if any(m.secret_sample for m in mechanisms):
            raise BudgetError(
                "the rule gdp adds mu^2, and a release on a secret sample has none that shows what the sample is "
                "worth: its curve is not that of a Gaussian",
                "an algorithm that draws secret samples",
                "Use another algorithm, or enter the data set with the rule rdp.",
            )
        pure = sum(m.pure or 0.0 for m in mechanisms if m.gdp is None)
        return sum(m.gdp or 0.0 for m in mechanisms) + mu_of_pure(pure) ** 2


@dataclass(frozen=True)
class RenyiRule(Rule):
    """``rdp``: the Renyi divergence of one order adds; takes secret samples too."""

    name: ClassVar[str] = "rdp"

    order: int

    def __post_init__(self) -> None:
        if isinstance(self.order, bool) or self.order not in ORDERS:
            raise InputError(
                f"the order of rdp must be a whole number from {ORDERS[0]} to {ORDERS[-1]}",
                f"order={self.order!r}",
                "Leave it out: the best one for the budget is taken.",
            )

    def _offset(self, delta: float) -> float:
        """What an epsilon at this delta has beyond the divergence (Canonne, Kamath, Steinke 2020, Proposition 12)."""
        a = self.order
        return math.log1p(-1.0 / a) - (math.log(delta) + math.log(a)) / (a - 1)

    def limit(self, epsilon: float, delta: float) -> float:
        # A hair less, as `mu_for` does.
        return (epsilon - self._offset(delta)) * (1.0 - 2.0 * ROUNDING)

    def epsilon(self, cost: float, delta: float) -> float:
        return max(0.0, cost + self._offset(delta))

    def cost_within(self, mechanisms: Sequence[Mechanism]) -> float:
        normal = [m for m in mechanisms if m.gdp is not None]
        pure = sum(m.pure or 0.0 for m in mechanisms if m.gdp is None)
        return sum(renyi_divergence(m, self.order) for m in normal) + renyi_of_pure(pure, self.order)


def mu_of_pure(epsilon: float) -> float:
    """The mu for which every epsilon-DP release is mu-GDP: ``2 Phi^-1(e^eps / (1 + e^eps))``.

    Computed as ``-2 Phi^-1(1 / (1 + e^eps))``, in logarithms, so that a large epsilon keeps its digits.

    >>> round(mu_of_pure(1.0), 6)
    1.232035
    """
    return -2.0 * float(ndtri_exp(log_expit(-epsilon))) if epsilon > 0.0 else 0.0


def renyi_of_pure(epsilon: float, order: int) -> float:
    """The Renyi divergence of this order that no epsilon-DP release exceeds: that of randomised response.

    >>> round(renyi_of_pure(1.0, 2), 6)
    0.735326
    """
    if epsilon <= 0.0:
        return 0.0
    yes, no = float(log_expit(epsilon)), float(log_expit(-epsilon))
    first, second = order * yes + (1 - order) * no, order * no + (1 - order) * yes
    high, low = max(first, second), min(first, second)
    return min(epsilon, (high + math.log1p(math.exp(low - high))) / (order - 1) + _SAFE)


def rule_named(name: str, order: int | None = None) -> Rule:
    """A rule as a ledger states it."""
    if name == GaussianRule.name and order is None:
        return GaussianRule()
    if name == RenyiRule.name and order is not None:
        return RenyiRule(order)
    raise InputError(
        "the rule of a data set is gdp, or rdp with an order",
        f"rule={name!r}, order={order!r}",
        "gdp is exact for Gaussian noise; rdp takes algorithms with secret samples too.",
    )


def best_order(epsilon: float, delta: float) -> int:
    """The order at which this budget pays for the most Gaussian noise: a function of public numbers."""
    return max(ORDERS, key=lambda order: RenyiRule(order).limit(epsilon, delta) / order)
