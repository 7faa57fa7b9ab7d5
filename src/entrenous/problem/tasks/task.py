"""Tasks: everything that depends on what is learnt is in one object per task. No other code branches on its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.pair_scores import Score
from entrenous.problem.targets import TargetRange
from entrenous.registry import load_library


class PublicLabels(NamedTuple):
    """What is public about y, and what may be looked up in y itself."""

    classes: tuple[Any, ...] | None
    target_bounds: tuple[float, float] | None
    is_private: bool
    all_records: bool
    """Whether these are all records of the fit, so that a fit without privacy may ask which classes occur."""
    needs_range: bool
    """Whether targets must be mapped to [-1, 1] even if nobody declared their range (without privacy only)."""


class RunningMeans(ABC):
    """What gives the intercept of a fit without privacy; rows come in any portions."""

    @abstractmethod
    def feed(self, X: Any, y: AnyArray) -> None:
        """More rows in internal units (`problem.features.domain`), with their labels."""

    @abstractmethod
    def intercept(self, w: Array) -> float:
        """The intercept at this parameter, internal units."""


class Task(ABC):
    """One kind of thing to learn.

    A task of one's own is a subclass with a name, a score and the methods below, registered with `task`; the algorithms
    that may be used for it are listed in `algorithms`.
    """

    name: ClassVar[str]
    score: ClassVar[Score]
    parameter_domains: ClassVar[tuple[str, ...]] = ("l2-ball", "whole-space")
    """Names of the parameter domains that suit it; the first is the usual one."""
    surrogate: ClassVar[str | None] = None
    """The default surrogate; ``None``: the algorithm's default."""
    surrogates: ClassVar[tuple[str, ...] | None] = None
    """Names of the surrogates that it takes; ``None`` for all."""
    has_targets: ClassVar[bool] = False
    """Whether y holds numbers to predict rather than classes."""
    has_hidden_intercept: ClassVar[bool] = False
    """Whether the loss does not depend on the intercept, so that it is released on its own (Lemma 13)."""
    unit_radius: ClassVar[bool] = False
    """Whether the parameter's radius is 1 whatever the algorithm prefers."""
    algorithms: ClassVar[tuple[str, ...]] = ()
    """Algorithms of the library that may be used for it although they do not list it: for tasks of a user."""

    @abstractmethod
    def public_classes(self, classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
        """The declared classes, checked."""

    @abstractmethod
    def public_targets(self, bounds: Any, *, is_private: bool) -> tuple[float, float] | None:
        """The declared range of the targets, checked."""

    @abstractmethod
    def read_labels(self, y: AnyArray, public: PublicLabels) -> tuple[AnyArray, TargetRange | None]:
        """Class codes, or targets in internal units and their range; `y` has one entry per row.

        Of a private fit's labels, and of a part of the rows, only type and public range are checked.
        """

    def running_means(self, n_features: int) -> RunningMeans | None:
        """What finds the intercept of a fit without privacy; ``None`` for a task that has none."""
        return None

    def to_user(
        self, w: Array, intercept: float, features: FeatureDomain | None, targets: TargetRange | None
    ) -> tuple[Array, float]:
        """A released parameter and intercept in the user's units."""
        coef = w
        if features is not None:
            coef, intercept = features.to_user(coef, intercept)
        return (coef, intercept) if targets is None else targets.to_user(coef, intercept)

    def noise_to_user(self, noise: Array, features: FeatureDomain | None, targets: TargetRange | None) -> Array:
        """The sd of the noise in each coefficient, in the user's units."""
        coef = noise if features is None else features.noise_to_user(noise)
        return coef if targets is None else targets.to_user(coef, 0.0)[0]


def class_codes(y: Any, classes: Sequence[Any], *, binary: bool) -> AnyArray:
    """Labels as codes 0..k-1 in the order of the public classes; anything else is a data error."""
    labels = np.asarray(y)
    # One byte where it will do: a code goes with every record through the whole run.
    codes = np.full(labels.shape, -1, dtype=np.int8 if len(classes) < 128 else np.int64)
    for code, label in enumerate(classes):
        codes[labels == label] = code
    if (codes < 0).any():
        only = "Only binary classification is supported. " if binary else ""
        raise InputError(
            f"{only}Labels must be among the public classes {tuple(classes)}",
            "other labels in y, or continuous values",
            'Declare them before looking at the data, e.g. classes=("no", "yes"); of two the second is the event.',
        )
    return codes


_TASKS: dict[str, Task] = {}


def task(kind: type[Task]) -> type[Task]:
    """Class decorator: this task can be asked for by its name."""
    if kind.score.task != kind.name:
        raise InputError(
            "a task needs a score of its own, whose `task` is the task's name",
            f"{kind.name!r} with the score of {kind.score.task!r}",
            "Define a score for it: problems and certificates find a task by its score.",
        )
    known = _TASKS.get(kind.name)
    if known is not None and type(known).__module__ != kind.__module__:
        raise InputError("a task needs a name of its own", f"{kind.name!r}, which exists", "Choose another name.")
    _TASKS[kind.name] = kind()
    return kind


def task_named(name: str) -> Task:
    """The task of this name."""
    known = tasks()
    try:
        return known[name]
    except (KeyError, TypeError):
        raise InputError("task must be one of " + ", ".join(known), repr(name), 'Use task="auc".') from None


def tasks() -> dict[str, Task]:
    """Every task, by name."""
    load_library()
    return _TASKS
