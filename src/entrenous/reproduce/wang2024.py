"""Wang et al. 2024: Figures 1 and 2, private SGD on single records at three levels of noise in the labels."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np

from entrenous.arrays import Array
from entrenous.problem.features.ball import FeatureBall
from entrenous.reproduce.published import wang2024 as published
from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Cell, Job, Outcome, Preprocessing, Target

PAPER = "Wang, Lei, Ying, Zhou: Differentially private stochastic gradient descent with low-noise. 2024"
_ROWS = (
    "Drawn anew in every repetition: 5,000 rows uniform on the unit sphere of 10 dimensions, y = <w*, x> + noise of "
    "standard deviation kappa. Least squares: rows with |y| > 0.5 are not drawn. Logistic: the sign of y is the label. "
    "The error is that on 5,000 further rows of the same kind."
)
PREPROCESSING: Mapping[Preprocessing, str] = {"paper": _ROWS, "ours": _ROWS}
SETTINGS = (
    "Algorithm 1 (dpsgd-pointwise): T = 1,000 steps of 0.01, delta = 1/n^2, one random record per step; the unit ball "
    "of rows is public. The paper does not name the set of parameters: radius 1 for least squares, 6 for logistic, as "
    "far as w* needs. Our parameter has an intercept too. As printed: the smallest variance whose side conditions "
    "hold; 'refused' where no beta meets them. Best: algorithm='auto'."
)
_RADII = {"least squares": 1.0, "logistic": 6.0}


@lru_cache(maxsize=4)
def drawn(loss: str, kappa: float, seed: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Rows and targets to fit and to test on."""
    random = np.random.default_rng(seed)
    return _rows(loss, kappa, random), _rows(loss, kappa, random)


def _rows(loss: str, kappa: float, random: np.random.Generator) -> tuple[Array, Array]:
    truth = np.array(published.TRUTH[loss])
    rows, values = np.empty((0, len(truth))), np.empty(0)
    while len(rows) < published.N:
        fresh = random.standard_normal((published.N, len(truth)))
        fresh /= np.linalg.norm(fresh, axis=1, keepdims=True)
        value = fresh @ truth + kappa * random.standard_normal(published.N)
        if loss == "least squares":
            kept = np.abs(value) <= published.LARGEST_TARGET
            fresh, value = fresh[kept], value[kept]
        else:
            value = (value > 0.0).astype(float)
        rows, values = np.concatenate([rows, fresh]), np.concatenate([values, value])
    return rows[: published.N], values[: published.N]


def measure(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    """Mean square error or rate of wrong labels of one fit."""
    from entrenous.estimators.pointwise import PointwiseClassifier, PointwiseRegressor

    loss = settings["loss"]
    (rows, values), (new_rows, new_values) = drawn(loss, settings["kappa"], seed)
    arguments: dict[str, Any] = {
        "epsilon": settings["epsilon"],
        "delta": published.N**-2.0,
        "algorithm": settings["algorithm"],
        "bounds": FeatureBall(1.0),
        "random_state": seed,
    }
    if settings["algorithm"] != "auto":
        arguments |= {
            "radius": _RADII[loss],
            "max_iter": published.STEPS,
            "calibration": settings["calibration"],
            "options": {"step_size": published.STEP_SIZE},
        }
    model: Any
    if loss == "least squares":
        edge = published.LARGEST_TARGET
        model = PointwiseRegressor(target_bounds=(-edge, edge), **arguments).fit(rows, values)
        value = float(np.mean((model.predict(new_rows) - new_values) ** 2))
    else:
        model = PointwiseClassifier(classes=(0, 1), **arguments).fit(rows, values.astype(int))
        value = float(np.mean(model.predict(new_rows) != new_values))
    certificate = model.certificate_
    return {"value": value, "epsilon": None if certificate is None else certificate.epsilon}


def _cells(loss: str, rows: Preprocessing) -> tuple[Cell, ...]:
    def job(kappa: float, algorithm: str, epsilon: float | None, calibration: str = "tight") -> Job:
        settings = {"loss": loss, "kappa": kappa, "algorithm": algorithm, "epsilon": epsilon}
        return Job({**settings, "calibration": calibration})

    return tuple(
        Cell(
            f"kappa = {kappa:g}",
            "drawn rows",
            "dpsgd-pointwise",
            epsilon,
            {
                PRINTED: job(kappa, "dpsgd-pointwise", epsilon, "paper"),
                TIGHT: job(kappa, "dpsgd-pointwise", epsilon),
                BEST: job(kappa, "auto", epsilon),
                FREE: job(kappa, "dpsgd-pointwise", None),
            },
        )
        for kappa in published.NOISE[loss]
        for epsilon in published.EPSILONS[loss]
    )


def findings(cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> list[str]:
    """The first and last point of each curve, and where the printed noise is refused."""
    lines = []
    for group in dict.fromkeys(cell.group for cell in cells):
        own = [cell for cell in cells if cell.group == group]
        ends = [own[0], own[-1]]
        parts = []
        for column in (PRINTED, TIGHT, BEST, FREE):
            found = [outcomes.get(cell.jobs[column].name, Outcome()) for cell in ends]
            shown = [f"{statistics.fmean(each.values):.4f}" if each.values else "refused" for each in found]
            parts.append(f"{column} {shown[0]}" if shown[0] == shown[1] else f"{column} {shown[0]} to {shown[1]}")
        lines.append(f"{group}, epsilon {ends[0].x:g} to {ends[1].x:g}: {'; '.join(parts)}.")
    refused = [cell for cell in cells if outcomes.get(cell.jobs[PRINTED].name, Outcome()).refused]
    lines.append(f"No beta meets the conditions of the printed noise in {len(refused)} of {len(cells)} cells.")
    return lines


def _figure(number: int, loss: str, error: str) -> Target:
    return Target(
        f"wang2024-figure{number}",
        PAPER,
        f"Figure {number}: {error} against epsilon, {loss}, n = 5,000, d = 10, T = 1,000",
        PREPROCESSING,
        error,
        "epsilon",
        (PRINTED, TIGHT, BEST, FREE),
        partial(_cells, loss),
        measure,
        findings,
        repetitions=published.REPETITIONS,
        quick_repetitions=2,
        settings=SETTINGS,
        lower_is_better=True,
        quick_cells=lambda cell: cell.x in (2.0, 5.5),
    )


TARGETS = (
    _figure(1, "least squares", "mean square error"),
    _figure(2, "logistic", "rate of wrong labels"),
)
