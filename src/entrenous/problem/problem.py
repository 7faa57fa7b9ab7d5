"""A problem: loss, domains and ridge, with the analytic constants that follow from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.features.domain import INTERNAL_DIAMETER
from entrenous.problem.pair_scores import Score
from entrenous.problem.parameter_domains import ParameterDomain
from entrenous.problem.surrogates.base import Interval, Reparametrised, Surrogate, base_of
from entrenous.problem.surrogates.own import try_constants
from entrenous.registry import is_own, part

Form = Literal["indicator", "label-difference"]


@part
@dataclass(frozen=True)
class Problem:
    """``F(w) = 1/(n(n-1)) sum over counted ordered pairs of phi(margin) + ridge/2 ||w||^2`` over a domain.

    `form` matters for ranking only: ``"indicator"`` is ``1[y=1, y'=0] phi(<w, x-x'>)``; ``"label-difference"`` is the
    papers' ``phi((y-y')<w, x-x'>)`` with labels +-1, which over all pairs is the indicator form of ``2 phi(2t)`` up to
    a constant. With a pointwise score F is the mean over records instead, and "pair" reads "record" throughout.
    """

    score: Score
    surrogate: Surrogate
    domain: ParameterDomain
    n_features: int
    diameter: float = INTERNAL_DIAMETER
    ridge: float = 0.0
    form: Form = "indicator"

    def __post_init__(self) -> None:
        if not 0.0 <= self.ridge < np.inf:
            raise InputError("ridge must be a number >= 0", repr(self.ridge), "Use ridge=0.0 for none.")
        if self.form not in ("indicator", "label-difference"):
            raise InputError(
                "form must be 'indicator' or 'label-difference'", repr(self.form), "See docs/proofs.md, Lemma 2."
            )
        if self.score.positive != self.domain.positive:
            raise InputError(
                "a metric needs a domain of positive semi-definite matrices, and only a metric does",
                f"{self.domain.name} for {self.score.task}",
                "Use the frobenius or nuclear domain for metrics, an l2 ball otherwise.",
            )
        if is_own(type(base_of(self.surrogate))):
            try_constants(self.surrogate, self.margins)
        if self.form == "label-difference" and not self.score.label_difference:
            raise InputError("form='label-difference' is a form of ranking", self.score.task, "Leave it out.")

    def in_form(self, form: Form) -> Problem:
        """The same problem in the other form."""
        return replace(self, form=form)

    @property
    def task(self) -> str:
        return self.score.task

    @cached_property
    def loss(self) -> Surrogate:
        """The surrogate that a counted pair pays in the all-pairs objective."""
        return self.surrogate if self.form == "indicator" else Reparametrised(self.surrogate, inner=2.0, outer=2.0)

    @cached_property
    def pair_loss(self) -> Surrogate:
        """The surrogate that one sampled pair pays: ``phi(t)``, or ``phi(2t)`` in the label-difference form."""
        return self.surrogate if self.form == "indicator" else Reparametrised(self.surrogate, inner=2.0, outer=1.0)

    @property
    def margins(self) -> Interval:
        """Margins reachable by clipped rows and projected parameters."""
        return self.score.reachable(self.diameter, self.domain.radius)

    @cached_property
    def slopes(self) -> tuple[float, float]:
        """``(c1, c2)``: the derivative of `loss` lies in ``[-c1, c2]`` on the reachable margins."""
        return self.loss.slopes(self.margins)

    @property
    def c1(self) -> float:
        return self.slopes[0]

    @property
    def c2(self) -> float:
        return self.slopes[1]

    @property
    def order_share(self) -> float:
        """How much of `loss` one sampled pair pays: half in the label-difference form, whose two orders pay alike."""
        return 0.5 if self.form == "label-difference" else 1.0

    @property
    def lipschitz(self) -> float:
        """The papers' G: largest gradient norm of one *ordered* pair's loss (without the ridge)."""
        return self.order_share * max(self.slopes) * self.score.feature_norm(self.diameter)

    @property
    def ordered_smoothness(self) -> float:
        """The papers' L: smoothness of one *ordered* pair's loss (without the ridge)."""
        return self.order_share * self.pair_smoothness

    @property
    def pair_smoothness(self) -> float:
        """L_pair: smoothness of one counted pair's loss (without the ridge)."""
        return self.loss.smoothness(self.margins) * self.score.feature_norm(self.diameter) ** 2

    def full_smoothness(self, n: int) -> float:
        """L_full: smoothness of the all-pairs objective without the ridge.

        Ranking counts at most ``n^2/4`` of the ``n(n-1)`` ordered pairs, so it is about a quarter of L_pair. Of any
        other score one order of every pair may count, or both.
        """
        share = n / (4.0 * (n - 1.0)) if self.score.between_classes else self.score.counted_orders / 2.0
        return share * self.pair_smoothness

    @property
    def convex(self) -> bool:
        """Whether every pair's loss is convex in the parameter: a convex surrogate of a score that is affine there."""
        return self.score.affine and self.loss.convex

    @property
    def strong_convexity(self) -> float:
        """alpha: only the ridge gives it whatever the rows are, and only to a convex loss."""
        return self.ridge if self.convex else 0.0

    @property
    def dimension(self) -> int:
        return self.score.dimension(self.n_features)

    def start(self) -> Array:
        """The public starting point, inside every domain."""
        return np.zeros(self.score.shape(self.n_features))
