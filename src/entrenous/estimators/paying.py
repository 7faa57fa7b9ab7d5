"""How an estimator pays for a fit."""

from __future__ import annotations

from typing import Any

from entrenous.ledger.spending import Spending


def spending_of(estimator: Any) -> Spending:
    """What a new fit of this estimator spends, and where; it says once what refitting costs if nobody counts."""
    earlier = getattr(estimator, "certificate_", None)
    told = getattr(estimator, "_told_of_refits", False)
    if earlier is not None:
        estimator._told_of_refits = True
    return Spending(estimator.ledger, estimator.dataset, earlier=None if told else earlier)
