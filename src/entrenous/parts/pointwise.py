"""Pointwise scores: what a parameter says about one record. The twin of `parts.scores` for losses without pairs.

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
from entrenous.parts.scores import SCORES, Score
from entrenous.parts.surrogates import Interval


@dataclass(frozen=True)
class PointScore(Score):
    """Margin of one record, affine in the parameter, and its derivative there."""

    counted_orders: ClassVar[int] = 2
    """One record has no order: as for scores that count both, a mean over records leaves none out."""
    label_turns_sign: ClassVar[bool] = True
    surrogates: ClassVar[tuple[str, ...] | None]
    """Names of the surrogates that mean something here; ``None`` for all."""
    default_surrogate: ClassVar[str]

    @abstractmethod
    def margin(self, w: Array, x: Array, y: AnyArray) -> Array:
        """Margins of records given as rows."""

    @abstractmethod
    def feature(self, x: Array, y: AnyArray) -> Array:
        """The derivative of the margin in the parameter, one per record."""

    def shape(self, n_features: int) -> tuple[int, ...]:
        """One coefficient per feature, then the intercept."""
        return (n_features + 1,)

    def dimension(self, n_features: int) -> int:
        return n_features + 1

    def feature_norm(self, diameter: float) -> float:
        """The largest norm of ``(x, 1)``, so of a record's feature."""
        return math.hypot(diameter / 2.0, 1.0)

    def from_coordinates(self, vector: Array, n_features: int) -> Array:
        return vector


@dataclass(frozen=True)
class SignedScore(PointScore):
    """Classification: ``s (<w, x> + b)``, ``s = 1`` for an event (code 1) and -1 otherwise."""

    task: ClassVar[str] = "pointwise-classification"
    surrogates: ClassVar[tuple[str, ...] | None] = None
    default_surrogate: ClassVar[str] = "logistic"

    def margin(self, w: Array, x: Array, y: AnyArray) -> Array:
        return self.feature(x, y) @ w

    def feature(self, x: Array, y: AnyArray) -> Array:
        signs = np.where(np.asarray(y) == 1, 1.0, -1.0)
        return signs[:, None] * with_ones(x)

    def reachable(self, diameter: float, radius: float) -> Interval:
        farthest = radius * self.feature_norm(diameter)
        return Interval(-farthest, farthest)


@dataclass(frozen=True)
class Residual(PointScore):
    """Regression: ``1 - (y - <w, x> - b)``, targets in ``[-1, 1]``.

    The 1 makes ``(1 - t)^2`` least squares and ``|1 - t|^q`` the q-norm of the residual. Other surrogates would reward
    a prediction for being on one side of the target.
    """

    task: ClassVar[str] = "pointwise-regression"
    surrogates: ClassVar[tuple[str, ...] | None] = ("square", "q-norm-loss")
    default_surrogate: ClassVar[str] = "square"

    def margin(self, w: Array, x: Array, y: AnyArray) -> Array:
        margins: Array = 1.0 - y + with_ones(x) @ w
        return margins

    def feature(self, x: Array, y: AnyArray) -> Array:
        return with_ones(x)

    def reachable(self, diameter: float, radius: float) -> Interval:
        farthest = 1.0 + radius * self.feature_norm(diameter)
        return Interval(1.0 - farthest, 1.0 + farthest)


def with_ones(x: Array) -> Array:
    """Rows ``(x, 1)``."""
    return np.column_stack([x, np.ones(len(x))])


POINT_SCORES: dict[str, type[PointScore]] = {kind.task: kind for kind in (SignedScore, Residual)}


def score_of(task: str) -> Score:
    """The score of a task, of pairs or of single records; `KeyError` for an unknown one."""
    kinds: dict[str, type[Score]] = {**SCORES, **POINT_SCORES}
    return kinds[task]()
