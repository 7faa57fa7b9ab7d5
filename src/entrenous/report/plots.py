"""Pictures of what was released: coefficients with their noise, a metric, what a certificate promises.

All of it is drawn from fitted estimators and certificates, so looking costs no privacy. Needs matplotlib
(``pip install "entrenous[report]"``).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from entrenous.errors import InputError
from entrenous.privacy.accounting import total_epsilon
from entrenous.privacy.certificate import PrivacyCertificate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, ACCENT, FAINT = "#1b2733", "#0b6b74", "#c9d3da"


def plot_coefficients(estimator: Any, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """The largest coefficients of a fitted linear estimator, scaled to each feature's range.

    So scaled, bars are comparable across units. The lines are two standard deviations of the privacy noise alone
    (`coef_noise_`), not of sampling: a bar whose line crosses zero may be nothing but noise.
    """
    if not hasattr(estimator, "coef_"):
        raise InputError("plot_coefficients needs a fitted linear estimator", type(estimator).__name__, "Call fit.")
    coef, noise = np.atleast_2d(estimator.coef_), np.atleast_2d(estimator.coef_noise_)
    if len(coef) > 1:
        raise InputError(
            "plot_coefficients draws one row of coefficients", f"{len(coef)} classes", "Plot a class's own classifier."
        )
    units = _units(estimator)
    size, spread = coef[0] * units, 2.0 * noise[0] * units
    order = np.argsort(-np.abs(size))[:most][::-1]
    names = _names(estimator)
    ax = _axes(ax, (6.0, 0.6 + 0.28 * len(order)))
    ax.barh(range(len(order)), size[order], xerr=spread[order], color=ACCENT, ecolor=INK, capsize=2, height=0.65)
    ax.set_yticks(range(len(order)), [names[k] for k in order])
    ax.axvline(0.0, color=INK, linewidth=0.8)
    declared = estimator.plan_.features is not None
    ax.set_xlabel("coefficient, scaled to the feature's range" if declared else "coefficient")
    ax.set_title(title_of(estimator), loc="left", fontsize=10)
    return _clean(ax)


def plot_metric(learner: Any, *, ax: Axes | None = None) -> Axes:
    """The learnt matrix of a `MahalanobisLearner`, in units of the ranges or spread that its fit knows of each feature.

    The diagonal says how much a feature counts in the distance, the rest how features are combined.
    """
    if not hasattr(learner, "components_"):
        raise InputError("plot_metric needs a fitted MahalanobisLearner", type(learner).__name__, "Call fit.")
    units = _units(learner)
    matrix = learner.get_mahalanobis_matrix() * np.outer(units, units)
    names = _names(learner)
    ax = _axes(ax, (max(4.6, 1.8 + 0.36 * len(names)), max(3.4, 1.4 + 0.36 * len(names))))
    largest = float(np.abs(matrix).max()) or 1.0
    image = ax.imshow(matrix, cmap="RdBu_r", vmin=-largest, vmax=largest)
    ax.set_xticks(range(len(names)), names, rotation=90)
    ax.set_yticks(range(len(names)), names)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    ax.set_title(title_of(learner), loc="left", fontsize=10)
    return ax


def plot_privacy_curve(
    certificates: PrivacyCertificate | Mapping[str, PrivacyCertificate], *, ax: Axes | None = None
) -> Axes:
    """Epsilon at every delta for one certificate, or for several with their names: one promise, many readings.

    A certificate states one point of this curve; the mechanisms give all of it.
    """
    several = certificates if isinstance(certificates, Mapping) else {certificates.algorithm: certificates}
    if not several or not all(isinstance(c, PrivacyCertificate) for c in several.values()):
        raise InputError("plot_privacy_curve needs certificates", repr(several), "Pass estimator.certificate_.")
    ax = _axes(ax, (6.0, 3.6))
    for name, certificate in several.items():
        stated = certificate.delta
        deltas = np.geomspace(min(1e-12, stated / 10.0 if stated > 0.0 else 1e-12), 1e-2, 60)
        curve = [total_epsilon(certificate.mechanisms, float(delta)) for delta in deltas]
        (line,) = ax.plot(deltas, curve, label=name)
        if stated > 0.0:
            ax.plot([stated], [certificate.epsilon], "o", color=line.get_color())
    ax.set_xscale("log")
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("delta")
    ax.set_ylabel("epsilon")
    ax.grid(color=FAINT, linewidth=0.5)
    ax.set_title("What the noise promises; the dot is what the certificate states", loc="left", fontsize=10)
    if len(several) > 1:
        ax.legend(frameon=False)
    return _clean(ax)


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    need_matplotlib()
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def need_matplotlib() -> None:
    """An error where there is no matplotlib."""
    if find_spec("matplotlib") is None:
        raise InputError("a plot needs matplotlib", "none installed", 'Run: pip install "entrenous[report]"')


def _clean(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _units(estimator: Any) -> Any:
    """The internal unit of each feature, in proportion to its declared (or found) range; 1 without one."""
    domain = getattr(estimator, "bounds_", None) or estimator.plan_.features
    if domain is None:
        return np.ones(estimator.n_features_in_)
    return np.broadcast_to(domain.unit, (estimator.n_features_in_,))


def _names(estimator: Any) -> list[str]:
    found = getattr(estimator, "feature_names_in_", None)
    return [f"x{k}" for k in range(estimator.n_features_in_)] if found is None else [str(name) for name in found]


def title_of(estimator: Any) -> str:
    """Algorithm and what it spent."""
    certificate = estimator.certificate_
    if certificate is None:
        return f"{estimator.plan_.algorithm}, without privacy"
    return f"{certificate.algorithm}, epsilon = {certificate.epsilon:.3g}, delta = {certificate.delta:.2g}"
