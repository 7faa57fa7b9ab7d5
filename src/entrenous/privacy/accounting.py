"""The price of a list of mechanisms: our own closed forms, and dp-accounting's independent second opinion.

Mechanisms of scope ``"all"`` touch every record; those of ``"disjoint phase k"`` touch only phase k's records, so a
record pays for the dearest phase, not for their sum (Lemma 7's parallel composition).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from entrenous.errors import PrivacyError
from entrenous.privacy.gaussian_dp import epsilon_of
from entrenous.privacy.mechanisms import Mechanism

TOLERANCE = 1e-6
"""Relative slack of the second opinion: a privacy loss distribution rounds up."""

_PLD_STEP = 1e-4
"""Grid of dp-accounting's privacy loss distributions (its default)."""


def total_epsilon(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """Epsilon at this delta: exact for Gaussians alone and for pure mechanisms alone, by PLD when mixed."""
    gaussian = [m for m in mechanisms if m.is_gaussian]
    pure = [m for m in mechanisms if not m.is_gaussian]
    if not pure:
        return epsilon_of(math.sqrt(_over_scopes(gaussian, lambda m: m.mu_squared)), delta)
    if not gaussian:
        return _over_scopes(pure, lambda m: m.pure_epsilon)
    return _by_pld(tuple(mechanisms), delta)


def second_opinion(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """Epsilon at this delta as dp-accounting's privacy loss distributions see it."""
    return _by_pld(tuple(mechanisms), delta) if mechanisms else 0.0


def confirm(epsilon: float, mechanisms: Sequence[Mechanism], delta: float) -> None:
    """Raise unless the second opinion stays within `epsilon` and `TOLERANCE`."""
    opinion = second_opinion(mechanisms, delta)
    # A pure mechanism's loss is rounded up to the grid once per release.
    grid = _PLD_STEP * sum(m.count for m in mechanisms if not m.is_gaussian)
    if opinion > epsilon * (1.0 + TOLERANCE) + grid:
        raise PrivacyError(
            f"the accountant must confirm epsilon <= {epsilon:.9g}", f"{opinion:.9g}", "Please report this as a defect."
        )


def accountant_version() -> str:
    """Version of dp-accounting, for the certificate."""
    from importlib.metadata import version

    return version("dp-accounting")


def _over_scopes(mechanisms: Sequence[Mechanism], price: Callable[[Mechanism], float]) -> float:
    totals: dict[str, float] = {}
    for mechanism in mechanisms:
        totals[mechanism.scope] = totals.get(mechanism.scope, 0.0) + price(mechanism)
    everywhere = totals.pop("all", 0.0)
    return everywhere + max(totals.values(), default=0.0)


@lru_cache(maxsize=256)
def _by_pld(mechanisms: tuple[Mechanism, ...], delta: float) -> float:
    # Cached because repeated fits (cross-validation, benchmarks) ask the same question at a tenth of a second each.
    scopes = sorted({m.scope for m in mechanisms} - {"all"}) or ["all"]
    return max(_pld_of_scope([m for m in mechanisms if m.scope in ("all", scope)], delta) for scope in scopes)


def _pld_of_scope(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """The one place that converts our (sensitivity, noise) into dp-accounting's terms.

    dp-accounting doubles the sensitivity under its REPLACE_ONE relation; our sensitivities are replace-one already, so
    each release enters as a unit-sensitivity mechanism under ADD_OR_REMOVE_ONE. A pure mechanism enters as the
    two-point loss that dominates every mechanism of its epsilon.
    """
    # Imported here: it takes about a second, and only a fit or a check needs it.
    import dp_accounting
    from dp_accounting.pld import PLDAccountant, common
    from dp_accounting.pld import privacy_loss_distribution as pld

    if all(m.is_gaussian for m in mechanisms):
        accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
        for m in mechanisms:
            accountant.compose(dp_accounting.GaussianDpEvent(m.noise_multiplier), m.count)
        return float(accountant.get_epsilon(delta))
    total = pld.identity(_PLD_STEP)
    for m in mechanisms:
        if m.is_gaussian:
            # Gaussians of one ratio compose to one Gaussian, so the discretisation is paid once.
            one = pld.from_gaussian_mechanism(m.noise_multiplier / math.sqrt(m.count))
            total = total.compose(one)
        else:
            one = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(m.pure_epsilon / m.count, 0.0))
            total = total.compose(one.self_compose(m.count))
    return float(total.get_epsilon_for_delta(delta))
