"""Steps in front of a private estimator that learn from the rows without paying for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from sklearn.utils import get_tags

from entrenous.errors import PrivacyError

_SCHEMA_ONLY: dict[str, Callable[[Any], bool]] = {
    "FrozenEstimator": lambda step: True,
    "GaussianRandomProjection": lambda step: step.n_components != "auto",
    "SparseRandomProjection": lambda step: step.n_components != "auto",
    "PolynomialFeatures": lambda step: True,
    "SimpleImputer": lambda step: step.strategy == "constant",
    "OneHotEncoder": lambda step: _declared(step) and step.min_frequency is None and step.max_categories is None,
    "OrdinalEncoder": lambda step: _declared(step) and step.min_frequency is None and step.max_categories is None,
}
"""scikit-learn's steps whose `fit` looks at columns and parameters only, at these settings."""

_ADVICE = (
    "What they learn (means, ranges, categories, directions) reaches the model without noise. Give the private "
    "estimator public bounds instead, encode with entrenous.OneHot, fill gaps with constants, or fit the step on "
    "public rows and wrap it in sklearn.frozen.FrozenEstimator."
)


def check_pipeline(estimator: Any) -> None:
    """Refuse a pipeline in which a step learns from rows before they reach a private estimator.

    Walks through ``Pipeline``, ``ColumnTransformer``, ``FeatureUnion`` and what wraps an estimator, such as
    ``GridSearchCV``. A step is taken to learn from rows unless its tags say that it needs no `fit`, its settings leave
    nothing to learn, it is frozen, or it is a private step of this library, with a certificate of its own.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> import entrenous as en
    >>> en.check_pipeline(make_pipeline(Normalizer(), en.AUCClassifier(bounds=(-1, 1))))
    >>> try:
    ...     en.check_pipeline(make_pipeline(StandardScaler(), en.AUCClassifier(bounds=(-1, 1))))
    ... except en.PrivacyError as error:
    ...     print(error.got)
    standardscaler (StandardScaler)
    """
    learning = list(_in_front(estimator))
    if learning:
        raise PrivacyError(
            "steps in front of a private estimator must not learn from rows", ", ".join(learning), _ADVICE
        )


def warning_about_pipeline(estimator: Any) -> str | None:
    """What to say if this estimator is being fitted by a pipeline whose earlier steps learn from rows.

    An estimator is not told who calls it, so this looks up the stack for a pipeline that ends in it. Where the rows
    were transformed beforehand there is nothing to see, so it can only warn, and silence proves nothing.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        caller: Any = frame.f_locals.get("self")
        if _is_a(caller, "Pipeline") and caller.steps[-1][1] is estimator:
            learning = list(_in_front(caller))
            if learning:
                return f"The certificate does not cover steps that learn from rows: {', '.join(learning)}. {_ADVICE}"
    return None


def _in_front(estimator: Any) -> Iterator[str]:
    """Names of the steps before the private ones that learn from rows."""
    if _is_a(estimator, "Pipeline"):
        if _ends_private(estimator):
            for name, step in estimator.steps[:-1]:
                yield from _learning(name, step)
        yield from _in_front(estimator.steps[-1][1])
    elif hasattr(estimator, "estimator"):
        yield from _in_front(estimator.estimator)


def _ends_private(estimator: Any) -> bool:
    while not _pays_for_itself(estimator):
        if _is_a(estimator, "Pipeline"):
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "estimator"):
            estimator = estimator.estimator
        else:
            return False
    return True


def _learning(name: str, step: Any) -> Iterator[str]:
    inner = _inner(step)
    if inner is not None:
        for inner_name, inner_step in inner:
            yield from _learning(f"{name}.{inner_name}", inner_step)
    elif step is not None and not isinstance(step, str) and not _needs_no_rows(step):
        yield f"{name} ({type(step).__name__})"


def _inner(step: Any) -> list[tuple[str, Any]] | None:
    if _is_a(step, "Pipeline"):
        return list(step.steps)
    if _is_a(step, "ColumnTransformer"):
        return [*((name, inner) for name, inner, _ in step.transformers), ("remainder", step.remainder)]
    if _is_a(step, "FeatureUnion"):
        return list(step.transformer_list)
    return None


def _is_a(step: Any, kind: str) -> bool:
    """Whether it is one of scikit-learn's composites. Where nobody has imported a class there is nothing of it."""
    module = sys.modules.get("sklearn.compose" if kind == "ColumnTransformer" else "sklearn.pipeline")
    return isinstance(step, getattr(module, kind, ()))


def _needs_no_rows(step: Any) -> bool:
    settings = _SCHEMA_ONLY.get(type(step).__name__, lambda step: False)
    return not get_tags(step).requires_fit or settings(step) or _pays_for_itself(step)


def _pays_for_itself(step: Any) -> bool:
    """Whether it is one of this library's, fitted privately."""
    epsilon = getattr(step, "epsilon", None)
    ours = any(kind.__module__.startswith("entrenous.") for kind in type(step).__mro__)
    return ours and epsilon is not None and epsilon != float("inf")


def _declared(encoder: Any) -> bool:
    """An encoder that neither looks for categories nor raises when a row has another."""
    automatic = isinstance(encoder.categories, str)
    return not automatic and encoder.handle_unknown != "error"
