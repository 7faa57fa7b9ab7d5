"""`moments` for a metric: private scales, then one release of class moments, or of the scatter of listed pairs.

Every number here is a function of (n, d, epsilon, delta) and of what is declared about columns and classes. The
constants were chosen on letter and digits; usps, breast cancer and wine were looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from entrenous.engine.phases.labelled_moments import LabelledMomentRelease
from entrenous.engine.phases.pair_scatter import PairScatterRelease
from entrenous.engine.phases.phase import Phase
from entrenous.engine.plan import Plan
from entrenous.planners.assumptions import need_gaussian
from entrenous.planners.pair_lists import ASSUMED, pair_list_from
from entrenous.planners.private_scales import (
    STANDARDISE,
    ZOOM,
    check_shares,
    clip_before_scales,
    gaussian_for_share,
    narrower_ranges,
    stages_in_words,
    standardising,
)
from entrenous.planners.registry import algorithm
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.lemmas.metric_moments import (
    LEMMA_20,
    LEMMA_21,
    labelled_moments_sensitivity,
    pair_scatter_sensitivity,
)
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.private_bounds import PrivateBounds
from entrenous.problem.problem import Problem

CITATION = "entrenous"

_WEIGHTS = (0.71, 1.0, 0.7)
"""Counts, sums, second moment. The sums alone set the sensitivity 2: ``2c^2 < b^2`` and ``a^2 + c^2 < b^2``."""
_RADIUS = 0.75
"""Rows longer than this times ``sqrt(d)`` standard deviations are drawn in."""
_REACH = 0.8
"""Length to which differences of listed pairs are drawn in, in internal units; two rows are at most 2 apart."""
_COUNT = 0.25
"""Weight of the number of similar pairs, where the scatter of one pair weighs at most 1."""
_DEFAULT_CLASSES = 2


@algorithm(
    "moments",
    CITATION,
    "private scales, then one noisy release of class moments",
    cost="a few passes, n d^2",
    lemmas=(LEMMA_20, LEMMA_21),
    tasks=("metric",),
    needs=(),
    surrogates=(),
    joins=True,
)
def metric_moments(
    problem: Problem,
    budget: Budget,
    n: int,
    *,
    features: FeatureDomain | PrivateBounds | None = None,
    classes: int | None = None,
    n_components: int | None = None,
    zoom: float = ZOOM,
    standardise: float = STANDARDISE,
    listed_pairs: tuple[int, int] | None = None,
) -> Plan:
    """A metric from one noisy release of class counts, class sums and a second moment, in privately found units.

    What varies within classes is whitened, and what tells classes apart is weighed by how well it does; noise that is
    known draws both towards the plain distance. `zoom` and `standardise` are the shares of the budget for narrower
    ranges, and for means and scales; 0 leaves the stage out. With ``listed_pairs=(m, k)``, m listed pairs and no record
    in more than k of them, the scatter of similar and of other pairs takes the place of class moments. Without privacy
    the same, without noise. Approximate privacy.

    >>> import entrenous as en
    >>> made = en.plan("moments", task="metric", n=1000, n_features=5, epsilon=1.0, bounds=(0, 1))
    >>> [type(phase).__name__ for phase in made.phases]
    ['FindCentre', 'Standardise', 'LabelledMomentRelease']
    """
    shares = {"zoom": zoom, "standardise": standardise}
    check_shares(shares, "the release of moments needs", f"{ZOOM:g} and {STANDARDISE:g}")
    asked = (FeatureBounds(-1.0, 1.0) if features is None else features).for_features(problem.n_features)
    domain = asked.within if isinstance(asked, PrivateBounds) else asked
    if domain.mixes_columns:  # an earlier fit found its units
        standardise = 0.0
    mu = None
    before: list[Phase] = []
    if budget.is_private:
        need_gaussian("moments", budget)
        mu = mu_for(budget.epsilon, budget.delta)
        before = narrower_ranges(asked, n, budget, zoom)
    if standardise > 0.0:
        before += standardising(domain, clip_before_scales(domain, before), n, mu, standardise, _RADIUS)
    rank = None if n_components is None else int(n_components)  # NumPy's integers have no place in a file
    phases = (*before, _release(problem, n, mu, before, classes, rank, listed_pairs))
    remarks = {} if mu is None else {"stages": _in_words(phases, mu, domain)}
    if listed_pairs is not None and mu is not None:
        remarks["assumed"] = ASSUMED
    return Plan(
        "moments",
        CITATION,
        problem,
        budget,
        n,
        phases=phases,
        features=None if features is None else domain,
        remarks=remarks,
    )


def _release(
    problem: Problem,
    n: int,
    mu: float | None,
    before: Sequence[Phase],
    classes: int | None,
    rank: int | None,
    listed_pairs: tuple[int, int] | None,
) -> Phase:
    """The last phase, with noise for what the others leave of the budget."""
    spent = sum(phase.mechanism.gdp or 0.0 for phase in before if phase.mechanism is not None)
    left = 1.0 if mu is None else 1.0 - spent / mu**2
    if listed_pairs is not None:
        listed = pair_list_from(problem, n, listed_pairs)
        weights = (_COUNT, 1.0 / _REACH**2)
        bound = pair_scatter_sensitivity(listed, _REACH, weights)
        noise = None if mu is None else gaussian_for_share(bound, left, mu)
        return PairScatterRelease(noise, rank, weights=weights, reach=_REACH, listed=listed)
    bound = labelled_moments_sensitivity(problem.diameter / 2.0, _WEIGHTS)
    noise = None if mu is None else gaussian_for_share(bound, left, mu)
    public = _DEFAULT_CLASSES if classes is None and mu is not None else classes
    return LabelledMomentRelease(noise, rank, weights=_WEIGHTS, classes=public)


def _in_words(phases: Sequence[Phase], mu: float, domain: FeatureDomain) -> str:
    """Which stages run, with their shares of the budget."""
    last = phases[-1]
    assert last.mechanism is not None
    what = "class moments" if last.pair_list is None else f"scatter of {last.pair_list.pairs} pairs"
    share = 100.0 * (last.mechanism.gdp or 0.0) / mu**2
    return f"{', '.join(stages_in_words(phases[:-1], mu, domain))}, {what} {share:.3g} % of the budget"
