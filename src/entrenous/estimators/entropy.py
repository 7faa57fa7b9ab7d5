"""Minimum-error-entropy regression as a scikit-learn regressor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.base import RegressorMixin

from entrenous.arrays import AnyArray, Array
from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.estimators.base import PairwiseEstimator
from entrenous.problem.surrogates.bounded import Welsch
from entrenous.problem.targets import TargetRange, checked_target_bounds, missing_target_bounds
from entrenous.registry import estimator


@estimator
class ErrorEntropyRegressor(RegressorMixin, PairwiseEstimator):
    """Linear regression that makes the errors of records like each other's, learnt from pairs, privately.

    Minimum error entropy: large errors count only up to the bandwidth, so outliers in the targets do little. Pairs see
    differences of errors and not their level, so the intercept is released on its own (Lemma 13).

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget. ``None`` (or ``inf``) fits without privacy.
    delta : float or None, default=None
        ``None`` means ``1/n**2``, at least ``1e-18``. There is no pure version.
    algorithm : str or callable, default="auto"
        ``"auto"`` is ``kang-gp``, the algorithm whose theorem covers this loss, which is not convex.
    bandwidth : float or None, default=None
        Size of errors beyond which they count alike, in the targets' units; ``None`` is half the width of
        `target_bounds`.
    bounds : (low, high), mapping, FeatureBounds, FeatureBall or PrivateBounds
        Public domain of the features, required for a private fit: rows outside are clipped into it.
    target_bounds : (low, high) or None, default=None
        Public range of the targets, required for a private fit: targets outside are clipped into it. Without privacy
        ``None`` is the range of `y`.
    intercept_share : float, default=0.1
        Share of the budget that releases the intercept. With 0 nothing is spent and the intercept is such that the
        centre of the features' domain is predicted the middle of `target_bounds`.
    radius : float or None, default=None
        Radius of the parameter ball in internal units (rows have norm at most 1, targets are in [-1, 1]); ``None``: 1.
    ridge : float, default=0.0
        Strength of ``ridge/2 ||w||^2``, in internal units.
    max_iter : int or None, default=None
        Steps; ``None`` lets the plan choose.
    calibration : {"tight", "paper"}, default="tight"
        ``"paper"`` prints the paper's noise, for reproduction (with ``intercept_share=0``).
    random_state : int, Generator, RandomState or None, default=None
        ``None`` draws secure noise. Anything else is repeatable, so not private against whoever knows it.
    ledger, dataset : str or None, default=None
        A ledger, and the data set in it that a private fit spends from; ``None``: as the environment says
        (``ENTRENOUS_LEDGER``, ``ENTRENOUS_DATASET``). ``docs/ledger.md``.
    options : mapping or None, default=None
        Further arguments of the planner.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    coef_noise_, bounds_, plan_, certificate_, n_iter_
        As for `AUCClassifier`.

    Notes
    -----
    The certificate covers what `fit` stores; `score` (R^2) and ``cross_val_score`` on private rows are releases outside
    it, and every refit spends the budget again.

    Examples
    --------
    >>> import entrenous as en
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(3000, 3, noise=10.0, bias=40.0, random_state=0)
    >>> ranges = {"bounds": en.PrivateBounds(within=(-40, 40)), "target_bounds": (-400, 400)}
    >>> model = en.ErrorEntropyRegressor(epsilon=2.0, max_iter=10, **ranges).fit(X, y)
    >>> model.plan_.algorithm, bool(model.score(X, y) > 0.8), model.certificate_.epsilon
    ('kang-gp', True, 2.0)

    """

    _task = "error-entropy"
    _released = ("coef_", "intercept_", "coef_noise_")
    _takes_sparse = True

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        algorithm: str | Callable[..., Plan] = "auto",
        bandwidth: float | None = None,
        bounds: Any = None,
        target_bounds: tuple[float, float] | None = None,
        intercept_share: float = 0.1,
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
        self.bandwidth = bandwidth
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.intercept_share = intercept_share
        self.radius = radius
        self.ridge = ridge
        self.max_iter = max_iter
        self.calibration = calibration
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset
        self.options = options

    @property
    def surrogate(self) -> None:
        """The loss is Welsch's; `bandwidth` is its one parameter."""

    def fit(self, X: Any, y: Any, **unsupported: Any) -> ErrorEntropyRegressor:
        """Plan from public numbers, then run once over the rows; `sample_weight` is refused, with the reason."""
        self._refuse_weights(unsupported)
        self._need_bounds()
        if self._is_private and self.target_bounds is None:
            raise missing_target_bounds()
        X, y = self._checked(X, y, ensure_min_samples=2, y_numeric=True)
        span = self._span(y)
        spend = {"intercept_share": self.intercept_share if self._is_private else 0.0}
        fitted = self._run(X, y, {"target_bounds": span, "surrogate": self._welsch(span), **spend})
        self.coef_, self.intercept_, self.coef_noise_ = fitted.coef, fitted.intercept, fitted.noise
        return self

    def predict(self, X: Any) -> Array:
        """The predicted target of each row."""
        return self._linear_scores(self._new_rows(X), self.coef_[None, :], self.intercept_, self.bounds_)[:, 0]

    def _expected_shapes(self) -> dict[str, tuple[int | None, ...]]:
        return {"coef_": (self.n_features_in_,), "intercept_": (), "coef_noise_": (self.n_features_in_,)}

    def _span(self, y: AnyArray) -> tuple[float, float]:
        """The declared range of the targets; without privacy and declaration their own."""
        if self.target_bounds is not None:
            return checked_target_bounds(self.target_bounds)
        found = TargetRange.around(y)
        return found.low, found.high

    def _welsch(self, span: tuple[float, float]) -> Welsch:
        if self.bandwidth is None:
            return Welsch()
        if isinstance(self.bandwidth, bool) or not isinstance(self.bandwidth, int | float) or not self.bandwidth > 0.0:
            raise InputError("bandwidth must be a number > 0", repr(self.bandwidth), "None is half the targets' range.")
        return Welsch(2.0 * float(self.bandwidth) / (span[1] - span[0]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
