"""Regression on single records, for comparison with pairs."""

from __future__ import annotations

from typing import ClassVar

from entrenous.problem.pair_scores import Score
from entrenous.problem.point_scores import Residual
from entrenous.problem.tasks.numeric_targets import NumericTargets
from entrenous.problem.tasks.task import task


@task
class PointwiseRegression(NumericTargets):
    """A linear prediction, its intercept part of the parameter."""

    name: ClassVar[str] = "pointwise-regression"
    score: ClassVar[Score] = Residual()
    surrogate: ClassVar[str | None] = "square"
    surrogates: ClassVar[tuple[str, ...] | None] = ("square", "q-norm-loss")
