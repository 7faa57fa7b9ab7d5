"""One noisy release of class counts, class sums and a second moment, then a metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.metric_release import MetricRelease
from entrenous.engine.rows.labelled_moments import LabelledMoments
from entrenous.engine.rows.rows import Rows
from entrenous.engine.solvers.metric_moments import MomentNoise, metric_from_moments
from entrenous.errors import InputError, PrivacyError
from entrenous.privacy.lemmas.metric_moments import LEMMA_20
from entrenous.problem.problem import Problem
from entrenous.registry import part


@part
@dataclass(frozen=True)
class LabelledMomentRelease(MetricRelease):
    """Class counts, class sums and ``sum x x^T``, with noise (Lemma 20); the rest reads what was released."""

    weights: tuple[float, float, float] = field(kw_only=True)
    """Of counts, sums and second moment."""
    classes: int | None = field(kw_only=True)
    """How many there are: public. ``None``: as many as the labels have, without privacy only."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes is None and self.noise is not None:
            raise PrivacyError(
                "a private release needs the public number of classes",
                "none",
                "Labels must not decide what is released.",
            )
        if self.classes is not None and not (type(self.classes) is int and self.classes >= 2):
            raise InputError("classes must be an int >= 2", repr(self.classes), "Count the public classes.")

    @property
    def lemmas(self) -> tuple[str, ...]:
        return (LEMMA_20,)

    @property
    def numbers(self) -> dict[str, Any]:
        return {"labelled_moments": {"weights": self.weights}}

    def noise_per_coefficient(self, problem: Problem, n: int) -> float:
        """Noise of an entry of the mean second moment: what it does to the metric depends on the records."""
        return 0.0 if self.noise is None else self.noise.rms(1) / self.weights[2] / n

    def exact(self, X: Rows, y: AnyArray) -> Array:
        return LabelledMoments.of(X, y, self._classes(y)).weighted(self.weights)

    def solver(self, X: Rows, y: AnyArray, ridge: float) -> Callable[[Array], Array]:
        sd = 0.0 if self.noise is None else self.noise.rms(1)
        around = MomentNoise(*(sd / weight for weight in self.weights))
        d = X.shape[1]
        shape = LabelledMoments(len(X), np.empty(self._classes(y)), np.empty((self._classes(y), d)), np.empty((d, d)))
        return lambda vector: metric_from_moments(shape.from_weighted(vector, self.weights), around, ridge, self.rank)

    def _classes(self, y: AnyArray) -> int:
        return int(np.max(y)) + 1 if self.classes is None else self.classes
