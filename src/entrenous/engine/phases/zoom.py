"""Where the records are inside public ranges: one noisy histogram per numeric column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.find_bounds import clip_after_search
from entrenous.engine.phases.phase import Released, StatisticPhase
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.privacy.lemmas.statistics import LEMMA_11
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.cut_box import CutBox
from entrenous.problem.features.private_bounds import searchable
from entrenous.problem.problem import Problem
from entrenous.registry import part

BINS = 32
_STANDS_OUT = 2.5
"""Standard deviations of noise above which a bin is believed to hold records."""
_ENOUGH = 0.5
"""Share of the records that the believed bins must hold; with less the range stays as declared."""
HALF_WIDTH = 3.5
"""Half-width of the new range, in standard deviations of what the believed bins hold: the usual one."""


@part
@dataclass(frozen=True)
class Zoom(StatisticPhase):
    """Counts of the numeric columns' values in equal bins, with noise (Lemma 11); later phases get narrower ranges.

    Columns declared 0/1 keep their ranges: they are exact, and a rare one must not be taken for a constant. So do those
    whose values all seem to be in one bin at an end of their range. What follows the counts reads nothing but them and
    public numbers. `FindBounds` also reads counts that are mostly noise; where they are readable, and in declared
    ranges they are only used then, this keeps more of a long tail.
    """

    lemma: ClassVar[str] = LEMMA_11
    reads_raw_rows: ClassVar[bool] = True
    finds_bounds: ClassVar[bool] = True

    within: FeatureBounds
    share: float
    noise: Mechanism
    bins: int = BINS
    half_width: float = HALF_WIDTH
    """Of the new ranges, in standard deviations."""

    @property
    def mechanism(self) -> Mechanism:
        return self.noise

    @property
    def numbers(self) -> dict[str, Any]:
        searched = {"zoom": {"share": self.share, "bins": self.bins}}
        return {**searched, "domain": self.within.public_numbers(), "n_features": len(self.within.sides()[0])}

    @property
    def columns(self) -> AnyArray:
        """Numbers of the columns that are looked at."""
        return searchable(self.within)

    @property
    def clip(self) -> float | None:
        """The clipping radius of what is found: a public rule."""
        return clip_after_search(self.within)

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        return Released(so_far.w, features=self.narrowed(self.release(X, noise), len(X)))

    def release(self, X: Rows, noise: NoiseSource) -> Array:
        """The counts as they leave the phase, a row per column."""
        return self.noise.release(self.exact(X), noise)

    def exact(self, X: Rows) -> Array:
        """The counts before noise."""
        ends = np.ones(self.columns.size)
        return X.histograms(-ends, ends, self.bins, self.within, self.columns)

    def narrowed(self, counts: Array, n: int) -> CutBox:
        """The ranges that these noisy counts suggest: centred on the records, and nowhere wider than declared."""
        middle = (np.arange(self.bins) + 0.5) / self.bins * 2.0 - 1.0
        believed = np.where(counts > _STANDS_OUT * self.noise.rms(1), counts, 0.0)
        held = believed.sum(axis=1)
        # One bin at an end may be the common level of an indicator, whose rare one is hidden.
        lump = (believed[:, [0, -1]].max(axis=1) == held) & (held > 0.0)
        enough = (held > _ENOUGH * n) & ~lump
        held = np.where(enough, held, 1.0)
        centre = (believed @ middle) / held
        bin_variance = (2.0 / self.bins) ** 2 / 12.0
        spread = np.sqrt((believed * (middle - centre[:, None]) ** 2).sum(axis=1) / held + bin_variance)
        half = np.clip(self.half_width * spread, 2.0 / self.bins, 1.0)
        least, most = self.within.sides()
        low, high = least.copy(), most.copy()
        at = self.columns[enough]
        origin, unit = (low / 2.0 + high / 2.0)[at], (high / 2.0 - low / 2.0)[at]
        low[at], high[at] = origin + unit * (centre - half)[enough], origin + unit * (centre + half)[enough]
        found = replace(self.within, low=tuple(low.tolist()), high=tuple(high.tolist()), clip=self.clip)
        return CutBox.inside(found, np.maximum(low, least), np.minimum(high, most), found.origin, found.unit)
