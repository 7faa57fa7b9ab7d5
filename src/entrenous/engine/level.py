"""The intercept of a regression that pairs cannot see: the mean error, released with noise of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases import Phase, Released
from entrenous.engine.progress import Progress
from entrenous.engine.sparse_rows import Rows
from entrenous.parts.problem import Problem
from entrenous.privacy.mechanisms import Mechanism
from entrenous.privacy.noise import NoiseSource

CLIP = 1.0
"""Errors beyond half the targets' range are clipped: a level is wanted, not the size of outliers."""


@dataclass(frozen=True)
class LevelRelease(Phase):
    """The mean of the clipped errors at the parameter that came before, plus noise (Lemma 13)."""

    share: float
    mechanism: Mechanism
    clip: float = CLIP

    @property
    def unit_rows(self) -> bool:
        return True

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def steps(self) -> int:
        return 0

    def pair_gradients(self, n: int) -> int:
        return 0

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        return 0.0

    def public(self) -> dict[str, Any]:
        """What the certificate states of it."""
        return {"share": self.share, "clip": self.clip}

    def exact(self, X: Rows, y: AnyArray, w: Array) -> float:
        """The mean before noise."""
        return float(np.mean(np.clip(y - X @ w, -self.clip, self.clip)))

    def run(self, problem: Problem, X: Rows, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress) -> Released:
        released = self.exact(X, y, w) + float(self.mechanism.draw(noise, 1)[0])
        return Released(w, float(np.clip(released, -self.clip, self.clip)), 0)
