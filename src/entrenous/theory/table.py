"""All bounds side by side at one setting, and from which n a bound says anything."""

from __future__ import annotations

from dataclasses import dataclass, replace

from entrenous.errors import AssumptionError, InputError
from entrenous.theory.checks import counts, positive, probabilities
from entrenous.theory.stated import KINDS, SCHEDULES, STATEMENTS, Schedule, Setting, Stated, Statement


@dataclass(frozen=True)
class Row:
    """One bound at a setting. `value` is None where a condition of the theorem fails, and `says` then names it."""

    name: str
    kind: str
    value: float | None
    trivial: float | None
    says: str
    constant: str


@dataclass(frozen=True)
class Table:
    """Every bound and every schedule at one setting. ``print(table)`` shows it."""

    setting: Setting
    rows: tuple[Row, ...]
    schedules: tuple[tuple[str, Schedule], ...]

    def __repr__(self) -> str:
        s = self.setting
        return f"<{len(self.rows)} bounds at n={s.n}, d={s.d}, epsilon={s.epsilon:g}, delta={s.delta:g}>"

    def __str__(self) -> str:
        s = self.setting
        lines = [
            f"n = {s.n}, d = {s.d}, epsilon = {s.epsilon:g}, delta = {s.delta:g}; G = {s.G:g}, L = {s.L:g}, D = {s.D:g}"
        ]
        for kind in KINDS:
            lines += ["", f"{kind:52}{'value':>12}  {'constant':12}"]
            for row in self.rows:
                if row.kind == kind:
                    value = "-" if row.value is None else f"{row.value:.4g}"
                    lines.append(f"  {row.name:50}{value:>12}  {row.constant:12}{row.says}".rstrip())
        lines += ["", f"{'recommended':52}{'T':>12}{'eta':>12}{'sigma':>12}{'gradients':>12}"]
        for name, plan in self.schedules:
            sigma = "-" if plan.sigma is None else f"{plan.sigma:.3g}"
            lines.append(f"  {name:50}{plan.T:>12.4g}{plan.eta:>12.3g}{sigma:>12}{plan.gradients:>12.3g}")
        return "\n".join(lines)


def table(n: int, d: int, epsilon: float, delta: float, *, show: bool = True, **constants: float) -> Table:
    """Print every bound of the five papers at one setting, and return the table.

    n, d, epsilon and delta are records, parameters and the budget (delta > 0). `show=False` does not print. Other
    keywords are fields of `Setting`: G, L, D, alpha, mu, M, kappa, gamma, hoelder. Open constants count as 1.
    """
    at = _setting(n, d, epsilon, delta, constants)
    found = Table(
        at, tuple(_row(entry, at) for entry in STATEMENTS), tuple((e.name, e.function(**e.at(at))) for e in SCHEDULES)
    )
    if show:
        print(found)
    return found


def bites_from(
    name: str, d: int, epsilon: float, delta: float, *, most: int = 10**18, **constants: float
) -> int | None:
    """The n from which a bound stays below what is true without any theorem (G D for a risk, D for a distance).

    `name` is a name in the table, as "yang2021_neurips.theorem_4". None: not up to `most` records. Three digits are
    exact.
    """
    entry = _entry(name)
    if entry.trivial is None:
        raise InputError("bites_from needs a bound with a trivial value", name, "Ask for a risk or a stability.")

    def bites(n: int) -> bool:
        at = _setting(n, d, epsilon, delta, constants)
        value = _row(entry, at).value
        return value is not None and entry.trivial is not None and value < entry.trivial(at)

    # Bounds with logarithms and rounded steps may wobble where they are large: what counts is the last n that fails.
    grid = [2**k for k in range(1, most.bit_length())]
    failing = [k for k, n in enumerate(grid) if not bites(n)]
    if not failing:
        return grid[0]
    if failing[-1] == len(grid) - 1:
        return None
    low, high = grid[failing[-1]], grid[failing[-1] + 1]
    while high - low > max(1, high // 2000):
        middle = (low + high) // 2
        low, high = (low, middle) if bites(middle) else (middle, high)
    return high


def _entry(name: str) -> Statement:
    found = [entry for entry in STATEMENTS if entry.name == name]
    if not found:
        raise InputError(
            "name must be that of a bound", repr(name), "Names: " + ", ".join(entry.name for entry in STATEMENTS) + "."
        )
    return found[0]


def values_over_n(name: str, ns: list[int], setting: Setting) -> list[float | None]:
    """A bound at several n, all else kept; None where a condition of the theorem fails."""
    entry = _entry(name)
    return [_row(entry, replace(setting, n=n)).value for n in ns]


def _row(entry: Statement, at: Setting) -> Row:
    trivial = entry.trivial(at) if entry.trivial else None
    try:
        stated: Stated = entry.evaluate(at)
    except AssumptionError as error:
        return Row(entry.name, entry.kind, None, trivial, f"{error.needs}, got {error.got}", entry.constant)
    says = "vacuous" if trivial is not None and stated.value >= trivial else ""
    return Row(entry.name, entry.kind, stated.value, trivial, says, entry.constant)


def _setting(n: int, d: int, epsilon: float, delta: float, constants: dict[str, float]) -> Setting:
    counts(2, n=n)
    counts(3, d=d)
    positive(epsilon=epsilon)
    probabilities(delta=delta)
    known = set(Setting.__dataclass_fields__) - {"n", "d", "epsilon", "delta"}
    unknown = sorted(set(constants) - known)
    if unknown:
        raise InputError(
            "constants must be fields of Setting", ", ".join(unknown), f"Known: {', '.join(sorted(known))}."
        )
    positive(**constants)
    return Setting(n, d, epsilon, delta, **constants)
