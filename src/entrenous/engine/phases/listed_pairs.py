"""Learning from a public list of pairs instead of all of them: reading the list, its gradient, its two phases.

One row of the list is ``(i, j, similar)``: two row numbers and whether the two records are alike. It takes the place of
the labels. The row numbers are public, the flags are as private as the records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array, Codes
from entrenous.engine.phases.descent import Descent
from entrenous.engine.phases.minimum import Minimise
from entrenous.engine.phases.phase import Released
from entrenous.engine.progress import Progress
from entrenous.engine.rows.rows import Rows
from entrenous.engine.solvers.fista import projected_minimum
from entrenous.engine.solvers.minimiser import differentiable
from entrenous.errors import InputError
from entrenous.privacy.lemmas.gradients import LEMMA_12
from entrenous.privacy.noise import NoiseSource
from entrenous.problem.pair_list import PairList
from entrenous.problem.problem import Problem
from entrenous.registry import part

_TILE = 1 << 18
"""Numbers per block of differences: 2 MB of float64, inside a core's cache."""


def read_pairs(stated: PairList, listed: AnyArray, rows: int) -> Codes:
    """The list as integers, checked against the numbers that the noise was scaled to."""
    if listed.ndim != 2 or listed.shape[1] != 3 or listed.dtype.kind not in "biu":
        raise InputError(
            "this plan needs a list of pairs: rows (i, j, similar) of whole numbers",
            f"an array of shape {listed.shape} and type {listed.dtype}",
            "Use numpy.column_stack([pairs, similar]).",
        )
    pairs = listed.astype(np.int64)
    found = pair_list_of(pairs[:, :2], rows)
    if found.pairs != stated.pairs or found.most > stated.most:
        raise InputError(
            f"this plan is for {stated.pairs} pairs, a record in at most {stated.most} of them",
            f"{found.pairs} pairs, a record in {found.most} of them",
            "Make a plan for this list.",
        )
    if not np.isin(pairs[:, 2], (0, 1)).all():
        raise InputError("similar needs 0 or 1 for every pair", "something else", "Use similar == 1, or booleans.")
    return pairs


def pair_list_of(pairs: Codes, rows: int) -> PairList:
    """The public numbers of a list of row numbers; a record is no pair with itself."""
    if not len(pairs):
        raise InputError("a list of pairs needs at least one pair", "an empty list", "List pairs of row numbers.")
    outside = np.flatnonzero(((pairs < 0) | (pairs >= rows)).any(axis=1))
    if len(outside):
        # Not quoted: they may be what somebody calls the records.
        raise InputError(
            f"pairs need row numbers from 0 to {rows - 1}",
            f"{len(outside)} of {len(pairs)} pairs with others, the first at position {outside[0]}",
            "Pass ids= to use names.",
        )
    alone = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(alone):
        raise InputError(
            "a pair needs two different records", f"record {pairs[alone[0], 0]} with itself", "Drop such pairs."
        )
    return PairList(len(pairs), int(np.bincount(pairs.ravel()).max()))


def listed_objective(problem: Problem, w: Array, X: Array, pairs: Codes) -> tuple[float, Array]:
    """``F(w)`` and its gradient: the mean over the listed pairs, plus the ridge."""
    total, gradient = 0.0, np.zeros_like(w)
    for block in pair_blocks(len(pairs), X.shape[1]):
        i, j, similar = pairs[block].T
        # The score compares labels. Flags against ones: equal means similar.
        alike = np.ones_like(similar)
        difference = X[i] - X[j]
        margins = problem.score.margin(w, X[i], X[j], similar, alike)  # type: ignore[attr-defined]
        total += float(problem.loss.value(margins).sum())
        slopes = np.where(similar == 1, -1.0, 1.0) * problem.loss.derivative(margins)
        gradient += difference.T @ (slopes[:, None] * difference)
    ridge = problem.ridge
    return total / len(pairs) + ridge / 2.0 * float(np.sum(w * w)), gradient / len(pairs) + ridge * w


@part
@dataclass(frozen=True)
class ListedDescent(Descent):
    """`Descent` on the mean over a list of pairs; the noise of its gradients is scaled to the list's numbers."""

    listed: PairList = field(kw_only=True)

    @property
    def pair_list(self) -> PairList | None:
        return self.listed

    @property
    def lemmas(self) -> tuple[str, ...]:
        return () if self.gradient_noise is None else (LEMMA_12,)

    @property
    def numbers(self) -> dict[str, Any]:
        return {**super().numbers, "pair_list": asdict(self.listed)}

    @property
    def takes_sparse(self) -> bool:
        return False

    def pair_gradients(self, n: int) -> int:
        return self.total_steps * self.listed.pairs

    def gradient(self, problem: Problem, w: Array, X: Rows, y: AnyArray) -> Array:
        return listed_objective(problem, w, X.array(), y)[1]


@part
@dataclass(frozen=True)
class ListedMinimise(Minimise):
    """The mean over a list of pairs, minimised to a stated tolerance. Without privacy only."""

    listed: PairList = field(kw_only=True)

    @property
    def pair_list(self) -> PairList | None:
        return self.listed

    @property
    def takes_sparse(self) -> bool:
        return False

    def pair_gradients(self, n: int) -> int:
        return self.max_iter * self.listed.pairs

    def run(
        self, problem: Problem, X: Rows, y: AnyArray, so_far: Released, noise: NoiseSource, progress: Progress
    ) -> Released:
        smooth, rows = replace(problem, surrogate=differentiable(problem.surrogate)), X.array()

        def objective(w: Array) -> tuple[float, Array]:
            return listed_objective(smooth, w, rows, y)

        w, iterations = projected_minimum(smooth, objective, so_far.w, self.tolerance, self.max_iter, progress)
        return Released(w, None, iterations)


def pair_blocks(pairs: int, n_features: int, most: int = _TILE) -> Iterator[slice]:
    """A list of pairs in portions of at most so many, whose differences fit into a core's cache."""
    step = min(max(1, _TILE // n_features), most)
    return (slice(start, start + step) for start in range(0, pairs, step))
