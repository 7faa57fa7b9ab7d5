"""Probabilities of events, for models whose loss has a link: from what was released, so they cost nothing more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from entrenous.arrays import Array
from entrenous.engine.phases.capped_descent import class_weights
from entrenous.engine.phases.probability_link import LogOddsMap, ProbabilityLink
from entrenous.estimators.offered_if import offered_if
from entrenous.privacy.certificate import PrivacyCertificate


class EventProbabilities:
    """`predict_proba` and what it rests on; for estimators of one linear score, or of one per class."""

    algorithm: Any
    surrogate: Any
    coef_: Array
    certificate_: PrivacyCertificate | None
    _is_private: bool
    _need_fit: Callable[[], None]
    decision_function: Callable[[Any], Array]

    @offered_if(lambda self: self._lacks_probability())
    def predict_proba(self, X: Any) -> Array:
        """The probability of each class: that of the loss's own link, from what was released.

        ``logistic-gd`` minimises a weighted logistic loss, whose expected slope vanishes where the probability of an
        event is ``c/(a + c)``, a and c the capped slopes of an event and of another record. The option `calibrate` maps
        its log-odds. Any other logistic loss has its own link; noise makes what it says no calibrated probability. With
        several classes each one's probability against the rest, divided by their sum.
        """
        scores = self.decision_function(X)
        links = self.probability_links()
        if scores.ndim == 1:
            event = links[0].probability(scores + links[0].even_score)
            return np.column_stack([1.0 - event, event])
        each = [link.probability(column + link.even_score) for link, column in zip(links, scores.T, strict=True)]
        return np.column_stack(each) / np.sum(each, axis=0)[:, None]

    def probability_links(self) -> list[ProbabilityLink]:
        """From score to probability, for each row of `coef_`."""
        shares, maps = self.event_share_, self.log_odds_map_
        return [
            ProbabilityLink(class_weights(share), LogOddsMap(*pair)) for share, pair in zip(shares, maps, strict=True)
        ]

    @property
    def event_share_(self) -> Array:
        """The share of events that a private fit released, 1/2 where it released none; one per row of `coef_`."""
        return np.array([public.get("found_event_share", 0.5) for public in self._public_of_each()])

    @property
    def log_odds_map_(self) -> Array:
        """Slope and shift that calibration released, 1 and 0 where it was not asked for; a row per row of `coef_`."""
        found = [public.get("found_log_odds_map", LogOddsMap()._asdict()) for public in self._public_of_each()]
        return np.array([[pair["slope"], pair["shift"]] for pair in found])

    def _public_of_each(self) -> list[Mapping[str, Any]]:
        """The certificate's public entries, for each row of `coef_`."""
        self._need_fit()
        public = {} if self.certificate_ is None else self.certificate_.public
        return [part["public"] for part in public["parts"]] if "parts" in public else [public] * len(self.coef_)

    def _lacks_probability(self) -> str | None:
        """Why there is no `predict_proba`; ``None``: the model has a link, or before it is fitted can have one."""
        made = getattr(self, "plan_", None)
        hopeful = self._is_private and self.algorithm in ("auto", "logistic-gd") and self.surrogate is None
        if made.gives_probability if made is not None else hopeful:
            return None
        ranked = f"algorithm={self.algorithm!r}" if self._is_private else "a fit without privacy"
        return (
            f"{ranked} ranks without probabilities. A private fit with "
            'algorithm="logistic-gd", which "auto" takes for delta > 0, has them.'
        )
