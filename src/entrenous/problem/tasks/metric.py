"""A distance in which records of one class are near and others far: Mahalanobis metric learning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.pair_scores import Mahalanobis, Score
from entrenous.problem.targets import TargetRange, no_target_bounds
from entrenous.problem.tasks.task import PublicLabels, Task, class_codes, task
from entrenous.problem.tasks.two_classes import all_different, plain_values


@task
class Metric(Task):
    """A positive semi-definite matrix; labels of two or more classes, or listed pairs in their place."""

    name: ClassVar[str] = "metric"
    score: ClassVar[Score] = Mahalanobis()
    parameter_domains: ClassVar[tuple[str, ...]] = ("frobenius", "nuclear")
    unit_radius: ClassVar[bool] = True

    def public_classes(self, classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
        found = plain_values(classes)
        if found is not None and (len(found) < 2 or not all_different(found)):
            raise InputError("classes must be two or more different labels", repr(found), "List each of them once.")
        return None if found is None else tuple(found)

    def public_targets(self, bounds: Any, *, is_private: bool) -> tuple[float, float] | None:
        if bounds is not None:
            raise no_target_bounds(self.name)
        return None

    def read_labels(self, y: AnyArray, public: PublicLabels) -> tuple[AnyArray, TargetRange | None]:
        classes = public.classes or (0, 1)
        if public.classes is None and not public.is_private:
            classes = tuple(np.unique(y).tolist())
        codes = class_codes(y, classes, binary=False)
        if not public.is_private and public.all_records and len(np.unique(codes)) < 2:
            raise InputError(
                "a metric needs two classes or more in y", "one class", "Check the labels and how rows were split."
            )
        return codes, None

    def to_user(
        self, w: Array, intercept: float, features: FeatureDomain | None, targets: TargetRange | None
    ) -> tuple[Array, float]:
        """The matrix of the squared distance; there is no intercept."""
        return w if features is None else features.metric_to_user(w), 0.0

    def noise_to_user(self, noise: Array, features: FeatureDomain | None, targets: TargetRange | None) -> Array:
        """In internal units: the entries of a matrix have no unit of their own."""
        return noise
