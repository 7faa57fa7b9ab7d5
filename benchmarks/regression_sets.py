"""The made-up and real tables of `benchmarks/regression.py`, and a private peer to compare with."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes

import entrenous as en
from entrenous.files import datasets
from entrenous.privacy.gaussian_dp import mu_for

Array = NDArray[Any]
_BOXES = Path(__file__).parent / "frontier" / "boxes.toml"


class MadeUp(NamedTuple):
    """Uniform features in [-1, 1], a normal parameter, errors of size 0.3, some targets pushed up by U(0, 20)."""

    n: int = 20_000
    d: int = 8
    bounds: tuple[float, float] = (-1.0, 1.0)
    target_bounds: tuple[float, float] = (-20.0, 20.0)
    outliers: float = 0.05
    tail: float | None = None
    """Degrees of freedom of Student's errors; ``None``: normal ones."""
    long_rows: float | None = None
    """Degrees of freedom of Student's features; ``None``: uniform ones."""

    def draw(self, seed: int) -> tuple[Array, Array, Array]:
        """Rows, targets and the parameter; the intercept is 0."""
        rng = np.random.default_rng(seed)
        size = (self.n, self.d)
        X = rng.uniform(-1.0, 1.0, size) if self.long_rows is None else rng.standard_t(self.long_rows, size=size)
        w = rng.normal(size=self.d)
        errors = rng.normal(size=self.n) if self.tail is None else rng.standard_t(self.tail, size=self.n)
        y, wild = X @ w + 0.3 * errors, rng.random(self.n) < self.outliers
        y[wild] += rng.uniform(0.0, 20.0, int(wild.sum()))
        return X, y, w


MADE_UP = {
    "the regression set": MadeUp(),
    "2,000 records": MadeUp(n=2_000),
    "50 features": MadeUp(d=50),
    "1 feature": MadeUp(d=1),
    "targets declared 100 times too wide": MadeUp(target_bounds=(-2000.0, 2000.0)),
    "targets declared on one side": MadeUp(target_bounds=(-5.0, 400.0)),
    "features declared 50 times too wide": MadeUp(bounds=(-50.0, 50.0)),
    "no outliers": MadeUp(outliers=0.0),
    "errors without a variance (Student, 1.5)": MadeUp(tail=1.5),
    "features with long tails (Student, 4)": MadeUp(bounds=(-20.0, 20.0), target_bounds=(-100.0, 100.0), long_rows=4.0),
}


class Table(NamedTuple):
    """A real table: what is predicted from what, and what is public about both."""

    rows: Array
    targets: Array
    low: Array
    high: Array
    binary: tuple[int, ...]
    target_bounds: tuple[float, float]
    splits: int

    @property
    def bounds(self) -> en.FeatureBounds:
        return en.FeatureBounds(tuple(self.low), tuple(self.high), binary=self.binary)

    def split(self, seed: int) -> tuple[Array, Array]:
        """Numbers of training and test rows, 80 to 20."""
        order = np.random.default_rng(seed).permutation(len(self.targets))
        first = int(0.8 * len(order))
        return order[:first], order[first:]


_DIABETES = {
    "age": (18, 90),  # adults
    "sex": (1, 2),
    "bmi": (15, 50),  # from underweight to the third class of obesity
    "bp": (50, 150),  # mean arterial pressure, mm Hg: shock to emergency
    "s1": (80, 350),  # total cholesterol, mg/dl
    "s2": (20, 270),  # low-density lipoproteins: most of the cholesterol
    "s3": (15, 120),  # high-density lipoproteins
    "s4": (1, 10),  # total over high-density cholesterol
    "s5": (3, 7),  # logarithm of triglycerides, 20 to 1,100 mg/dl
    "s6": (50, 150),  # fasting glucose, mg/dl
}
"""Round numbers from medicine, not from the table. The target, a score of progression, is taken to be in 0 to 400."""


def diabetes() -> Table:
    """Progression of diabetes a year later, 442 patients: a design set."""
    bunch = load_diabetes(scaled=False)
    low, high = np.array([_DIABETES[name] for name in bunch.feature_names], dtype=float).T
    return Table(bunch.data, bunch.target, low, high, (), (0.0, 400.0), 20)


def elevation() -> Table:
    """Elevation of a patch of forest from the other columns of covtype, 50,000 rows of it: decided nothing."""
    frame = datasets.load("covtype", as_frame=True).data
    ranges = tomllib.loads(_BOXES.read_text(encoding="utf-8"))["covtype"]
    chosen = np.sort(np.random.default_rng(0).choice(len(frame), 50_000, replace=False))
    others = [name for name in frame.columns if name != "Elevation"]
    low, high = np.array([ranges.get(name, (0, 1)) for name in others], dtype=float).T
    binary = tuple(j for j, name in enumerate(others) if name not in ranges)
    rows = frame[others].to_numpy(dtype=float)[chosen]
    low_target, high_target = ranges["Elevation"]
    targets = frame["Elevation"].to_numpy(dtype=float)[chosen]
    return Table(rows, targets, low, high, binary, (float(low_target), float(high_target)), 3)


REAL: dict[str, Callable[[], Table]] = {"diabetes": diabetes, "covtype, elevation": elevation}


def adassp(
    X: Array, y: Array, low: Array, high: Array, target_bounds: tuple[float, float], epsilon: float, seed: int
) -> Callable[[Array], Array]:
    """AdaSSP (Wang 2018, UAI), the usual private ridge, at the adjacency of this library: a prediction.

    Noisy second moments, correlations and smallest eigenvalue, a third of ``mu^2`` each, and the ridge that the noise
    asks for. Rows ``(x, 1)`` are scaled to norm 1 at most, so that a replaced record moves the three by ``sqrt(2)``, 2
    and 1.
    """
    n, d = X.shape
    centre, half = (low + high) / 2.0, np.where(high > low, (high - low) / 2.0, 1.0)
    middle, width = (target_bounds[0] + target_bounds[1]) / 2.0, (target_bounds[1] - target_bounds[0]) / 2.0

    def mapped(rows: Array) -> Array:
        inside = np.clip((rows - centre) / half, -1.0, 1.0) / math.sqrt(d)
        return np.column_stack([inside, np.ones(len(rows))]) / math.sqrt(2.0)

    rng, p = np.random.default_rng(seed), d + 1
    mu = mu_for(epsilon, n**-2.0) / math.sqrt(3.0)
    Z, t = mapped(X), np.clip((y - middle) / width, -1.0, 1.0)
    moments = Z.T @ Z
    smallest = max(0.0, np.linalg.eigvalsh(moments)[0] + rng.normal() / mu - 1.645 / mu)
    draws = rng.normal(size=(p, p))
    # Isometric coordinates: entries beside the diagonal stand for two.
    noise = np.tril(draws, -1) / math.sqrt(2.0)
    noise = noise + noise.T + np.diag(np.diag(draws))
    sd = math.sqrt(2.0) / mu
    ridge = max(0.0, sd * math.sqrt(p * math.log(2.0 * p * p / 0.05)) - smallest)
    w = np.linalg.solve(moments + sd * noise + ridge * np.eye(p), Z.T @ t + 2.0 / mu * rng.normal(size=p))
    return lambda rows: mapped(rows) @ w * width + middle
