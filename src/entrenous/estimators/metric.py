"""Mahalanobis metric learning as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from entrenous.arrays import AnyArray, Array, row_blocks
from entrenous.engine.online import OnlineRun
from entrenous.engine.phases.listed_pairs import pair_list_of
from entrenous.engine.plan import Plan
from entrenous.engine.run import Fitted
from entrenous.errors import AssumptionError
from entrenous.estimators.base import PairwiseEstimator
from entrenous.estimators.classes import PublicClasses
from entrenous.estimators.offered_if import offered_if
from entrenous.estimators.pair_input import flags_of, rows_of_pairs, vectors_of_pairs
from entrenous.estimators.paying import spending_of
from entrenous.estimators.validation import validated
from entrenous.planners.registry import algorithms
from entrenous.privacy.noise import fresh_index_seed
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.surrogates.base import Surrogate
from entrenous.registry import estimator


@estimator
class MahalanobisLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PublicClasses, PairwiseEstimator):
    """A distance in which records of one class are near and others far, learnt from pairs, privately.

    The squared distance is ``(x - x')^T W (x - x')`` with a positive semi-definite W.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget. ``None`` (or ``inf``) fits without privacy.
    delta : float or None, default=None
        ``None`` means ``1/n**2``, at least ``1e-18``; ``0`` asks for pure differential privacy.
    algorithm : str or callable, default="auto"
        A name from `entrenous.algorithms` that covers metrics, or a planner
        ``(problem, budget, n, **options) -> Plan``. ``"auto"`` decides from public numbers only: ``"moments"`` without
        a surrogate, with or without privacy, else ``"noisy-gd"``; for pure privacy ``"dpgdsc"``.
    surrogate : str, Surrogate or None, default=None
        Loss of a pair, for algorithms that follow gradients: pairs of one class are asked to be nearer than 1, in
        internal units, and other pairs farther. ``None`` is the algorithm's own; ``"moments"`` has none.
    n_components : int or None, default=None
        How many directions the metric keeps, from 1 to the number of features: a public number. `transform` gives as
        many columns. ``None`` keeps all.
    bounds : (low, high), mapping, FeatureBounds or FeatureBall
        Public domain of the features, required for a private fit: rows outside are clipped into it. A fit without
        privacy needs none; given some, it uses the same clipping and units. ``"moments"`` finds a smaller domain in
        it, without privacy also where none is given.
    classes : sequence or None, default=None
        Public labels, two or more. ``None`` means ``(0, 1)`` for a private fit, and the labels found in `y` without
        privacy.
    domain : {"frobenius", "nuclear"}, default="frobenius"
        Norm that `radius` bounds. The nuclear one prefers metrics of few directions.
    radius : float or None, default=1.0
        Largest norm of W in internal units (rows have norm at most 1); ``"moments"`` scales W to it.
    ridge : float, default=0.0
        Strength of ``ridge/2 ||W||^2``, in internal units; ``"moments"`` adds it to the variance within classes.
    max_iter : int or None, default=None
        Steps of an iterative algorithm; ``None`` lets the plan choose.
    calibration : {"tight", "paper"}, default="tight"
        ``"paper"`` prints the paper's noise, for reproduction: the certificate states what it really gives.
    random_state : int, Generator, RandomState or None, default=None
        ``None`` draws secure noise. Anything else is repeatable, so not private against whoever knows it.
    ledger, dataset : str or None, default=None
        A ledger, and the data set in it that a private fit spends from; ``None``: as the environment says
        (``ENTRENOUS_LEDGER``, ``ENTRENOUS_DATASET``). ``docs/ledger.md``.
    options : mapping or None, default=None
        Further arguments of the planner.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L of `transform`, in the user's units: ``W = L^T L``. As many rows as asked for, else as W has rank; the
        strongest first.
    classes_ : array
        Absent after `fit_pairs`.
    bounds_ : FeatureDomain or None
        The domain that rows are clipped into, in `fit` and after it: declared, or found by the fit. ``None``: they are
        not clipped.
    plan_ : Plan
        What ran, with which noise.
    certificate_ : PrivacyCertificate or None
        What the fit spent; ``None`` without privacy.
    n_iter_ : int

    Notes
    -----
    The certificate covers what `fit` stores. What `transform`, `pair_distance` and neighbours computed with them say of
    private rows is not covered, nor are ``cross_val_score`` and ``GridSearchCV`` on them; every refit spends the budget
    again. NaN, infinity and labels outside `classes` raise an error whatever the budget: data errors of that kind are
    visible to the caller.

    Examples
    --------
    >>> import entrenous as en
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = en.MahalanobisLearner(epsilon=4.0, bounds=(0, 8), classes=(0, 1, 2)).fit(X, y)
    >>> learner.plan_.algorithm, learner.certificate_.epsilon, learner.get_mahalanobis_matrix().shape
    ('moments', 4.0, (4, 4))

    """

    _task = "metric"
    _released = ("components_",)

    components_: Array
    classes_: AnyArray

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        algorithm: str | Callable[..., Plan] = "auto",
        surrogate: str | Surrogate | None = None,
        n_components: int | None = None,
        bounds: Any = None,
        classes: Sequence[Any] | None = None,
        domain: str = "frobenius",
        radius: float | None = 1.0,
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
        self.n_components = n_components
        self.bounds = bounds
        self.classes = classes
        self.domain = domain
        self.radius = radius
        self.ridge = ridge
        self.max_iter = max_iter
        self.calibration = calibration
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset
        self.options = options

    def fit(self, X: Any, y: Any, **unsupported: Any) -> MahalanobisLearner:
        """Learn from all pairs of rows: plan from public numbers, then run once; `sample_weight` is refused."""
        self._refuse_weights(unsupported)
        self._need_bounds()
        X, y = self._checked(X, y, ensure_min_samples=2)
        classes = self._public_classes(y)
        self._take(self._run(X, y, {"classes": classes, **self._of_metric}))
        self.classes_ = np.asarray(classes)
        return self

    def fit_pairs(self, X: Any, pairs: Any, similar: Any, *, ids: Sequence[Any] | None = None) -> MahalanobisLearner:
        """Learn from listed pairs of rows, each said to be similar or not; no labels.

        Parameters
        ----------
        X : array of shape (n, d)
            The records.
        pairs : array of shape (m, 2)
            Who was compared with whom: row numbers of X, or entries of `ids`. A pair listed twice counts twice.
        similar : array of m booleans
            Whether the two records of a pair are alike.
        ids : sequence of n names or None, default=None
            What `pairs` calls each row.

        Notes
        -----
        Adjacency is still one record: its features and the flags of all the pairs it is in. **Which records are paired
        is public**, like n, and has to be: pairs that somebody chose by looking at labels or features tell about them,
        and no noise covers that. Draw them at random, or take them from something public. The noise grows with the
        number of pairs of the record that is in most of them, so spread the pairs evenly. With privacy only moments
        (``"auto"``) and noisy-gd have a proof for this (``docs/proofs.md``, Lemmas 21 and 12).

        """
        self._need_bounds()
        self._need_a_proof_for_pairs()
        X = validated(self, X=X, ensure_min_samples=2)
        numbers = rows_of_pairs(pairs, len(X), ids)
        flags = flags_of(similar, len(numbers))
        listed = pair_list_of(numbers, len(X))
        options = {**(self.options or {}), "listed_pairs": (listed.pairs, listed.most)}
        self._take(self._run(X, np.column_stack([numbers, flags]), {"options": options, **self._of_metric}))
        if hasattr(self, "classes_"):
            del self.classes_
        return self

    @offered_if(lambda self: self._needs_all_records())
    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[Any] | None = None, n_total: int | None = None
    ) -> MahalanobisLearner:
        """Take more records, in order of arrival, for algorithms that `entrenous.algorithms` lists as online.

        Rows in any portions give the metric that `fit` gives on all of them, in the memory of the algorithm's buffer.
        `classes` are needed with the first rows unless the parameter says them or the fit is private. A private fit
        needs `n_total` there, because the noise depends on it, and releases its metric after the last record
        (onpairstrc and onpairc after every call). Until then the estimator holds rows and iterates that no noise
        covers; they are left out when it is pickled.
        """
        self._need_bounds()
        first = getattr(self, "_online", None) is None
        X, y = self._checked(X, y, reset=first)
        declared = self._declared_classes(classes)
        arguments = {"classes": declared, **self._of_metric}

        def begin() -> list[OnlineRun]:
            made = self._open_plan(n_total, fresh_index_seed(self.random_state), arguments)
            return [OnlineRun(made, self.random_state, spending_of(self))]

        fits = self._feed(X, [y], n_total, begin)
        self.classes_ = np.asarray(declared)
        if fits is not None:
            self._take(fits[0])
            self._leave_certificate()
        return self

    def transform(self, X: Any) -> Array:
        """Rows mapped so that their Euclidean distance is the learnt one."""
        rows = self._new_rows(X).array()
        mapped = np.empty((len(rows), len(self.components_)))
        metric = self.get_metric()
        for block in row_blocks(rows):
            mapped[block] = metric.mapped(rows[block]) + metric.origin
        return mapped

    def get_mahalanobis_matrix(self) -> Array:
        """The matrix W of the squared distance, in the user's units."""
        self._need_fit()
        matrix: Array = self.components_.T @ self.components_
        return matrix

    def pair_distance(self, pairs: Any) -> Array:
        """The learnt distance of each pair of vectors; `pairs` has shape (m, 2, n_features)."""
        self._need_fit()
        vectors = vectors_of_pairs(pairs, self.n_features_in_)
        metric = self.get_metric()
        distances: Array = np.linalg.norm(metric.mapped(vectors[:, 0]) - metric.mapped(vectors[:, 1]), axis=1)
        return distances

    def pair_score(self, pairs: Any) -> Array:
        """Minus the distance of each pair: larger means more alike."""
        return -self.pair_distance(pairs)

    def get_metric(self) -> LearntMetric:
        """The learnt distance as a function of two vectors, for scikit-learn's neighbours and SciPy.

        It stays what it is when the estimator is fitted again. `transform` and the Euclidean distance are faster.
        """
        self._need_fit()
        return LearntMetric(self.components_, self.bounds_)

    @property
    def _n_features_out(self) -> int:
        """How many columns `transform` gives, for `get_feature_names_out`."""
        return int(self.components_.shape[0])

    @property
    def _of_metric(self) -> dict[str, Any]:
        """What a plan of a metric is told beside the parameters of every estimator."""
        return {"domain": self.domain, "n_components": self.n_components}

    def _take(self, fitted: Fitted) -> None:
        self.components_ = components_of(fitted, self.n_components)

    def _expected_shapes(self) -> dict[str, tuple[int | None, ...]]:
        return {"components_": (None, self.n_features_in_)}

    def _need_a_proof_for_pairs(self) -> None:
        proved = [a.name for a in algorithms() if "listed_pairs" in a.options]
        if self.algorithm not in ("auto", *proved):
            raise AssumptionError(
                f"listed pairs need an algorithm with a proof for them: {' or '.join(proved)}",
                f"algorithm={self.algorithm!r}",
                'Use algorithm="auto", or fit(X, y) on labelled rows.',
            )
        if self.delta == 0.0 and self._is_private:
            raise AssumptionError(
                "listed pairs are learnt with Gaussian noise, which needs delta > 0",
                "delta=0",
                "Use delta=None (1/n**2), or fit(X, y) on labelled rows.",
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class LearntMetric:
    """The distance ``||L (u - v)||`` of two vectors, both clipped into the bounds first, as the training rows were."""

    def __init__(self, components: Array, bounds: FeatureDomain | None) -> None:
        self.components, self.bounds = np.array(components), bounds
        self._internal, self.origin = self.components, np.zeros(len(self.components))
        if bounds is not None:
            self._internal, self.origin = bounds.from_user(self.components, self.origin)

    def mapped(self, rows: Array) -> Array:
        """Rows whose Euclidean distances are the learnt ones; with `origin` added, and inside, ``rows @ L^T``."""
        mapped: Array = (rows if self.bounds is None else self.bounds.to_internal(rows)) @ self._internal.T
        return mapped

    def __call__(self, u: Any, v: Any) -> float:
        first, second = self.mapped(np.array([u, v], dtype=float))
        return float(np.linalg.norm(first - second))


def components_of(fitted: Fitted, n_components: int | None = None) -> Array:
    """L with ``L^T L = fitted.coef``, one row per direction of the released W, the strongest first; at least one row.

    `n_components` asks for so many rows, the weakest left out. W is split in internal units, where a feature's unit
    does not decide which directions are rounding errors.
    """
    values, vectors = np.linalg.eigh(fitted.w)
    order = np.argsort(values)[::-1]
    values, vectors = np.maximum(values[order], 0.0), vectors[:, order]
    rank = max(1, int(np.sum(values > values[0] * len(values) * np.finfo(float).eps)))
    # An eigenvector has no sign of its own: its largest entry is made positive.
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(values))])
    directions = (np.sqrt(values) * signs * vectors).T[: rank if n_components is None else n_components]
    if fitted.bounds is not None:
        return np.asarray(fitted.bounds.mixed(directions) * fitted.bounds.scale)
    # Going to the user's units multiplied entry (i, j) by s_i s_j.
    internal, user = np.diag(fitted.w), np.diag(fitted.coef)
    scale = np.sqrt(np.divide(user, internal, out=np.zeros_like(user), where=internal > 0.0))
    components: Array = directions * scale
    return components
