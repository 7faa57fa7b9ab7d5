"""Ranking events above non-events: AUC maximisation."""

from __future__ import annotations

from typing import ClassVar

from entrenous.problem.pair_scores import LinearDifference, Score
from entrenous.problem.tasks.task import task
from entrenous.problem.tasks.two_classes import TwoClasses


@task
class Ranking(TwoClasses):
    """A linear score that puts events before the others."""

    name: ClassVar[str] = "auc"
    score: ClassVar[Score] = LinearDifference()
