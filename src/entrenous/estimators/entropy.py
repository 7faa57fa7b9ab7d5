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
    """Linear regression that makes the errors of records like each other's, privately.

    Minimum error entropy: errors far beyond the bandwidth count no more, so outliers in the targets do little. Pairs of
    errors see differences and not their level; the intercept is where most errors are.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget. ``None`` (or ``inf``) fits without privacy.
    delta : float or None, default=None
        ``None`` means ``1/n**2``, at least ``1e-18``. There is no pure version.
    algorithm : str or callable, default="auto"
        ``"auto"`` is ``residual-gd``. ``kang-gp`` is the published algorithm whose theorem covers this loss, which is
        not convex; it needs a `bandwidth` and far more records.
    bandwidth : float or None, default=None
        Difference of two errors beyond which it counts ever less, in the targets' units. ``None``: about 1.3 times the
        standard deviation of usual errors, which ``residual-gd`` finds; for others half the width of `target_bounds`.
    bounds : (low, high), mapping, FeatureBounds, FeatureBall or PrivateBounds
        Public domain of the features, required for a private fit: rows outside are clipped into it.
    target_bounds : (low, high) or None, default=None
        Public range of the targets, required for a private fit: targets outside are clipped into it. Without privacy
        ``None`` is the range of `y`.
    intercept_share : float or None, default=None
        Share of the budget that releases the intercept, for algorithms that do not find it with the rest: all but
        ``residual-gd``. ``None`` is 0.1 for them. With 0 nothing is spent and the intercept is such that the centre of
        the features' domain is predicted the middle of `target_bounds`.
    radius : float or None, default=None
        Radius of the parameter ball in internal units (rows have norm at most 1, targets are in [-1, 1]); ``None`` is
        the algorithm's own: none for ``residual-gd``, else 1.
    ridge : float, default=0.0
        Strength of ``ridge/2 ||w||^2``, in internal units.
    max_iter : int or None, default=None
        Steps; ``None`` lets the plan choose.
    calibration : {"tight", "paper"}, default="tight"
        ``"paper"`` prints the paper's noise, for reproduction (with ``algorithm="kang-gp", intercept_share=0``).
    random_state : int, Generator, RandomState or None, default=None
        ``None`` draws secure noise. Anything else is repeatable, so not private against whoever knows it.
    ledger, dataset : str or None, default=None
        A ledger, and the data set in it that a private fit spends from; ``None``: as the environment says
        (``ENTRENOUS_LEDGER``, ``ENTRENOUS_DATASET``). ``docs/ledger.md``.
    options : mapping or None, default=None
        Further arguments of the planner. ``{"zoom": 0.05, "standardise": 0.1, "targets": 0.05}`` are the shares of the
        budget that ``residual-gd`` spends on ranges, scales and where most targets are.

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
    >>> model = en.ErrorEntropyRegressor(epsilon=1.0, **ranges).fit(X, y)
    >>> model.plan_.algorithm, bool(model.score(X, y) > 0.9), model.certificate_.epsilon
    ('residual-gd', True, 1.0)

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
        intercept_share: float | None = None,
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
        spend = {"intercept_share": self.intercept_share if self._is_private else None}
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

    def _welsch(self, span: tuple[float, float]) -> Welsch | None:
        if self.bandwidth is None:
            return None
        if isinstance(self.bandwidth, bool) or not isinstance(self.bandwidth, int | float) or not self.bandwidth > 0.0:
            raise InputError("bandwidth must be a number > 0", repr(self.bandwidth), "None follows the errors.")
        return Welsch(2.0 * float(self.bandwidth) / (span[1] - span[0]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
