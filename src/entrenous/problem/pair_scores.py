"""Pair scores: what a parameter says about two records, and how the loss depends on their labels.

A loss is ``phi(margin)`` over the ordered pairs a score counts; its gradient in the parameter is
``phi'(margin) * feature``. `margin` and `feature` are the definitions that everything faster is tested against.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.problem.surrogates.base import Interval
from entrenous.problem.symmetric import from_coordinates, to_coordinates
from entrenous.registry import part


@dataclass(frozen=True)
class Score(ABC):
    """What a problem asks of a score, of pairs or of single records (`point_scores`)."""

    task: ClassVar[str]
    counted_orders: ClassVar[int]
    """How many of the two orders of a pair of records carry a loss: 1 for ranking, else 2."""
    label_turns_sign: ClassVar[bool]
    """Whether replacing a record can turn the sign of the gradient's weight (not only its size)."""
    pairwise: ClassVar[bool]
    """Whether it compares two records, or looks at one."""
    between_classes: ClassVar[bool] = False
    """Whether a counted pair has one record of either class: then at most ``n^2/4`` of the ordered pairs count."""
    affine: ClassVar[bool] = True
    """Whether the margin is affine in the parameter: without it a convex surrogate is no convex loss."""
    positive: ClassVar[bool] = False
    """Whether the parameter is a positive semi-definite matrix."""
    label_difference: ClassVar[bool] = False
    """Whether the papers' form ``phi((y - y')<w, x - x'>)`` exists."""
    plain_coordinates: ClassVar[bool] = True
    """Whether the parameter is a vector, and so its own isometric coordinates."""
    listed_pairs: ClassVar[bool] = False
    """Whether it can be learnt from a public list of pairs (Lemma 12)."""

    @abstractmethod
    def shape(self, n_features: int) -> tuple[int, ...]:
        """Shape of the parameter."""

    @abstractmethod
    def dimension(self, n_features: int) -> int:
        """Free coordinates of the parameter: how many noise values one release takes."""

    @abstractmethod
    def reachable(self, diameter: float, radius: float) -> Interval:
        """Margins that records in a domain of this diameter and parameters in a ball of this radius can reach."""

    @abstractmethod
    def feature_norm(self, diameter: float) -> float:
        """The largest norm of a feature, the margin's derivative in the parameter."""

    def from_coordinates(self, vector: Array, n_features: int) -> Array:
        """The parameter whose isometric coordinates these are: ``||from_coordinates(v)|| = ||v||``; one per row."""
        return vector

    def to_coordinates(self, w: Array) -> Array:
        """The isometric coordinates of a parameter: what noise is added to."""
        return w


@dataclass(frozen=True)
class PairScore(Score):
    """Margin of one ordered pair of records and its derivative in the parameter."""

    pairwise: ClassVar[bool] = True

    @abstractmethod
    def margin(self, w: Array, x: Array, x2: Array, y: AnyArray, y2: AnyArray) -> Array:
        """Margins of pairs given as rows."""

    @abstractmethod
    def feature(self, x: Array, x2: Array, y: AnyArray, y2: AnyArray) -> Array:
        """The derivative of the margin in the parameter, one per pair."""

    @abstractmethod
    def counts(self, y: AnyArray, y2: AnyArray) -> Array:
        """1 where the ordered pair carries a loss, 0 elsewhere."""


@part
@dataclass(frozen=True)
class LinearDifference(PairScore):
    """Ranking: ``<w, x - x'>`` for an event record x (code 1) and a non-event record x' (code 0)."""

    task: ClassVar[str] = "auc"
    counted_orders: ClassVar[int] = 1
    label_turns_sign: ClassVar[bool] = False
    between_classes: ClassVar[bool] = True
    label_difference: ClassVar[bool] = True

    def margin(self, w: Array, x: Array, x2: Array, y: AnyArray, y2: AnyArray) -> Array:
        return (x - x2) @ w

    def feature(self, x: Array, x2: Array, y: AnyArray, y2: AnyArray) -> Array:
        return x - x2

    def counts(self, y: AnyArray, y2: AnyArray) -> Array:
        return ((y == 1) & (y2 == 0)).astype(float)

    def shape(self, n_features: int) -> tuple[int, ...]:
        return (n_features,)

    def dimension(self, n_features: int) -> int:
        return n_features

    def reachable(self, diameter: float, radius: float) -> Interval:
        return Interval(-radius * diameter, radius * diameter)

    def feature_norm(self, diameter: float) -> float:
        return diameter


