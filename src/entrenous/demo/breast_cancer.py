"""The experiment of the demo: rank tumours by malignancy at several levels of privacy, and without any.

The rows are scikit-learn's breast-cancer data, which are public: splits are seeded and held-out rows are scored freely.
The noise is secure, so two runs give different figures. Nothing here prints.
"""

from __future__ import annotations

import statistics
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from entrenous.errors import InputError
from entrenous.estimators.auc import AUCClassifier
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.problem.features.box import FeatureBounds

EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
SHOWN_EPSILON = 1.0
"""The level whose certificate is shown, and at which wider ranges are tried."""

TEST_SHARE = 0.3
WIDENING = 2.0


@dataclass(frozen=True)
class PublicRange:
    """What a feature can measure, and why."""

    name: str
    low: float
    high: float
    unit: str
    why: str


@dataclass(frozen=True)
class PublicRanges:
    """The declared range of every feature, and the clipping radius in half-widths."""

    features: tuple[PublicRange, ...]
    clip: float
    clip_why: str

    def bounds(self, widening: float = 1.0) -> FeatureBounds:
        """The domain of a private fit; every range `widening` times as wide, about the same centre."""
        extra = [(widening - 1.0) * (f.high - f.low) / 2.0 for f in self.features]
        return FeatureBounds(
            low=tuple(f.low - more for f, more in zip(self.features, extra, strict=True)),
            high=tuple(f.high + more for f, more in zip(self.features, extra, strict=True)),
            clip=self.clip,
            names=tuple(f.name for f in self.features),
        )


@dataclass(frozen=True)
class Outcome:
    """One level of privacy over all splits. It exists only when every certificate of it held."""

    epsilon: float | None
    aucs: tuple[float, ...]
    algorithm: str
    noise_share: float
    certificate: PrivacyCertificate | None
    """Of the first split; the others differ from it only where their numbers of rows do."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.aucs)

    @property
    def spread(self) -> float:
        """Standard deviation over the splits: of split and noise together."""
        return statistics.stdev(self.aucs)

    @property
    def status(self) -> str:
        return "none" if self.certificate is None else "verified"


@dataclass(frozen=True)
class DemoResult:
    """Everything that the demo measured."""

    train_rows: int
    test_rows: int
    ranges: PublicRanges
    private: tuple[Outcome, ...]
    non_private: Outcome
    wider: Outcome
    """At `SHOWN_EPSILON`, with every range `WIDENING` times as wide."""

    @property
    def splits(self) -> int:
        return len(self.non_private.aucs)

    @property
    def shown(self) -> Outcome:
        """The outcome at `SHOWN_EPSILON`."""
        return next(outcome for outcome in self.private if outcome.epsilon == SHOWN_EPSILON)

    @property
    def cost_of_privacy(self) -> float:
        """AUC lost at `SHOWN_EPSILON` against no privacy."""
        return self.non_private.mean - self.shown.mean

    @property
    def cost_of_widening(self) -> float:
        """AUC lost at `SHOWN_EPSILON` to wider ranges, on the same splits."""
        return self.shown.mean - self.wider.mean


def public_ranges() -> PublicRanges:
    """The ranges as shipped with the library."""
    text = resources.files("entrenous.demo").joinpath("breast_cancer.toml").read_text(encoding="utf-8")
    content = tomllib.loads(text)
    features = tuple(
        PublicRange(name, float(entry["low"]), float(entry["high"]), entry["unit"], entry["why"])
        for name, entry in content["features"].items()
    )
    return PublicRanges(features, content["clip"], content["clip_why"])


def number_of_fits(splits: int) -> int:
    """How often `run_demo` calls `on_fit`."""
    return splits * (len(EPSILONS) + 2)


def run_demo(splits: int, on_fit: Callable[[], None] = lambda: None) -> DemoResult:
    """Fit and score every level of privacy on `splits` stratified splits; `on_fit` is called after each fit."""
    if splits < 2:
        raise InputError("a spread needs at least two splits", f"splits={splits}", "The default is 10.")
    table = load_breast_cancer()
    names = [str(name) for name in table.feature_names]
    # scikit-learn codes benign as 1; here the event is malignant.
    parts = [
        train_test_split(table.data, 1 - table.target, test_size=TEST_SHARE, stratify=table.target, random_state=seed)
        for seed in range(splits)
    ]
    ranges = public_ranges()
    bounds = ranges.bounds().reordered(names)
    private = tuple(_outcome(parts, epsilon, bounds, on_fit) for epsilon in EPSILONS)
    return DemoResult(
        train_rows=len(parts[0][0]),
        test_rows=len(parts[0][1]),
        ranges=ranges,
        private=private,
        non_private=_outcome(parts, None, None, on_fit),
        wider=_outcome(parts, SHOWN_EPSILON, ranges.bounds(WIDENING).reordered(names), on_fit),
    )


def _outcome(
    parts: list[Any], epsilon: float | None, bounds: FeatureBounds | None, on_fit: Callable[[], None]
) -> Outcome:
    fits = []
    aucs = []
    for X_train, X_test, y_train, y_test in parts:
        fit = AUCClassifier(epsilon=epsilon, bounds=bounds).fit(X_train, y_train)
        fits.append(fit)
        aucs.append(fit.score(X_test, y_test))
        on_fit()
    # Certificates of splits of one size differ in what was found only: each plan's is checked once.
    for certificate in {fit.plan_.to_json(): fit.certificate_ for fit in fits if fit.certificate_}.values():
        certificate.verify()
    noise = float(np.median([noise_share(fit) for fit in fits]))
    return Outcome(epsilon, tuple(aucs), fits[0].plan_.algorithm, noise, fits[0].certificate_)


def noise_share(fit: AUCClassifier) -> float:
    """Norm of the noise in the coefficients over their own, in internal units: from released numbers only."""
    unit = 1.0 if fit.bounds_ is None else fit.bounds_.unit
    return float(np.linalg.norm(fit.coef_noise_ * unit) / np.linalg.norm(fit.coef_ * unit))
