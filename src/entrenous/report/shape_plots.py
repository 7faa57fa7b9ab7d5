"""The released shape of every feature, drawn; see `entrenous.report.shapes_table`. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from entrenous.errors import InputError
from entrenous.report.plots import ACCENT, FAINT, INK, need_matplotlib, title_of
from entrenous.report.shapes_table import ShapePoint, Shapes

_BAND = 2.0
"""Standard deviations of noise that a band shows."""
_COLUMNS = 3


def plot_shapes(estimator: Any, *, features: Sequence[str] | None = None, label: Any = None, most: int = 12) -> Any:
    """What each value of a feature adds to the score, a panel per feature, in the user's units; a matplotlib figure.

    The band is two standard deviations of the privacy noise alone, not of sampling: a shape that stays within its band
    around 0 may be nothing but noise. 0/1 columns are bars, with those of one category (``job_clerk``, ``job_nurse``)
    in one panel. All curves have one scale, and all bars another. `features` names the panels to draw, else the `most`
    that move the score most are drawn; of several classes `label` names the one.
    """
    if not hasattr(estimator, "shapes_") or not hasattr(estimator, "plan_"):
        raise InputError("plot_shapes needs a fitted AUCClassifier", type(estimator).__name__, "Call fit.")
    shapes = _of_one_class(estimator.shapes_, label)
    panels = _panels(shapes)
    if features is not None:
        unknown = [name for name in features if name not in panels]
        if unknown:
            raise InputError(
                f"features must be among {', '.join(panels)}", ", ".join(map(repr, unknown)), "Check them."
            )
        panels = {name: panels[name] for name in features}
    else:
        largest = sorted(panels, key=lambda name: -_size(panels[name]))[:most]
        panels = {name: panels[name] for name in panels if name in largest}
    need_matplotlib()
    from matplotlib import pyplot as plt

    columns = min(_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(3.3 * columns, 0.5 + 2.3 * rows), layout="constrained", squeeze=False
    )
    drawn: dict[str, list[Any]] = {}
    for ax, (name, points) in zip(grid.flat, panels.items(), strict=False):
        kind = points[0].kind
        # One scale for all curves and one for all bars: a rare category, full of noise, would flatten every curve.
        (_draw_bars if kind == "0/1" else _draw_curve)(ax, points, name)
        drawn.setdefault(kind, []).append(ax)
        ax.axhline(0.0, color=INK, linewidth=0.6)
        ax.set_title(name, loc="left", fontsize=9)
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    for alike in drawn.values():
        ends = [ax.get_ylim() for ax in alike]
        for ax in alike:
            ax.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
    for ax in grid.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in grid[:, 0]:
        ax.set_ylabel("adds to the score", fontsize=8)
    figure.suptitle(f"{title_of(estimator)}; band: two sd of the noise alone", fontsize=10, x=0.01, ha="left")
    return figure


def _of_one_class(shapes: Shapes, label: Any) -> list[ShapePoint]:
    known = list(dict.fromkeys(point.label for point in shapes))
    if label is None:
        label = known[0] if len(known) == 1 else None
    if label not in known:
        raise InputError(
            f"label must be one of {', '.join(map(repr, known))}", repr(label), "Draw one class at a time."
        )
    return [point for point in shapes if point.label == label and point.kind != "constant"]


def _panels(points: Sequence[ShapePoint]) -> dict[str, list[ShapePoint]]:
    """Points by panel: a number has its own, 0/1 columns share one with those whose names begin alike."""
    bars = {point.feature: point.feature.rpartition("_")[0] for point in points if point.kind == "0/1"}
    beginnings = list(bars.values())
    panels: dict[str, list[ShapePoint]] = {}
    for point in points:
        name = point.feature
        if point.kind == "0/1":
            beginning = bars[name]
            name = beginning if beginning and beginnings.count(beginning) > 1 else "0/1 columns"
        panels.setdefault(name, []).append(point)
    return panels


def _size(points: Sequence[ShapePoint]) -> float:
    scores = [point.score for point in points]
    return max(scores) - min(scores)


def _draw_curve(ax: Any, points: Sequence[ShapePoint], name: str) -> None:
    x, y, sd = (np.array([getattr(point, field) for point in points]) for field in ("value", "score", "noise"))
    ax.fill_between(x, y - _BAND * sd, y + _BAND * sd, color=FAINT, linewidth=0.0)
    ax.plot(x, y, color=ACCENT, linewidth=1.6)


def _draw_bars(ax: Any, points: Sequence[ShapePoint], name: str) -> None:
    upper = [point for point in points if point.value == max(p.value for p in points if p.feature == point.feature)]
    texts = [point.feature.removeprefix(f"{name}_") for point in upper]
    places = range(len(upper))
    spread = [_BAND * point.noise for point in upper]
    ax.bar(places, [point.score for point in upper], yerr=spread, color=ACCENT, ecolor=INK, capsize=2, width=0.7)
    ax.set_xticks(places, texts, rotation=60 if len(texts) > 3 else 0, ha="right" if len(texts) > 3 else "center")
