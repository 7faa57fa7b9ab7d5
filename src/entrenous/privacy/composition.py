"""Several certificates about the same records as one: what all the releases together cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from entrenous.errors import InputError
from entrenous.privacy.accounting import TOLERANCE, account_name, accountant_version, confirm, total_epsilon
from entrenous.privacy.budget import Budget, checked_delta
from entrenous.privacy.certificate import COMPOSITION, NO_PROBLEM, PrivacyCertificate
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.laplace import L2Laplace
from entrenous.privacy.mechanisms.mechanism import EVERYWHERE, Mechanism

LEMMA_7 = "Lemma 7"


def compose_certificates(
    certificates: Sequence[PrivacyCertificate], *, delta: float | None = None
) -> PrivacyCertificate:
    """One certificate for everything that was released about the same people.

    Gaussian releases compose exactly (``mu^2`` adds), pure ones add their epsilons, mixtures go through a privacy loss
    distribution; later releases may have been chosen by looking at earlier ones. `delta` is where epsilon is stated,
    by default the largest of the parts'. The certificates themselves are kept in ``public["parts"]``, so that `verify`
    checks them all.

    >>> import entrenous as en
    >>> one = en.plan("moments", n=1000, n_features=3, epsilon=1.0, delta=1e-6, bounds=(0, 1)).certificate()
    >>> round(en.compose_certificates([one, one]).epsilon, 2)  # two Gaussian releases cost less than twice one
    1.45
    """
    parts = tuple(certificates)
    if len(parts) < 2 or not all(isinstance(part, PrivacyCertificate) for part in parts):
        raise InputError(
            "compose_certificates needs two certificates or more",
            ", ".join(type(part).__name__ for part in parts) or "none",
            "Pass what private fits store as certificate_; a fit without privacy has None and cannot be composed.",
        )
    units = {tuple(sorted(part.unit.items())) for part in parts}
    if len(units) > 1:
        raise InputError("certificates to compose need the same unit of privacy", str(units), "State one unit.")
    at = max(part.delta for part in parts) if delta is None else checked_delta(delta)
    mechanisms = mechanisms_of(parts)
    spent = total_epsilon(mechanisms, at)
    confirm(spent, mechanisms, at)
    cautions = dict.fromkeys(warning for part in parts for warning in part.warnings)
    return PrivacyCertificate(
        library=parts[-1].library,
        algorithm=COMPOSITION,
        citation=", ".join(dict.fromkeys(part.algorithm for part in parts)),
        calibration="paper" if any(part.calibration == "paper" for part in parts) else "tight",
        epsilon=spent,
        delta=at,
        claimed_epsilon=spent,
        n=max(part.n for part in parts),
        problem=NO_PROBLEM,
        mechanisms=mechanisms,
        accountant={
            "name": account_name(mechanisms),
            "version": f"dp-accounting {accountant_version()}",
            "tolerance": TOLERANCE,
        },
        public={"parts": [part.to_dict() for part in parts]},
        seeded=any(part.seeded for part in parts),
        warnings=tuple(cautions),
        unit=parts[0].unit,
    )


def mechanisms_of(parts: Sequence[PrivacyCertificate]) -> tuple[Mechanism, ...]:
    """All mechanisms, every one over all records.

    One part's disjoint phases are not disjoint from another's, so a part's phases enter as the dearest of them (Lemma
    7): a Gaussian of unit sensitivity with that ratio, a pure release with that epsilon.
    """
    listed: list[Mechanism] = []
    for part in parts:
        listed += [m for m in part.mechanisms if m.scope == EVERYWHERE]
        phased = [m for m in part.mechanisms if m.scope != EVERYWHERE]
        mu_squared = _dearest([m for m in phased if not m.secret_sample], lambda m: m.gdp)
        epsilon = _dearest([m for m in phased if m.gdp is None], lambda m: m.pure)
        if mu_squared > 0.0:
            listed.append(Gaussian(Bound(1.0, LEMMA_7), mu_squared**-0.5))
        if epsilon > 0.0:
            listed.append(L2Laplace(Bound(1.0, LEMMA_7), 1.0 / epsilon))
        # Secret samples within phases would be priced as if they were of all records.
        listed += [replace(m, scope=EVERYWHERE) for m in phased if m.secret_sample]
    return tuple(listed)


def dearest_within(budget: Budget) -> Mechanism:
    """A Gaussian release of the budget's mu, or a pure one of its epsilon: every other of its kind costs less."""
    unit = Bound(1.0, LEMMA_7)
    if budget.is_pure:
        return L2Laplace(unit, 1.0 / budget.epsilon)
    return Gaussian(unit, 1.0 / mu_for(budget.epsilon, budget.delta))


def within_budget(like: PrivacyCertificate, budget: Budget) -> PrivacyCertificate:
    """A certificate like this one for a release that is not planned yet, of which only the budget is known."""
    asked, noise = budget.epsilon, dearest_within(budget)
    return replace(like, mechanisms=(noise,), epsilon=asked, claimed_epsilon=asked, delta=budget.delta)


def _dearest(mechanisms: Sequence[Mechanism], price: Callable[[Mechanism], float | None]) -> float:
    """The largest total of any one scope."""
    totals: dict[str, float] = {}
    for mechanism in mechanisms:
        totals[mechanism.scope] = totals.get(mechanism.scope, 0.0) + (price(mechanism) or 0.0)
    return max(totals.values(), default=0.0)
