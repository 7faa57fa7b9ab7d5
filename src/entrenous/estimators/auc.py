"""AUC maximisation as a scikit-learn classifier."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from entrenous.arrays import AnyArray, Array
from entrenous.engine.online import OnlineRun
from entrenous.engine.plan import Plan
from entrenous.engine.run import Fitted, checked_rows, run
from entrenous.estimators.base import PairwiseEstimator
from entrenous.estimators.bending_scores import BendingScores
from entrenous.estimators.classes import PublicClasses
from entrenous.estimators.offered_if import offered_if
from entrenous.estimators.one_vs_rest import (
    certificates_of,
    first_and_later,
    joint_certificate,
    one_stream,
    plans_on_one_budget,
)
from entrenous.estimators.paying import spending_of
from entrenous.estimators.probabilities import EventProbabilities
from entrenous.ledger.spending import Spending
from entrenous.planners.budget_split import rest_of
from entrenous.planners.logistic_gd import STAGES, shares_of_stages
from entrenous.planners.registry import algorithm_named
from entrenous.privacy.budget import budget_for
from entrenous.privacy.certificate import DOMAIN_FOUND_BY_PART
from entrenous.privacy.noise import fresh_index_seed
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.tasks.task import class_codes
from entrenous.registry import estimator

_ROOM = 2.0
"""Radius of a stream without privacy, in norms of the least-squares solution; `benchmarks/non_private_streams.py`."""
_UNSEEN = 0.1
"""Variance, times n, of directions that a pass over n records cannot learn.

