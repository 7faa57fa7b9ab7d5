"""The first phase of a plan with `PrivateBounds`: noisy histograms of every feature, each round on a smaller range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.histogram_fit import Histograms, read_histograms
from entrenous.engine.phases.phase import Released, StatisticPhase
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.privacy.lemmas.statistics import LEMMA_11
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.problem import Problem
from entrenous.registry import part

BINS, ROUNDS = 32, 2
"""Noise per bin does not depend on the bins, but more of them spread the records thinner. The second round zooms in
by up to ten times. Chosen, with the two numbers below and those of `histogram_fit`, by held-out AUC of ``moments`` on
diabetes, german, debrecen, breast_cancer and a part of ijcnn1 with ranges 1 to 100 times too wide."""
_WINDOW = 3.0
"""Half-width of the next round's window, in standard deviations."""
HALF_WIDTH = 3.0
"""Half-width of the box that is found, in standard deviations."""


@part
@dataclass(frozen=True)
class FindBounds(StatisticPhase):
    """Counts of all features' values in `bins` equal bins, `rounds` times, each with noise (Lemma 11).

    The first phase of a plan with `PrivateBounds`: it reads rows in the user's units and finds the domain that later
    phases clip them into. What follows the counts (`histogram_fit`, the box, the radius) reads nothing but them and
    public numbers.
    """

    reads_raw_rows: ClassVar[bool] = True

    within: FeatureBounds
    share: float
    noise: Mechanism | None
    bins: int = BINS
    rounds: int = ROUNDS

    @property
    def mechanism(self) -> Mechanism | None:
        return self.noise

    @property
    def releases(self) -> int:
        return self.rounds

    @property
    def lemmas(self) -> tuple[str, ...]:
        return (LEMMA_11,)

    @property
    def numbers(self) -> dict[str, Any]:
        found_by = {"share": self.share, "bins": self.bins, "rounds": self.rounds}
        n_features = len(self.within.sides()[0])
        return {"private_bounds": found_by, "domain": self.within.public_numbers(), "n_features": n_features}

    def run(self, problem: Problem, X: Rows, y: AnyArray, w: Array, noise: NoiseSource, progress: Progress) -> Released:
        return Released(w, None, 0, features=self.find(X, noise))

    def counted(self, X: Rows, low: Array, high: Array, noise: NoiseSource) -> Array:
        """The counts of one round as they leave the phase."""
        counts = X.histograms(low, high, self.bins, self.within)
        return counts if self.noise is None else self.noise.release(counts, noise)

    def find(self, X: Rows, noise: NoiseSource) -> FeatureBounds:
        """Bounds inside (or little beyond) the loose ranges; without a mechanism from the exact counts."""
        low, high = self.within.sides()
        varies = low < high
        origin, unit = (low / 2.0 + high / 2.0)[varies], (high / 2.0 - low / 2.0)[varies]
        # In half-widths of the loose ranges, as `histograms` takes it.
        window = (np.full(unit.size, -1.0), np.full(unit.size, 1.0))
        sd = 0.0 if self.noise is None else self.noise.rms(self.bins * unit.size)
        seen: list[Histograms] = []
        for _ in range(self.rounds):
            seen.append(Histograms(*window, self.counted(X, *window, noise)))
            centre, spread = read_histograms(seen, len(X), sd)
            window = (np.maximum(centre - _WINDOW * spread, -1.0), np.minimum(centre + _WINDOW * spread, 1.0))
        # No clipped row is farther from the centre than the farther end of its range.
        half_width = np.minimum(HALF_WIDTH * spread, 1.0 + np.abs(centre))
        low[varies] = origin + unit * (centre - half_width)
        high[varies] = origin + unit * (centre + half_width)
        return FeatureBounds(tuple(low.tolist()), tuple(high.tolist()), clipping_radius(unit.size), self.within.names)


def clipping_radius(n_features: int) -> float:
    """``(1 + sqrt(d))/2`` standard deviations, in half-widths: rows of d such features are about ``sqrt(d)`` long.

    Shorter than most rows on purpose. It draws them towards the centre, which costs some signal, and a shorter radius
    is less noise on everything that follows.
    """
    return (1.0 + math.sqrt(n_features)) / 2.0 / HALF_WIDTH
