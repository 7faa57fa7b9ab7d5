"""What tasks with an event and a non-event share."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError
from entrenous.problem.targets import TargetRange, no_target_bounds
from entrenous.problem.tasks.task import PublicLabels, RunningMeans, Task, class_codes


class TwoClasses(Task):
    """Labels of two public classes, the second the event."""

    def public_classes(self, classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
        found = plain_values(classes)
        if found is not None and (len(found) != 2 or not all_different(found)):
            raise InputError(
                "classes must be two different labels", repr(found), "The second one is the event: (0, 1)."
            )
        return None if found is None else tuple(found)

    def public_targets(self, bounds: Any, *, is_private: bool) -> tuple[float, float] | None:
        if bounds is not None:
            raise no_target_bounds(self.name)
        return None

    def read_labels(self, y: AnyArray, public: PublicLabels) -> tuple[AnyArray, TargetRange | None]:
        codes = class_codes(y, public.classes or (0, 1), binary=True)
        if not public.is_private and public.all_records and len(np.unique(codes)) < 2:
            raise InputError(
                "a ranking needs both classes in y", "one class", "Check the labels and how rows were split."
            )
        return codes, None

    def running_means(self, n_features: int) -> RunningMeans:
        return ClassMeans(n_features)


class ClassMeans(RunningMeans):
    """Means by class: the threshold is halfway between the classes' mean scores."""

    def __init__(self, n_features: int) -> None:
        self._counts = np.zeros(2)
        self._sums = np.zeros((2, n_features))

    def feed(self, X: Any, y: AnyArray) -> None:
        for code in (0, 1):
            chosen = (y == code).astype(float)  # a product, so that no rows are copied
            self._counts[code] += chosen.sum()
            self._sums[code] += X.weighted_sum(chosen)

    def intercept(self, w: Array) -> float:
        # A class without a record so far is left out.
        return -float(np.mean(self._sums[self._counts > 0] @ w / self._counts[self._counts > 0]))


def plain_values(classes: Sequence[Any] | None) -> list[Any] | None:
    """Labels as plain Python values, so that files can hold them."""
    return None if classes is None else [c.item() if hasattr(c, "item") else c for c in classes]


def all_different(labels: Sequence[Any]) -> bool:
    """Whether no label is listed twice; labels need not be hashable."""
    return all(a != b for a, b in itertools.combinations(labels, 2))