It joins the ridge of that solution: columns that are almost collinear, or a feature that all but states the class,
would otherwise make it as long as rounding lets it.
"""
_SHORTEST = 1e-6
"""Shorter radii come from classes that have the same mean up to rounding."""


@estimator
class AUCClassifier(ClassifierMixin, EventProbabilities, BendingScores, PublicClasses, PairwiseEstimator):
    """A score that ranks events above non-events, learnt from pairs, privately: linear, or a shape per feature.

    Parameters
    ----------
    epsilon : float or None, default=1.0
        Privacy budget. ``None`` (or ``inf``) fits without privacy.
    delta : float or None, default=None
        ``None`` means ``1/n**2``, at least ``1e-18``; ``0`` asks for pure differential privacy.
    algorithm : str or callable, default="auto"
        A name from `entrenous.algorithms`, or a planner ``(problem, budget, n, **options) -> Plan``. ``"auto"`` decides
        from public numbers only.
    surrogate : str, Surrogate or None, default=None
        Loss of a pair; ``None`` is the algorithm's own.
    shape : {"linear", "additive", "auto"}, default="linear"
        ``"additive"`` lets the score bend in every numeric feature, with ``logistic-gd``; `shapes_` has the result.
        ``"auto"`` does so where public numbers say that it pays, as with some ten thousand records at epsilon 1.
    bounds : (low, high), mapping, FeatureBounds, FeatureBall or PrivateBounds
        Public domain of the features, required for a private fit: rows outside are clipped into it. `PrivateBounds`
        finds a tight one inside loose ranges for a share of the budget. A fit without privacy needs none; given some,
        it uses the same clipping and units.
    classes : (other, event), longer sequence or None, default=None
        Public labels. ``None`` means ``(0, 1)`` for a private fit, and the labels found in `y` without privacy. Of
        three or more each is ranked against the rest, on its share of the budget.
    radius : float or None, default=None
        Radius of the parameter ball in internal units (rows have norm at most 1); ``None`` is the algorithm's own. For
        algorithms that go through the records one by one or in random pairs that is 1; without privacy `fit` takes
        twice the norm of the ``moments`` solution on the same rows instead, for each of several classes its own.
        `partial_fit`, which cannot know later rows, keeps 1.
    ridge : float, default=0.0
        Strength of ``ridge/2 ||w||^2``, in internal units.
    max_iter : int or None, default=None
        Steps of an iterative algorithm; ``None`` lets the plan choose.
    calibration : {"tight", "paper"}, default="tight"
        ``"paper"`` prints the paper's noise, for reproduction: the certificate states what it really gives.
    random_state : int, Generator, RandomState or None, default=None
        ``None`` draws secure noise. Anything else is repeatable, so not private against whoever knows it. The order in
        which an algorithm meets the records is public and says nothing about the noise: with ``None`` it is new in
        every fit, else always the same one.
    ledger, dataset : str or None, default=None
        A ledger, and the data set in it that a private fit spends from; ``None``: as the environment says
        (``ENTRENOUS_LEDGER``, ``ENTRENOUS_DATASET``). ``docs/ledger.md``.
    options : mapping or None, default=None
        Further arguments of the planner. ``{"zoom": 0.05, "standardise": 0.1, "whiten": 0.0, "calibrate": 0.0}`` are
        the shares of the budget that ``logistic-gd`` spends on ranges, scales, how the columns go together and
        calibrated probabilities (0.02 is enough); 0 leaves one out. ``{"index_seed": k}`` with an int from 0 to
        2**63 - 1 chooses another order of the records, for algorithms that draw one.

    Attributes
    ----------
    coef_ : array of shape (1, n_features), or one row per class if there are several
        Where the score bends this is its straight part, and ``shapes_`` is the whole.
    shapes_ : Shapes
        A table: what each value of each feature adds to the score, and the noise in it. `entrenous.plot_shapes` draws
        it.
    rises_, rise_noise_ : arrays of shape (1, n_ramps) or (n_classes, n_ramps)
        What the ramps of ``bounds_`` add to a score that bends, and the noise in it; of width 0 for a linear one.
    intercept_ : array of shape (1,) or (n_classes,)
        A private fit pays for a threshold with ``logistic-gd`` and ``moments``; the others put it at the centre of the
        domain.
    coef_noise_ : array of the shape of coef_
        Standard deviation that the privacy noise alone gives each coefficient, before any projection; 0 without
        privacy. From public numbers, for ``moments`` from what was released. For ``logistic-gd`` an estimate from what
        was released, meant to be too large rather than too small: mostly 1 to 5 times the spread of repeated fits.
    classes_ : array of shape (n_classes,)
    bounds_ : FeatureBounds, FeatureBall or None
        The domain that rows are clipped into, in `fit` and when they are scored: as declared, or as `PrivateBounds`
        found it; ``None``: they are not clipped. Of several classes each finds its own: ``all_bounds_`` has all.
    plan_ : Plan
        What ran, with which noise. With several classes the first one's; ``plans_`` has all.
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
    ('logistic-gd', 1.0, True)

    """

    has_plan_per_class = True
    _task = "auc"
    _takes_sparse = True

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float | None = None,
        *,
        algorithm: str | Callable[..., Plan] = "auto",
        surrogate: str | Surrogate | None = None,
        shape: str = "linear",
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
        self.shape = shape
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

    def fit(self, X: Any, y: Any, **unsupported: Any) -> AUCClassifier:
        """Plan from public numbers, then run once over the rows; with several classes, once for each of them.

        A sparse table is not made dense; not every algorithm takes it.
        `sample_weight` is refused, with the reason.
        """
        # Not a named parameter: scikit-learn takes that as a promise to support weights.
        self._refuse_weights(unsupported)
        self._need_bounds()
        X, y = self._checked(X, y, ensure_min_samples=2)
        classes = self._public_classes(y)
        if len(classes) > 2:
            return self._fit_each_class(X, y, classes)
        arguments = {"classes": classes, "radius": self._radius_on(X, y, classes), "shape": self._shape_for(X)}
        self._take([self._run(X, y, arguments)], classes)
        return self

    def _radius_on(self, X: Any, y: AnyArray, classes: tuple[Any, ...]) -> float | None:
        """The radius for a fit on these rows: as declared, or by the rows where no privacy forbids looking at them.

        Rows of norm 1 with small margins need a parameter much longer than 1, and a stream in the unit ball stays far
        from it. Solvers over all pairs adapt to the rows by themselves.
        """
        if self._is_private or self.radius is not None:
            return self.radius
        made = self._plan_for(X.shape[0], 0, {"classes": classes})
        if not any(phase.unit_rows for phase in made.phases):
            return None
        rows = checked_rows(made, X)
        bounds = self.bounds
        if bounds is None:
            low, high = rows.ranges()
            bounds = FeatureBounds(tuple(low.tolist()), tuple(high.tolist()))
        arguments = {"classes": classes, "bounds": bounds, "ridge": self.ridge + _UNSEEN / len(rows)}
        arguments |= {"algorithm": "moments", "surrogate": None, "max_iter": None, "options": None}
        exact = self._plan_for(len(rows), 0, {**arguments, "calibration": "tight"})
        radius = _ROOM * float(np.linalg.norm(exact.run(X, y).w))
        if self.ridge > 0.0:
            # No minimiser is longer than this, and longer steps than it allows would overshoot the ridge's own.
            radius = min(radius, made.problem.lipschitz / self.ridge)
        return radius if _SHORTEST <= radius < math.inf else 1.0

    def _fit_each_class(self, X: Any, y: AnyArray, classes: tuple[Any, ...]) -> AUCClassifier:
        """One class against the rest, in turn; the budget is shared out and accounted together."""
        random_state, spending = one_stream(self.random_state), spending_of(self)
        labels = self._against_the_rest(y, classes)
        radii = [self._radius_on(X, own, (0, 1)) for own in labels]
        stages = self._shared_stages(X.shape[0], self._shape_for(X))
        if stages is not None:
            fits = self._fit_on_shared_stages(X, labels, random_state, stages, spending)
        else:
            plans = self._noting_leaks(self._plans_of_each(classes, X.shape[0], random_state, radii))
            spending.plan_several(certificates_of(plans))
            fits = [run(made, X, own, random_state, spending) for made, own in zip(plans, labels, strict=True)]
        self._online = None
        self._keep(fits[0])
        self._take(fits, classes)
        spending.commit(self.certificate_)
        return self

    def _shared_stages(self, n: int, shape: str) -> dict[str, float] | None:
        """Shares of the budget for what all classes have in common, where the algorithm has such stages."""
        if not self._is_private:
            return None
        made = self._plan_for(n, 0, {"classes": (0, 1), "shape": shape})
        known = algorithm_named(made.algorithm).options if isinstance(self.algorithm, str) else ()
        spent = shares_of_stages(made) if "standardise" in known else {}
        return spent or None

    def _fit_on_shared_stages(
        self, X: Any, labels: Sequence[AnyArray], random_state: Any, stages: Mapping[str, float], spending: Spending
    ) -> list[Fitted]:
        """The first class finds what all have in common, and has that share of the budget beside its own.

        Calibration's share of the budget is shared out evenly.
        """
        self._need_tight("several classes")
        n, shape = X.shape[0], self._shape_for(X)
        whole = budget_for(self.epsilon, self.delta, n)
        together = sum(stages.values())
        each = (1.0 - together) / len(labels)
        none = dict.fromkeys(STAGES, 0.0)
        options = {**(self.options or {}), **none}
        options |= {name: share / (together + each) for name, share in stages.items()}
        calibrate = options.get("calibrate", 0.0)
        bounds, fits = self.bounds, list[Fitted]()
        for number, own in enumerate(labels):
            part = each + (together if number == 0 else 0.0)
            budget, options["calibrate"] = rest_of(whole, 1.0 - part), calibrate / len(labels) / part
            arguments = {"classes": (0, 1), "epsilon": budget.epsilon, "delta": budget.delta, "bounds": bounds}
            arguments |= {"options": options, "shape": shape}
            made = self._plan_for(n, fresh_index_seed(random_state, number), arguments)
            if number > 0:
                made = replace(made, remarks={**made.remarks, DOMAIN_FOUND_BY_PART: 1})
            (made,) = self._noting_leaks([made])
            if number == 0:
                spending.plan_several(first_and_later(made, rest_of(whole, 1.0 - each), len(labels)))
            fitted = run(made, X, own, random_state, spending)
            scales = fits[0].scale_noise if fits else None
            # The first class released scales for all of them.
            noise = fitted.noise if scales is None else scales.added_to(fitted.noise, fitted.coef)
            fits.append(replace(fitted, noise=noise))
            bounds, options = fits[0].bounds, {**options, **none}
        return fits

    def _against_the_rest(self, y: AnyArray, classes: tuple[Any, ...]) -> list[AnyArray]:
        codes = class_codes(y, classes, binary=False)
        return [(codes == k).astype(int) for k in range(len(classes))]

    def _plans_of_each(
        self, classes: tuple[Any, ...], n: int | None, random_state: Any, radii: Sequence[float | None]
    ) -> list[Plan]:
        self._need_tight("several classes")

        def planned(number: int, spend: dict[str, Any]) -> Plan:
            arguments = {"classes": (0, 1), "radius": radii[number], "shape": self.shape, **spend}
            return self._open_plan(n, fresh_index_seed(random_state, number), arguments)

        if n is None or not self._is_private:
            return [planned(number, {}) for number in range(len(classes))]
        return plans_on_one_budget(budget_for(self.epsilon, self.delta, n), len(classes), planned)

    @offered_if(lambda self: self._needs_all_records())
    def partial_fit(
        self, X: Any, y: Any, classes: Sequence[Any] | None = None, n_total: int | None = None
    ) -> AUCClassifier:
        """Take more records, in order of arrival, for algorithms that `entrenous.algorithms` lists as online.

        Rows in any portions give the model that `fit` gives on all of them, in the memory of the algorithm's buffer;
        without privacy this needs a `radius`, because `fit` takes it from all rows where none is given, and here it is
        1. `classes` are needed with the first rows unless the parameter says them or the fit is private. A private fit
        needs `n_total` there, because the noise depends on it, and releases its model after the last record (onpairstrc
        and onpairc after every call). Until then the estimator holds rows and iterates that no noise covers; they
        are left out when it is pickled.
        """
        self._need_bounds()
        first = getattr(self, "_online", None) is None
        X, y = self._checked(X, y, reset=first)
        declared = self._declared_classes(classes)
        labels = [y] if len(declared) == 2 else self._against_the_rest(y, declared)
        fits = self._feed(X, labels, n_total, lambda: self._begin(declared, n_total))
        self.classes_ = np.asarray(declared)
        if fits is not None:
            self._take(fits, declared)
            self._leave_certificate()
        return self

    def _begin(self, classes: tuple[Any, ...], n_total: int | None) -> list[OnlineRun]:
        """The runs of an online fit: one, or one for each of several classes."""
        spending = spending_of(self)
        if len(classes) == 2:
            arguments = {"classes": classes, "shape": self.shape}
            made = self._open_plan(n_total, fresh_index_seed(self.random_state), arguments)
            return [OnlineRun(made, self.random_state, spending)]
        random_state = one_stream(self.random_state)
        plans = self._plans_of_each(classes, n_total, random_state, [self.radius] * len(classes))
        spending.plan_several(certificates_of(plans))
        return [OnlineRun(made, random_state, spending) for made in plans]

    def _take(self, fits: Sequence[Fitted], classes: tuple[Any, ...]) -> None:
        self.classes_ = np.asarray(classes)
        self._take_scores(fits)
        self.intercept_ = np.array([fitted.intercept for fitted in fits])
        self.plans_ = tuple(fitted.plan for fitted in fits)
        self.all_bounds_ = tuple(fitted.bounds for fitted in fits)
        if len(fits) > 1:
            self.n_iter_ = max(fitted.steps for fitted in fits)
            certificates = [fitted.certificate for fitted in fits if fitted.certificate is not None]
            budget = budget_for(self.epsilon, self.delta, fits[0].plan.n)
            self.certificate_ = joint_certificate(certificates, budget) if certificates else None

    def _expected_shapes(self) -> dict[str, tuple[int | None, ...]]:
        rows = 1 if len(self.classes_) == 2 else len(self.classes_)
        return {**self._score_shapes(rows), "intercept_": (rows,), "plans_": (rows,)}

    def decision_function(self, X: Any) -> Array:
        """The score of each row: larger means more likely an event; with several classes one column for each."""
        rows, domains = self._new_rows(X), self.all_bounds_
        if len(set(domains)) == 1:
            scores = self._linear_scores(rows, self.all_coefs(), self.intercept_, domains[0])
            return scores if len(self.coef_) > 1 else scores[:, 0]
        models = zip(self.all_coefs(), self.intercept_, domains, strict=True)
        return np.hstack([self._linear_scores(rows, coef[None], level, domain) for coef, level, domain in models])

    def predict(self, X: Any) -> AnyArray:
        """The event class where `decision_function` is positive; of several classes the one with the largest score."""
        scores = self.decision_function(X)
        labels: AnyArray = self.classes_[scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0.0).astype(int)]
        return labels

    def score(self, X: Any, y: Any) -> float:
        """AUC on these rows, of several classes the mean over those that occur, each against the rest.

        On private rows this is a release that no certificate covers.
        """
        from sklearn.metrics import roc_auc_score  # here: it brings much along that no fit needs

        scores, labels = self.decision_function(X), np.asarray(y)
        if scores.ndim == 1:
            return float(roc_auc_score(labels == self.classes_[1], scores))
        columns = zip(self.classes_, scores.T, strict=True)
        occurring = [
            (labels == label, column) for label, column in columns if 0 < np.sum(labels == label) < len(labels)
        ]
        return float(np.mean([roc_auc_score(event, column) for event, column in occurring]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # At a small epsilon and n the noise decides; scikit-learn's accuracy checks are not meant for that.
        tags.classifier_tags.poor_score = self.epsilon is not None
        # A private fit takes the classes that were declared, and no more.
        tags.classifier_tags.multi_class = self.epsilon is None or (self.classes is not None and len(self.classes) > 2)
        return tags
