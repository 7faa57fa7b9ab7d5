"""A target's columns as lines, a panel for each algorithm, data set and setting, in an SVG file that stays small."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from entrenous.report.page import need_report_extra
from entrenous.reproduce.runner import mean, spread
from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Cell, Outcome, Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PUBLISHED = "published"
_COLOURS = {PUBLISHED: "#1b2733", PRINTED: "#b0461e", TIGHT: "#d69b3a", BEST: "#0b6b74", FREE: "#8795a1"}
_OTHERS = ("#6b4c9a", "#4c8c4a", "#9a4c6b", "#5b6875")
_PANEL_INCHES, _PER_ROW = (3.3, 2.5), 4
_MOST_TICKS = 6
_FONT = "8px 'DejaVu Sans', sans-serif"
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "entrenous",
    "font.size": 8,
    "font.sans-serif": ["DejaVu Sans"],
    "lines.linewidth": 1.0,
    "lines.solid_capstyle": "butt",
    "path.simplify": False,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def drawing(target: Target, cells: tuple[Cell, ...], outcomes: Mapping[str, Outcome]) -> str:
    """The drawing as the text of an SVG file. Strokes up and down are the standard deviation over the seeds."""
    need_report_extra()
    import matplotlib
    from matplotlib.figure import Figure

    panels = list(dict.fromkeys(cell.panel for cell in cells))
    across = min(_PER_ROW, len(panels))
    down = math.ceil(len(panels) / across)
    style: Any = _STYLE
    with matplotlib.rc_context(style):
        size = (_PANEL_INCHES[0] * across, _PANEL_INCHES[1] * down + 0.5)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(down, across, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for axis, panel in zip(axes, panels, strict=False):
            handles |= _draw(axis, target, panel, [cell for cell in cells if cell.panel == panel], outcomes)
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        for axis in axes[::across]:
            axis.set_ylabel(target.measure_name)
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=4, frameon=False)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata=_NO_METADATA)
    return _small(written.getvalue())


def _draw(axis: Axes, target: Target, panel: str, cells: list[Cell], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    handles: dict[str, Any] = {}
    published = [(cell.x, cell.published) for cell in cells if cell.published is not None]
    if published:
        marks = axis.plot(*zip(*published, strict=True), "x--", color=_COLOURS[PUBLISHED], markersize=5)
        handles[PUBLISHED] = marks[0]
    others = iter(_OTHERS)
    for column in target.columns:
        colour = _COLOURS.get(column) or next(others)
        here = [cell for cell in cells if column in cell.jobs]
        found = [(cell.x, outcomes.get(cell.jobs[column].name)) for cell in here]
        points = [(x, mean(each), spread(each)) for x, each in found if each is not None and each.values]
        if points:
            one_job = len({cell.jobs[column].name for cell in here}) == 1 and len(points) > 1
            x, y = _level(points) if one_job else _with_strokes(points)
            handles[column] = axis.plot(x, y, ":" if one_job else "-", color=colour)[0]
    axis.set_title(panel, fontsize=8)
    axis.set_xlabel(target.x_name)
    axis.locator_params(axis="y", nbins=4)
    if target.log_x:
        axis.set_xscale("log")
    else:
        places = sorted({cell.x for cell in cells})
        if len(places) <= _MOST_TICKS:
            axis.set_xticks(places, [f"{place:g}" for place in places])
    axis.tick_params(left=False, bottom=False)
    axis.grid(axis="y", color="#e3e8ec", linewidth=0.6)
    return handles


def _level(points: list[tuple[float, float, float]]) -> tuple[list[float], list[float]]:
    """One job stands behind all places: a level, from the first to the last."""
    ends = (points[0], points[-1])
    return [x for x, _, _ in ends], [y for _, y, _ in ends]


def _with_strokes(points: list[tuple[float, float, float]]) -> tuple[list[float], list[float]]:
    """One line through all points that goes up and down by the deviation at each: a path, not one for every bar."""
    ordered = sorted(points)
    x = [x for x, _, _ in ordered for _ in range(4)]
    y = [value for _, y, deviation in ordered for value in (y, y + deviation, y - deviation, y)]
    return x, y


def _small(svg: str) -> str:
    """The same picture in a third of the text.

    Tenths of a point are enough; the one font is said once; groups without attributes, clips that cut nothing (every
    line lies inside its panel) and styles that a mark has already go.
    """
    svg = re.sub(r"<[^>]*>", _short_tag, svg)
    svg = re.sub(r"<clipPath.*?</clipPath>", "", svg, flags=re.DOTALL)
    kept: list[str] = []
    open_groups: list[bool] = []
    for part in re.split(r"(</?g[ >][^<]*)", svg):
        if part.startswith("<g"):
            open_groups.append(not part.startswith("<g>"))
        drop = (part.startswith("<g") and not open_groups[-1]) or (part.startswith("</g") and not open_groups.pop())
        kept.append(part[part.index(">") + 1 :] if drop else part)
    svg = "".join(kept).replace("<svg ", f'<svg style="font: {_FONT}" ', 1)
    return re.sub(r">\s+<", ">\n<", re.sub(r"<defs>\s*</defs>", "", svg))


def _short_tag(found: re.Match[str]) -> str:
    text = re.sub(r' (transform="rotate\(-?0 [^"]*\)"|clip-path="[^"]*")', "", found[0])
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"(font-size: 8px; font-family: |font: 8px )'DejaVu Sans', sans-serif;? ?", "", text)
    text = re.sub(r"\d+\.\d{2,}", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), text)
    if text.startswith("<use"):
        text = re.sub(r' style="[^"]*"', "", text)
    text = re.sub(r' d="([^"]*)"', lambda path: f' d="{_short_path(path[1])}"', text)
    return re.sub(r"\s+", " ", text)


def _short_path(path: str) -> str:
    """Straight up and down is V; a path with curves stays."""
    if re.search(r"[A-KN-Ya-y]", path):
        return path
    words: list[str] = []
    last = ""
    for kind, x, y in re.findall(r"([ML]) (\S+) (\S+)", path):
        words.append(f"V{y}" if kind == "L" and x == last else f"{kind}{x} {y}")
        last = x
    return "".join(words) + ("z" if path.rstrip().endswith("z") else "")
