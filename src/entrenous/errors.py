"""What can go wrong, in three parts: what the rule needs, what it got, the way out."""

from __future__ import annotations

import sys
import warnings

LONGEST_SHOWN = 400
"""Characters of what was given that a message repeats."""


class EntrenousError(ValueError):
    """Base of every error this library raises on purpose."""

    def __init__(self, needs: str, got: str, way_out: str) -> None:
        super().__init__(needs, got, way_out)
        self.needs = needs
        self.got = got
        self.way_out = way_out

    def __str__(self) -> str:
        got = self.got if len(self.got) <= LONGEST_SHOWN else f"{self.got[:LONGEST_SHOWN]}... (cut)"
        return f"{self.needs}, got {got}. {self.way_out}"


class InputError(EntrenousError):
    """An argument or a table that no fit, private or not, can use."""


class PrivacyError(EntrenousError):
    """The request would leak: no public bounds, a broken certificate, a release that nobody paid for."""


class BudgetError(EntrenousError):
    """A ledger refuses: the data set's budget does not pay for this fit, or the ledger itself cannot be relied on."""


class AssumptionError(EntrenousError):
    """The theorem behind an algorithm does not cover this problem."""


class PrivacyWarning(UserWarning):
    """The run is allowed, but its guarantee is weaker than it looks."""


def warn_of_privacy(message: str) -> None:
    """A `PrivacyWarning` that points at the caller's line, however deep in the library it arises."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("entrenous."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, PrivacyWarning, stacklevel=level)
