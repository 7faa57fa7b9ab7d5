"""What a theorem states: a number with its source. And the list of all such statements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, ParamSpec

P = ParamSpec("P")
Kind = Literal["stability", "optimisation", "generalisation", "excess risk", "Rademacher", "noise"]
KINDS: tuple[Kind, ...] = ("stability", "optimisation", "generalisation", "excess risk", "Rademacher", "noise")


@dataclass(frozen=True)
class Stated:
    """The value of a printed bound. ``float(bound)`` is the value."""

    value: float
    bounds: str
    """What is bounded."""
    formula: str
    constant: str
    """The word "explicit", or the constants that the paper leaves open (keywords of the function, 1 unless given)."""
    paper: str
    theorem: str
    conditions: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class Schedule:
    """What a theorem tells one to run. ``eta`` is the step, or the first one where `rule` says how steps change."""

    T: int
    eta: float
    sigma: float | None
    """Standard deviation of the printed noise: per step or per release, the first phase's where phases differ."""
    gradients: int
    """Gradients of single pairs (of single records for pointwise learning) in the whole run."""
    rule: str
    paper: str
    theorem: str


@dataclass(frozen=True)
class Setting:
    """Public numbers at which all bounds are compared. Letters as in the papers.

    The defaults are a problem of unit size: rows in a ball of radius `kappa` = 1/2, so that a pair's hinge loss is
    1-Lipschitz, parameters in a ball of diameter 1.
    """

    n: int
    d: int
    epsilon: float
    delta: float
    G: float = 1.0
    """Lipschitz constant of the loss of a pair."""
    L: float = 1.0
    """Smoothness."""
    D: float = 1.0
    """Diameter of the parameter domain."""
    alpha: float = 0.1
    """Strong convexity."""
    mu: float = 0.1
    """Constant of Polyak and Lojasiewicz."""
    M: float = 1.0
    """Largest loss at w = 0."""
    kappa: float = 0.5
    """Largest norm of a row."""
    gamma: float = 0.05
    """Probability with which a bound of high probability may fail."""
    hoelder: float = 0.5
    """Exponent of the Hoelder condition (Wang's alpha)."""

    @property
    def chi(self) -> float:
        """Largest eigenvalue of ``E |X|^2 X X^T`` for rows spread evenly over all directions."""
        return self.kappa**4 / self.d

    @property
    def trivial_risk(self) -> float:
        """``G D``: no two parameters differ by more, so a bound on a risk says something only below it."""
        return self.G * self.D


@dataclass(frozen=True)
class Statement:
    """One function of this room: where it comes from, and how the table evaluates it."""

    name: str
    function: Callable[..., Stated]
    kind: Kind
    bounds: str
    formula: str
    constant: str
    paper: str
    theorem: str
    at: Callable[[Setting], dict[str, Any]]
    trivial: Callable[[Setting], float] | None

    def evaluate(self, setting: Setting) -> Stated:
        """The bound at a setting, with the T and eta that its theorem recommends."""
        return self.function(**self.at(setting))


@dataclass(frozen=True)
class Recommended:
    """One schedule: where it comes from, and how the table evaluates it."""

    name: str
    function: Callable[..., Schedule]
    paper: str
    theorem: str
    at: Callable[[Setting], dict[str, Any]]


STATEMENTS: list[Statement] = []
SCHEDULES: list[Recommended] = []


def statement(
    kind: Kind,
    theorem: str,
    *,
    bounds: str,
    formula: str,
    at: Callable[[Setting], dict[str, Any]],
    constant: str = "explicit",
    conditions: tuple[str, ...] = (),
    trivial: Callable[[Setting], float] | None = None,
) -> Callable[[Callable[P, float]], Callable[P, Stated]]:
    """Make a function of numbers a `Stated` bound, and list it."""

    def decorate(function: Callable[P, float]) -> Callable[P, Stated]:
        paper = function.__module__.rpartition(".")[2]

        @wraps(function)
        def stated(*args: P.args, **kwargs: P.kwargs) -> Stated:
            return Stated(float(function(*args, **kwargs)), bounds, formula, constant, paper, theorem, conditions)

        name = f"{paper}.{function.__name__}"
        STATEMENTS.append(
            Statement(name, stated, kind, bounds, formula, constant, paper, theorem, at, trivial or _TRIVIAL.get(kind))
        )
        return stated

    return decorate


def schedule(
    theorem: str, *, at: Callable[[Setting], dict[str, Any]], rule: str
) -> Callable[[Callable[P, tuple[int, float, float | None, int]]], Callable[P, Schedule]]:
    """Make a function that gives T, eta, sigma and the number of gradients a `Schedule`, and list it."""

    def decorate(function: Callable[P, tuple[int, float, float | None, int]]) -> Callable[P, Schedule]:
        paper = function.__module__.rpartition(".")[2]

        @wraps(function)
        def recommended(*args: P.args, **kwargs: P.kwargs) -> Schedule:
            T, eta, sigma, gradients = function(*args, **kwargs)
            return Schedule(T, eta, sigma, gradients, rule, paper, theorem)

        SCHEDULES.append(Recommended(f"{paper}.{function.__name__}", recommended, paper, theorem, at))
        return recommended

    return decorate


_TRIVIAL: dict[Kind, Callable[[Setting], float]] = {
    "stability": lambda s: s.D,
    "optimisation": lambda s: s.trivial_risk,
    "generalisation": lambda s: s.trivial_risk,
    "excess risk": lambda s: s.trivial_risk,
}
