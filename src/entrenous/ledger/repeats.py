"""What people are told, once, who fit the same thing again without a ledger."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from entrenous.errors import warn_of_privacy

if TYPE_CHECKING:
    from entrenous.privacy.certificate import PrivacyCertificate

SEARCHES = "sklearn.model_selection"
"""Whose calls fit many times."""
_SHOWN = (2, 5, 20)
_WAY_OUT = "A ledger keeps the total and refuses what is too much: docs/ledger.md."

_told_of_searches = False


def warn_of_repeats(certificates: Sequence[PrivacyCertificate], earlier: PrivacyCertificate | None) -> None:
    """A warning with the price, if a cross-validation or search fits, or if this estimator has been fitted before.

    Of searches once in a process; of one estimator its caller counts.
    """
    global _told_of_searches
    if _is_search():
        if not _told_of_searches:
            _told_of_searches = True
            prices = ", ".join(f"{k} cost {_together([*certificates] * k):.3g}" for k in _SHOWN)
            warn_of_privacy(
                f"Fitting again spends again: of a cross-validation or search each fit does. In epsilon, {prices} "
                f"together, and scores on private rows are not in it. {_WAY_OUT}"
            )
    elif earlier is not None:
        warn_of_privacy(
            f"Fitting again spends again: this estimator's last fit and this one cost epsilon = "
            f"{_together([earlier, *certificates]):.3g} together, if they are about the same people. {_WAY_OUT}"
        )


def _together(certificates: Sequence[PrivacyCertificate]) -> float:
    # Here: the command line starts without them.
    from entrenous.privacy.accounting import total_epsilon
    from entrenous.privacy.composition import mechanisms_of

    return total_epsilon(mechanisms_of(certificates), max(one.delta for one in certificates))


def _is_search() -> bool:
    frame = sys._getframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(SEARCHES):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
