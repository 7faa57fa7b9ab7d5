"""How far one record can move what a metric is computed from: moments of classes, scatter of listed pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from entrenous.privacy.lemmas.bound import Bound, lemma
from entrenous.privacy.lemmas.rounding import exact_sum_error
from entrenous.problem.pair_list import PairList
from entrenous.problem.problem import Problem

LEMMA_20, LEMMA_21 = "Lemma 20", "Lemma 21"


def labelled_moments_sensitivity(radius: float, weights: tuple[float, float, float]) -> Bound:
    """Lemma 20: one weighted release of class counts, class sums and the second moment of all rows together.

    Weights ``(a, b, c)`` for the counts of any number of classes, for their sums, and for ``sum x x^T`` in isometric
    coordinates; rows of norm at most `radius`. Attained.

    Proof: ``docs/proofs.md``, Lemma 20.
    """
    a, b, c = weights
    k = radius
    classes_differ = math.sqrt(2.0 * a**2 + 2.0 * b**2 * k**2 + 2.0 * c**2 * k**4)
    if b**2 >= 2.0 * c**2 * k**2:
        class_kept = 2.0 * b * k
    else:
        class_kept = math.sqrt(2.0 * b**2 * k**2 + 2.0 * c**2 * k**4 + b**4 / (2.0 * c**2))
    return Bound(max(classes_differ, class_kept), LEMMA_20, numbers={"labelled_moments": {"weights": weights}})


def pair_scatter_sensitivity(listed: PairList, reach: float, weights: tuple[float, float]) -> Bound:
    """Lemma 21: one weighted release of the number of similar pairs and of the scatter of similar and other pairs.

    Weights ``(a, c)``: a for the number, c for both sums of ``d d^T`` in isometric coordinates, d the difference of a
    pair drawn in to norm `reach`. ``k sqrt(a^2 + 2 c^2 reach^4)``, k pairs per record at most. Attained.

    Proof: ``docs/proofs.md``, Lemma 21.
    """
    a, c = weights
    one_pair = math.sqrt(a**2 + 2.0 * c**2 * reach**4)
    return Bound(listed.most * one_pair, LEMMA_21, numbers={"pair_scatter": {"weights": weights, "reach": reach}})


@lemma(LEMMA_20)
def _labelled_moments(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    a, b, c = map(_positive, numbers["labelled_moments"]["weights"])
    bound = labelled_moments_sensitivity(problem.diameter / 2.0, (a, b, c))
    return replace(bound, error=exact_sum_error(n * (a + b + c)))


@lemma(LEMMA_21)
def _pair_scatter(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    stated = numbers["pair_scatter"]
    a, c = map(_positive, stated["weights"])
    listed = PairList(**numbers["pair_list"]).checked_for(n)
    reach = _positive(stated["reach"])
    bound = pair_scatter_sensitivity(listed, reach, (a, c))
    # Rounding may also leave a difference a little longer than the reach.
    return replace(bound, error=exact_sum_error(listed.pairs * (a + c * reach**2) + bound.value))


def _positive(thing: Any) -> float:
    number = float(thing)
    if not 0.0 < number < math.inf:
        raise ValueError("weights and a reach that are positive numbers")
    return number
