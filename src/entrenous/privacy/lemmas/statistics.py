"""How far one record can move class moments, histograms and clipped means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from entrenous.privacy.lemmas.bound import Bound, lemma
from entrenous.privacy.lemmas.rounding import exact_sum_error
from entrenous.problem.problem import Problem

LEMMA_8, LEMMA_11, LEMMA_13, LEMMA_19 = "Lemma 8", "Lemma 11", "Lemma 13", "Lemma 19"


def class_moments_sensitivity(radius: float, weights: tuple[float, float, float]) -> Bound:
    """Lemma 8: l2 sensitivity of one weighted release of a class count, class sums and class second moments.

    Weights ``(a, b, c)`` for the event count, the two classes' sums, the two classes' second moments (isometric
    coordinates), rows of norm at most `radius`. Attained.

    Proof: ``docs/proofs.md``, Lemma 8.
    """
    a, b, c = weights
    k = radius
    classes_differ = math.sqrt(a**2 + 2.0 * b**2 * k**2 + 2.0 * c**2 * k**4)
    if b**2 >= 2.0 * c**2 * k**2:
        class_kept = 2.0 * b * k
    else:
        class_kept = math.sqrt(2.0 * b**2 * k**2 + 2.0 * c**2 * k**4 + b**4 / (2.0 * c**2))
    return Bound(max(classes_differ, class_kept), LEMMA_8, numbers={"weights": weights})


def feature_histograms_sensitivity(n_features: int) -> Bound:
    """Lemma 11: l2 and l1 sensitivity of one histogram per feature, released together.

    ``sqrt(2 d)`` and ``2 d``: in each of the d histograms a replaced record leaves one bin and enters another. The
    number of bins and their edges do not matter, nor does what earlier rounds said about where to put them. Attained.

    Proof: ``docs/proofs.md``, Lemma 11.
    """
    return Bound(math.sqrt(2.0 * n_features), LEMMA_11, l1=2.0 * n_features)


def clipped_mean_sensitivity(n: int, clip: float) -> Bound:
    """Lemma 13: the mean of n numbers of one record each, clipped to ``[-clip, clip]``, moves at most ``2 clip/n``.

    Replace-one, in the numbers' units. The numbers may depend on anything that was released before. Attained.

    Proof: ``docs/proofs.md``, Lemma 13.
    """
    return Bound(2.0 * clip / n, LEMMA_13, numbers={"intercept": {"clip": clip}})


def record_histogram_sensitivity() -> Bound:
    """Lemma 19: counts of records in cells, each record in one of them, move by at most ``sqrt(2)``, 2 in l1.

    Which cell a record is in may depend on its label and its row, and on anything that was released before. Attained.

    Proof: ``docs/proofs.md``, Lemma 19.
    """
    return Bound(math.sqrt(2.0), LEMMA_19, l1=2.0)


@lemma(LEMMA_8)
def _moments(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    a, b, c = numbers["weights"]
    bound = class_moments_sensitivity(problem.diameter / 2.0, (a, b, c))
    return replace(bound, error=exact_sum_error(n * (a + 2.0 * b + 2.0 * c)))


@lemma(LEMMA_11)
def _histograms(problem: Problem | None, n: int, numbers: Mapping[str, Any]) -> Bound:
    return feature_histograms_sensitivity(len(searched_features(numbers)))


@lemma(LEMMA_13)
def _intercept(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    clip = float(numbers["intercept"]["clip"])
    return replace(clipped_mean_sensitivity(n, clip), error=exact_sum_error(clip))


@lemma(LEMMA_19)
def _record_histogram(problem: Problem, n: int, numbers: Mapping[str, Any]) -> Bound:
    return record_histogram_sensitivity()


def varying_features(numbers: Mapping[str, Any]) -> frozenset[int]:
    """Numbers of the features that the stated domain does not hold constant."""
    if numbers["domain"] is None or numbers["domain"]["kind"] == "ball":
        return frozenset(range(numbers["n_features"]))
    low, high = numbers["domain"]["low"], numbers["domain"]["high"]
    if len(low) != numbers["n_features"]:
        raise ValueError("the loose ranges of all features")
    return frozenset(j for j, (a, b) in enumerate(zip(low, high, strict=True)) if a < b)


def searched_features(numbers: Mapping[str, Any]) -> frozenset[int]:
    """Numbers of the features that a search for ranges looked at: none that is constant or declared 0/1.

    A search that states its columns looked at these alone; zooming always looks at all.
    """
    features = varying_features(numbers) - binary_features(numbers["domain"] or {})
    stated = numbers.get("private_bounds", {}).get("columns")
    if stated is None or "zoom" in numbers:
        return features
    if not frozenset(stated) <= features:
        raise ValueError("columns that vary and are not declared 0/1")
    return frozenset(stated)


def binary_features(domain: Mapping[str, Any]) -> frozenset[int]:
    """Numbers of the features that the stated domain declares 0/1."""
    names = list(domain.get("names") or ())
    return frozenset(names.index(c) if isinstance(c, str) else int(c) for c in domain.get("binary", ()))
