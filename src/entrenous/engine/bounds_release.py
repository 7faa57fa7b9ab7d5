"""The first release of a plan with `PrivateBounds`: noisy histograms of every feature, in rounds that zoom in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from entrenous.arrays import Array
from entrenous.engine.histogram_fit import Histograms, count_rows, read_histograms
from entrenous.parts.feature_domains import FeatureBounds
from entrenous.privacy.mechanisms import Mechanism
from entrenous.privacy.noise import NoiseSource

BINS, ROUNDS = 32, 2
"""Noise per bin does not depend on the bins, but more of them spread the records thinner. The second round zooms in
by up to ten times. Chosen, with the two numbers below and those of `histogram_fit`, by held-out AUC of ``moments`` on
diabetes, german, debrecen, breast_cancer and a part of ijcnn1 with ranges 1 to 100 times too wide."""
_WINDOW = 3.0
"""Half-width of the next round's window, in standard deviations."""
_HALF_WIDTH = 3.0
"""Half-width of the box that is found, in standard deviations."""


@dataclass(frozen=True)
class BoundsRelease:
    """Counts of all features' values in `bins` equal bins, `rounds` times, each with noise (Lemma 11).

    What follows the counts (`histogram_fit`, the box, the radius) reads nothing but them and public numbers.
    """

    share: float
    mechanism: Mechanism | None
    bins: int = BINS
    rounds: int = ROUNDS

    def public(self) -> dict[str, Any]:
        """What the certificate states of it."""
        return {"share": self.share, "bins": self.bins, "rounds": self.rounds}

    def find(self, X: Array, within: FeatureBounds, noise: NoiseSource) -> FeatureBounds:
        """Bounds inside (or little beyond) the loose ranges; without a mechanism from the exact counts."""
        low, high = within.sides()
        varies = low < high
        origin, unit = (low / 2.0 + high / 2.0)[varies], (high / 2.0 - low / 2.0)[varies]
        # In units of the loose ranges, so that nothing below over- or underflows, wherever they are.
        rows = (np.clip(X, low, high)[:, varies] - origin) / unit
        window = (np.full(unit.size, -1.0), np.full(unit.size, 1.0))
        sd = 0.0 if self.mechanism is None else self.mechanism.rms(self.bins * unit.size)
        seen: list[Histograms] = []
        for _ in range(self.rounds):
            counts = count_rows(rows, *window, self.bins)
            if self.mechanism is not None:
                counts = counts + self.mechanism.draw(noise, counts.size).reshape(counts.shape)
            seen.append(Histograms(*window, counts))
            centre, spread = read_histograms(seen, len(X), sd)
            window = (np.maximum(centre - _WINDOW * spread, -1.0), np.minimum(centre + _WINDOW * spread, 1.0))
        # No clipped row is farther from the centre than the farther end of its range.
        half_width = np.minimum(_HALF_WIDTH * spread, 1.0 + np.abs(centre))
        low[varies] = origin + unit * (centre - half_width)
        high[varies] = origin + unit * (centre + half_width)
        return FeatureBounds(tuple(low.tolist()), tuple(high.tolist()), clipping_radius(unit.size), within.names)


def clipping_radius(n_features: int) -> float:
    """``(1 + sqrt(d))/2`` standard deviations, in half-widths: rows of d such features are about ``sqrt(d)`` long.

    Shorter than most rows on purpose. It draws them towards the centre, which costs some signal, and a shorter radius
    is less noise on everything that follows.
    """
    return (1.0 + math.sqrt(n_features)) / 2.0 / _HALF_WIDTH
