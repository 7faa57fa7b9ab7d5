"""Where the parameter may live, and the nearest point of that set. Projections are convex, so non-expansive."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.registry import part


@dataclass(frozen=True)
class ParameterDomain(ABC):
    """A closed convex set; every point of it has l2 (Frobenius) norm at most `radius`."""

    name: ClassVar[str]
    positive: ClassVar[bool] = False
    """Whether its points are positive semi-definite matrices."""
    radius: float

    def __post_init__(self) -> None:
        if not 0.0 < self.radius < math.inf:
            raise InputError("radius must be a positive number", repr(self.radius), "Use radius=1.0, or None.")

    @abstractmethod
    def project(self, w: Array) -> Array:
        """The nearest point of the domain."""

    def norm(self, w: Array) -> float:
        """What `radius` bounds, of a point of the right kind."""
        return float(np.linalg.norm(w))


@part
@dataclass(frozen=True)
class L2Ball(ParameterDomain):
    """``||w||_2 <= radius``."""

    name: ClassVar[str] = "l2-ball"

    def project(self, w: Array) -> Array:
        norm = float(np.linalg.norm(w))
        return w if norm <= self.radius else w * (self.radius / norm)


@part
@dataclass(frozen=True)
class FrobeniusPSD(ParameterDomain):
    """Positive semi-definite matrices with Frobenius norm at most `radius`."""

    name: ClassVar[str] = "frobenius"
    positive: ClassVar[bool] = True

    def project(self, w: Array) -> Array:
        # The cone comes first: scaling a PSD matrix keeps it in the cone, and for a cone cut by a centred
        # ball projecting onto the cone and then scaling is the exact projection.
        values, vectors = np.linalg.eigh((w + w.T) / 2.0)
        values = np.maximum(values, 0.0)
        norm = float(np.linalg.norm(values))
        if norm > self.radius:
            values *= self.radius / norm
        return (vectors * values) @ vectors.T


@part
@dataclass(frozen=True)
class NuclearPSD(ParameterDomain):
    """Positive semi-definite matrices with trace at most `radius`."""

    name: ClassVar[str] = "nuclear"
    positive: ClassVar[bool] = True

    def project(self, w: Array) -> Array:
        values, vectors = np.linalg.eigh((w + w.T) / 2.0)
        values = np.maximum(values, 0.0)
        if float(values.sum()) > self.radius:
            values = _onto_simplex(values, self.radius)
        return (vectors * values) @ vectors.T

    def norm(self, w: Array) -> float:
        return float(np.trace(w))


@part
@dataclass(frozen=True)
class WholeSpace(ParameterDomain):
    """No constraint: margins are unbounded, so only surrogates with a bounded slope have a sensitivity."""

    name: ClassVar[str] = "whole-space"
    radius: float = math.inf

    def __post_init__(self) -> None:
        """The radius is infinite on purpose."""

    def project(self, w: Array) -> Array:
        return w


def _onto_simplex(values: Array, total: float) -> Array:
    """The nearest non-negative vector with this sum, by the sort-and-threshold rule."""
    descending = np.sort(values)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    last_kept = int(np.flatnonzero(descending > excess)[-1])
    return np.maximum(values - excess[last_kept], 0.0)


PARAMETER_DOMAINS: dict[str, type[ParameterDomain]] = {
    kind.name: kind for kind in (L2Ball, FrobeniusPSD, NuclearPSD, WholeSpace)
}
