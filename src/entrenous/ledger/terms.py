"""What is fixed when a data set is entered: its budget and rule, or whose budget it shares."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from entrenous.errors import InputError, PrivacyError
from entrenous.ledger.rules import GaussianRule, RenyiRule, Rule, best_order, rule_named
from entrenous.privacy.budget import budget_for

LONGEST_NAME = 200
FEWEST = 2
"""Records of the smallest table there can be: a ledger does not ask how many there are."""

BY_VALUE = "value"
MEMBERSHIPS = {
    "random": "a public coin put each record into its part, whatever the record says",
    "position": "the place of a record in the table decides, and places do not depend on what records say",
}
"""Ways to share out records among parts that replace-one certificates cover."""


@dataclass(frozen=True)
class Terms:
    """A data set in a ledger. It has a budget of its own, or shares that of `parent`; nothing of it ever changes."""

    name: str
    rule: str | None = None
    order: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None
    parent: str | None = None
    membership: str | None = None
    """How records got into this part of `parent`; ``None`` with a parent: a version of the whole."""
    owner: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or len(self.name) > LONGEST_NAME:
            raise InputError(
                f"a data set needs a name of at most {LONGEST_NAME} characters", f"{self.name!r}", "Name it."
            )
        if not all(isinstance(text, str) for text in (self.owner, self.note)):
            raise InputError("owner and note are text", "something else", "Write words.")
        if self.parent is None:
            self._check_budget()
        else:
            self._check_sharing()

    def _check_budget(self) -> None:
        if self.membership is not None:
            raise InputError("membership is for a part of another data set", "no parent", "Say whose part it is.")
        spoken = [value is not None for value in (self.epsilon, self.delta, self.mu)]
        if spoken not in ([True, True, False], [False, False, True]):
            raise InputError(
                "a data set needs a total budget: epsilon and delta, or mu",
                f"epsilon={self.epsilon!r}, delta={self.delta!r}, mu={self.mu!r}",
                "Say for example epsilon=3, delta=1e-6.",
            )
        rule = self.accounting
        if self.mu is not None:
            real = isinstance(self.mu, numbers.Real) and not isinstance(self.mu, bool)
            if not real or not 0.0 < self.mu < math.inf or not isinstance(rule, GaussianRule):
                raise InputError(
                    "a budget in mu is a number above 0, for the rule gdp",
                    f"mu={self.mu!r}, rule={self.rule!r}",
                    "Use epsilon and delta for the rule rdp.",
                )
            return
        assert self.epsilon is not None
        budget = budget_for(self.epsilon, self.delta, FEWEST)
        if not budget.is_private or not budget.delta > 0.0:
            raise InputError(
                "the total budget needs a finite epsilon and a delta above 0: Gaussian fits have no pure epsilon",
                f"epsilon={self.epsilon!r}, delta={self.delta!r}",
                "Choose delta well below one over the number of records, such as 1e-6.",
            )
        if not self.limit > 0.0:
            raise InputError(
                "the rule rdp needs a budget that its order can state: epsilon must exceed what delta costs there",
                f"epsilon={self.epsilon!r}, delta={self.delta!r}, order={self.order!r}",
                "Use the rule gdp, a larger epsilon, or another order.",
            )

    def _check_sharing(self) -> None:
        own = (self.rule, self.order, self.epsilon, self.delta, self.mu)
        if any(value is not None for value in own):
            raise InputError(
                f"a version or a part of {self.parent!r} shares its budget and rule",
                "a budget or rule of its own",
                "Leave epsilon, delta, mu, rule and order out.",
            )
        if self.membership == BY_VALUE:
            raise PrivacyError(
                "parts may share one budget by their maximum only if membership does not depend on what a record says. "
                "By a value (ward, date) a replacement takes a record out of one part and puts one into another: two "
                "parts change, and replace-one certificates do not cover that",
                "membership='value'",
                "Enter it as a version instead, so that all fits add up; or deal records out at random.",
            )
        if self.membership is not None and self.membership not in MEMBERSHIPS:
            raise InputError(
                f"membership must be one of {', '.join(MEMBERSHIPS)}", f"{self.membership!r}", "See docs/ledger.md."
            )

    @property
    def accounting(self) -> Rule:
        """The rule of a data set that has its own budget."""
        assert self.parent is None
        return rule_named(str(self.rule), self.order)

    @property
    def limit(self) -> float:
        """The largest sum of costs."""
        if self.mu is not None:
            return self.mu**2
        assert self.epsilon is not None
        assert self.delta is not None
        return self.accounting.limit(self.epsilon, self.delta)

    @property
    def budget(self) -> str:
        """The budget in words."""
        if self.mu is not None:
            return f"mu = {self.mu:g}"
        return f"epsilon = {self.epsilon:g} at delta = {self.delta:g}"

    def spent_in_words(self, cost: float) -> str:
        """A sum of costs in the units of the budget."""
        if self.mu is not None:
            return f"mu = {math.sqrt(max(cost, 0.0)):.4g}"
        assert self.delta is not None
        return f"epsilon = {self.accounting.epsilon(cost, self.delta) if cost > 0.0 else 0.0:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """The terms as the ledger stores them."""
        return asdict(self)


def terms_for(
    name: str,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    mu: float | None = None,
    rule: str | None = None,
    order: int | None = None,
    version_of: str | None = None,
    part_of: str | None = None,
    membership: str | None = None,
    owner: str = "",
    note: str = "",
) -> Terms:
    """Terms from a request: gdp unless said otherwise, and for rdp the order that suits the budget."""
    if version_of is not None and part_of is not None:
        raise InputError("a data set is a version or a part of another", "both", "Say one.")
    parent = version_of if part_of is None else part_of
    if part_of is not None and membership is None:
        raise InputError(
            f"a part of {part_of!r} needs to say how records got into it",
            "membership=None",
            f"One of {', '.join(MEMBERSHIPS)}; by a value it is no part, but a version.",
        )
    if part_of is None and membership is not None:
        raise InputError("membership is for a part of another data set", "no part_of", "Say whose part it is.")
    if parent is None:
        rule = rule or GaussianRule.name
        if rule == RenyiRule.name and order is None and epsilon is not None and delta:
            order = best_order(epsilon, budget_for(epsilon, delta, FEWEST).delta)
    epsilon, delta, mu = map(_plain, (epsilon, delta, mu))
    return Terms(name, rule, order, epsilon, delta, mu, parent, membership, owner, note)


def _plain(number: Any) -> Any:
    """NumPy's numbers as Python's, which JSON knows; what is no number is refused later."""
    return float(number) if isinstance(number, numbers.Real) and not isinstance(number, bool) else number


def terms_from(content: Mapping[str, Any]) -> Terms:
    """The inverse of `Terms.to_dict`."""
    return Terms(**content)
