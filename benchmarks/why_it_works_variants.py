"""Descent in plain NumPy with one part of the default changed: for `why_it_works.py` alone, not for private data.

The noise is NumPy's and seeded, and there is no certificate. Rows come in the units that the library's own fit found,
the budget of the gradients is the one that its plan leaves them, and with nothing changed it does what `CappedDescent`
does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.capped_descent import CONSTANT, CappedDescent, class_weights, descent_time
from entrenous.engine.rows.capped_slopes import CappedSlopes

_BINS = 4096
"""Scores of pairs are rounded to this many levels, so that a gradient over all pairs takes one pass."""


@dataclass(frozen=True)
class Variant:
    """Which parts of the default's descent are there."""

    weights: bool = True
    cap: bool = True
    constant: bool = True
    average: bool = True
    pairs: bool = False
    stride: float = 1.0
    """Length of the steps, in those of the rule."""

    def slopes(self, event_share: float | None) -> CappedSlopes:
        """Weights and cap; without a cap the bound is the largest slope that there is, twice as much."""
        found = class_weights(event_share if self.weights and not self.pairs else None)
        return found if self.cap else found._replace(cap=2.0 * found.cap)


@dataclass(frozen=True)
class Gradients:
    """What the plan leaves to the gradients: their number, mu for all of them together, and how far they may go."""

    steps: int
    mu: float
    stretch: float

    @classmethod
    def of(cls, phase: CappedDescent) -> Gradients:
        """Those of a descent of the library."""
        return cls(phase.steps, math.sqrt(phase.steps) / phase.noise.noise_multiplier, phase.stretch)


def descend(
    variant: Variant, rows: Array, y: AnyArray, event_share: float | None, gradients: Gradients, seed: int
) -> Array:
    """Coefficients in the units of the rows; the intercept changes no ranking and is left out."""
    n, d = rows.shape
    rng = np.random.default_rng(seed)
    slopes = variant.slopes(event_share)
    constant = CONSTANT if variant.constant and not variant.pairs else 0.0
    Z = np.column_stack([rows, np.full(n, constant)]) / math.hypot(1.0, constant)
    # Over pairs the same slopes give a shorter gradient: released share of events, so that it is public.
    share = 0.5 if event_share is None else event_share
    longer = 1.0 / max(share, 1.0 - share) if variant.pairs else 1.0
    ratio = longer * 2.0 * slopes.cap * math.sqrt(d + 1) / (gradients.mu * n)
    length = variant.stride * descent_time(ratio, gradients.stretch) / gradients.steps
    sd = longer * 2.0 * slopes.cap * math.sqrt(gradients.steps) / (gradients.mu * n)
    w, total, skipped = np.zeros(d + 1), np.zeros(d + 1), gradients.steps // 2
    for step in range(gradients.steps):
        scores = Z @ w
        # Lemma 2 with slopes up to 1/2 and rows at most 2 apart, or Lemma 17: both 2 C/n.
        pull = capped_pair_slopes(scores, y) / (n - 1) if variant.pairs else slopes.at(scores, y)
        w = w + length * (longer * (pull @ Z) / n + sd * rng.normal(size=d + 1))
        if step >= skipped:
            total += w
    return (total / (gradients.steps - skipped) if variant.average else w)[:-1]


def capped_pair_slopes(scores: Array, y: AnyArray) -> Array:
    """For each record the sum of ``min(sigma(-margin), 1/2)`` over its pairs with the other class, with its sign."""
    low, high = float(scores.min()), float(scores.max())
    if low == high:
        high = low + 1.0
    at = np.minimum(((scores - low) / (high - low) * _BINS).astype(np.int64), _BINS - 1)
    margins = np.arange(1 - _BINS, _BINS) * (high - low) / _BINS
    kernel = np.minimum(expit(-margins), 0.5)
    events = np.bincount(at[y == 1], minlength=_BINS)
    others = np.bincount(at[y == 0], minlength=_BINS)
    size = 4 * _BINS
    spectrum = np.fft.rfft(kernel, size)

    def against(counts: Array) -> Array:
        return np.fft.irfft(np.fft.rfft(counts, size) * spectrum, size)[_BINS - 1 : 2 * _BINS - 1]

    # The kernel is in event minus other: turn the events round for the sums of the others.
    for_events = against(others)
    for_others = against(events[::-1])[::-1]
    signed: Array = np.where(y == 1, for_events[at], -for_others[at])
    return signed


def signal(rows: Array, y: AnyArray, slopes: CappedSlopes) -> float:
    """Length of the gradient of single records at no coefficients, the intercept where both classes pull equally."""
    p = float(np.mean(y))

    def pulls(level: float) -> tuple[float, float]:
        event = p * min(slopes.event * expit(-level), slopes.cap)
        other = (1.0 - p) * min(slopes.other * expit(level), slopes.cap)
        return event, other

    level = brentq(lambda at: pulls(at)[0] - pulls(at)[1], -30.0, 30.0)
    return pulls(level)[0] * distance_of_means(rows, y)


def pair_signal(rows: Array, y: AnyArray) -> float:
    """Length of the gradient of all pairs at no coefficients: every slope is 1/2."""
    events, n = int(np.count_nonzero(y)), len(y)
    return 0.5 * events * (n - events) / (n * (n - 1.0)) * distance_of_means(rows, y)


def distance_of_means(rows: Array, y: AnyArray) -> float:
    """How far apart the two classes' mean rows are."""
    return float(np.linalg.norm(rows[y == 1].mean(axis=0) - rows[y == 0].mean(axis=0)))
