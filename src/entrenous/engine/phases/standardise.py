"""Centre and scale of every column, with noise: later phases get rows in units of their own spread."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import Released, StatisticPhase
from entrenous.engine.phases.scale_noise import ScaleNoise
from entrenous.engine.phases.shrinkage import pulled, spread_by_peers, spread_by_prior
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.errors import InputError, PrivacyError
from entrenous.privacy.lemmas.pointwise import LEMMA_14, LEMMA_15, REACH_SLACK
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.features.cut_box import CutBox
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.ramps import normal_ramps
from entrenous.problem.features.shaped_box import MOST_RAMPS, ShapedBox
from entrenous.problem.problem import Problem
from entrenous.registry import part

COLUMN_REACH, ROW_REACH = 0.75, 0.4
"""After a first round, entries farther than this from their mean, in half-widths, and rows longer than this times
``sqrt(d)`` are drawn in: real rows are far inside their box, so the second round has less to hide."""
_FARTHEST = 1e15
"""Axes from the centre at which columns with shapes are cut off."""


@part
@dataclass(frozen=True)
class FindCentre(StatisticPhase):
    """The mean row, with noise (Lemma 14); later phases get a smaller domain around it."""

    lemma: ClassVar[str] = LEMMA_14
    finds_bounds: ClassVar[bool] = True
    on_grid: ClassVar[bool] = True

    share: float
    half_width: float
    """Half of a column's range in internal units."""
    noise: Mechanism

    @property
    def mechanism(self) -> Mechanism:
        return self.noise

    @property
    def numbers(self) -> dict[str, Any]:
        return {"centre": {"share": self.share}}

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        assert so_far.features is not None
        return Released(so_far.w, features=self.centred(so_far.features, self.noise.release(X.mean(), noise)))

    def centred(self, domain: FeatureDomain, mean: Array) -> CutBox:
        """The smaller domain, from the released mean in internal units."""
        varies = domain.unit > 0.0
        moved = np.zeros(varies.size)
        moved[varies] = np.clip(pulled(mean[varies] / self.half_width, self.noise.rms(1) / self.half_width), -1.0, 1.0)
        half = domain.unit * self.half_width
        center = domain.origin + half * moved
        low, high = (np.broadcast_to(side, varies.size) for side in domain.ends())
        low = np.minimum(np.maximum(low, center - COLUMN_REACH * half), center)
        high = np.maximum(np.minimum(high, center + COLUMN_REACH * half), center)
        return CutBox.inside(domain, low, high, center, half * ROW_REACH * math.sqrt(np.count_nonzero(varies)))


