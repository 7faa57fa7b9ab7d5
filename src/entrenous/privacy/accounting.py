"""The price of a list of mechanisms: our own closed forms, and dp-accounting's independent second opinion.

Mechanisms of scope ``"all"`` touch every record; those of ``"disjoint phase k"`` touch only phase k's records, so a
record pays for the dearest phase, not for their sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from entrenous.errors import PrivacyError
from entrenous.privacy.gaussian_dp import epsilon_of
from entrenous.privacy.mechanisms.mechanism import EVERYWHERE, Mechanism
from entrenous.privacy.subsampling import one_release_epsilon, renyi_epsilon

TOLERANCE = 1e-6
"""Relative slack of the second opinion: a privacy loss distribution rounds up."""

_GRID = 1e-3
"""Widest grid of the privacy loss distributions."""


def total_epsilon(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """Epsilon at this delta: exact for Gaussians alone, summed for pure mechanisms alone, by PLD when mixed.

    With secret samples among them: the Renyi bound, or exact composition that ignores the sampling if that is smaller;
    pure mechanisms beside them are added.
    """
    _need_prices(mechanisms)
    if any(m.secret_sample for m in mechanisms):
        return _with_samples(tuple(mechanisms), delta)
    if all(m.gdp is not None for m in mechanisms):
        return epsilon_of(math.sqrt(_over_scopes(mechanisms, _gdp)), delta)
    if all(m.pure is not None for m in mechanisms):
        return _over_scopes(mechanisms, _pure)
    return _by_pld(tuple(mechanisms), delta)


def second_opinion(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """Epsilon at this delta as dp-accounting's privacy loss distributions see it.

    For secret samples its Renyi bound is our own figure already; the opinion on it is the exact curve of one release,
    which a bound for all of them must not undercut.
    """
    if any(m.secret_sample for m in mechanisms):
        return max(
            _with_samples(tuple(mechanisms), delta), *(_one_release(m, delta) for m in mechanisms if m.secret_sample)
        )
    return _by_pld(tuple(mechanisms), delta) if mechanisms else 0.0


def confirm(epsilon: float, mechanisms: Sequence[Mechanism], delta: float) -> None:
    """Raise unless the second opinion stays within `epsilon` and `TOLERANCE`."""
    opinion = second_opinion(mechanisms, delta)
    for mechanism in mechanisms:
        _check_one_release(mechanism, delta)
    # A pure loss is rounded up to the grid, and so is a Gaussian where the grid cannot follow a tiny epsilon.
    rounding = _GRID if any(m.gdp is None for m in mechanisms) else _rounding(mechanisms, delta)
    if opinion > epsilon * (1.0 + TOLERANCE) + rounding:
        raise PrivacyError(
            f"the accountant must confirm epsilon <= {epsilon:.9g}", f"{opinion:.9g}", "Please report this as a defect."
        )


def account_name(mechanisms: Sequence[Mechanism]) -> str:
    """How these mechanisms are priced, for the certificate."""
    if any(m.secret_sample for m in mechanisms):
        return "Renyi DP of sampling without replacement"
    if all(m.gdp is not None for m in mechanisms):
        return "Gaussian DP, exact"
    return "pure epsilon, summed" if all(m.pure is not None for m in mechanisms) else "privacy loss distribution"


def accountant_version() -> str:
    """Version of dp-accounting, for the certificate."""
    from importlib.metadata import version

    return version("dp-accounting")


@lru_cache(maxsize=256)
def _with_samples(mechanisms: tuple[Mechanism, ...], delta: float) -> float:
    totals = []
    for scope in _scopes(mechanisms):
        within = [m for m in mechanisms if m.scope in (EVERYWHERE, scope)]
        normal = [m for m in within if m.gdp is not None]
        plain = epsilon_of(math.sqrt(sum(map(_gdp, normal))), delta)
        # Both bounds hold: the secrecy of a sample is never needed, it only helps.
        least = min(plain, renyi_epsilon(normal, delta)) if any(m.secret_sample for m in normal) else plain
        totals.append(least + sum(_pure(m) for m in within if m.gdp is None))
    return max(totals)


def _scopes(mechanisms: Sequence[Mechanism]) -> list[str]:
    """The phases among the scopes, or the one scope there is."""
    return sorted({m.scope for m in mechanisms} - {EVERYWHERE}) or [EVERYWHERE]


def _gdp(mechanism: Mechanism) -> float:
    return mechanism.gdp or 0.0


def _pure(mechanism: Mechanism) -> float:
    return mechanism.pure or 0.0


def _need_prices(mechanisms: Sequence[Mechanism]) -> None:
    for mechanism in mechanisms:
        if mechanism.gdp is None and mechanism.pure is None:
            raise PrivacyError(
                "a mechanism needs a price: mu^2 (gdp) or a pure epsilon (pure)",
                f"a {mechanism.kind} without either",
                "Define one of the two properties.",
            )


def _one_release(mechanism: Mechanism, delta: float) -> float:
    assert mechanism.secret_sample is not None
    return one_release_epsilon(mechanism.noise_multiplier, mechanism.secret_sample.share, delta)


def _check_one_release(mechanism: Mechanism, delta: float) -> None:
    """Raise if the Renyi bound of a single sampled release is below its exact curve: it would be no bound."""
    if mechanism.secret_sample is None:
        return
    exact, bound = _one_release(mechanism, delta), renyi_epsilon([replace(mechanism, count=1)], delta)
    if exact > bound * (1.0 + TOLERANCE):
        raise PrivacyError(
            f"the Renyi bound of one release must be at least its exact epsilon {exact:.9g}",
            f"{bound:.9g}",
            "Please report this as a defect.",
        )


def _over_scopes(mechanisms: Sequence[Mechanism], price: Callable[[Mechanism], float]) -> float:
    totals: dict[str, float] = {}
    for mechanism in mechanisms:
        totals[mechanism.scope] = totals.get(mechanism.scope, 0.0) + price(mechanism)
    everywhere = totals.pop(EVERYWHERE, 0.0)
    return everywhere + max(totals.values(), default=0.0)


def _fine_step(expected: float) -> float:
    """A grid with the expected epsilon on it."""
    return expected / max(100, math.ceil(expected / _GRID))


def _least_step(mu_squared: float) -> float:
    """What a grid over the whole loss of a Gaussian may be, so that it has a million points and not a billion."""
    mu = math.sqrt(mu_squared)
    return (mu_squared / 2.0 + mu * math.sqrt(2.0 * 130.0)) / 1e6


def _rounding(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """How far up the second opinion on Gaussians may be rounded: 0 where their epsilon is on the grid."""
    mu_squared = _over_scopes(mechanisms, _gdp)
    expected = epsilon_of(math.sqrt(mu_squared), delta) if mu_squared > 0.0 else 0.0
    least = _least_step(mu_squared)
    return least if 0.0 < expected < math.inf and _fine_step(expected) < least else 0.0


@lru_cache(maxsize=256)
def _by_pld(mechanisms: tuple[Mechanism, ...], delta: float) -> float:
    # Cached because repeated fits (cross-validation, benchmarks) ask the same question at a tenth of a second each.
    return max(
        _pld_of_scope([m for m in mechanisms if m.scope in (EVERYWHERE, scope)], delta) for scope in _scopes(mechanisms)
    )


def _pld_of_scope(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """The one place that converts our (sensitivity, noise) into dp-accounting's terms.

    dp-accounting doubles the sensitivity under its REPLACE_ONE relation; our sensitivities are replace-one already, so
    the releases enter as a unit-sensitivity mechanism under ADD_OR_REMOVE_ONE, its default. Gaussians enter as the one
    Gaussian they compose to, because composing distributions on a grid cuts tails at 1e-15, which a small delta sees;
    pure mechanisms enter as the two-point loss that dominates every mechanism of their summed epsilon.
    """
    # Imported here: it takes about a second, and only a fit or a check needs it.
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    mu_squared = sum(map(_gdp, mechanisms))
    pure_epsilon = sum(_pure(m) for m in mechanisms if m.gdp is None)
    parts = []
    step = _GRID
    if mu_squared > 0.0:
        expected = epsilon_of(math.sqrt(mu_squared), delta)
        if 0.0 < expected < math.inf:
            # On a grid point a single Gaussian is exact; between two it is interpolated upwards.
            step = max(_fine_step(expected), _least_step(mu_squared))
        tail = min(-90.0, math.log(delta) - 40.0) if delta > 0.0 else -90.0
        parts.append(
            pld.from_gaussian_mechanism(
                1.0 / math.sqrt(mu_squared), value_discretization_interval=step, log_mass_truncation_bound=tail
            )
        )
    if pure_epsilon > 0.0:
        parts.append(pld.from_privacy_parameters(common.DifferentialPrivacyParameters(pure_epsilon, 0.0), step))
    total = parts[0] if len(parts) == 1 else parts[0].compose(parts[1], tail_mass_truncation=0.0)
    return float(total.get_epsilon_for_delta(delta))
