"""AUC maximisation as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils.metaestimators import available_if

from entrenous.arrays import AnyArray, Array
from entrenous.engine.plan import Plan
from entrenous.engine.run import Fitted
from entrenous.estimators.base import PairwiseEstimator
from entrenous.estimators.classes import PublicClasses
from entrenous.parts.surrogates import Surrogate


class AUCClassifier(ClassifierMixin, PublicClasses, PairwiseEstimator):
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
    coef_noise_ : array of shape (1, n_features)
        Standard deviation that the privacy noise alone gives each coefficient, before any projection; 0 without
        privacy. From public numbers, for ``moments`` from what was released.
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

    _task = "auc"

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

    def fit(self, X: Any, y: Any, **unsupported: Any) -> AUCClassifier:
        """Plan from public numbers, then run once over the rows; `sample_weight` is refused, with the reason."""
        # Not a named parameter: scikit-learn takes that as a promise to support weights.
        self._refuse_weights(unsupported)
        self._need_bounds()
        X, y = self._checked(X, y, ensure_min_samples=2)
        classes = self._public_classes(y)
        self._take(self._run(X, y, {"classes": classes}), classes)
        return self

    @available_if(lambda self: self._can_be_fed())  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[Any] | None = None, n_total: int | None = None
    ) -> AUCClassifier:
        """Take more records, in order of arrival, for algorithms that `entrenous.algorithms` lists as online.

        Rows in any portions give the model that `fit` gives on all of them, in the memory of the algorithm's buffer.
        `classes` are needed with the first rows unless the parameter says them or the fit is private. A private fit
        needs `n_total` there, because the noise depends on it, and releases its model after the last record (onpairstrc
        and onpairc after every call). Until then the estimator holds rows and iterates that no noise covers; they
        are left out when it is pickled.
        """
        self._need_bounds()
        first = getattr(self, "_online", None) is None
        X, y = self._checked(X, y, reset=first)
        declared = self._declared_classes(classes)
        fitted = self._feed(X, y, n_total, {"classes": declared})
        self.classes_ = np.asarray(declared)
        if fitted is not None:
            self._take(fitted, declared)
        return self

    def _take(self, fitted: Fitted, classes: tuple[Any, ...]) -> None:
        self.classes_ = np.asarray(classes)
        self.coef_ = fitted.coef[None, :]
        self.intercept_ = np.array([fitted.intercept])
        self.coef_noise_ = fitted.noise[None, :]

    def decision_function(self, X: Any) -> Array:
        """The score of each row: larger means more likely an event."""
        X = self._new_rows(X)
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        # At a small epsilon and n the noise decides; scikit-learn's accuracy checks are not meant for that.
        tags.classifier_tags.poor_score = self.epsilon is not None
        return tags
