"""Regression that makes the errors of any two records alike: minimum error entropy."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.problem.pair_scores import ErrorDifference, Score
from entrenous.problem.tasks.numeric_targets import NumericTargets
from entrenous.problem.tasks.task import RunningMeans, task
from entrenous.problem.typical_error import middle_of


@task
class ErrorEntropy(NumericTargets):
    """A linear prediction whose errors are alike; the intercept is released on its own."""

    name: ClassVar[str] = "error-entropy"
    score: ClassVar[Score] = ErrorDifference()
    surrogate: ClassVar[str | None] = "welsch"
    has_hidden_intercept: ClassVar[bool] = True

    def running_means(self, n_features: int) -> RunningMeans:
        return TypicalErrors()


class TypicalErrors(RunningMeans):
    """The records themselves, not copied: the intercept is where most errors are, which no sum tells."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, AnyArray]] = []

    def feed(self, X: Any, y: AnyArray) -> None:
        self._parts.append((X, y))

    def intercept(self, w: Array) -> float:
        return middle_of(np.concatenate([y - X.scores(w) for X, y in self._parts]))
