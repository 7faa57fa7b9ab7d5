"""What people see of an estimator: parameters, and what it spends."""

from __future__ import annotations

from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from entrenous.errors import InputError
from entrenous.privacy.budget import budget_for
from entrenous.privacy.notebook_card import notebook_card, plain_card


class ShowsPrivacy(BaseEstimator):
    """Puts the budget into ``repr`` and the certificate into notebooks."""

    epsilon: float | None

    @property
    def _is_private(self) -> bool:
        return budget_for(self.epsilon, None, 2).is_private

    def _privacy(self) -> str:
        """What the fit spent, or would spend."""
        certificate = getattr(self, "certificate_", None)
        if certificate is not None:
            noise = ", seeded" if certificate.seeded else ""
            return f"private: epsilon = {certificate.epsilon:.4g}, delta = {certificate.delta:.3g}{noise}"
        try:
            asked = f"epsilon = {self.epsilon:g}, not fitted yet" if self._is_private else ""
        except InputError:
            return f"epsilon = {self.epsilon!r} is no budget"
        return f"private: {asked}" if asked else "not private: epsilon = None"

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"{super().__repr__(N_CHAR_MAX)}  # {self._privacy()}"

    def _repr_html_inner(self) -> str:
        certificate = getattr(self, "certificate_", None)
        card = plain_card(self._privacy()) if certificate is None else notebook_card(certificate)
        return str(estimator_html_repr(self)) + card

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._repr_html_inner()
        return shown
