"""The pictures of docs/why-it-works.md, from the figures on file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from why_it_works_measures import BASE, PARTS, STEPS, WITHOUT_PRIVACY
from why_it_works_page import two_digits

FOLDER = Path(__file__).parents[1] / "docs" / "why-it-works"
INK, OURS, NOISE, FAINT = "#1b2733", "#0b6b74", "#c2571a", "#c9d3da"
COLOURS = {"printed": NOISE, "tight": "#d9a441", "noisy-gd": "#7c8f9c"}
"""Of the steps: by what their names say, else ours."""
PUBLIC = {name: name.replace("_", " ") for name in ("bank_full", "breast_cancer")}

BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
"""A white ground for text, so that no line runs through it."""

Content = dict[str, Any]


def colour_of(step: str) -> str:
    """Printed noise, tight noise, all pairs, or what is on the way to the default."""
    return next((colour for word, colour in COLOURS.items() if word in step), OURS)


def steps_picture(content: Content, figure: Figure) -> None:
    """AUC of each step on both sets."""
    names = [*STEPS, WITHOUT_PRIVACY]
    for axes, (table, steps) in zip(_panels(figure, 2), content["steps"].items(), strict=True):
        aucs = [steps[name]["auc"] for name in names]
        errors = [steps[name]["se"] for name in names]
        colours = [FAINT if name == WITHOUT_PRIVACY else colour_of(name) for name in names]
        axes.barh(range(len(names)), aucs, xerr=errors, color=colours, ecolor=INK, height=0.7)
        for k, (auc, error) in enumerate(zip(aucs, errors, strict=True)):
            axes.text(auc + error + 0.008, k, f"{auc:.3f}", va="center")
        axes.set_xlim(0.4, 1.02)
        axes.axvline(0.5, color=INK, linewidth=0.6, linestyle=":")
        axes.set_xlabel("AUC on held-out rows")
        _named(axes, names, f"{table}, epsilon = {content['epsilon']:g}")


def noise_picture(content: Content, figure: Figure) -> None:
    """Noise beside signal at each step, on both sets."""
    names = list(STEPS)
    for axes, (table, steps) in zip(_panels(figure, 2), content["steps"].items(), strict=True):
        ratios = [steps[name]["noise_to_signal"] for name in names]
        axes.barh(range(len(names)), ratios, color=[colour_of(name) for name in names], height=0.7, left=0.001)
        for k, ratio in enumerate(ratios):
            axes.text(ratio * 1.15, k, two_digits(ratio), va="center", bbox=BEHIND)
        axes.set_xscale("log")
        axes.set_xlim(0.01, 2000)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.axvline(1.0, color=INK, linewidth=0.8, linestyle=":")
        axes.set_xlabel("length of the noise : length of the signal")
        _named(axes, names, table)


def promises_picture(content: Content, figure: Figure) -> None:
    """What printed noise promises against what it really gives."""
    axes = figure.subplots()
    found = content["promises"]
    claimed = found["claimed"]
    axes.plot(claimed, claimed, color=INK, linewidth=0.8, linestyle=":")
    axes.text(claimed[-1] * 1.1, claimed[-1], "as claimed", va="center")
    for mark, (name, real) in zip("osD^v", found["real"].items(), strict=True):
        axes.plot(claimed, real, mark, linestyle="-", label=name, markersize=4)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.08, 20)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("epsilon that the formula is printed for")
    axes.set_ylabel("epsilon that this noise gives")
    axes.legend(frameon=False, loc="lower right")
    axes.set_title("Printed noise, on diabetes", loc="left")


def tight_picture(content: Content, figure: Figure) -> None:
    """From printed to tight noise: how much less of it beside the signal, and AUC."""
    kinds = {"dpgdsc": "dpgdsc", "dpgdsc, ridge 0.1": "dpgdsc", "dpgdc2": "dpgdc2"}
    for axes, (table, steps) in zip(_panels(figure, 2), content["steps"].items(), strict=True):
        for k, (name, algorithm) in enumerate(kinds.items()):
            ridge = name.removeprefix(algorithm)
            shown = {kind: steps.get(f"{algorithm}, {kind} noise{ridge}") for kind in ("printed", "tight")}
            points = {kind: one for kind, one in shown.items() if one is not None}
            ratios = [one["noise_to_signal"] for one in points.values()]
            axes.plot(ratios, [k] * len(ratios), color=FAINT, zorder=1)
            for (kind, one), shift in zip(points.items(), (-0.18, 0.18) if len(points) > 1 else (0.18,), strict=True):
                axes.plot(
                    one["noise_to_signal"], k, "o", color=COLOURS[kind], label=f"{kind} noise" if k == 0 else None
                )
                below = "bottom" if shift < 0.0 else "top"
                axes.text(
                    one["noise_to_signal"], k + shift, f"AUC {one['auc']:.3f}", ha="center", va=below, bbox=BEHIND
                )
        axes.set_xscale("log")
        axes.set_xlim(0.2, 3000)
        axes.set_ylim(-0.7, len(kinds) - 0.3)
        axes.axvline(1.0, color=INK, linewidth=0.6, linestyle=":")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.set_xlabel("length of the noise : length of the signal")
        axes.legend(frameon=False, loc="lower right")
        _named(axes, list(kinds), table)


def gradients_picture(content: Content, figure: Figure) -> None:
    """What the steps of noisy-gd add up to, and what their noise does."""
    for axes, (table, way) in zip(_panels(figure, 2), content["along_the_way"].items(), strict=True):
        sums = np.array(way["sums_of_gradients"])
        steps = np.arange(1, len(sums) + 1)
        axes.plot(steps, sums, "o-", color=OURS, markersize=3, label="all gradients so far, without noise")
        axes.plot(steps, way["noise"] * np.sqrt(steps), "s-", color=NOISE, markersize=3, label="all noise so far")
        axes.set_ylim(0.0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("step")
        axes.set_ylabel("length")
        axes.legend(frameon=False, loc="upper left")
        axes.set_title(f"{table}: {len(steps)} steps", loc="left")


def single_picture(content: Content, figure: Figure) -> None:
    """Pairs and single records: noise beside signal, and AUC without privacy."""
    left, right = _panels(figure, 2)
    sets = list(content["parts"])
    for k, (kind, colour) in enumerate((("pairs", NOISE), ("single", OURS))):
        ratios = [content["parts"][name][f"{kind}, found"]["noise_to_signal"] for name in sets]
        at = np.arange(len(sets)) + 0.38 * (k - 0.5)
        left.bar(at, ratios, 0.36, color=colour, label={"pairs": "all pairs", "single": "single records"}[kind])
        for x, ratio in zip(at, ratios, strict=True):
            left.text(x, ratio, two_digits(ratio), ha="center", va="bottom", fontsize=7)
    left.set_xticks(range(len(sets)), sets)
    left.set_ylabel("length of the noise : length of the signal")
    left.legend(frameon=False)
    left.set_title("With privacy: noise of one gradient", loc="left")
    free = content["without_privacy"]
    kinds = {"single": ("o", INK, "all records weigh the same"), "weighted": ("s", OURS, "both classes weigh the same")}
    for shift, (kind, (mark, colour, label)) in zip((-0.14, 0.14), kinds.items(), strict=True):
        less = [found[kind]["less_pairs"] for found in free.values()]
        right.errorbar(
            [one["auc"] for one in less],
            np.arange(len(less)) + shift,
            xerr=[2 * one["se"] for one in less],
            fmt=mark,
            color=colour,
            capsize=2,
            markersize=4,
            label=label,
        )
    right.axvline(0.0, color=INK, linewidth=0.6, linestyle=":")
    right.set_xlim(-0.022, 0.01)
    right.set_xlabel("AUC of single records less AUC of all pairs")
    right.legend(frameon=False, loc="upper left", fontsize=8)
    _named(right, [PUBLIC.get(name, name) for name in free], "Without privacy, logistic loss")


def geometry_picture(content: Content, figure: Figure) -> None:
    """Two columns of diabetes, what noise is scaled to before and after."""
    axes = figure.subplots()
    found = content["two_columns"]
    rows = np.reshape(found["rows"], (-1, 2))
    low, high = np.array(found["low"]), np.array(found["high"])
    middle = (low + high) / 2
    axes.plot(*rows.T, ".", color=INK, markersize=3, alpha=0.6, label="rows")
    axes.add_patch(Rectangle(low, *(high - low), fill=False, edgecolor=NOISE, label="declared ranges"))
    whole = 2 * np.array(found["corner_axes"])
    axes.add_patch(
        Ellipse(middle, *whole, fill=False, edgecolor=NOISE, linestyle="--", label="what their noise is scaled to")
    )
    narrow = 2 * np.array(found["axes"])
    axes.add_patch(
        Ellipse(found["center"], *narrow, fill=False, edgecolor=OURS, linewidth=2, label="what the default found")
    )
    axes.plot(*middle, "+", color=NOISE, markersize=10, label="centre of the ranges")
    axes.set_xlim(middle[0] - 0.62 * whole[0], middle[0] + 0.62 * whole[0])
    axes.set_ylim(middle[1] - 0.62 * whole[1], middle[1] + 0.62 * whole[1])
    axes.set_xlabel(found["names"][0])
    axes.set_ylabel(found["names"][1])
    figure.legend(*axes.get_legend_handles_labels(), frameon=False, loc="outside right center")
    axes.set_title("diabetes: two of eight columns", loc="left")


def distances_picture(content: Content, figure: Figure) -> None:
    """How far rows are from the centre of their box and from their mean; its corner is at 1."""
    panels = figure.subplots(2, 5, sharex=True).ravel()
    for axes, (name, found) in zip(panels, content["rows"].items(), strict=True):
        for origin, colour in (("centre", NOISE), ("mean", OURS)):
            shares = np.array(found[origin]["shares"])
            edges = np.linspace(0.0, 1.25, len(shares) + 1)
            axes.stairs(
                shares, edges, fill=True, alpha=0.65, color=colour, label=f"from the {origin} of the {_whose(origin)}"
            )
        axes.axvline(1.0, color=INK, linewidth=0.8, linestyle=":")
        axes.set_title(PUBLIC.get(name, name), loc="left")
        axes.set_yticks([])
    for axes in panels[5:]:
        axes.set_xlabel("distance; corner at 1")
    figure.legend(*panels[0].get_legend_handles_labels(), frameon=False, loc="outside upper center", ncols=2)


def _whose(origin: str) -> str:
    return "ranges" if origin == "centre" else "rows"


def parts_picture(content: Content, figure: Figure) -> None:
    """What leaving a part out changes."""
    names = [name for name in PARTS if name != BASE]
    for axes, table in zip(_panels(figure, 2), content["steps"], strict=True):
        found = content["parts"][table]
        changes = [found[name]["auc"] - found[BASE]["auc"] for name in names]
        axes.barh(range(len(names)), changes, color=[NOISE if change < 0 else OURS for change in changes], height=0.6)
        axes.axvline(0.0, color=INK, linewidth=0.8)
        for k, change in enumerate(changes):
            axes.text(0.004, k, f"{change:+.3f}", va="center")
        axes.set_xlim(-0.025, 0.012)
        axes.set_xticks([-0.02, -0.01, 0.0, 0.01])
        axes.set_xlabel("change of AUC")
        _named(axes, names, f"{table}: one part left out")


PICTURES: dict[str, tuple[Callable[[Content, Figure], None], tuple[float, float]]] = {
    "steps": (steps_picture, (9.5, 3.6)),
    "noise": (noise_picture, (9.5, 3.4)),
    "1-printed": (promises_picture, (5.5, 3.8)),
    "2-tight": (tight_picture, (9.5, 3.2)),
    "3-gradients": (gradients_picture, (9.0, 3.2)),
    "4-single-records": (single_picture, (9.5, 3.4)),
    "5-geometry": (geometry_picture, (8.0, 3.8)),
    "5-distances": (distances_picture, (9.5, 4.0)),
    "6-parts": (parts_picture, (9.5, 2.6)),
}


def draw_all(content: Content, folder: Path = FOLDER, kind: str = "svg") -> None:
    """Every picture, the same bytes each time."""
    folder.mkdir(exist_ok=True)
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "entrenous",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10,
    }
    for name, (draw, size) in PICTURES.items():
        with matplotlib.rc_context(settings):
            figure = Figure(figsize=size, layout="constrained")
            draw(content, figure)
            metadata = {"Date": None} if kind == "svg" else None
            figure.savefig(folder / f"{name}.{kind}", metadata=metadata)


def _panels(figure: Figure, count: int) -> list[Axes]:
    return list(figure.subplots(1, count))


def _named(axes: Axes, names: list[str], title: str) -> None:
    """Names down the side, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_title(title, loc="left")
