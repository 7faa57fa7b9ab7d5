"""entrenous: learning from pairs of records, in confidence.

Everything is imported on first use, so that ``import entrenous`` and the command line start quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from entrenous.version import __version__

if TYPE_CHECKING:
    from entrenous import theory
    from entrenous.engine.plan import Plan
    from entrenous.engine.progress import progress_bar
    from entrenous.errors import AssumptionError, BudgetError, EntrenousError, InputError, PrivacyError, PrivacyWarning
    from entrenous.estimators.auc import AUCClassifier
    from entrenous.estimators.entropy import ErrorEntropyRegressor
    from entrenous.estimators.influence import Influence, influence
    from entrenous.estimators.metric import MahalanobisLearner
    from entrenous.estimators.one_hot import OneHot
    from entrenous.estimators.pipelines import check_pipeline
    from entrenous.estimators.pointwise import PointwiseClassifier, PointwiseRegressor
    from entrenous.estimators.standardizer import PrivateStandardizer
    from entrenous.files import datasets
    from entrenous.files.model_files import load, save
    from entrenous.files.onnx_export import to_onnx
    from entrenous.files.tables import read_chunks
    from entrenous.ledger.ledger import Ledger
    from entrenous.planners.planning import plan
    from entrenous.planners.registry import Algorithm, algorithms
    from entrenous.privacy.certificate import PrivacyCertificate
    from entrenous.privacy.composition import compose_certificates
    from entrenous.problem.features.ball import FeatureBall
    from entrenous.problem.features.box import FeatureBounds
    from entrenous.problem.features.private_bounds import PrivateBounds
    from entrenous.problem.surrogates.envelope import smoothed
    from entrenous.problem.surrogates.own import own_surrogate
    from entrenous.report.plots import plot_coefficients, plot_metric, plot_privacy_curve
    from entrenous.report.shape_plots import plot_shapes

_HOMES = {
    "AUCClassifier": "entrenous.estimators.auc",
    "Algorithm": "entrenous.planners.registry",
    "AssumptionError": "entrenous.errors",
    "BudgetError": "entrenous.errors",
    "EntrenousError": "entrenous.errors",
    "ErrorEntropyRegressor": "entrenous.estimators.entropy",
    "FeatureBall": "entrenous.problem.features.ball",
    "FeatureBounds": "entrenous.problem.features.box",
    "Influence": "entrenous.estimators.influence",
    "InputError": "entrenous.errors",
    "Ledger": "entrenous.ledger.ledger",
    "MahalanobisLearner": "entrenous.estimators.metric",
    "OneHot": "entrenous.estimators.one_hot",
    "Plan": "entrenous.engine.plan",
    "PointwiseClassifier": "entrenous.estimators.pointwise",
    "PointwiseRegressor": "entrenous.estimators.pointwise",
    "PrivacyCertificate": "entrenous.privacy.certificate",
    "PrivacyError": "entrenous.errors",
    "PrivacyWarning": "entrenous.errors",
    "PrivateBounds": "entrenous.problem.features.private_bounds",
    "PrivateStandardizer": "entrenous.estimators.standardizer",
    "algorithms": "entrenous.planners.registry",
    "check_pipeline": "entrenous.estimators.pipelines",
    "compose_certificates": "entrenous.privacy.composition",
    "influence": "entrenous.estimators.influence",
    "load": "entrenous.files.model_files",
    "own_surrogate": "entrenous.problem.surrogates.own",
    "plan": "entrenous.planners.planning",
    "plot_coefficients": "entrenous.report.plots",
    "plot_metric": "entrenous.report.plots",
    "plot_privacy_curve": "entrenous.report.plots",
    "plot_shapes": "entrenous.report.shape_plots",
    "progress_bar": "entrenous.engine.progress",
    "read_chunks": "entrenous.files.tables",
    "save": "entrenous.files.model_files",
    "smoothed": "entrenous.problem.surrogates.envelope",
    "to_onnx": "entrenous.files.onnx_export",
}

__all__ = [
    "AUCClassifier",
    "Algorithm",
    "AssumptionError",
    "BudgetError",
    "EntrenousError",
    "ErrorEntropyRegressor",
    "FeatureBall",
    "FeatureBounds",
    "Influence",
    "InputError",
    "Ledger",
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
    "influence",
    "load",
    "own_surrogate",
    "plan",
    "plot_coefficients",
    "plot_metric",
    "plot_privacy_curve",
    "plot_shapes",
    "progress_bar",
    "read_chunks",
    "save",
    "smoothed",
    "theory",
    "to_onnx",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("entrenous.files.datasets")
    if name == "theory":
        return import_module("entrenous.theory")
    if name not in _HOMES:
        raise AttributeError(f"module 'entrenous' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
