"""A ball of rows around a public centre."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.features.domain import _SMALLEST, FeatureDomain, Numbers, _numbers
from entrenous.registry import part


@part
@dataclass(frozen=True)
class FeatureBall(FeatureDomain):
    """All rows within `radius` of a public `center` (one number, or one per feature).

    >>> FeatureBall(radius=3.0).for_features(2).to_internal(np.array([[30.0, 40.0]])).round(3).tolist()
    [[0.6, 0.8]]
    """

    radius: float
    center: Numbers = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", _numbers(self.radius, "ball: radius"))
        object.__setattr__(self, "center", _numbers(self.center, "ball: center"))
        if not isinstance(self.radius, float) or not self.radius >= _SMALLEST:
            raise InputError(
                f"a feature ball needs a radius of at least {_SMALLEST:g}",
                repr(self.radius),
                "Try FeatureBall(radius=1.0).",
            )

    def for_features(self, n_features: int) -> FeatureBall:
        center = np.atleast_1d(np.array(self.center, dtype=float))
        if center.size not in (1, n_features):
            raise InputError(
                f"the ball's center needs one number, or one per feature ({n_features})", str(center.size), "Match it."
            )
        return FeatureBall(self.radius, tuple(np.broadcast_to(center, n_features).tolist()))

    @property
    def origin(self) -> Array:
        return np.atleast_1d(np.array(self.center, dtype=float))

    @property
    def unit(self) -> Array:
        return np.full(self.origin.size, self.radius)

    def public_numbers(self) -> dict[str, Any]:
        return {"kind": "ball", "radius": self.radius, "center": self.center}
