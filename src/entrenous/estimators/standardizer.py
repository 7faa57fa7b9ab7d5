"""A scaler for private pipelines: centre and scale found with noise, accounted in a certificate of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from entrenous.arrays import Array
from entrenous.engine.phases.find_bounds import HALF_WIDTH, FindBounds, clipping_radius
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.run import as_seeded_if
from entrenous.estimators.display import ShowsPrivacy
from entrenous.estimators.paying import spending_of
from entrenous.estimators.validation import validated
from entrenous.planners.budget_split import find_bounds
from entrenous.privacy.accounting import TOLERANCE, account_name, accountant_version, confirm
from entrenous.privacy.budget import Budget, budget_for
from entrenous.privacy.certificate import NO_PROBLEM, PrivacyCertificate, as_json
from entrenous.privacy.noise import noise_from
from entrenous.privacy.verification import STANDARDIZER
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.declared import missing_bounds
from entrenous.problem.features.private_bounds import PrivateBounds
from entrenous.registry import estimator
from entrenous.version import __version__


@estimator
class PrivateStandardizer(OneToOneFeatureMixin, TransformerMixin, ShowsPrivacy):
    """Centres and scales features by what a private search finds, for a budget of its own.

    In front of a private estimator a scaler that learns from the rows, such as scikit-learn's, is a release that nobody
    accounts for. This one releases noisy histograms (Lemma 11), and its certificate composes with the estimator's.
    `PrivateBounds` does the same inside one fit and is simpler where there is only one.

    Parameters
    ----------
    within : (low, high), mapping or FeatureBounds
        Loose public ranges to search in; values outside are clipped.
    epsilon : float or None, default=0.3
        Privacy budget of the search. ``None`` searches without noise.
    delta : float or None, default=None
        ``None`` means ``1/n**2``, at least ``1e-18``; ``0`` asks for pure differential privacy.
    random_state : int, Generator, RandomState or None, default=None
        ``None`` draws secure noise.
    ledger, dataset : str or None, default=None
        A ledger, and the data set in it that a private fit spends from; ``None``: as the environment says
        (``ENTRENOUS_LEDGER``, ``ENTRENOUS_DATASET``). ``docs/ledger.md``.

    Attributes
    ----------
    mean_, scale_ : arrays of shape (n_features,)
        Centre and scale that were found; scale 0 for a public constant.
    bounds_ : FeatureBounds
        The box that was found, three scales to either side.
    certificate_ : PrivacyCertificate or None

    Examples
    --------
    Its output lies in [-3, 3], whatever the rows are, so that is what the next step declares:

    >>> import entrenous as en
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = make_classification(3000, 4, n_redundant=0, random_state=0)
    >>> ranking = en.AUCClassifier(epsilon=0.7, bounds=en.PrivateStandardizer.output_bounds(4))
    >>> pipeline = make_pipeline(en.PrivateStandardizer(within=(-1000, 1000)), ranking).fit(X, y)
    >>> both = en.compose_certificates([step.certificate_ for step in (pipeline[0], pipeline[1])])
    >>> bool(0.7 < both.epsilon < 1.0)
    True

    """

    has_plan_per_class = False
    _released = ("mean_", "scale_")

    def __init__(
        self,
        within: Any = None,
        *,
        epsilon: float | None = 0.3,
        delta: float | None = None,
        random_state: Any = None,
        ledger: Any = None,
        dataset: str | None = None,
    ) -> None:
        self.within = within
        self.epsilon = epsilon
        self.delta = delta
        self.random_state = random_state
        self.ledger = ledger
        self.dataset = dataset

    @staticmethod
    def output_bounds(n_features: int) -> FeatureBounds:
        """The domain of what `transform` returns, for the next step's `bounds`; known before any row."""
        return FeatureBounds(-HALF_WIDTH, HALF_WIDTH, clip=clipping_radius(n_features)).for_features(n_features)

    def fit(self, X: Any, y: Any = None) -> PrivateStandardizer:
        """Search centre and scale of every feature."""
        if self.within is None and self._is_private:
            raise missing_bounds("a private search for centre and scale")
        X = validated(self, X=X, reset=True, ensure_min_samples=2)
        budget = budget_for(self.epsilon, self.delta, len(X))
        loose = (float(X.min()), max(float(X.max()), float(X.min()) + 1.0)) if self.within is None else self.within
        names = getattr(self, "feature_names_in_", None)
        release = find_bounds(1.0, budget, PrivateBounds(loose).for_features(X.shape[1], names))
        noise = noise_from(self.random_state)
        certificate = None if release.mechanism is None else _certificate(release, budget, len(X))
        certificate = as_seeded_if(noise.seeded, certificate)
        spending = spending_of(self)
        spending.begin(certificate)
        self.bounds_ = release.find(rows_of(X), noise)
        low, high = self.bounds_.sides()
        self.mean_ = low / 2.0 + high / 2.0
        self.scale_ = (high / 2.0 - low / 2.0) / HALF_WIDTH
        self.certificate_ = (
            None if certificate is None else certificate.stating("found_bounds", self.bounds_.public_numbers())
        )
        spending.commit(self.certificate_)
        return self

    def _expected_shapes(self) -> dict[str, tuple[int | None, ...]]:
        return {"mean_": (self.n_features_in_,), "scale_": (self.n_features_in_,)}

    def transform(self, X: Any) -> Array:
        """Rows clipped into the box that was found, in scales from its centre: within [-3, 3]."""
        check_is_fitted(self)
        X = validated(self, X=X, reset=False)
        low, high = self.bounds_.sides()
        centred = np.clip(X, low, high) - self.mean_
        scaled = np.divide(centred, self.scale_, out=np.zeros_like(centred), where=self.scale_ > 0.0)
        # Rounding must not leave the range that the next step was promised.
        return np.clip(scaled, -HALF_WIDTH, HALF_WIDTH)


def _certificate(release: FindBounds, budget: Budget, n: int) -> PrivacyCertificate:
    assert release.mechanism is not None
    mechanisms = (release.mechanism,)
    confirm(budget.epsilon, mechanisms, budget.delta)
    return PrivacyCertificate(
        library=f"entrenous {__version__}",
        algorithm=STANDARDIZER,
        citation="entrenous",
        calibration="tight",
        epsilon=budget.epsilon,
        delta=budget.delta,
        claimed_epsilon=budget.epsilon,
        n=n,
        problem=NO_PROBLEM,
        mechanisms=mechanisms,
        accountant={
            "name": account_name(mechanisms),
            "version": f"dp-accounting {accountant_version()}",
            "tolerance": TOLERANCE,
        },
        public=as_json(release.numbers),
        warnings=budget.cautions(n),
    )
