"""What a declared feature domain implies, per feature and in the user's units: for reading, before any data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

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
    share: float
    """Its part of the squared diameter in the user's units."""
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
    diameter: float
    """Largest distance between two rows, in the user's units."""

    @classmethod
    def of(cls, plan: Plan) -> DomainDescription:
        """From a plan with declared bounds."""
        domain = plan.features
        if not isinstance(domain, FeatureBounds | FeatureBall):
            raise InputError("a description needs a plan with bounds", "none", "Pass bounds to entrenous.plan.")
        unit, origin, d = domain.unit, domain.origin, plan.n_features
        if isinstance(domain, FeatureBounds):
            low, high = np.array(domain.low), np.array(domain.high)
            reach = (high - low) / 2.0
            names = domain.names
            diameter = float(np.linalg.norm(high - low))
        else:
            low, high, reach = origin - unit, origin + unit, unit
            names, diameter = None, 2.0 * domain.radius
        squares = np.square(reach / max(float(reach.max()), 1e-300))
        share = squares / max(float(squares.sum()), 1e-300)
        noise = np.divide(plan.noise_per_coefficient, unit, out=np.full(d, math.nan), where=unit > 0.0)
        lines = tuple(
            FeatureLine(*line)
            for line in zip(
                names or [f"x{i}" for i in range(d)],
                low.tolist(),
                high.tolist(),
                share.tolist(),
                noise.tolist(),
                (_hidden(plan) * unit).tolist(),
                strict=True,
            )
        )
        return cls(_heading(plan, diameter), _notes(domain), lines, diameter)

    def header(self) -> tuple[str, ...]:
        """Column names of `rows`."""
        return ("feature", "low", "high", "width", "share of diameter", "noise of coefficient", "hidden difference")

    def rows(self) -> list[tuple[str, ...]]:
        """One row of text per feature, the widest first."""
        return [
            (
                line.name,
                f"{line.low:.4g}",
                f"{line.high:.4g}",
                f"{line.high - line.low:.4g}",
                f"{line.share:.1%}",
                "constant" if math.isnan(line.noise) else f"{line.noise:.3g}",
                "-" if math.isnan(line.hidden) else f"{line.hidden:.3g}",
            )
            for line in sorted(self.lines, key=lambda line: -line.share)
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


def _heading(plan: Plan, diameter: float) -> str:
    price = f"epsilon {plan.budget.epsilon:g}" if plan.is_private else "no privacy"
    return f"{plan.algorithm}, n = {plan.n}, {price}; diameter {diameter:.4g}, noise in the units of each feature"


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


def _notes(domain: FeatureBounds | FeatureBall) -> tuple[str, ...]:
    if isinstance(domain, FeatureBall):
        return (
            f"A ball of radius {domain.radius:g} takes all features in one unit: those that vary little against it "
            "drown. Ranges (FeatureBounds) give each feature its own unit.",
        )
    corner = math.sqrt(max(1, int(np.count_nonzero(domain.unit))))
    notes = [
        "Hidden difference: class means closer than this are lost in the noise (one sd). It grows with the width of a "
        "range and, through the diameter, with the number of features.",
        "A coefficient is per unit of its feature: a wider range shows less noise there and hides more.",
    ]
    if domain.clip is None or domain.clip >= corner:
        notes.append(
            f"The corners of the box are {corner:.3g} half-widths from its centre; records rarely live there. A "
            f"clipping radius q hides q/{corner:.3g} as much."
        )
    else:
        notes.append(
            f"Clipping radius {domain.clip:.3g} of {corner:.3g} half-widths: {corner / domain.clip:.2g} times less is "
            "hidden than for the whole box; rows farther out are drawn in."
        )
    return tuple(notes)


def describe_domain(
    domain: FeatureDomain, n_features: int, algorithm: str, n: int, epsilon: float, delta: float | None
) -> DomainDescription:
    """What a declared domain implies for a fit: see `FeatureDomain.describe`."""
    made = plan(algorithm, n=n, n_features=n_features, epsilon=epsilon, delta=delta, bounds=domain)
    return DomainDescription.of(made)
