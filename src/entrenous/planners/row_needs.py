"""Which algorithms take tables that are no array: read off the phases of a small plan, made from public numbers."""

from __future__ import annotations

from functools import cache

from entrenous.planners.planning import plan
from entrenous.planners.registry import algorithm_named, algorithms
from entrenous.problem.tasks.task import task_named


@cache
def takes_rows_without_array(name: str, task: str) -> bool:
    """Whether an algorithm asks nothing of the rows but sums and moments, as sparse tables answer them."""
    kind = task_named(task)
    record = algorithm_named(name, kind)
    if kind.score.positive or not record.covers(kind):
        return False
    targets = (0.0, 1.0) if kind.has_targets else None
    # Without privacy, because calibrating noise takes longer than the question is worth; a private plan's phases ask
    # the same of the rows. The ridge is for algorithms that need one.
    made = plan(name, task=task, n=16, n_features=2, epsilon=None, bounds=(0.0, 1.0), ridge=0.1, target_bounds=targets)
    return all(phase.takes_sparse for phase in made.phases)


def algorithms_without_array(task: str) -> tuple[str, ...]:
    """Their names."""
    names = dict.fromkeys(record.name for record in algorithms())  # one name may stand for two tasks
    return tuple(name for name in names if takes_rows_without_array(name, task))
