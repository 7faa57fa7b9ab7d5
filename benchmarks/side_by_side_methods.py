"""What `side_by_side.py` compares: how each method is fitted, and one measurement of one of them.

    python benchmarks/side_by_side_methods.py METHOD FOLDER OUTPUT

reads the arrays that `side_by_side.py` put into a folder, in a process of its own so that it can be stopped and its
memory read. Libraries are imported by the method that needs them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from entrenous.arrays import AnyArray, Array

SEED = 0
REPEATS = 5
ENOUGH_SECONDS = 5.0
"""A method is fitted again, up to `REPEATS` times, while the repeats together stay below this."""
ONCE_SECONDS = 20.0
"""A method whose first fit takes longer is fitted once."""

Scorer = Callable[[Array], Array]
Fit = Callable[[], Scorer]
"""Fits from nothing and gives the score of rows; what it is measured on."""


@dataclass(frozen=True)
class Method:
    """A way to learn a score, and what a reader has to know about it."""

    package: str
    pairwise: bool
    linear: bool
    settings: str
    prepare: Callable[[Array, AnyArray], Fit]
    """Puts the rows into the form that the library takes, which is not timed."""


def _entrenous(surrogate: str | None) -> Callable[[Array, AnyArray], Fit]:
    def prepare(X: Array, y: AnyArray) -> Fit:
        from entrenous import AUCClassifier

        return lambda: AUCClassifier(epsilon=None, surrogate=surrogate).fit(X, y).decision_function

    return prepare


def _logistic_regression(X: Array, y: AnyArray) -> Fit:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(class_weight="balanced", max_iter=1000)
    return lambda: model.fit(X, y).decision_function


def _sgd(X: Array, y: AnyArray) -> Fit:
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", class_weight="balanced", random_state=SEED, n_jobs=1)
    return lambda: model.fit(X, y).decision_function


def _xgboost(**settings: Any) -> Callable[[Array, AnyArray], Fit]:
    def prepare(X: Array, y: AnyArray) -> Fit:
        from xgboost import XGBRanker

        query = np.zeros(len(X), dtype=np.int32)

        def fit() -> Scorer:
            model = XGBRanker(objective="rank:pairwise", n_jobs=1, random_state=SEED, **settings)
            return model.fit(X, y, qid=query).predict

        return fit

    return prepare


def _dlib(c: float) -> Callable[[Array, AnyArray], Fit]:
    def prepare(X: Array, y: AnyArray) -> Fit:
        import dlib

        data = dlib.ranking_pair()
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            (data.relevant if label == 1 else data.nonrelevant).append(dlib.vector(row))

        def fit() -> Scorer:
            trainer = dlib.svm_rank_trainer()
            trainer.c = c
            weights = np.array(trainer.train(data).weights)
            return lambda rows: rows @ weights

        return fit

    return prepare


_BATCHES, _BATCH = 2000, 512


def _libauc(kind: str) -> Callable[[Array, AnyArray], Fit]:
    def prepare(X: Array, y: AnyArray) -> Fit:
        import torch
        from libauc.losses import AUCMLoss, PairwiseAUCLoss
        from libauc.optimizers import PESG

        torch.set_num_threads(1)
        rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)

        events, others = (torch.from_numpy(np.flatnonzero(y == label)) for label in (1, 0))
        cpu = torch.device("cpu")

        def fit() -> Scorer:
            torch.manual_seed(SEED)
            model = torch.nn.Linear(X.shape[1], 1)
            if kind == "margin":
                # Its paper trains on scores in [0, 1].
                loss, squash = AUCMLoss(device=cpu), torch.sigmoid
                steps: Any = PESG(model.parameters(), loss_fn=loss, lr=0.1, verbose=False, device=cpu)
            else:
                loss, squash = PairwiseAUCLoss(surr_loss="squared_hinge"), torch.nn.Identity()
                steps = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
            half = _BATCH // 2
            for t in range(_BATCHES):
                if t in (_BATCHES // 2, 3 * _BATCHES // 4):
                    for group in steps.param_groups:
                        group["lr"] /= 10.0
                # Half events, as the library's own sampler draws them.
                batch = torch.cat([own[torch.randint(len(own), (half,))] for own in (events, others)])
                steps.zero_grad()
                loss(squash(model(rows[batch])), labels[batch][:, None]).backward()
                steps.step()
            weights = model.weight.detach().numpy().astype(float)[0]
            return lambda new: new @ weights

        return fit

    return prepare


_MEAN_PAIRS = {"lambdarank_pair_method": "mean"}
_XGBOOST = "rank:pairwise, one query group, pairs drawn over all ranks (the default draws them near the top), "
_LINEAR = f"linear torch model, {_BATCHES} batches of {_BATCH}, half events, rate a tenth after half and 3/4 of them"

METHODS: dict[str, Method] = {
    "entrenous, square": Method("entrenous", True, True, "epsilon=None", _entrenous("square")),
    "entrenous, logistic": Method("entrenous", True, True, "epsilon=None, the default", _entrenous("logistic")),
    "entrenous, squared-hinge": Method("entrenous", True, True, "epsilon=None", _entrenous("squared-hinge")),
    "entrenous, hinge": Method("entrenous", True, True, "epsilon=None", _entrenous("hinge")),
    "entrenous, sigmoid": Method("entrenous", True, True, "epsilon=None", _entrenous("sigmoid")),
    "LogisticRegression": Method(
        "scikit-learn", False, True, 'class_weight="balanced", max_iter=1000', _logistic_regression
    ),
    "SGDClassifier": Method("scikit-learn", False, True, 'loss="log_loss", class_weight="balanced"', _sgd),
    "XGBoost, linear": Method(
        "xgboost", True, True, _XGBOOST + "gblinear", _xgboost(booster="gblinear", **_MEAN_PAIRS)
    ),
    "XGBoost, trees": Method("xgboost", True, False, _XGBOOST + "its default trees", _xgboost(**_MEAN_PAIRS)),
    "dlib svm_rank": Method("dlib-bin", True, True, "svm_rank_trainer, defaults (c=1)", _dlib(1.0)),
    "dlib svm_rank, c=100": Method("dlib-bin", True, True, "svm_rank_trainer, c=100", _dlib(100.0)),
    "LibAUC, AUCM": Method("libauc", True, True, f"AUCMLoss and PESG, {_LINEAR}", _libauc("margin")),
    "LibAUC, pairwise": Method(
        "libauc", True, True, f'PairwiseAUCLoss("squared_hinge") and SGD, {_LINEAR}', _libauc("pairs")
    ),
}


def _memory(field: str) -> float | None:
    """Megabytes that Linux reports of this process; None elsewhere."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def _forget_the_peak() -> None:
    handle = Path("/proc/self/clear_refs")
    if handle.exists():
        handle.write_text("5")


