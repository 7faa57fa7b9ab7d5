"""Coordinates of the parameter in which an objective over rows bends about equally in every direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from entrenous.arrays import Array
from entrenous.engine.rows.rows import Rows

_MOST_CORRELATED = 500
"""Up to this many features correlations are undone too; beyond it their d^3 would cost more than the steps it saves."""
_LEAST = 1e-10
"""Directions with less than this share of a feature's variance are rounding, and are left as they are."""


@dataclass(frozen=True)
class Coordinates:
    """``v`` for a parameter ``w = v @ outwards``; a vector `outwards` stands for a diagonal matrix."""

    outwards: Array
    inwards: Array

    def parameter(self, v: Array) -> Array:
        """The parameter at these coordinates."""
        return self.outwards * v if self.outwards.ndim == 1 else v @ self.outwards

    def gradient(self, gradient: Array) -> Array:
        """The gradient by the coordinates, from the one by the parameter."""
        return self.outwards * gradient if self.outwards.ndim == 1 else self.outwards @ gradient

    def of(self, w: Array) -> Array:
        """The coordinates of a parameter."""
        return self.inwards * w if self.inwards.ndim == 1 else w @ self.inwards


def whitening(centred: Rows, centre: Array) -> Callable[[float], Coordinates]:
    """For a ridge, coordinates that make ``covariance + ridge`` the identity; of many features its diagonal only.

    `centre` is what was taken off every row. The features are put on one scale first: eigenvalues of a covariance in
    mixed units would be rounding.
    """
    spread = centred.spread()
    # A mean of n numbers rounds by up to n units: a constant feature has that much spread, and no scale of its own.
    varies = spread > len(centred) * np.finfo(float).eps * np.abs(centre)
    scale = np.where(varies, spread, 1.0)
    # It says nothing, so its coefficient stays 0, whatever rounding pulls at it.
    outwards = np.where(varies, 1.0 / scale, 0.0)
    if centred.shape[1] > _MOST_CORRELATED:
        return lambda ridge: Coordinates(outwards, scale)
    correlation = centred.second_moments() / len(centred) / np.outer(scale, scale)

    def at(ridge: float) -> Coordinates:
        strengths, directions = np.linalg.eigh(correlation + np.diag(ridge / scale**2))
        length = np.sqrt(np.where(strengths > _LEAST, strengths, 1.0))
        return Coordinates(directions.T / length[:, None] * outwards, directions * length * scale[:, None])

    return at