@part
@dataclass(frozen=True)
class Standardise(StatisticPhase):
    """Means and mean squares of all columns, with noise (Lemma 15); later phases get rows in standard deviations.

    Rows longer than `radius` times ``sqrt(d)`` standard deviations are drawn in.
    """

    lemma: ClassVar[str] = LEMMA_15
    finds_bounds: ClassVar[bool] = True

    share: float
    reach: float
    """The largest entry of a row in internal units, which the bound rests on."""
    half_width: float
    """Half of a column's range in internal units."""
    weight: float
    """Of the mean squares beside the means."""
    radius: float
    by_peers: bool
    """Whether noisy variances are drawn to the columns' mean variance rather than to a public guess."""
    noise: Mechanism | None
    ramps: int = 0
    """Ramps of each numeric column in the domain that is found, so that scores may bend; 0: they are linear."""

    def __post_init__(self) -> None:
        if isinstance(self.ramps, bool) or not isinstance(self.ramps, int) or not 0 <= self.ramps <= MOST_RAMPS:
            raise InputError(f"ramps must be an int from 0 to {MOST_RAMPS}", repr(self.ramps), "9 are plenty.")

    @property
    def mechanism(self) -> Mechanism | None:
        return self.noise

    @property
    def unit_rows(self) -> bool:
        return self.noise is None

    @property
    def on_grid(self) -> bool:  # type: ignore[override]
        return self.noise is not None

    @property
    def numbers(self) -> dict[str, Any]:
        return {"standardise": {"share": self.share, "reach": self.reach, "weight": self.weight}}

    @property
    def takes_sparse(self) -> bool:
        return self.ramps == 0

    @property
    def needs_array_for(self) -> tuple[str, str] | None:  # type: ignore[override]
        return ("shapes are learnt from dense rows", 'Use shape="linear"') if self.ramps else None

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        domain = so_far.features
        assert domain is not None
        self.check(domain)
        found, scale_noise = self.standardised(domain, *self.release(X, noise))
        return Released(so_far.w, features=found, scale_noise=scale_noise)

    def check(self, domain: FeatureDomain) -> None:
        """The domain is public or released, so that an error tells nothing about a row."""
        if self.noise is not None and domain.reach > self.reach * (1.0 + REACH_SLACK):
            raise PrivacyError(
                f"standardising is priced for rows whose entries are at most {self.reach:g}",
                f"{domain.reach:g}",
                "Plan it for the domain that comes before it.",
            )

    def release(self, X: Rows, noise: NoiseSource) -> tuple[Array, Array]:
        """Means and mean squares as they leave the phase, in internal units."""
        value = self.exact(X)
        means, squares = np.split(value if self.noise is None else self.noise.release(value, noise), 2)
        return means, squares / self.weight

    def exact(self, X: Rows) -> Array:
        """Means and weighted mean squares before noise."""
        return np.concatenate([X.mean(), self.weight * X.mean_squares()])

    def standardised(self, domain: FeatureDomain, means: Array, squares: Array) -> tuple[CutBox, ScaleNoise]:
        """The domain of rows in standard deviations, and what noise does to its scales, from what was released."""
        varies = domain.unit > 0.0
        # Without noise the ranges may be those of the rows themselves.
        sd, h = (0.0, domain.reach or 1.0) if self.noise is None else (self.noise.rms(1), self.half_width)
        # In half-widths: the guesses about typical columns are in these units.
        shrink = spread_by_peers if self.by_peers else spread_by_prior
        found = shrink(means[varies] / h, sd / h, squares[varies] / h**2, sd / self.weight / h**2)
        center, axes = domain.origin.copy(), np.zeros(varies.size)
        half = domain.unit[varies] * h
        center[varies] += half * found.mean
        low, high = (np.broadcast_to(side, varies.size) for side in domain.ends())
        rise, fall = np.zeros(varies.size), np.zeros(varies.size)
        rise[varies], fall[varies] = found.sd / found.shorter - 1.0, 1.0 - found.sd / found.longer
        bends = varies & ~domain.is_binary
        if self.ramps == 0 or not bends.any():
            axes[varies] = half * found.sd * self.radius * math.sqrt(np.count_nonzero(varies))
            return CutBox.inside(domain, low, high, center, axes), ScaleNoise(rise, fall)
        ramps = normal_ramps(self.ramps)
        length = self.radius * math.sqrt(np.count_nonzero(varies) + ramps.square * np.count_nonzero(bends))
        axes[varies] = half * found.sd * length
        # A ball has no ends; an entry so far out is the whole row, however far it is.
        low, high = np.maximum(low, center - _FARTHEST * axes), np.minimum(high, center + _FARTHEST * axes)
        cut = CutBox.inside(domain, low, high, center, axes)
        shaped = ShapedBox(
            **{field.name: getattr(cut, field.name) for field in fields(cut)},
            shaped=tuple(np.flatnonzero(bends).tolist()),
            edges=tuple((ramps.edges / length).tolist()),
            middles=tuple(ramps.middles.tolist()),
            heights=tuple((ramps.heights / length).tolist()),
        )
        # What a ramp adds to the score does not depend on its column's scale; only where it lies does.
        none = np.zeros(shaped.added_entries)
        return shaped, ScaleNoise(np.append(rise, none), np.append(fall, none))
