"""Several rankings on one budget: each class against the rest, and what they cost together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError
from entrenous.planners.budget_split import rest_of
from entrenous.privacy.accounting import total_epsilon
from entrenous.privacy.budget import Budget
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.privacy.composition import compose_certificates, mechanisms_of, within_budget
from entrenous.privacy.noise import entropy_of

_SHRINK = 0.97
_TRIES = 60


def plans_on_one_budget(budget: Budget, parts: int, planned: Callable[[int, dict[str, Any]], Plan]) -> list[Plan]:
    """As many plans of one kind as there are parts, which together spend the budget.

    Gaussian noise: ``mu/sqrt(parts)`` each; pure noise: ``epsilon/parts``. Secret samples compose by another rule, so
    theirs is lowered until the accountant agrees. `planned` makes one from its number, epsilon and delta.
    """
    each = rest_of(budget, 1.0 - 1.0 / parts)
    for _ in range(_TRIES):
        spend = {"epsilon": each.epsilon, "delta": each.delta}
        certificate = planned(0, spend).certificate()
        assert certificate is not None
        if total_epsilon(mechanisms_of([certificate] * parts), budget.delta) <= budget.epsilon:
            return [planned(number, spend) for number in range(parts)]
        each = Budget(each.epsilon * _SHRINK, each.delta)
    raise AssumptionError(
        "several classes need an algorithm whose noise can be shared out",
        f"{parts} classes at epsilon={budget.epsilon:g}",
        'Use algorithm="moments" or "noisy-gd".',
    )


def one_stream(random_state: Any) -> Any:
    """One source of numbers for several fits: seeded alike, they would have the same noise."""
    return None if random_state is None else np.random.default_rng(entropy_of(random_state))


def certificates_of(plans: Sequence[Plan]) -> list[PrivacyCertificate]:
    """What private plans cost, one by one."""
    return [certificate for made in plans if (certificate := made.certificate()) is not None]


def first_and_later(first: Plan, later: Budget, parts: int) -> list[PrivacyCertificate]:
    """What parts cost of which the first is planned, and the others will be in the domain that it finds.

    Of those only the budget is known, which is the same for all of them.
    """
    (known,) = certificates_of([first])
    return [known, *[within_budget(known, later)] * (parts - 1)]


def joint_certificate(certificates: Sequence[PrivacyCertificate], budget: Budget) -> PrivacyCertificate:
    """All of them as one; sharing out aims a hair below the request, so the request is the honest figure."""
    together = compose_certificates(certificates, delta=budget.delta)
    epsilon = max(together.epsilon, budget.epsilon)
    return replace(together, epsilon=epsilon, claimed_epsilon=budget.epsilon)
