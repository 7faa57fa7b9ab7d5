"""The released shape of every feature: what a value adds to the score, with the noise in it, in the user's units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, NamedTuple, overload

import numpy as np

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.shaped_box import ShapedBox


class ShapePoint(NamedTuple):
    """A value of a feature and what it adds to the score."""

    label: Any
    """The class that a higher score speaks for."""
    feature: str
    kind: str
    """``"number"``, ``"0/1"`` or ``"constant"``."""
    value: float
    """In the user's units. Between two points of a feature its score is a straight line."""
    score: float
    """What the value adds to the score, beside the feature's centre; a 0/1 column's beside its lower level."""
    noise: float
    """Standard deviation that the privacy noise alone gives `score`, by `coef_noise_` and `rise_noise_`."""


class Shapes(Sequence[ShapePoint]):
    """Points of all shapes, feature by feature; prints as a table, and ``pandas.DataFrame(shapes)`` takes it."""

    def __init__(self, points: Sequence[ShapePoint]) -> None:
        self._points = tuple(points)

    @overload
    def __getitem__(self, index: int) -> ShapePoint: ...
    @overload
    def __getitem__(self, index: slice) -> Shapes: ...
    def __getitem__(self, index: int | slice) -> ShapePoint | Shapes:
        return Shapes(self._points[index]) if isinstance(index, slice) else self._points[index]

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[ShapePoint]:
        return iter(self._points)

    def of(self, feature: str, label: Any = None) -> Shapes:
        """The shape of one feature; of several classes that of `label`, else of all."""
        found = [p for p in self if p.feature == feature and (label is None or p.label == label)]
        if not found:
            names = list(dict.fromkeys(p.feature for p in self))
            raise InputError(f"a feature must be one of {', '.join(names[:20])}", repr(feature), "Check the spelling.")
        return Shapes(found)

    def header(self) -> tuple[str, ...]:
        """Column names of `rows`."""
        return ("class", "feature", "kind", "value", "score", "noise")

    def rows(self) -> list[tuple[str, ...]]:
        """One row of text per point."""
        return [(str(p.label), p.feature, p.kind, f"{p.value:.5g}", f"{p.score:+.4g}", f"{p.noise:.2g}") for p in self]

    def __repr__(self) -> str:
        table = [self.header(), *self.rows()]
        widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
        return "\n".join(
            "  ".join(
                [
                    *(c.ljust(w) for c, w in zip(row[:3], widths, strict=False)),
                    *(c.rjust(w) for c, w in zip(row[3:], widths[3:], strict=True)),
                ]
            )
            for row in table
        )

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(cells, "td") for cells in self.rows())
        return f"<table><thead>{row(self.header(), 'th')}</thead><tbody>{body}</tbody></table>"


def shape_points(
    label: Any, names: Sequence[str], domain: FeatureDomain, coef: Array, noise: Array
) -> list[ShapePoint]:
    """The points of one class's shapes; `coef` and `noise` hold those of the ramps after those of the features."""
    d = len(names)
    low, high = (np.broadcast_to(side, d) for side in domain.ends())
    origin, unit, binary = domain.origin, domain.unit, domain.is_binary
    points = []
    for j, name in enumerate(names):
        kind = "constant" if unit[j] == 0.0 else "0/1" if binary[j] else "number"
        values = np.array([origin[j]]) if kind == "constant" else np.array([low[j], high[j]])
        if kind == "0/1":
            # The declared range of an indicator may be wider than its two levels, as that of `OneHot` is.
            values = np.unique(np.clip([0.0, 1.0], low[j], high[j]))
        centre = values[0] if kind == "0/1" else origin[j]
        rises, spread = np.empty(0), np.empty(0)
        if isinstance(domain, ShapedBox) and j in domain.shaped:
            at = d + domain.ramps * domain.shaped.index(j)
            rises, spread = coef[at : at + domain.ramps], noise[at : at + domain.ramps]
            edges = domain.edges_of(j)
            values = np.unique(np.concatenate([values, edges[(edges > low[j]) & (edges < high[j])]]))
            risen = domain.ramp_values((values - centre) / unit[j]) - domain.ramp_values(np.zeros(1))
        else:
            risen = np.zeros((values.size, 0))
        scores = coef[j] * (values - centre) + risen @ rises
        sd = np.sqrt(np.square(noise[j] * (values - centre)) + np.square(risen) @ np.square(spread))
        points += [
            ShapePoint(label, name, kind, float(v), float(s), float(e))
            for v, s, e in zip(values, scores, sd, strict=True)
        ]
    return points
