"""Classification and regression from single records: probabilities and predictions, and a comparison with pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.probability_link import ProbabilityLink
from entrenous.engine.plan import Plan
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.estimators.base import PairwiseEstimator
from entrenous.estimators.classes import PublicClasses, need_two_classes
from entrenous.estimators.probabilities import EventProbabilities
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.surrogates.spelling import surrogate_from
from entrenous.registry import estimator


@estimator
class PointwiseClassifier(ClassifierMixin, EventProbabilities, PublicClasses, PairwiseEstimator):
    """A linear classifier from single records: private logistic regression.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget. ``None`` (or ``inf``) fits without privacy.
    delta : float or None, default=None
        ``None`` means ``1/n**2``, at least ``1e-18``. There is no pure version.
    algorithm : str or callable, default="auto"
        A name from `entrenous.algorithms` that covers the task, or a planner. ``"auto"`` is ``logistic-gd`` for the
        logistic loss and else ``dpsgd-pointwise``, private SGD on secret samples (Wang et al. 2024, Algorithm 1).
    surrogate : str, Surrogate or None, default=None
        Loss of a record; ``None`` is logistic.
    bounds : (low, high), mapping, FeatureBounds, FeatureBall or PrivateBounds
        Public domain of the features, required for a private fit: rows outside are clipped into it.
    classes : (other, event) or None, default=None
        Public labels. ``None`` means ``(0, 1)`` for a private fit, and the labels found in `y` without privacy.
    radius : float or None, default=None
        Radius of the parameter ball in internal units; ``None`` is the algorithm's own.
    ridge : float, default=0.0
        Strength of ``ridge/2 ||w||^2``, in internal units.
    max_iter : int or None, default=None
        Steps; ``None`` lets the plan choose.
    calibration : {"tight", "paper"}, default="tight"
        ``"paper"`` prints the paper's noise, for reproduction: the certificate states what it really gives.
    random_state : int, Generator, RandomState or None, default=None
        ``None`` draws secure noise. Anything else is repeatable, so not private against whoever knows it.
    ledger, dataset : str or None, default=None
        A ledger, and the data set in it that a private fit spends from; ``None``: as the environment says
        (``ENTRENOUS_LEDGER``, ``ENTRENOUS_DATASET``). ``docs/ledger.md``.
    options : mapping or None, default=None
        Further arguments of the planner: for ``logistic-gd`` those of `AUCClassifier`; with ``dpsgd-pointwise``
        ``{"batch": 500, "step_size": 0.1}`` learns faster than the theorem's steps.

    Attributes
    ----------
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        Part of the parameter, so covered by the same noise. With ``logistic-gd`` the score is 0 where both classes are
        equally likely.
    classes_ : array of shape (2,)
    coef_noise_, bounds_, plan_, certificate_, n_iter_
        As for `AUCClassifier`.

    Notes
    -----
    The certificate covers what `fit` stores; `score` and ``cross_val_score`` on private rows are releases outside it,
    and every refit spends the budget again.

    Examples
    --------
    >>> import entrenous as en
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(5000, 5, random_state=0)
    >>> clf = en.PointwiseClassifier(epsilon=1.0, bounds=(-5, 5)).fit(X, y)
    >>> clf.plan_.algorithm, bool(clf.score(X, y) > 0.8), clf.predict_proba(X[:2]).shape
    ('logistic-gd', True, (2, 2))

    """

    _task = "pointwise-classification"
    _released = ("coef_", "intercept_", "coef_noise_")
    _takes_sparse = True

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
        ledger: Any = None,
        dataset: str | None = None,
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
        self.ledger = ledger
        self.dataset = dataset
        self.options = options

    def fit(self, X: Any, y: Any, **unsupported: Any) -> PointwiseClassifier:
        """Plan from public numbers, then run once over the rows; `sample_weight` is refused, with the reason."""
        self._refuse_weights(unsupported)
        self._need_bounds()
        X, y = self._checked(X, y, ensure_min_samples=2)
        classes = self._public_classes(y)
        need_two_classes(classes, "Use one label against the rest.")
        fitted = self._run(X, y, {"classes": classes})
        self.classes_ = np.asarray(classes)
        self.coef_ = fitted.coef[None, :]
        self.intercept_ = np.array([fitted.intercept])
        self.coef_noise_ = fitted.noise[None, :]
        return self

    def decision_function(self, X: Any) -> Array:
        """The score of each row: positive means the second class."""
        return self._linear_scores(self._new_rows(X), self.coef_, self.intercept_, self.bounds_)[:, 0]

    def predict(self, X: Any) -> AnyArray:
        """The second class where `decision_function` is positive."""
        positive = self.decision_function(X) > 0.0
        labels: AnyArray = self.classes_[positive.astype(int)]
        return labels

    def _expected_shapes(self) -> dict[str, tuple[int | None, ...]]:
        d = self.n_features_in_
        return {"coef_": (1, d), "intercept_": (1,), "coef_noise_": (1, d), "classes_": (2,)}

    def _lacks_probability(self) -> str | None:
        if self.surrogate is None or surrogate_from(self.surrogate).name == "logistic":
            return None
        return f'surrogate={self.surrogate!r} has no link to probabilities. surrogate="logistic", the default, has one.'

    def probability_links(self) -> list[ProbabilityLink]:
        """From score to probability: the one of the weights that ``logistic-gd`` released, else the logistic one."""
        if self.plan_.gives_probability:
            return super().probability_links()
        return [ProbabilityLink(CappedSlopes(1.0, 1.0, 1.0))]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


@estimator
class PointwiseRegressor(RegressorMixin, PairwiseEstimator):
    """Linear regression from single records, privately: least squares in which no error pulls harder than a cap.

    Parameters
    ----------
    target_bounds : (low, high) or None, default=None
        Public range of the targets, required for a private fit: targets outside are clipped into it.
    epsilon, delta, algorithm, surrogate, bounds, radius, ridge, max_iter, calibration, random_state, options
        As for `PointwiseClassifier`. ``"auto"`` is ``residual-gd`` for the square surrogate, the default, and else
        ``dpsgd-pointwise``; its options are those of `ErrorEntropyRegressor`.
    ledger, dataset
        As for `PointwiseClassifier`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    coef_noise_, bounds_, plan_, certificate_, n_iter_
        As for `AUCClassifier`.

    Notes
    -----
    The certificate covers what `fit` stores; `score` and ``cross_val_score`` on private rows are releases outside it,
    and every refit spends the budget again.

    Examples
    --------
    >>> import entrenous as en
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(20_000, 3, noise=5.0, random_state=0)
    >>> model = en.PointwiseRegressor(epsilon=1.0, bounds=(-4, 4), target_bounds=(-500, 500)).fit(X, y)
    >>> model.plan_.algorithm, bool(model.score(X, y) > 0.9), model.certificate_.epsilon
    ('residual-gd', True, 1.0)

    """

    _task = "pointwise-regression"
    _released = ("coef_", "intercept_", "coef_noise_")
    _takes_sparse = True

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        algorithm: str | Callable[..., Plan] = "auto",
        surrogate: str | Surrogate | None = None,
        bounds: Any = None,
        target_bounds: tuple[float, float] | None = None,
        radius: float | None = None,
        ridge: float = 0.0,
        max_iter: int | None = None,
        calibration: str = "tight",
        random_state: Any = None,
        ledger: Any = None,
        dataset: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.surrogate = surrogate
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.radius = radius
        self.ridge = ridge
        self.max_iter = max_iter
        self.calibration = calibration
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset
        self.options = options

    def fit(self, X: Any, y: Any, **unsupported: Any) -> PointwiseRegressor:
        """Plan from public numbers, then run once over the rows; `sample_weight` is refused, with the reason."""
        self._refuse_weights(unsupported)
        self._need_bounds()
        X, y = self._checked(X, y, ensure_min_samples=2, y_numeric=True)
        fitted = self._run(X, y, {"target_bounds": self.target_bounds})
        self.coef_, self.intercept_, self.coef_noise_ = fitted.coef, fitted.intercept, fitted.noise
        return self

    def predict(self, X: Any) -> Array:
        """The predicted target of each row."""
        return self._linear_scores(self._new_rows(X), self.coef_[None, :], self.intercept_, self.bounds_)[:, 0]

    def _expected_shapes(self) -> dict[str, tuple[int | None, ...]]:
        return {"coef_": (self.n_features_in_,), "intercept_": (), "coef_noise_": (self.n_features_in_,)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
