"""Classification of single records, for comparison with pairs."""

from __future__ import annotations

from typing import ClassVar

from entrenous.problem.pair_scores import Score
from entrenous.problem.point_scores import SignedScore
from entrenous.problem.tasks.task import task
from entrenous.problem.tasks.two_classes import TwoClasses


@task
class PointwiseClassification(TwoClasses):
    """A linear score that is positive for events, its intercept part of the parameter."""

    name: ClassVar[str] = "pointwise-classification"
    score: ClassVar[Score] = SignedScore()
    surrogate: ClassVar[str | None] = "logistic"
