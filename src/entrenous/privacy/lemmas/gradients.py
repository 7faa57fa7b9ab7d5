"""How far one record can move a gradient: of one pair, of all pairs, of listed pairs, of single records.

Adjacency is replace-one, and every length is in internal units (`problem.features.domain`). Nothing in here sees a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from entrenous.errors import AssumptionError
from entrenous.privacy.lemmas.bound import Bound, lemma
from entrenous.privacy.lemmas.rounding import pair_sum_error
from entrenous.problem.pair_list import PairList
from entrenous.problem.problem import Problem

LEMMA_1, LEMMA_2, LEMMA_9, LEMMA_12 = "Lemma 1", "Lemma 2", "Lemma 9", "Lemma 12"


def pair_gradient_sensitivity(problem: Problem, *, same_iterate: bool) -> Bound:
    """Lemma 1: the largest l2 change of a pair's gradient, in one counted order, when one of its records is replaced.

    Ranking: ``(c1 + c2) R``, also when the two gradients are taken at different parameters; for a monotone surrogate
    (``c2 = 0``) that is the Lipschitz constant itself, not twice it. With ``same_iterate`` the square surrogate needs
    only ``c1 R``. Metric and error entropy: ``2 max(c1, c2) N`` with N the largest feature norm.

    Proof: ``docs/proofs.md``, Lemma 1.
    """
    c1, c2 = problem.slopes
    norm = problem.score.feature_norm(problem.diameter)
    if problem.score.label_turns_sign:
        return Bound(2.0 * max(c1, c2) * norm, LEMMA_1)
    if same_iterate and problem.surrogate.slope_is_affine:
        return Bound(max(c1, c2) * norm, LEMMA_1)
    return Bound((c1 + c2) * norm, LEMMA_1)


def sampled_pair_sensitivity(problem: Problem) -> Bound:
    """Lemma 1 for one random pair, which pays half of the loss in the label-difference form."""
    return pair_gradient_sensitivity(problem, same_iterate=True).times(problem.order_share)


def all_pairs_gradient_sensitivity(problem: Problem, n: int) -> Bound:
    """Lemma 2: the largest l2 change of the all-pairs gradient, normaliser ``1/(n(n-1))``, at one parameter.

    A record meets ``n - 1`` pairs, each counted in one order (ranking) or two: ``D_pair * orders / n``. Never divide by
    ``n_+ n_-``: with one event record the change would be R, and the divisor is itself private.

    Proof: ``docs/proofs.md``, Lemma 2.
    """
    change = pair_gradient_sensitivity(problem, same_iterate=True).value
    error = pair_sum_error(problem, n)
    return Bound(problem.score.counted_orders * change / n, LEMMA_2, error=error)


def listed_pairs_gradient_sensitivity(problem: Problem, listed: PairList) -> Bound:
    """Lemma 12: the largest l2 change of the mean gradient over a public list of pairs, at one parameter.

    ``k D_pair / m`` for m pairs, no record in more than k of them, when one record is replaced: its features and the
    flags of all its pairs. ``2 k max(c1, c2) R^2 / m`` for the metric. Which records are paired must not depend on
    any record or flag.

    Proof: ``docs/proofs.md``, Lemma 12.
    """
    if not problem.score.listed_pairs:
        raise AssumptionError(f"{LEMMA_12} needs a metric", f"task={problem.task!r}", f"For all pairs use {LEMMA_2}.")
    change = pair_gradient_sensitivity(problem, same_iterate=True).value
    numbers, error = {"pair_list": asdict(listed)}, pair_sum_error(problem, listed.pairs)
    return Bound(listed.most * change / listed.pairs, LEMMA_12, numbers=numbers, error=error)


def pointwise_gradient_sensitivity(problem: Problem, records: int) -> Bound:
    """Lemma 9: the largest l2 change of the mean gradient of `records` pointwise losses when one record is replaced.

    ``2 G / m`` with ``G = max(c1, c2) N``, N the largest norm of ``(x, 1)``. Attained by the hinge.

    Proof: ``docs/proofs.md``, Lemma 9.
    """
    if problem.score.pairwise:
        raise AssumptionError(
            f"{LEMMA_9} needs a pointwise loss", f"task={problem.task!r}", f"For pairs use {LEMMA_1} or {LEMMA_2}."
        )
    return Bound(2.0 * problem.lipschitz / records, LEMMA_9, error=pair_sum_error(problem, records))


@lemma(LEMMA_1, per_step=True)
def _one_pair(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    if n != 2 or not problem.score.pairwise:
        raise ValueError("one pair is a sample of two records")
    return sampled_pair_sensitivity(problem)


@lemma(LEMMA_2, per_step=True)
def _all_pairs(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    if n < 2 or not problem.score.pairwise:
        raise ValueError("pairs need two records or more")
    return all_pairs_gradient_sensitivity(problem, n)


@lemma(LEMMA_9, per_step=True)
def _single_records(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    return pointwise_gradient_sensitivity(problem, n)


@lemma(LEMMA_12, per_step=True)
def _listed_pairs(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    return listed_pairs_gradient_sensitivity(problem, PairList(**numbers["pair_list"]).checked_for(n))
