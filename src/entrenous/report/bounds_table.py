"""What a declared feature domain implies, per feature and in the user's units: for reading, before any data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.engine.plan import Plan
from entrenous.errors import InputError
from entrenous.planners.planning import plan
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.problem.features.ball import FeatureBall
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.domain import FeatureDomain


class FeatureLine(NamedTuple):
    """One feature: its range and what the plan's noise does to it."""

    name: str
    low: float
    high: float
    kind: str
    """``"range"``, ``"0/1"`` or ``"constant"``."""
    size: float
    """How far its values usually are from the middle of the range, in half-widths; nan for a ball."""
    noise: float
    """Sd that the noise alone gives its coefficient, before projection, per user's unit; nan for a constant."""
    hidden: float
    """Distance between class means that one sd of noise covers, in the user's unit; nan for pure privacy."""


@dataclass(frozen=True)
class DomainDescription:
    """A table with a line per feature; prints as text, and as HTML in a notebook."""

    heading: str
    notes: tuple[str, ...]
    lines: tuple[FeatureLine, ...]
    size: float
    """How long a row usually is, measured from the middle of all ranges, in half-widths; nan for a ball."""
    reach: float
    """How long a row can be: the clipping radius, or the corner of the box, in half-widths; a ball's own radius."""

    @classmethod
    def of(cls, plan: Plan) -> DomainDescription:
        """From a plan with declared bounds."""
        domain = plan.features
        if not isinstance(domain, FeatureBounds | FeatureBall):
            raise InputError("a description needs a plan with bounds", "none", "Pass bounds to entrenous.plan.")
        unit, origin, d = domain.unit, domain.origin, plan.n_features
        if isinstance(domain, FeatureBounds):
            low, high = domain.sides()
            kinds = np.where(low == high, "constant", np.where(domain.is_binary, "0/1", "range"))
            sizes = _usual_sizes(low, high, domain.is_binary)
            names, reach = domain.names, min(domain.clip or math.inf, _corner(domain))
        else:
            low, high = origin - unit, origin + unit
            kinds, sizes = np.full(d, "range"), np.full(d, math.nan)
            names, reach = None, domain.radius
        noise = np.divide(plan.noise_per_coefficient, unit, out=np.full(d, math.nan), where=unit > 0.0)
        lines = tuple(
            FeatureLine(*line)
            for line in zip(
                names or [f"x{i}" for i in range(d)],
                low.tolist(),
                high.tolist(),
                kinds.tolist(),
                sizes.tolist(),
                noise.tolist(),
                (_hidden(plan) * unit).tolist(),
                strict=True,
            )
        )
        size = float(np.linalg.norm(sizes))
        return cls(_heading(plan, size, reach), _notes(domain, size), lines, size, reach)

    def header(self) -> tuple[str, ...]:
        """Column names of `rows`."""
        return (
            "feature",
            "low",
            "high",
            "half-width",
            "kind",
            "usual size",
            "noise of coefficient",
            "hidden difference",
        )

    def rows(self) -> list[tuple[str, ...]]:
        """One row of text per feature, in the order of the table."""
        return [
            (
                line.name,
                f"{line.low:.4g}",
                f"{line.high:.4g}",
                f"{line.high / 2.0 - line.low / 2.0:.4g}",
                line.kind,
                "-" if math.isnan(line.size) else f"{line.size:.2g}",
                "-" if math.isnan(line.noise) else f"{line.noise:.3g}",
                "-" if math.isnan(line.hidden) else f"{line.hidden:.3g}",
            )
            for line in self.lines
        ]

    def __str__(self) -> str:
        table = [self.header(), *self.rows()]
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        text = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in table
        ]
        return "\n".join([self.heading, *text, *self.notes])

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self.rows())
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption>{escape(self.heading)}</caption><thead>{row(self.header(), 'th')}</thead>"
            f"<tbody>{body}</tbody></table>{notes}"
        )


def _heading(plan: Plan, size: float, reach: float) -> str:
    price = f"epsilon {plan.budget.epsilon:g}" if plan.is_private else "no privacy"
    rows = (
        f"rows within {reach:.4g} of the centre"
        if math.isnan(size)
        else f"rows about {size:.3g} half-widths long, at most {reach:.3g}"
    )
    return f"{plan.algorithm}, n = {plan.n}, {price}; {rows}; noise in the units of each feature"


def _usual_sizes(low: Array, high: Array, binary: AnyArray) -> Array:
    """Distances from the middle of the range, in half-widths, of values that average there.

    Spread evenly, the root of their mean square is ``sqrt(1/3)``. Two levels at p and q average in the middle with mean
    square ``-p q``; they are 0 and 1 where the range holds both, as for `OneHot`, else its ends.
    """
    origin, half = low / 2.0 + high / 2.0, high / 2.0 - low / 2.0
    holds_both = (low <= 0.0) & (high >= 1.0)
    levels = [np.where(holds_both, level, end) for level, end in ((0.0, low), (1.0, high))]
    p, q = (np.divide(level - origin, half, out=np.zeros_like(half), where=half > 0.0) for level in levels)
    even = np.where(half > 0.0, 1.0 / 3.0, 0.0)
    return np.sqrt(np.where(binary, np.maximum(-p * q, 0.0), even))


def _corner(domain: FeatureBounds) -> float:
    return math.sqrt(max(1, int(np.count_nonzero(domain.unit))))


def _hidden(plan: Plan) -> float:
    """Noise of the class-mean difference in internal units, balanced classes, if the budget bought the class sums.

    Two sums of rows of norm at most 1 move by 2 when a record is replaced (Lemma 8); each is divided by n/2. That is
    what `moments` does; for other algorithms it is a yardstick.
    """
    if not plan.is_private:
        return 0.0
    if plan.budget.is_pure:
        return math.nan
    return 4.0 * math.sqrt(2.0) / (plan.n * mu_for(plan.budget.epsilon, plan.budget.delta))


def _notes(domain: FeatureBounds | FeatureBall, size: float) -> tuple[str, ...]:
    if isinstance(domain, FeatureBall):
        return (
            f"A ball of radius {domain.radius:g} takes all features in one unit: those that vary little against it "
            "drown. Ranges (FeatureBounds) give each feature its own unit.",
        )
    corner = _corner(domain)
    notes = [
        "Hidden difference: class means closer than this are lost in the noise (one sd). It grows with the half-width "
        "of the range and with how long a row can be.",
        "A coefficient is per unit of its feature: a wider range shows less noise there and hides more.",
        "Usual sizes are those of values that average in the middle of their range, spread evenly or, for 0/1 columns, "
        "at two levels.",
    ]
    if domain.clip is None or domain.clip >= corner:
        notes.append(
            f"The corners of the box are {corner:.3g} half-widths from its centre; most rows are about {size:.3g} "
            f"long. A clipping radius q hides q/{corner:.3g} as much."
        )
    else:
        drawn = "most rows are drawn in" if domain.clip < size else "rows farther out are drawn in"
        notes.append(
            f"Clipping radius {domain.clip:.3g} of {corner:.3g} half-widths: {corner / domain.clip:.2g} times less is "
            f"hidden than for the whole box; {drawn}."
        )
    return tuple(notes)


def describe_domain(
    domain: FeatureDomain, n_features: int, algorithm: str, n: int, epsilon: float, delta: float | None
) -> DomainDescription:
    """What a declared domain implies for a fit: see `FeatureDomain.describe`."""
    made = plan(algorithm, n=n, n_features=n_features, epsilon=epsilon, delta=delta, bounds=domain)
    return DomainDescription.of(made)
