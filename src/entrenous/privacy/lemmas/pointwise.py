"""How far one record can move sums over single records: means, squares, products, a share of events, gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from entrenous.privacy.lemmas.bound import Bound, lemma
from entrenous.privacy.lemmas.rounding import exact_sum_error
from entrenous.privacy.lemmas.statistics import varying_features
from entrenous.problem.problem import Problem

LEMMA_14, LEMMA_15, LEMMA_16, LEMMA_17 = "Lemma 14", "Lemma 15", "Lemma 16", "Lemma 17"
LEMMA_18, LEMMA_23 = "Lemma 18", "Lemma 23"

SQUARES_IN_BOX = 1.66
"""Weight of mean squares, per unit of reach, at which they cost nothing beside means over a box (proof of Lemma 15)."""
FILLED_WEIGHT = SQUARES_IN_BOX / 2.0
"""Weight at which squares of how much of its cap an error fills cost nothing beside the gradient (Lemma 23)."""
REACH_SLACK = 1e-9
"""Share by which an entry of a row may be larger than the reach that standardising is priced for."""
_IN_BALL = 2.1501
"""``sqrt(2 max (1+t)^2 (1 + (1-t)^2)/(1 + t^2))`` over t in [0, 1], rounded up: what both cost over a ball."""


def mean_row_sensitivity(n: int) -> Bound:
    """Lemma 14: the mean of n rows of norm at most 1 moves by at most ``2/n``. Attained.

    Proof: ``docs/proofs.md``, Lemma 14.
    """
    return Bound(2.0 / n, LEMMA_14)


def means_and_squares_sensitivity(n: int, n_features: int, reach: float) -> tuple[Bound, float]:
    """Lemma 15: the bound of means and weighted mean squares of n rows, and the weight of the squares.

    Rows have norm at most 1 and entries of at most `reach`. Where the box of such entries is hardly larger than the
    ball, the box decides: ``2 reach sqrt(d)/n`` at the weight ``1.66/reach``. Otherwise the ball: ``2.1501/n`` at
    ``1/reach``. Both attained to a part in a thousand.

    Proof: ``docs/proofs.md``, Lemma 15.
    """
    in_box = 2.0 * reach * math.sqrt(n_features)
    in_ball = in_box > _IN_BALL
    weight = (1.0 if in_ball else SQUARES_IN_BOX) / reach
    return Bound(
        min(in_box, _IN_BALL) / n, LEMMA_15, numbers={"standardise": {"reach": reach, "weight": weight}}
    ), weight


def event_share_sensitivity(n: int) -> Bound:
    """Lemma 16: the share of events among n records moves by at most ``1/n``. Attained.

    Proof: ``docs/proofs.md``, Lemma 16.
    """
    return Bound(1.0 / n, LEMMA_16)


def capped_gradient_sensitivity() -> Bound:
    """Lemma 17: a sum of ``a_i s_i z_i/(2C)``, ``0 <= a_i <= C``, ``||z_i|| <= 1``, moves by at most 1. Attained.

    The cap C and the weights may follow from anything that was released before.

    Proof: ``docs/proofs.md``, Lemma 17.
    """
    return Bound(1.0, LEMMA_17)


def residual_gradient_sensitivity() -> Bound:
    """Lemma 23: ``(sum_i a_i z_i/(2C), b sum_i u_i^2)`` moves by at most 1 if ``b <= 0.83``. Attained.

    ``||z_i|| <= 1``, ``0 <= u_i <= 1``, ``|a_i| <= C u_i``; the cap C and the slopes may follow from anything that was
    released before.

    Proof: ``docs/proofs.md``, Lemma 23.
    """
    return Bound(1.0, LEMMA_23, numbers={"filled_weight": FILLED_WEIGHT})


def second_moment_sensitivity(n: int) -> Bound:
    """Lemma 18: the mean of ``z z^T`` over n rows of norm at most 1 moves by at most ``sqrt(2)/n``. Attained.

    In the Frobenius norm, which is that of its isometric coordinates.

    Proof: ``docs/proofs.md``, Lemma 18.
    """
    return Bound(math.sqrt(2.0) / n, LEMMA_18)


@lemma(LEMMA_14)
def _mean_row(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    return replace(mean_row_sensitivity(n), error=exact_sum_error(1.0))


@lemma(LEMMA_15)
def _means_and_squares(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    stated, columns = numbers["standardise"], len(varying_features(numbers))
    reach = float(stated["reach"])
    if not 1.0 / math.sqrt(columns) <= reach * (1.0 + 1e-9) <= 1.0 + 1e-8:
        raise ValueError("the largest entry of a row of norm 1, which is at least that of a corner of the box")
    bound, weight = means_and_squares_sensitivity(n, columns, reach)
    if not 0.0 < float(stated["weight"]) <= weight * (1.0 + 1e-9):
        raise ValueError(f"a weight of the squares of at most {weight:g}")
    # An entry may exceed the stated reach by as much as the check of a domain lets through.
    return replace(bound, error=exact_sum_error(2.0) + 2.0 * REACH_SLACK * bound.value)


@lemma(LEMMA_16)
def _event_share(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    return replace(event_share_sensitivity(n), error=exact_sum_error(1.0))


@lemma(LEMMA_17, per_step=True)
def _capped_gradient(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    return replace(capped_gradient_sensitivity(), error=exact_sum_error(n / 2.0))


@lemma(LEMMA_23, per_step=True)
def _residual_gradient(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    if not 0.0 < float(numbers["filled_weight"]) <= FILLED_WEIGHT * (1.0 + 1e-9):
        raise ValueError(f"a weight of the squares of at most {FILLED_WEIGHT:g}")
    return replace(residual_gradient_sensitivity(), error=exact_sum_error(2.0 * n))


@lemma(LEMMA_18)
def _second_moment(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    return replace(second_moment_sensitivity(n), error=exact_sum_error(1.0))
