"""Pointwise scores: what a parameter says about one record. The counterpart of `pair_scores` for losses without pairs.

The parameter is ``(w, b)``: a record enters as ``u = (x, 1)``, so the intercept is learnt, projected and noised like
any other coordinate. Rows have norm at most half the diameter (1 in internal units), so ``||u|| <= sqrt(2)``, and the
radius of the domain bounds ``||(w, b)||``. Leaving the 1 unscaled keeps a unit of `b` a unit of score.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.problem.pair_scores import Score
from entrenous.problem.surrogates.base import Interval
from entrenous.registry import part


@dataclass(frozen=True)
class PointScore(Score):
    """Margin of one record, affine in the parameter, and its derivative there."""

    counted_orders: ClassVar[int] = 2
    """One record has no order: as for scores that count both, a mean over records leaves none out."""
    label_turns_sign: ClassVar[bool] = True
    pairwise: ClassVar[bool] = False

    @abstractmethod
    def margin(self, w: Array, x: Array, y: AnyArray) -> Array:
        """Margins of records given as rows."""

    @abstractmethod
    def feature(self, x: Array, y: AnyArray) -> Array:
        """The derivative of the margin in the parameter, one per record."""

    @abstractmethod
    def from_scores(self, scores: Array, y: AnyArray) -> tuple[Array, AnyArray | float]:
        """Margins of records by their score ``<w, x> + b``, and how a margin grows with its score: by 1 or -1."""

    def shape(self, n_features: int) -> tuple[int, ...]:
        """One coefficient per feature, then the intercept."""
        return (n_features + 1,)

    def dimension(self, n_features: int) -> int:
        return n_features + 1

    def feature_norm(self, diameter: float) -> float:
        """The largest norm of ``(x, 1)``, so of a record's feature."""
        return math.hypot(diameter / 2.0, 1.0)


@part
@dataclass(frozen=True)
class SignedScore(PointScore):
    """Classification: ``s (<w, x> + b)``, ``s = 1`` for an event (code 1) and -1 otherwise."""

    task: ClassVar[str] = "pointwise-classification"

    def margin(self, w: Array, x: Array, y: AnyArray) -> Array:
        return self.feature(x, y) @ w

    def feature(self, x: Array, y: AnyArray) -> Array:
        signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
        return signs[:, None] * with_ones(x)

    def from_scores(self, scores: Array, y: AnyArray) -> tuple[Array, AnyArray | float]:
        signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
        return signs * scores, signs

    def reachable(self, diameter: float, radius: float) -> Interval:
        farthest = radius * self.feature_norm(diameter)
        return Interval(-farthest, farthest)


@part
@dataclass(frozen=True)
class Residual(PointScore):
    """Regression: ``1 - (y - <w, x> - b)``, targets in ``[-1, 1]``.

    The 1 makes ``(1 - t)^2`` least squares and ``|1 - t|^q`` the q-norm of the residual. Other surrogates would reward
    a prediction for being on one side of the target.
    """

    task: ClassVar[str] = "pointwise-regression"

    def margin(self, w: Array, x: Array, y: AnyArray) -> Array:
        margins: Array = 1.0 - y + with_ones(x) @ w
        return margins

    def feature(self, x: Array, y: AnyArray) -> Array:
        return with_ones(x)

    def from_scores(self, scores: Array, y: AnyArray) -> tuple[Array, AnyArray | float]:
        return 1.0 - y + scores, 1.0

    def reachable(self, diameter: float, radius: float) -> Interval:
        farthest = 1.0 + radius * self.feature_norm(diameter)
        return Interval(1.0 - farthest, 1.0 + farthest)


def with_ones(x: Array) -> Array:
    """Rows ``(x, 1)``."""
    return np.column_stack([x, np.ones(len(x))])