@part
@dataclass(frozen=True)
class Mahalanobis(PairScore):
    """Metric: ``tau (b - <W, (x - x')(x - x')^T>)``, tau = +1 for records of one class and -1 otherwise."""

    task: ClassVar[str] = "metric"
    counted_orders: ClassVar[int] = 2
    label_turns_sign: ClassVar[bool] = True
    positive: ClassVar[bool] = True
    plain_coordinates: ClassVar[bool] = False
    listed_pairs: ClassVar[bool] = True
    threshold: ClassVar[float] = 1.0
    """b. Fixed: kernels and constants have it in common."""

    def margin(self, w: Array, x: Array, x2: Array, y: AnyArray, y2: AnyArray) -> Array:
        difference = x - x2
        return self._tau(y, y2) * (self.threshold - np.einsum("ni,ij,nj->n", difference, w, difference))

    def feature(self, x: Array, x2: Array, y: AnyArray, y2: AnyArray) -> Array:
        difference = x - x2
        return -self._tau(y, y2)[:, None, None] * difference[:, :, None] * difference[:, None, :]

    def counts(self, y: AnyArray, y2: AnyArray) -> Array:
        return np.ones(len(y))

    def shape(self, n_features: int) -> tuple[int, ...]:
        return (n_features, n_features)

    def dimension(self, n_features: int) -> int:
        return n_features * (n_features + 1) // 2

    def reachable(self, diameter: float, radius: float) -> Interval:
        # W is PSD, so 0 <= <W, dd^T> <= radius * diameter^2; tau mirrors the interval.
        farthest = max(abs(self.threshold), abs(radius * diameter**2 - self.threshold))
        return Interval(-farthest, farthest)

    def feature_norm(self, diameter: float) -> float:
        return diameter**2

    def from_coordinates(self, vector: Array, n_features: int) -> Array:
        return from_coordinates(vector)

    def to_coordinates(self, w: Array) -> Array:
        return to_coordinates(w)

    @staticmethod
    def _tau(y: AnyArray, y2: AnyArray) -> Array:
        return np.where(y == y2, 1.0, -1.0)


@part
@dataclass(frozen=True)
class ErrorDifference(PairScore):
    """Minimum error entropy: ``(y - y') - <w, x - x'>``, targets in a public range of the given width."""

    task: ClassVar[str] = "error-entropy"
    counted_orders: ClassVar[int] = 2
    label_turns_sign: ClassVar[bool] = True
    target_width: ClassVar[float] = 2.0
    """Of targets in [-1, 1]. Fixed: targets are mapped there before anything else."""

    def margin(self, w: Array, x: Array, x2: Array, y: AnyArray, y2: AnyArray) -> Array:
        margins: Array = (y - y2) - (x - x2) @ w
        return margins

    def feature(self, x: Array, x2: Array, y: AnyArray, y2: AnyArray) -> Array:
        return x2 - x

    def counts(self, y: AnyArray, y2: AnyArray) -> Array:
        return np.ones(len(y))

    def shape(self, n_features: int) -> tuple[int, ...]:
        return (n_features,)

    def dimension(self, n_features: int) -> int:
        return n_features

    def reachable(self, diameter: float, radius: float) -> Interval:
        farthest = self.target_width + radius * diameter
        return Interval(-farthest, farthest)

    def feature_norm(self, diameter: float) -> float:
        return diameter
