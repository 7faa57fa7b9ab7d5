"""Yang's rows, folds and fits: what a run of Table 1 does with one fold, and how it chooses radius and step."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from entrenous.arrays import AnyArray, Array
from entrenous.files import datasets

FOLDS = 5
PASSES = {"sgd-previous": 10, "sgd-pair": 10, "spauc": 10, "olp": 1, "oam": 1}
"""How often an algorithm goes through the training rows, as in the authors' program."""
RADII = (5.0, 20.0, 80.0, 320.0)
WIDE_RADII = (20.0, 80.0, 320.0, 1280.0)
"""For more than 500 columns: a row of d columns in [-1, 1] has a norm of up to sqrt(d), which counts as 1 here."""
SCALES = (0.1, 0.5, 2.5)
"""Step sizes, as shares of the radius."""
SADDLE_STEPS = (1.0, 4.0, 16.0)
MOST_ROWS = 4000
"""Rows of the training folds, at most, on which radius and step are chosen: half to fit and half to score, in turn."""


class Part(NamedTuple):
    """Rows with columns in [-1, 1], and labels 0 or 1."""

    rows: Array
    labels: AnyArray


@cache
def binary(name: str, whole: bool = False) -> tuple[Array, AnyArray]:
    """Raw rows, and labels: of several classes the first half is 1. Only LIBSVM's file of that name, unless `whole`.

    That file holds the training and validation rows of a set which has test rows of its own.
    """
    bunch = datasets.load(name)
    rows, target = np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)
    classes = np.unique(target)
    labels = np.isin(target, classes[: len(classes) // 2]) if len(classes) > 2 else target == classes[1]
    kept = np.ones(len(rows), dtype=bool) if whole or bunch.split is None else np.asarray(bunch.split) != "test"
    return rows[kept], labels[kept].astype(np.int64)


@lru_cache(maxsize=2)
def parts(name: str, seed: int, ours: bool, whole: bool = False) -> tuple[Part, Part]:
    """Training and test part of one fold: seeds 0 to 4 are the folds of one shuffle, 5 to 9 of the next.

    Columns go to [-1, 1] by their extremes over all rows, as in the paper, or over the training rows (`ours`).
    """
    rows, labels = binary(name, whole)
    order = np.random.default_rng(seed // FOLDS).permutation(len(rows))
    held = np.zeros(len(rows), dtype=bool)
    held[order[seed % FOLDS :: FOLDS]] = True
    seen = rows[~held] if ours else rows
    low, high = seen.min(axis=0), seen.max(axis=0)
    scaled = np.clip(2.0 * (rows - low) / np.where(high > low, high - low, 1.0) - 1.0, -1.0, 1.0)
    return Part(scaled[~held], labels[~held]), Part(scaled[held], labels[held])


class Choice(NamedTuple):
    """Radius of the ball, and the step: a share of the radius, for spauc its own unit."""

    radius: float
    step: float


def grid(algorithm: str, columns: int) -> tuple[Choice, ...]:
    """What may be chosen, from small to large."""
    radii = WIDE_RADII if columns > 500 else RADII
    return tuple(Choice(*each) for each in product(radii, SADDLE_STEPS if algorithm == "spauc" else SCALES))


def choose(algorithm: str, train: Part, seed: int, buffer: int | None = None) -> Choice:
    """Radius and step of the largest mean AUC over two halves of the training rows. Test rows are no argument."""
    order = np.random.default_rng((seed, 1)).permutation(len(train.rows))[:MOST_ROWS]
    halves = order[::2], order[1::2]

    def mean_auc(choice: Choice) -> float:
        found = []
        for near, far in (halves, halves[::-1]):
            scorer = fitted(algorithm, Part(train.rows[near], train.labels[near]), choice, seed, buffer)
            found.append(roc_auc_score(train.labels[far], train.rows[far] @ scorer))
        return float(np.mean(found))

    return max(grid(algorithm, train.rows.shape[1]), key=mean_auc)


def fitted(algorithm: str, train: Part, choice: Choice, seed: int, buffer: int | None = None) -> Array:
    """Coefficients of one fit without privacy. The rows are in random order."""
    from entrenous.estimators.auc import AUCClassifier

    if algorithm == "spauc":
        return saddle(train, choice, PASSES["spauc"], seed)
    order = np.random.default_rng((seed, 2)).permutation(len(train.rows))
    step, more = choice.radius * choice.step, dict[str, Any]()
    if PASSES[algorithm] > 1:
        more["max_iter"] = PASSES[algorithm] * len(order)
        step /= math.sqrt(more["max_iter"])
    options: dict[str, Any] = {"step_size": step, "index_seed": seed}
    if buffer is not None:
        options["buffer"] = buffer
    model = AUCClassifier(
        None, algorithm=algorithm, surrogate="hinge", bounds=(-1, 1), radius=choice.radius, options=options, **more
    )
    return np.asarray(model.fit(train.rows[order], train.labels[order]).coef_[0])


def saddle(train: Part, choice: Choice, passes: int, seed: int) -> Array:
    """Spauc over the rows several times, each time in another order; the mean of all iterates."""
    from entrenous.engine.phases.saddle_point import SaddlePoint
    from entrenous.planners.planning import plan

    n, d = train.rows.shape
    problem = plan("spauc", n=n, n_features=d, epsilon=None, radius=choice.radius, bounds=(-1, 1)).problem
    fold = SaddlePoint(passes * n, choice.step).begin(problem, np.zeros(d))
    unit = train.rows / math.sqrt(d)
    random = np.random.default_rng((seed, 2))
    for _ in range(passes):
        order = random.permutation(n)
        fold.feed(unit[order], train.labels[order])
    return fold.result()


def auc_on(test: Part, scorer: Array) -> float:
    """Of a linear score on the test rows."""
    return float(roc_auc_score(test.labels, test.rows @ scorer))
