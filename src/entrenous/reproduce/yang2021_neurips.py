"""Yang et al. 2021, NeurIPS: Table 1, Figure 1, buffers of size 1, the private comparison, and spauc on ijcnn1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from entrenous.reproduce.published import yang2021_neurips as published
from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Cell, Job, Preprocessing, Target
from entrenous.reproduce.yang2021_neurips_clock import ENGINE, NUMPY, timed
from entrenous.reproduce.yang2021_neurips_findings import (
    OURS,
    clock_findings,
    plain_means,
    private_findings,
    table_findings,
)
from entrenous.reproduce.yang2021_neurips_folds import Choice, Part, auc_on, choose, fitted, parts, saddle

PAPER = (
    "Yang, Lei, Wang, Yang, Ying: Simple Stochastic and Online Gradient Descent Algorithms for Pairwise Learning. "
    "NeurIPS 2021"
)
_LIBSVM = (
    "LIBSVM's file of that name, which is the training rows where a set has test rows too (ijcnn1 49,990, letter "
    "15,000, mnist 60,000, usps 7,291); of several classes the first half is the event. "
)
PREPROCESSING: Mapping[Preprocessing, str] = {
    "paper": _LIBSVM + "Columns go to [-1, 1] by their extremes over all rows, as in the authors' program "
    "(github.com/zhenhuan-yang/simple-pairwise).",
    "ours": _LIBSVM + "Columns go to [-1, 1] by their extremes over the training rows; test rows are clipped.",
}
_CHOSEN = (
    "Radius (5, 20, 80, 320 in units where rows have norm at most 1; mnist up to 1280) and step (3 values) are chosen "
    "anew in every fold, by the AUC over two halves of at most 4,000 of its training rows; the test fold is not looked "
    "at. The authors' program chooses them on all rows, prints the best of the AUCs along the way and the smallest of "
    "their standard deviations, and averages the last iterates only; ours is the AUC at the end, of the mean of all. "
)
_STEPS = (
    "Ten passes for sgd-previous, sgd-pair and spauc, one for olp and oam, as in that program. Hinge; spauc square."
)
ONE_BUFFER = "buffer of 1"
DEFAULT, SHUFFLED, TEN, EXACT = "one pass, table's order", "one pass, shuffled", "ten passes", "exact minimiser"
_SIZES = (500, 2000, 10000)
_EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0)
_PRIVATE_N = 256


@dataclass(frozen=True)
class _TableCell(Cell):
    @property
    def panel(self) -> str:
        """A drawing for each data set: x counts the rows of the table."""
        return self.data


def measure_table(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """AUC on one fold of a fit whose radius and step were chosen on the other four."""
    train, test = parts(settings["data"], seed, settings["rows"] == "ours")
    choice = choose(settings["algorithm"], train, seed, settings.get("buffer"))
    return {"value": auc_on(test, fitted(settings["algorithm"], train, choice, seed, settings.get("buffer")))}


def measure_saddle(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """AUC on one fold of ijcnn1 of a way to minimise the square loss, with default radius and step."""
    from entrenous.estimators.auc import AUCClassifier

    train, test = parts("ijcnn1", seed, settings["rows"] == "ours", settings["whole"])
    way = settings["way"]
    if way in (DEFAULT, EXACT):
        name = "spauc" if way == DEFAULT else "moments"
        model = AUCClassifier(None, algorithm=name, bounds=(-1, 1)).fit(train.rows, train.labels)
        return {"value": auc_on(test, model.coef_[0])}
    return {"value": auc_on(test, saddle(train, Choice(80.0, 4.0), 10 if way == TEN else 1, seed))}


def measure_clock(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """AUC or CPU milliseconds of a fit on so many rows of the training folds."""
    import numpy as np

    train, test = parts(settings["data"], seed, settings["rows"] == "ours")
    kept = np.random.default_rng((seed, 3)).permutation(len(train.rows))[: settings["n"]]
    few = Part(train.rows[kept], train.labels[kept])
    scorer, milliseconds = timed(settings["way"], settings["algorithm"], few, seed)
    return {"value": auc_on(test, scorer) if settings["what"] == "AUC" else milliseconds}


def measure_private(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """AUC in percent of a fit on 256 rows of four folds, on the fifth."""
    import numpy as np

    from entrenous.estimators.auc import AUCClassifier

    train, test = parts(settings["data"], seed, settings["rows"] == "ours")
    kept = np.random.default_rng((seed, 3)).permutation(len(train.rows))[:_PRIVATE_N]
    arguments: dict[str, Any] = {"epsilon": settings["epsilon"], "delta": 1.0 / _PRIVATE_N, "random_state": seed}
    if settings["algorithm"] != "auto":
        arguments |= {"surrogate": "logistic", "radius": 1.0, "calibration": settings["calibration"]}
    model = AUCClassifier(algorithm=settings["algorithm"], bounds=(-1, 1), classes=(0, 1), **arguments)
    model.fit(train.rows[kept], train.labels[kept])
    certificate = model.certificate_
    return {
        "value": 100.0 * auc_on(test, model.coef_[0]),
        "epsilon": None if certificate is None else certificate.epsilon,
    }


def _table_1(names: tuple[str, ...], rows: Preprocessing) -> tuple[Cell, ...]:
    return tuple(
        _TableCell(
            "hinge" if algorithm != "spauc" else "square",
            data,
            algorithm,
            float(place),
            {OURS: Job({"data": data, "algorithm": algorithm, "rows": rows})},
            *values[published.DATA.index(data)],
        )
        for data in names
        for place, (algorithm, values) in enumerate(published.TABLE_1.items(), start=1)
    )


def _buffers(rows: Preprocessing) -> tuple[Cell, ...]:
    cells = []
    for data in ("diabetes", "german", "letter"):
        for place, algorithm in enumerate(("sgd-previous", "olp", "oam"), start=1):
            usual = Job({"data": data, "algorithm": algorithm, "rows": rows})
            jobs = {ONE_BUFFER: Job({**usual.settings, "buffer": 1}), "buffer of Table 1": usual}
            if algorithm == "sgd-previous":
                jobs = {ONE_BUFFER: usual}
            cells.append(_TableCell("hinge", data, algorithm, float(place), jobs))
    return tuple(cells)


def _saddle_cells(rows: Preprocessing) -> tuple[Cell, ...]:
    value, spread = published.TABLE_1["spauc"][published.DATA.index("ijcnn1")]
    return tuple(
        Cell(
            "square",
            "ijcnn1",
            "spauc",
            count,
            {way: Job({"way": way, "whole": whole, "rows": rows}) for way in (DEFAULT, SHUFFLED, TEN, EXACT)},
            value,
            spread,
        )
        for count, whole in ((49990.0, False), (141691.0, True))
    )


def _figure_1(rows: Preprocessing) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            what,
            data,
            algorithm,
            float(n),
            {
                way: Job({"data": data, "algorithm": algorithm, "n": n, "way": way, "what": what, "rows": rows})
                for way in (ENGINE, NUMPY)
            },
        )
        for data in ("letter", "ijcnn1")
        for algorithm in ("sgd-previous", "sgd-pair", "olp")
        for what in ("AUC", "CPU milliseconds")
        for n in _SIZES
    )


def _private(rows: Preprocessing) -> tuple[Cell, ...]:
    def job(data: str, algorithm: str, epsilon: float | None, calibration: str = "tight") -> Job:
        settings = {"data": data, "algorithm": algorithm, "epsilon": epsilon, "calibration": calibration, "rows": rows}
        return Job(settings)

    return tuple(
        Cell(
            "delta = 1/n",
            data,
            algorithm,
            epsilon,
            {
                PRINTED: job(data, algorithm, epsilon, "paper"),
                TIGHT: job(data, algorithm, epsilon),
                BEST: job(data, "auto", epsilon),
                FREE: job(data, algorithm, None),
            },
        )
        for data in ("diabetes", "german")
        for algorithm in ("dp-localized-sgd", "dpegd", "offpairc")
        for epsilon in _EPSILONS
    )


_Measure = Callable[[Mapping[str, Any], int], Mapping[str, Any]]
_Cells = Callable[[Preprocessing], tuple[Cell, ...]]


def _target(
    name: str, what: str, settings: str, columns: tuple[str, ...], cells: _Cells, measure: _Measure, **more: Any
) -> Target:
    usual: dict[str, Any] = {"measure_name": "AUC", "x_name": "row of the table", "quick_repetitions": 1}
    return Target(
        name=f"yang2021-{name}",
        paper=PAPER,
        what=what,
        preprocessing=PREPROCESSING,
        columns=columns,
        cells=cells,
        measure=measure,
        settings=settings,
        **{**usual, **more},
    )


def _small(cell: Cell) -> bool:
    return cell.data in ("diabetes", "german")


_WITHOUT_MNIST = tuple(name for name in published.DATA if name != "mnist")
TARGETS = (
    _target(
        "table1",
        "Table 1: AUC without privacy, 5 folds 5 times (mnist has a target of its own)",
        _CHOSEN + _STEPS,
        (OURS,),
        partial(_table_1, _WITHOUT_MNIST),
        measure_table,
        findings=table_findings,
        repetitions=25,
        quick_cells=_small,
    ),
    _target(
        "table1-mnist",
        "Table 1, column mnist: AUC without privacy, 5 folds once, because a fit of olp takes 10 billion operations",
        _CHOSEN + _STEPS,
        (OURS,),
        partial(_table_1, ("mnist",)),
        measure_table,
        findings=table_findings,
        repetitions=5,
    ),
    _target(
        "spauc",
        "Table 1, spauc on ijcnn1: which rows, which order, how many passes",
        "Default step 4; radius 80, for one pass in the table's order and the exact minimiser the default one.",
        (DEFAULT, SHUFFLED, TEN, EXACT),
        _saddle_cells,
        measure_saddle,
        findings=plain_means,
        x_name="rows",
        repetitions=25,
    ),
    _target(
        "buffer1",
        "Appendix G: olp and oam with a buffer of 1 beside sgd-previous",
        _CHOSEN + _STEPS,
        (ONE_BUFFER, "buffer of Table 1"),
        _buffers,
        measure_table,
        findings=plain_means,
        repetitions=25,
        quick_cells=lambda cell: cell.data == "diabetes",
    ),
    _target(
        "figure1",
        "Figure 1: AUC and CPU time of the same steps, by the engine and in NumPy",
        "Hinge; radius 20, steps half of it over sqrt(T), for olp over sqrt(t); ten passes over so many rows, olp one. "
        "CPU time of one process, without compiling and with checking the rows.",
        (ENGINE, NUMPY),
        _figure_1,
        measure_clock,
        findings=clock_findings,
        measure_name="AUC or milliseconds",
        x_name="training rows",
        repetitions=5,
        log_x=True,
        quick_cells=lambda cell: cell.x == _SIZES[0] and cell.data == "letter",
    ),
    _target(
        "private",
        "Appendix G: AUC of private rankings at n = 256, epsilon 1 to 5",
        "Logistic loss, unit ball, delta = 1/n, steps as in the theorems. The extremes of the columns count as public "
        "ranges. The authors' program does not use the printed noise: its formula is sigma = 4 eta_k "
        "log(4/delta)^1.5/eps with eta tuned on the rows it is tested on.",
        (PRINTED, TIGHT, BEST, FREE),
        _private,
        measure_private,
        findings=private_findings,
        measure_name="AUC, %",
        x_name="epsilon",
        percent=True,
        repetitions=25,
        quick_cells=lambda cell: cell.data == "diabetes" and cell.x == 1.0,
    ),
)
