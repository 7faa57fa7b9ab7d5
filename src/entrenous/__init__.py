"""entrenous: learning from pairs of records, in confidence.

Everything is imported on first use, so that ``import entrenous`` and the command line start quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from entrenous import datasets
    from entrenous.engine.plan import Plan
    from entrenous.engine.progress import progress_bar
    from entrenous.errors import AssumptionError, EntrenousError, InputError, PrivacyError, PrivacyWarning
    from entrenous.estimators.auc import AUCClassifier
    from entrenous.estimators.entropy import ErrorEntropyRegressor
    from entrenous.estimators.metric import MahalanobisLearner
    from entrenous.estimators.one_hot import OneHot
    from entrenous.estimators.pipelines import check_pipeline
    from entrenous.estimators.pointwise import PointwiseClassifier, PointwiseRegressor
    from entrenous.estimators.standardizer import PrivateStandardizer
    from entrenous.onnx_export import to_onnx
    from entrenous.parts.feature_domains import FeatureBall, FeatureBounds
    from entrenous.parts.own_surrogate import own_surrogate
    from entrenous.parts.private_bounds import PrivateBounds
    from entrenous.persistence import load, save
    from entrenous.planners import Algorithm, algorithms
    from entrenous.planners.planning import plan
    from entrenous.plots import plot_coefficients, plot_metric, plot_privacy_curve
    from entrenous.privacy.certificate import PrivacyCertificate
    from entrenous.privacy.composition import compose_certificates
    from entrenous.tables import read_chunks

_HOMES = {
    "AUCClassifier": "entrenous.estimators.auc",
    "Algorithm": "entrenous.planners",
    "AssumptionError": "entrenous.errors",
    "EntrenousError": "entrenous.errors",
    "ErrorEntropyRegressor": "entrenous.estimators.entropy",
    "FeatureBall": "entrenous.parts.feature_domains",
    "FeatureBounds": "entrenous.parts.feature_domains",
    "InputError": "entrenous.errors",
    "MahalanobisLearner": "entrenous.estimators.metric",
    "OneHot": "entrenous.estimators.one_hot",
    "Plan": "entrenous.engine.plan",
    "PointwiseClassifier": "entrenous.estimators.pointwise",
    "PointwiseRegressor": "entrenous.estimators.pointwise",
    "PrivacyCertificate": "entrenous.privacy.certificate",
    "PrivacyError": "entrenous.errors",
    "PrivacyWarning": "entrenous.errors",
    "PrivateBounds": "entrenous.parts.private_bounds",
    "PrivateStandardizer": "entrenous.estimators.standardizer",
    "algorithms": "entrenous.planners",
    "check_pipeline": "entrenous.estimators.pipelines",
    "compose_certificates": "entrenous.privacy.composition",
    "load": "entrenous.persistence",
    "own_surrogate": "entrenous.parts.own_surrogate",
    "plan": "entrenous.planners.planning",
    "plot_coefficients": "entrenous.plots",
    "plot_metric": "entrenous.plots",
    "plot_privacy_curve": "entrenous.plots",
    "progress_bar": "entrenous.engine.progress",
    "read_chunks": "entrenous.tables",
    "save": "entrenous.persistence",
    "to_onnx": "entrenous.onnx_export",
}

__all__ = [
    "AUCClassifier",
    "Algorithm",
    "AssumptionError",
    "EntrenousError",
    "ErrorEntropyRegressor",
    "FeatureBall",
    "FeatureBounds",
    "InputError",
    "MahalanobisLearner",
    "OneHot",
    "Plan",
    "PointwiseClassifier",
    "PointwiseRegressor",
    "PrivacyCertificate",
    "PrivacyError",
    "PrivacyWarning",
    "PrivateBounds",
    "PrivateStandardizer",
    "__version__",
    "algorithms",
    "check_pipeline",
    "compose_certificates",
    "datasets",
    "load",
    "own_surrogate",
    "plan",
    "plot_coefficients",
    "plot_metric",
    "plot_privacy_curve",
    "progress_bar",
    "read_chunks",
    "save",
    "to_onnx",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("entrenous.datasets")
    if name not in _HOMES:
        raise AttributeError(f"module 'entrenous' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
