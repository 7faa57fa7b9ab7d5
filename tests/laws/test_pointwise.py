"""Pointwise scores: the derivative is the difference quotient, and the stated ranges hold and are reached."""

import math

import numpy as np
import pytest
from oracles import random_rows

from entrenous.problem.point_scores import Residual, SignedScore
from entrenous.problem.surrogates.convex import QNormLoss, Square

SCORE_KINDS = [SignedScore(), Residual()]


def labels_for(rng, score, n):
    return rng.uniform(-1.0, 1.0, n) if isinstance(score, Residual) else rng.integers(0, 2, n)


@pytest.mark.parametrize("score", SCORE_KINDS, ids=lambda score: score.task)
def test_features_are_the_derivative_of_the_margin(score):
    rng = np.random.default_rng(0)
    X, y, w = random_rows(rng, 20, 3), labels_for(rng, score, 20), rng.normal(size=score.shape(3))
    for f in range(score.dimension(3)):
        step = np.eye(4)[f] * 1e-5
        quotient = (score.margin(w + step, X, y) - score.margin(w - step, X, y)) / 2e-5
        np.testing.assert_allclose(quotient, score.feature(X, y)[:, f], atol=1e-9)


@pytest.mark.parametrize("radius", [0.3, 2.0])
@pytest.mark.parametrize("score", SCORE_KINDS, ids=lambda score: score.task)
def test_margins_and_norms_stay_in_their_ranges_and_reach_them(score, radius):
    rng = np.random.default_rng(1)
    low, high = score.reachable(2.0, radius)
    X, y = random_rows(rng, 500, 2), labels_for(rng, score, 500)
    norms = np.linalg.norm(score.feature(X, y), axis=1)
    assert norms.max() <= score.feature_norm(2.0) + 1e-12
    assert norms.max() == pytest.approx(math.sqrt(2.0), rel=1e-3)
    for _ in range(50):
        w = rng.normal(size=3)
        w *= radius / np.linalg.norm(w)
        margins = score.margin(w, X, y)
        assert low - 1e-12 <= margins.min()
        assert margins.max() <= high + 1e-12
    # A parameter along (x, 1) reaches both ends.
    x = np.array([[1.0, 0.0], [1.0, 0.0]])
    w = radius * np.array([1.0, 0.0, 1.0]) / math.sqrt(2.0)
    ends = np.array([1.0, -1.0]) if isinstance(score, Residual) else np.array([0, 1])
    reached = np.concatenate([score.margin(w, x, ends), score.margin(-w, x, ends)])
    assert reached.min() == pytest.approx(low)
    assert reached.max() == pytest.approx(high)


def test_regression_pays_for_the_residual():
    x, y, w = np.array([[0.3, -0.2]]), np.array([0.7]), np.array([0.5, 1.0, 0.1])
    residual = 0.7 - (0.3 * 0.5 - 0.2 + 0.1)
    margin = Residual().margin(w, x, y)
    assert Square().value(margin)[0] == pytest.approx(residual**2)
    assert QNormLoss(q=1.3).value(margin)[0] == pytest.approx(abs(residual) ** 1.3)


def test_classification_turns_with_the_label():
    x, w = np.array([[0.3, -0.2]]), np.array([0.5, 1.0, 0.1])
    score = 0.3 * 0.5 - 0.2 + 0.1
    assert SignedScore().margin(w, x, np.array([1]))[0] == pytest.approx(score)
    assert SignedScore().margin(w, x, np.array([0]))[0] == pytest.approx(-score)
