"""One noisy release of the scatter of listed pairs, then a metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.listed_pairs import pair_blocks
from entrenous.engine.phases.metric_release import MetricRelease
from entrenous.engine.rows.exact_sums import MOST_ROWS, ExactTotal
from entrenous.engine.rows.rows import Rows
from entrenous.engine.solvers.pair_scatter import Scatter, metric_from_scatter
from entrenous.privacy.lemmas.metric_moments import LEMMA_21
from entrenous.problem.features.domain import ROW_GRID
from entrenous.problem.pair_list import PairList
from entrenous.problem.problem import Problem
from entrenous.problem.symmetric import from_coordinates, to_coordinates
from entrenous.registry import part

_MOST_PAIRS = MOST_ROWS // 4
"""Pairs whose products can be added exactly: differences are up to twice as long as rows."""


@part
@dataclass(frozen=True)
class PairScatterRelease(MetricRelease):
    """How many listed pairs are similar, and the scatter of these and of the others, with noise (Lemma 21)."""

    weights: tuple[float, float] = field(kw_only=True)
    """Of the number of similar pairs and of both scatters."""
    reach: float = field(kw_only=True)
    """Differences that are longer, in internal units, are drawn in."""
    listed: PairList = field(kw_only=True)

    @property
    def pair_list(self) -> PairList | None:
        return self.listed

    @property
    def lemmas(self) -> tuple[str, ...]:
        return (LEMMA_21,)

    @property
    def numbers(self) -> dict[str, Any]:
        return {
            "pair_list": asdict(self.listed),
            "pair_scatter": {"weights": self.weights, "reach": self.reach},
        }

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        """Noise of an entry of the pairs' mean scatter: what it does to the metric depends on the records."""
        return 0.0 if self.noise is None else self.noise.rms(1) / self.weights[1] / self.listed.pairs

    def exact(self, X: Rows, y: AnyArray) -> Array:
        rows, (a, c) = X.array(), self.weights
        sums = [ExactTotal((rows.shape[1], rows.shape[1]), ROW_GRID) for _ in (0, 1)]
        for block in pair_blocks(len(y), rows.shape[1], _MOST_PAIRS):
            i, j, similar = y[block].T
            difference = rows[i] - rows[j]
            length = np.linalg.norm(difference, axis=1)
            difference *= np.divide(self.reach, length, out=np.ones_like(length), where=length > self.reach)[:, None]
            # Cut towards zero, which only shortens it, so that the products below are exact.
            difference = np.trunc(difference / ROW_GRID) * ROW_GRID
            for flag in (0, 1):
                chosen = difference[similar == flag]
                sums[flag].add(chosen.T @ chosen)
        scatter = np.array([total.value for total in sums])
        return np.concatenate([[a * float(np.sum(y[:, 2]))], c * to_coordinates(scatter).ravel()])

    def solver(self, X: Rows, y: AnyArray, ridge: float) -> Callable[[Array], Array]:
        a, c = self.weights
        sd = 0.0 if self.noise is None else self.noise.rms(1) / c

        def solve(vector: Array) -> Array:
            other, similar = from_coordinates(vector[1:].reshape(2, -1) / c)
            scatter = Scatter(similar, other, float(vector[0]) / a)
            return metric_from_scatter(scatter, self.listed.pairs, sd, ridge, self.rank)

        return solve
