"""How many of the records are events, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import Released, StatisticPhase
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.privacy.lemmas.pointwise import LEMMA_16
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.problem import Problem
from entrenous.registry import part

RAREST = 0.03
"""Shares below this, and above 1 less this, are cut off: rarer classes would ask for weights that are mostly noise."""


@part
@dataclass(frozen=True)
class EventShare(StatisticPhase):
    """The share of events, with noise (Lemma 16), drawn to 1/2 by as much as the noise asks."""

    lemma: ClassVar[str] = LEMMA_16
    reads_raw_rows: ClassVar[bool] = True
    """It reads labels only, so that nothing needs to be mapped for it."""

    share: float
    """Of the budget."""
    noise: Mechanism

    @property
    def mechanism(self) -> Mechanism:
        return self.noise

    @property
    def numbers(self) -> dict[str, Any]:
        return {"event_share": {"share": self.share}}

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        return Released(so_far.w, event_share=self.shrunk(self.release(y, noise)))

    def release(self, y: AnyArray, noise: NoiseSource) -> float:
        """The share as it leaves the phase."""
        return float(self.noise.release(self.exact(y), noise)[0])

    def exact(self, y: AnyArray) -> Array:
        """The share before noise."""
        return np.array([np.count_nonzero(np.asarray(y) == 1) / len(y)])

    def shrunk(self, released: float) -> float:
        """A usable share, from the released one."""
        beyond = released - 0.5
        kept = max(0.0, 1.0 - (self.noise.rms(1) / max(abs(beyond), 1e-9)) ** 2)
        return float(np.clip(0.5 + beyond * kept, RAREST, 1.0 - RAREST))
