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
from entrenous.privacy.mechanisms import Mechanism
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
    if any(m.is_sampled for m in mechanisms):
        return _with_samples(tuple(mechanisms), delta)
    gaussian = [m for m in mechanisms if m.is_gaussian]
    pure = [m for m in mechanisms if not m.is_gaussian]
    if not pure:
        return epsilon_of(math.sqrt(_over_scopes(gaussian, lambda m: m.mu_squared)), delta)
    if not gaussian:
        return _over_scopes(pure, lambda m: m.pure_epsilon)
    return _by_pld(tuple(mechanisms), delta)


def second_opinion(mechanisms: Sequence[Mechanism], delta: float) -> float:
    """Epsilon at this delta as dp-accounting's privacy loss distributions see it.

    For secret samples its Renyi bound is our own figure already; the opinion on it is the exact curve of one release,
    which a bound for all of them must not undercut.
    """
    if any(m.is_sampled for m in mechanisms):
        return max(
            _with_samples(tuple(mechanisms), delta), *(_one_release(m, delta) for m in mechanisms if m.is_sampled)
        )
    return _by_pld(tuple(mechanisms), delta) if mechanisms else 0.0


def confirm(epsilon: float, mechanisms: Sequence[Mechanism], delta: float) -> None:
    """Raise unless the second opinion stays within `epsilon` and `TOLERANCE`."""
    opinion = second_opinion(mechanisms, delta)
    for mechanism in mechanisms:
        _check_one_release(mechanism, delta)
    # A pure loss is rounded up to the grid, and so is a Gaussian where the grid cannot follow a tiny epsilon.
    rounding = _GRID if any(not m.is_normal for m in mechanisms) else _rounding(mechanisms, delta)
    if opinion > epsilon * (1.0 + TOLERANCE) + rounding:
        raise PrivacyError(
            f"the accountant must confirm epsilon <= {epsilon:.9g}", f"{opinion:.9g}", "Please report this as a defect."
        )


def account_name(mechanisms: Sequence[Mechanism]) -> str:
    """How these mechanisms are priced, for the certificate."""
    if any(m.is_sampled for m in mechanisms):
        return "Renyi DP of sampling without replacement"
    if any(m.is_gaussian for m in mechanisms):
        return "Gaussian DP, exact" if all(m.is_gaussian for m in mechanisms) else "privacy loss distribution"
    return "pure epsilon, summed"


def accountant_version() -> str:
    """Version of dp-accounting, for the certificate."""
    from importlib.metadata import version

    return version("dp-accounting")


@lru_cache(maxsize=256)
def _with_samples(mechanisms: tuple[Mechanism, ...], delta: float) -> float:
    scopes = sorted({m.scope for m in mechanisms} - {"all"}) or ["all"]
    totals = []
    for scope in scopes:
        within = [m for m in mechanisms if m.scope in ("all", scope)]
        normal = [m for m in within if m.is_normal]
        plain = epsilon_of(math.sqrt(sum(m.mu_squared for m in normal)), delta)
        # Both bounds hold: the secrecy of a sample is never needed, it only helps.
        least = min(plain, renyi_epsilon(normal, delta)) if any(m.is_sampled for m in normal) else plain
        totals.append(least + sum(m.pure_epsilon for m in within if not m.is_normal))
    return max(totals)


def _one_release(mechanism: Mechanism, delta: float) -> float:
    assert mechanism.sampling is not None
    return one_release_epsilon(mechanism.noise_multiplier, mechanism.sampling.share, delta)


def _check_one_release(mechanism: Mechanism, delta: float) -> None:
    """Raise if the Renyi bound of a single sampled release is below its exact curve: it would be no bound."""
    if not mechanism.is_sampled:
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
    everywhere = totals.pop("all", 0.0)
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
    mu_squared = _over_scopes([m for m in mechanisms if m.is_gaussian], lambda m: m.mu_squared)
    expected = epsilon_of(math.sqrt(mu_squared), delta) if mu_squared > 0.0 else 0.0
    least = _least_step(mu_squared)
    return least if 0.0 < expected < math.inf and _fine_step(expected) < least else 0.0


@lru_cache(maxsize=256)
def _by_pld(mechanisms: tuple[Mechanism, ...], delta: float) -> float:
    # Cached because repeated fits (cross-validation, benchmarks) ask the same question at a tenth of a second each.
    scopes = sorted({m.scope for m in mechanisms} - {"all"}) or ["all"]
    return max(_pld_of_scope([m for m in mechanisms if m.scope in ("all", scope)], delta) for scope in scopes)


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

    mu_squared = sum(m.mu_squared for m in mechanisms if m.is_gaussian)
    pure_epsilon = sum(m.pure_epsilon for m in mechanisms if not m.is_gaussian)
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
