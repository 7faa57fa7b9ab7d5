"""AUC maximisation as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from entrenous.arrays import AnyArray, Array
from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.parts.feature_domains import missing_bounds
from entrenous.parts.surrogates import Surrogate
from entrenous.planners.planning import plan
from entrenous.privacy.budget import budget_for
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.privacy.noise import fresh_index_seed


class AUCClassifier(ClassifierMixin, BaseEstimator):
    """A linear score that ranks events above non-events, learnt from pairs, privately.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget. ``None`` (or ``inf``) fits without privacy.
    delta : float or None, default=None
        ``None`` means ``1/n**2``; ``0`` asks for pure differential privacy.
    algorithm : str or callable, default="auto"
        A name from `entrenous.algorithms`, or a planner ``(problem, budget, n, **options) -> Plan``. ``"auto"`` decides
        from public numbers only.
    surrogate : str, Surrogate or None, default=None
        Loss of a pair; ``None`` is the algorithm's own.
    bounds : (low, high), mapping, FeatureBounds, FeatureBall or PrivateBounds
        Public domain of the features, required for a private fit: rows outside are clipped into it. `PrivateBounds`
        finds a tight one inside loose ranges for a share of the budget. A fit without privacy needs none; given some,
        it uses the same clipping and units.
    classes : (other, event) or None, default=None
        Public labels. ``None`` means ``(0, 1)`` for a private fit, and the labels found in `y` without privacy.
    radius : float or None, default=None
        Radius of the parameter ball in internal units (rows have norm at most 1); ``None`` is the algorithm's own.
    ridge : float, default=0.0
        Strength of ``ridge/2 ||w||^2``, in internal units.
    max_iter : int or None, default=None
        Steps of an iterative algorithm; ``None`` lets the plan choose.
    calibration : {"tight", "paper"}, default="tight"
        ``"paper"`` prints the paper's noise, for reproduction: the certificate states what it really gives.
    random_state : int, Generator, RandomState or None, default=None
        ``None`` draws secure noise. Anything else is repeatable, so not private against whoever knows it.
    options : mapping or None, default=None
        Further arguments of the planner.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        A private fit pays for a threshold only with ``moments``; the others put it at the centre of the domain.
    classes_ : array of shape (2,)
    bounds_ : FeatureBounds, FeatureBall or None
        The domain that rows were clipped into: as declared, or as `PrivateBounds` found it.
    plan_ : Plan
        What ran, with which noise.
    certificate_ : PrivacyCertificate or None
        What the fit spent; ``None`` without privacy.
    n_iter_ : int

    Notes
    -----
    The certificate covers what `fit` stores. `score`, ``cross_val_score``, ``GridSearchCV`` and calibration on private
    rows are further releases, outside it; every refit spends the budget again. NaN, infinity and labels outside
    `classes` raise an error whatever the budget: data errors of that kind are visible to the caller.

    Examples
    --------
    >>> import entrenous as en
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(2000, 5, random_state=0)
    >>> clf = en.AUCClassifier(epsilon=1.0, bounds=(-5, 5)).fit(X, y)
    >>> clf.plan_.algorithm, clf.certificate_.epsilon, bool(clf.score(X, y) > 0.8)
    ('moments', 1.0, True)

    """

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        algorithm: str | Callable[..., Plan] = "auto",
        surrogate: str | Surrogate | None = None,
        bounds: Any = None,
        classes: Sequence[Any] | None = None,
        radius: float | None = None,
        ridge: float = 0.0,
        max_iter: int | None = None,
        calibration: str = "tight",
        random_state: Any = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.surrogate = surrogate
        self.bounds = bounds
        self.classes = classes
        self.radius = radius
        self.ridge = ridge
        self.max_iter = max_iter
        self.calibration = calibration
        self.random_state = random_state
        self.options = options

    def fit(self, X: Any, y: Any) -> AUCClassifier:
        """Plan from public numbers, then run once over the rows."""
        private = budget_for(self.epsilon, None, 2).is_private
        if private and self.bounds is None:
            raise missing_bounds("a private fit")
        X, y = self._checked(X, y)
        classes = self._public_classes(y, private)
        made = plan(
            self.algorithm,
            task="auc",
            n=X.shape[0],
            n_features=X.shape[1],
            epsilon=self.epsilon,
            delta=self.delta,
            surrogate=self.surrogate,
            bounds=self.bounds,
            feature_names=getattr(self, "feature_names_in_", None),
            classes=classes,
            radius=self.radius,
            ridge=self.ridge,
            max_iter=self.max_iter,
            calibration=self.calibration,
            options=self.options,
            index_seed=fresh_index_seed(self.random_state),
        )
        fitted = made.run(X, y, random_state=self.random_state)
        self.classes_ = np.asarray(classes)
        self.coef_ = fitted.coef[None, :]
        self.intercept_ = np.array([fitted.intercept])
        self.n_iter_ = fitted.steps
        self.bounds_ = fitted.bounds
        self.plan_ = fitted.plan
        self.certificate_: PrivacyCertificate | None = fitted.certificate
        return self

    def decision_function(self, X: Any) -> Array:
        """The score of each row: larger means more likely an event."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        scores: Array = X @ self.coef_[0] + self.intercept_[0]
        return scores

    def predict(self, X: Any) -> AnyArray:
        """The event class where `decision_function` is positive."""
        positive = self.decision_function(X) > 0.0
        labels: AnyArray = self.classes_[positive.astype(int)]
        return labels

    def score(self, X: Any, y: Any) -> float:
        """AUC on these rows. On private rows this is a release that no certificate covers."""
        scores = self.decision_function(X)
        return float(roc_auc_score(np.asarray(y) == self.classes_[1], scores))

    def _checked(self, X: Any, y: Any) -> tuple[Array, AnyArray]:
        try:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            # The original message quotes a cell, and cells are private.
            raise InputError("features must be numbers", "text in the table", "Encode or drop these columns.") from None
        return X, y

    def _public_classes(self, y: AnyArray, private: bool) -> tuple[Any, ...]:
        check_classification_targets(y)
        if self.classes is not None:
            return tuple(self.classes)
        if private:
            return (0, 1)
        found = np.unique(y)
        if len(found) > 2:
            raise InputError(
                "Only binary classification is supported: y needs two classes",
                f"{len(found)} classes ({type_of_target(y)})",
                "Use one label against the rest.",
            )
        if len(found) < 2:
            raise InputError("a ranking needs two classes in y", "1 class", "Check the labels and how rows were split.")
        return tuple(found.tolist())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # At a small epsilon and n the noise decides; scikit-learn's accuracy checks are not meant for that.
        tags.classifier_tags.poor_score = self.epsilon is not None
        return tags