def measure(method: Method, folder: Path) -> dict[str, Any]:
    """AUC on both parts, the first fit's time and extra memory, and the shortest times of all fits."""
    rows, labels = np.load(folder / "train_rows.npy"), np.load(folder / "train_labels.npy")
    fit = method.prepare(rows, labels)
    _forget_the_peak()
    before = _memory("VmRSS")
    wall: list[float] = []
    processor: list[float] = []
    while not wall or (
        wall[0] < ONCE_SECONDS and len(wall) <= REPEATS and (len(wall) < 2 or sum(wall[1:]) < ENOUGH_SECONDS)
    ):
        start = time.perf_counter(), time.process_time()
        scorer = fit()
        wall.append(time.perf_counter() - start[0])
        processor.append(time.process_time() - start[1])
        if len(wall) == 1:
            peak = _memory("VmHWM")
    test = np.load(folder / "test_rows.npy")
    return {
        "auc": float(roc_auc_score(np.load(folder / "test_labels.npy"), scorer(test))),
        "train_auc": float(roc_auc_score(labels, scorer(rows))),
        "seconds": min(wall),
        "processor_seconds": min(processor),
        "first_seconds": wall[0],
        "fits": len(wall),
        "extra_megabytes": None if before is None or peak is None else peak - before,
    }


def main() -> None:
    """One method on one data set, as JSON; a library that is not there is an answer."""
    name, folder, output = sys.argv[1:]
    try:
        found = measure(METHODS[name], Path(folder))
    except ImportError as error:
        found = {"missing": str(error)}
    Path(output).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
