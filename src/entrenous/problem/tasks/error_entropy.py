"""Regression that makes the errors of any two records alike: minimum error entropy."""

from __future__ import annotations

from typing import ClassVar

from entrenous.problem.pair_scores import ErrorDifference, Score
from entrenous.problem.tasks.numeric_targets import NumericTargets
from entrenous.problem.tasks.task import task


@task
class ErrorEntropy(NumericTargets):
    """A linear prediction whose errors are alike; the intercept is released on its own."""

    name: ClassVar[str] = "error-entropy"
    score: ClassVar[Score] = ErrorDifference()
    surrogate: ClassVar[str | None] = "welsch"
    has_hidden_intercept: ClassVar[bool] = True
