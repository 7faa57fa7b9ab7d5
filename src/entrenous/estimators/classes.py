"""Where a classifier's labels come from: declared for a private fit, found in y without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from entrenous.arrays import AnyArray
from entrenous.errors import InputError


class PublicClasses:
    """The rules for `classes`; a private fit never looks which labels occur."""

    classes: Sequence[Any] | None
    _is_private: bool

    def _declared_classes(self, classes: Sequence[Any] | None) -> tuple[Any, ...]:
        """The classes of an online fit, which cannot be found in rows that have not come yet."""
        said = [_different(c) for c in (classes, self.classes, getattr(self, "classes_", None)) if c is not None]
        if not said and not self._is_private:
            raise InputError(
                "the first partial_fit needs the classes", "classes=None", "Pass partial_fit(X, y, classes=(0, 1))."
            )
        if any(other != said[0] for other in said):
            raise InputError(f"the classes stay {said[-1]}", str(said[0]), "Start a new estimator for other classes.")
        return said[0] if said else (0, 1)

    def _public_classes(self, y: AnyArray) -> tuple[Any, ...]:
        if not self._is_private:
            # It warns and raises by which values occur; the labels of a private fit are compared with the public ones.
            check_classification_targets(y)
        if self.classes is not None:
            return _different(self.classes)
        if self._is_private:
            return (0, 1)
        found = np.unique(y)
        if len(found) < 2:
            raise InputError("learning from pairs needs two classes in y", "1 class", "Check labels and splits.")
        return tuple(found.tolist())


def _different(classes: Sequence[Any]) -> tuple[Any, ...]:
    if len(set(classes)) < len(classes):
        raise InputError(
            "classes must be two different labels or more", repr(tuple(classes)), "List each of them once."
        )
    return tuple(classes)


def need_two_classes(classes: Sequence[Any], way_out: str) -> None:
    """An error unless there are exactly two."""
    if len(classes) != 2:
        raise InputError("Only binary classification is supported: two classes", f"{len(classes)} classes", way_out)
