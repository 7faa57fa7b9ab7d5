"""A task of one's own: rows in the order of a numeric target, with the score and the estimator that belong to it."""

from dataclasses import dataclass
from typing import ClassVar

from entrenous.estimators.base import PairwiseEstimator
from entrenous.problem.pair_scores import PairScore
from entrenous.problem.surrogates.base import Interval
from entrenous.problem.tasks.numeric_targets import NumericTargets
from entrenous.problem.tasks.task import task
from entrenous.registry import estimator, part


@part
@dataclass(frozen=True)
class TargetOrder(PairScore):
    """``<w, x - x'>`` for records with y > y'. A new target can turn a pair round, and with it the gradient's sign."""

    task: ClassVar[str] = "target-order"
    counted_orders: ClassVar[int] = 1
    label_turns_sign: ClassVar[bool] = True

    def margin(self, w, x, x2, y, y2):
        return (x - x2) @ w

    def feature(self, x, x2, y, y2):
        return x - x2

    def counts(self, y, y2):
        return (y > y2).astype(float)

    def shape(self, n_features):
        return (n_features,)

    def dimension(self, n_features):
        return n_features

    def reachable(self, diameter, radius):
        return Interval(-radius * diameter, radius * diameter)

    def feature_norm(self, diameter):
        return diameter


@task
class OrderByTarget(NumericTargets):
    """A linear score that puts large targets before small ones."""

    name: ClassVar[str] = "target-order"
    score: ClassVar[PairScore] = TargetOrder()
    algorithms: ClassVar[tuple[str, ...]] = ("noisy-gd", "dpgdc")

    def running_means(self, n_features):
        """An order has no intercept."""


@estimator
class TargetRanker(PairwiseEstimator):
    """Scores in the order of a numeric target."""

    _task = "target-order"
    _released = ("coef_",)

    def __init__(
        self,
        epsilon=1.0,
        delta=None,
        *,
        algorithm="auto",
        surrogate=None,
        bounds=None,
        target_bounds=None,
        radius=None,
        ridge=0.0,
        max_iter=None,
        calibration="tight",
        random_state=None,
        options=None,
    ):
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
        self.options = options

    def fit(self, X, y):
        """One plan, one run."""
        X, y = self._checked(X, y, y_numeric=True)
        self.coef_ = self._run(X, y, {"target_bounds": self.target_bounds}).coef
        return self

    def decision_function(self, X):
        """The score of each row."""
        return self._linear_scores(self._new_rows(X), self.coef_[None, :], 0.0, self.bounds_)[:, 0]

    def _expected_shapes(self):
        return {"coef_": (self.n_features_in_,)}
