"""What people see of an estimator: parameters, and what it spends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import estimator_html_repr

from entrenous.errors import InputError
from entrenous.privacy.budget import asks_for_privacy
from entrenous.problem.tasks.task import task_named
from entrenous.report.notebook_card import notebook_card, plain_card


class ShowsPrivacy(BaseEstimator):
    """Puts the budget into ``repr`` and the certificate into notebooks."""

    epsilon: float | None
    n_features_in_: int
    _released: ClassVar[tuple[str, ...]]
    """Fitted arrays of floats, which together with the plan are the model."""

    def released_arrays(self) -> tuple[str, ...]:
        """Names of the arrays that `entrenous.save` writes."""
        return self._released

    @property
    def _is_private(self) -> bool:
        return asks_for_privacy(self.epsilon)

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

    def _expected_shapes(self) -> dict[str, tuple[int | None, ...]]:
        """The shape that each released array must have for this estimator's other attributes; ``None`` for any."""
        return {}

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What does not fit together in a fitted estimator that was read from a file: what is needed, what is there."""
        if isinstance(self, ClassifierMixin) and not hasattr(self, "classes_"):
            yield "classes", "none"
            return
        for name, shape in self._expected_shapes().items():
            found = np.shape(getattr(self, name))
            matches = len(found) == len(shape) and all(a in (None, b) for a, b in zip(shape, found, strict=True))
            if not matches:
                yield f"{name} of shape {shape}", f"shape {found}"
        bounds, names = getattr(self, "bounds_", None), getattr(self, "feature_names_in_", None)
        if bounds is not None and bounds.origin.size != self.n_features_in_:
            yield f"bounds of {self.n_features_in_} features", f"{bounds.origin.size}"
        if names is not None and len(names) != self.n_features_in_:
            yield f"{self.n_features_in_} feature names", f"{len(names)}"
        plan, task = getattr(self, "plan_", None), getattr(self, "_task", None)
        if plan is None or task is None:
            if plan is not None or task is not None:
                yield f"{'no' if task is None else 'a'} plan", "the opposite"
            return
        if plan.n_features != self.n_features_in_:
            yield f"a plan for {self.n_features_in_} features", f"one for {plan.n_features}"
        if plan.task_object is not task_named(task):
            yield f"a plan for {task}", f"one for {plan.task}"
        classes = getattr(self, "classes_", None)
        if classes is not None and len(set(np.asarray(classes).tolist())) < len(classes):
            yield "classes that differ", f"{classes}"

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
