"""The first phase of a plan with `PrivateBounds`: noisy histograms of the features, each round on a smaller range."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.histogram_fit import Histograms, Reading, read_histograms
from entrenous.engine.phases.phase import Released, StatisticPhase
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.privacy.lemmas.statistics import LEMMA_11
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.private_bounds import searchable
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
    """Counts of the features' values in `bins` equal bins, `rounds` times, each with noise (Lemma 11).

    The first phase of a plan with `PrivateBounds`: it reads rows in the user's units and finds the domain that later
    phases clip them into. Columns that are constant or declared 0/1 keep their ranges, and so do those that `only`
    leaves out. What follows the counts (`histogram_fit`, the box, the radius) reads nothing but them and public
    numbers.
    """

    lemma: ClassVar[str] = LEMMA_11
    reads_raw_rows: ClassVar[bool] = True
    finds_bounds: ClassVar[bool] = True

    within: FeatureBounds
    share: float
    noise: Mechanism | None
    bins: int = BINS
    rounds: int = ROUNDS
    only: tuple[int, ...] | None = None
    """Numbers of the columns to look at; ``None``: all that vary and are not declared 0/1."""
    draws_in: bool = True
    """Whether rows are drawn in to about their usual length; else the algorithm does that itself."""

    @property
    def mechanism(self) -> Mechanism | None:
        return self.noise

    @property
    def releases(self) -> int:
        return self.rounds

    @property
    def numbers(self) -> dict[str, Any]:
        found_by: dict[str, Any] = {"share": self.share, "bins": self.bins, "rounds": self.rounds}
        if self.only is not None:
            found_by["columns"] = tuple(self.columns.tolist())
        n_features = len(self.within.sides()[0])
        return {"private_bounds": found_by, "domain": self.within.public_numbers(), "n_features": n_features}

    @property
    def columns(self) -> AnyArray:
        """Numbers of the columns that are looked at."""
        return searchable(self.within, self.only)

    @property
    def clip(self) -> float | None:
        """The clipping radius of what is found: a public rule."""
        rule = radius_after_search if self.draws_in else clip_after_search
        return rule(self.within, self.only)

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        return Released(so_far.w, None, 0, features=self.find(X, noise))

    def counted(self, X: Rows, low: Array, high: Array, noise: NoiseSource) -> Array:
        """The counts of one round as they leave the phase."""
        counts = self.exact(X, low, high)
        return counts if self.noise is None else self.noise.release(counts, noise)

    def exact(self, X: Rows, low: Array, high: Array) -> Array:
        """The counts of one round before noise, a row per column."""
        return X.histograms(low, high, self.bins, self.within, self.columns)

    def find(self, X: Rows, noise: NoiseSource) -> FeatureBounds:
        """Bounds inside (or little beyond) the loose ranges; without a mechanism from the exact counts."""
        d = self.columns.size
        # In half-widths of the loose ranges, as `histograms` takes it.
        window = (np.full(d, -1.0), np.full(d, 1.0))
        sd = 0.0 if self.noise is None else self.noise.rms(self.bins * d)
        seen: list[Histograms] = []
        for _ in range(self.rounds):
            seen.append(Histograms(*window, self.counted(X, *window, noise)))
            reading = read_histograms(seen, len(X), sd)
            reach = _WINDOW * reading.spread
            window = (np.maximum(reading.centre - reach, -1.0), np.minimum(reading.centre + reach, 1.0))
        return self.box_of(reading)

    def box_of(self, reading: Reading) -> FeatureBounds:
        """The ranges that the counts suggest; where they show a lump at an end, one that reaches the other end."""
        lump = reading.lump != 0.0
        centre = np.where(lump, reading.lump if self.draws_in else 0.0, reading.centre)
        # No clipped row is farther from the centre than the farther end of its range.
        farthest = 1.0 + np.abs(centre)
        half_width = np.where(lump, farthest, np.minimum(HALF_WIDTH * reading.spread, farthest))
        low, high = self.within.sides()
        at = self.columns
        origin, unit = (low / 2.0 + high / 2.0)[at], (high / 2.0 - low / 2.0)[at]
        low[at], high[at] = origin + unit * (centre - half_width), origin + unit * (centre + half_width)
        return replace(self.within, low=tuple(low.tolist()), high=tuple(high.tolist()), clip=self.clip)


def clipping_radius(n_features: int) -> float:
    """``(1 + sqrt(d))/2`` standard deviations, in half-widths: rows of d such features are about ``sqrt(d)`` long.

    Shorter than most rows on purpose. It draws them towards the centre, which costs some signal, and a shorter radius
    is less noise on everything that follows.
    """
    return (1.0 + math.sqrt(n_features)) / 2.0 / HALF_WIDTH


def radius_after_search(within: FeatureBounds, only: tuple[int, ...] | None) -> float:
    """`clipping_radius` of the columns that were searched, and beside it the room of those that were not.

    That room is what a declared clipping radius leaves after one half-width for each column that was searched; where it
    leaves none, or nothing was declared, it is one half-width for each column.
    """
    low, high = within.sides()
    searched = searchable(within, only).size
    kept = int(np.count_nonzero(low < high)) - searched
    left = 0.0 if within.clip is None else within.clip**2 - searched
    return math.hypot(clipping_radius(searched), math.sqrt(min(left, kept) if left > 0.0 else kept))


def clip_after_search(within: FeatureBounds, only: tuple[int, ...] | None = None) -> float | None:
    """The declared clipping radius where it leaves each searched column room for its whole range, else none.

    A shorter one is in half-widths of the wide ranges, and says nothing about narrower ones.
    """
    clip = within.clip
    return clip if clip is not None and clip**2 >= searchable(within, only).size else None
