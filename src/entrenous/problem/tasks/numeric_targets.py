"""What tasks that predict a number share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError
from entrenous.problem.targets import TargetRange, checked_target_bounds, missing_target_bounds
from entrenous.problem.tasks.task import PublicLabels, RunningMeans, Task


class NumericTargets(Task):
    """Targets in a public range, mapped to ``[-1, 1]``."""

    has_targets: ClassVar[bool] = True

    def public_classes(self, classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
        if classes is not None:
            raise InputError(f"{self.name} has targets, not classes", f"classes={classes!r}", "Use target_bounds.")
        return None

    def public_targets(self, bounds: Any, *, is_private: bool) -> tuple[float, float] | None:
        if bounds is not None:
            return checked_target_bounds(bounds)
        if is_private:
            raise missing_target_bounds()
        return None

    def read_labels(self, y: AnyArray, public: PublicLabels) -> tuple[AnyArray, TargetRange | None]:
        try:
            with np.errstate(all="ignore"):  # a warning of a number too large would tell of a row; infinity is refused
                targets = y.astype(float)
        except (TypeError, ValueError):
            # The original message quotes a cell, and cells are private.
            raise InputError("targets must be numbers", "something else in y", "Encode them.") from None
        if not np.isfinite(targets).all():
            raise InputError("targets must be finite", "NaN or infinity", "Fill or drop missing values first.")
        if public.target_bounds is not None:
            declared = TargetRange(*public.target_bounds)
            return declared.to_internal(targets), declared
        if public.is_private:
            raise missing_target_bounds()
        if public.needs_range:
            found = TargetRange.around(targets)
            return found.to_internal(targets), found
        return targets, None

    def running_means(self, n_features: int) -> RunningMeans:
        return TargetMeans(n_features)


class TargetMeans(RunningMeans):
    """Mean row and mean target: the intercept makes the mean error zero."""

    def __init__(self, n_features: int) -> None:
        self._count = 0
        self._rows = np.zeros(n_features)
        self._targets = 0.0

    def feed(self, X: Any, y: AnyArray) -> None:
        self._count += len(y)
        self._rows += X.sum()
        self._targets += float(np.sum(y))

    def intercept(self, w: Array) -> float:
        return float((self._targets - self._rows @ w) / self._count)
