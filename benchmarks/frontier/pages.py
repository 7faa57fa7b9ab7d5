"""Tables and plots of the frontier, from the cells on file: docs/frontier.md and the table in the README."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import matplotlib
from marked_blocks import fill
from matplotlib.figure import Figure as Plot

from . import ours
from .cells import ADD, EPSILONS, REPLACE, Cell, Key, Results, committed, committed_keys, grid_keys
from .peers import PEERS
from .sets import CHECKED, DESIGN, NAMES

ROOT = Path(__file__).parents[2]
PAGE, README, PLOTS = ROOT / "docs" / "frontier.md", ROOT / "README.md", ROOT / "docs" / "frontier"
JUDGED = tuple(epsilon for epsilon in EPSILONS if epsilon >= 0.25)
"""The epsilons that a mean is taken over."""
SHOWN = (0.25, 0.5, 1.0, 4.0)
COLOURS = {
    "auto": "tab:blue",
    "additive": "tab:pink",
    "shape auto": "tab:olive",
    "moments": "tab:cyan",
    "noisy-gd": "tab:purple",
    "opacus": "tab:orange",
}
COLOURS |= {"diffprivlib": "tab:green", "dp-ebm": "tab:red", "noisy-descent": "tab:brown"}


class Figures:
    """The cells on file, and what is read off them."""

    def __init__(self, results: Results) -> None:
        self.cells, self.facts = results.cells, results.sets
        self.settings = {method: committed(self.cells, method) for method in PEERS}
        self.sets = [name for name in NAMES if name in self.facts]
        self.peers = [method for method in PEERS if self._is_complete(method)]
        self.linear = [method for method in self.peers if PEERS[method].linear]

    def _is_complete(self, method: str) -> bool:
        """Whether a peer has all its cells; one that has not is left out of every comparison."""
        setting = self.settings[method]
        keys = [key for name in self.sets for key in (*grid_keys(name, method), *committed_keys(name, method, setting))]
        return all(key in self.cells for key in keys)

    def cell(self, name: str, method: str, epsilon: float | None, adjacency: str = REPLACE) -> Cell:
        """One of ours, or a peer at its committed setting."""
        return self.cells[Key(name, method, epsilon, adjacency, self.settings.get(method))]

    def mean(self, name: str, method: str) -> float:
        """Mean AUC over the epsilons from 0.25 on, at our adjacency."""
        return sum(self.cell(name, method, epsilon).mean for epsilon in JUDGED) / len(JUDGED)

    def best(self, name: str, methods: Iterable[str]) -> str:
        """The peer with the best mean."""
        return max(methods, key=lambda method: self.mean(name, method))

    def lead(self, name: str, methods: Iterable[str]) -> float:
        """How far the default is above the best of these peers, as a mean over epsilon."""
        return self.mean(name, "auto") - self.mean(name, self.best(name, methods))

    def oracle(self, name: str, method: str) -> float:
        """The best setting of a peer on this very set at epsilon = 1, picked by its test AUC."""
        settings = range(len(PEERS[method].grid))
        return max(self.cells[Key(name, method, 1.0, REPLACE, setting)].mean for setting in settings)


def write(results: Results) -> str:
    """Put the tables between their marks and draw the plots; the table of leads, to be printed."""
    figures = Figures(results)
    for path in (PAGE, README):
        fill(path, {name: block(figures) for name, block in BLOCKS.items()})
    PLOTS.mkdir(exist_ok=True)
    draw_at_one(figures, PLOTS / "at-epsilon-1.svg")
    for name in figures.sets:
        draw(figures, name, PLOTS / f"{name}.svg")
    return headline(figures) + "\n" + summary(figures)


def table(heading: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = list(heading)
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def headline(figures: Figures) -> str:
    """The default and the best peer at the same adjacency, one line for each set."""
    rows = []
    for name in figures.sets:
        fact, best = figures.facts[name], figures.best(name, figures.peers)
        pairs = [
            f"**{figures.cell(name, 'auto', epsilon).mean:.3f}**, {figures.cell(name, best, epsilon).mean:.3f}"
            for epsilon in SHOWN
        ]
        free = figures.cell(name, ours.NON_PRIVATE, None).mean
        size = f"{fact['rows']:,} x {fact['columns']}"
        rows.append([name, size, *pairs, f"{free:.3f}", best, f"{figures.lead(name, figures.peers):+.3f}"])
    heading = ["set", "rows x columns", *(f"eps {epsilon:g}" for epsilon in SHOWN)]
    return table([*heading, "no privacy", "best peer", "mean lead"], rows)


def at_one(figures: Figures) -> str:
    """The default, the best peer at this very epsilon, and the model without privacy: the README's table."""
    rows = []
    for name in figures.sets:
        default, peer, title, free = _at_one(figures, name)
        size = f"{figures.facts[name]['rows']:,} x {figures.facts[name]['columns']}"
        rows.append([name, size, f"**{default:.3f}**", f"{peer:.3f} ({title})", f"{free:.3f}"])
    return table(["AUC at epsilon = 1", "rows x columns", "entrenous", "best peer", "without privacy"], rows)


def _at_one(figures: Figures, name: str) -> tuple[float, float, str, float]:
    peer = max(figures.peers, key=lambda method: figures.cell(name, method, 1.0).mean)
    default, best = (figures.cell(name, method, 1.0).mean for method in ("auto", peer))
    return (
        default,
        best,
        PEERS[peer].title.split(",")[0].split(" (")[0],
        figures.cell(name, ours.NON_PRIVATE, None).mean,
    )


def summary(figures: Figures) -> str:
    """How often the default leads, and where it is short."""
    lines = []
    groups = {"linear peer": figures.linear} | ({"peer": figures.peers} if figures.peers != figures.linear else {})
    for title, methods in groups.items():
        leads = {name: figures.lead(name, methods) for name in figures.sets}
        ahead = sum(lead > 0.0 for lead in leads.values())
        worst = min(leads, key=lambda name: leads[name])
        lines.append(
            f"- Against the best {title}, as a mean over epsilon from 0.25 on: ahead on {ahead} of {len(leads)} sets; "
            f"the least lead is {leads[worst]:+.4f} ({worst}, {figures.best(worst, methods)}).\n"
        )
    missing = [PEERS[method].title for method in PEERS if method not in figures.peers]
    return "".join(lines) + "".join(f"- Not measured on all sets yet, so not compared: {title}.\n" for title in missing)


def all_methods(figures: Figures) -> str:
    """For each set: every method at every epsilon."""
    return "\n".join(
        f"### {name}\n\n![AUC against epsilon]({PLOTS.name}/{name}.svg)\n\n{_of_set(figures, name)}"
        for name in figures.sets
    )


def _of_set(figures: Figures, name: str) -> str:
    rows = [
        [method, REPLACE, *(_cell(figures.cell(name, method, epsilon)) for epsilon in EPSILONS), "-"]
        for method in ours.MAIN
    ]
    for method in figures.peers:
        peer = PEERS[method]
        for adjacency in (REPLACE, ADD) if peer.adjacency == ADD else (REPLACE,):
            oracle = f"{figures.oracle(name, method):.3f}" if adjacency == REPLACE else "-"
            cells = [_cell(figures.cell(name, method, epsilon, adjacency)) for epsilon in EPSILONS]
            rows.append([peer.title, adjacency, *cells, oracle])
    heading = ["method", "adjacency", *(f"eps {epsilon:g}" for epsilon in EPSILONS), "oracle, eps 1"]
    return table(heading, rows)


def _cell(cell: Cell) -> str:
    return "refused" if cell.refused else f"{cell.mean:.3f} ± {cell.sd:.3f}"


def papers(figures: Figures) -> str:
    """The default and the papers' algorithms at epsilon = 1, on the sets that are small enough."""
    names = [name for name in figures.sets if Key(name, next(iter(ours.PAPERS)), 1.0) in figures.cells]
    rows = []
    for method in (*ours.MAIN, *ours.PAPERS):
        cells = [figures.cell(name, method, 1.0) for name in names]
        spent = sorted(
            {f"{cell.spent:.2g}" if cell.spent >= 0.005 else "< 0.005" for cell in cells if cell.spent is not None}
        )
        if spent:
            title = f"{method}, the default" if method == "auto" else method
            rows.append([title, *map(_cell, cells), ", ".join(spent)])
    return table(["method", *names, "epsilon really spent"], rows)


def shapes(figures: Figures) -> str:
    """Linear and additive rankings, with DP-EBM, which is additive too, at the same adjacency where it is complete."""
    shown = (0.5, 1.0, 4.0)
    methods = ["auto", "additive", "shape auto", *(method for method in figures.peers if not PEERS[method].linear)]
    titles = {"auto": "linear"} | {method: PEERS[method].title for method in figures.peers}
    rows = []
    for name in figures.sets:
        cells = [
            ", ".join(f"{figures.cell(name, method, epsilon).mean:.3f}" for epsilon in shown) for method in methods
        ]
        rows.append([name, *cells, f"{figures.cell(name, ours.NON_PRIVATE, None).mean:.3f}"])
    heading = ["AUC at eps " + ", ".join(f"{epsilon:g}" for epsilon in shown)]
    return table([*heading, *(titles.get(method, method) for method in methods), "linear, no privacy"], rows)


def circumstances(figures: Figures) -> str:
    """Sizes of the sets, and the committed settings."""
    lines = []
    for name in figures.sets:
        fact = figures.facts[name]
        kind = "design" if name in DESIGN else "checked after freezing" if name in CHECKED else "decided nothing"
        lines.append(
            f"- {name} ({kind}): {fact['rows']:,} rows, {fact['columns']} columns, {fact['binary']} of them 0/1, "
            f"{100.0 * fact['events']:.0f} % events, {fact['splits']} splits\n"
        )
    for method, setting in figures.settings.items():
        peer = PEERS[method]
        chosen = ", ".join(f"{key} {value:g}" for key, value in peer.grid[setting].items())
        lines.append(f"- {peer.title}: {chosen}; one of {len(peer.grid)} settings; its adjacency: {peer.adjacency}\n")
    return "".join(lines)


BLOCKS: dict[str, Callable[[Figures], str]] = {
    "frontier": headline,
    "frontier at 1": at_one,
    "frontier summary": summary,
    "all methods": all_methods,
    "papers": papers,
    "shapes": shapes,
    "frontier circumstances": circumstances,
}


def draw_at_one(figures: Figures, path: Path) -> None:
    """One line for each set, from the best peer to the model without privacy, at epsilon = 1."""
    found = {name: _at_one(figures, name) for name in figures.sets}
    names = sorted(found, key=lambda name: found[name][3])
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "entrenous", "font.size": 10}):
        plot = Plot(figsize=(7.5, 4.2), layout="constrained")
        axes = plot.subplots()
        default, peer, free = ([found[name][k] for name in names] for k in (0, 1, 3))
        places = range(len(names))
        axes.hlines(
            places, [min(one) for one in zip(peer, free, strict=True)], free, color="0.85", linewidth=4, zorder=1
        )
        axes.scatter(peer, places, color="0.55", marker="o", s=40, label="best other private method")
        axes.scatter(default, places, color="tab:blue", marker="o", s=55, label="entrenous, private")
        axes.scatter(free, places, color="black", marker="|", s=140, label="the same model without privacy")
        axes.set_yticks(places, [f"{name}  ({figures.facts[name]['rows']:,} rows)" for name in names])
        axes.set_xlabel("AUC on held-out rows: 0.5 is chance, 1 is perfect")
        axes.set_title("Ranking quality with epsilon = 1, ten data sets")
        axes.spines[["top", "right"]].set_visible(False)
        plot.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        plot.savefig(path, metadata={"Date": None})


def draw(figures: Figures, name: str, path: Path) -> None:
    """AUC against epsilon on one set, everything at our adjacency; peers dashed, the model without privacy dotted."""
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "entrenous", "font.size": 9}):
        plot = Plot(figsize=(7, 4), layout="constrained")
        axes = plot.subplots()
        for method in (*ours.MAIN, *figures.peers):
            cells = [figures.cell(name, method, epsilon) for epsilon in EPSILONS]
            title = PEERS[method].title if method in PEERS else f"entrenous, {method}"
            axes.errorbar(
                EPSILONS,
                [cell.mean for cell in cells],
                [cell.sd / len(cell.auc) ** 0.5 for cell in cells],
                linestyle="--" if method in PEERS else "-",
                linewidth=2.5 if method == "auto" else 1.2,
                marker="o",
                markersize=3,
                color=COLOURS[method],
                label=title,
            )
        axes.axhline(
            figures.cell(name, ours.NON_PRIVATE, None).mean, color="black", linestyle=":", label="without privacy"
        )
        axes.set_xscale("log")
        axes.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes.minorticks_off()
        axes.set_xlabel("epsilon (replace one record, delta = 1/n²)")
        axes.set_ylabel("AUC on held-out rows")
        axes.set_title(f"{name}: {figures.facts[name]['rows']:,} rows, {figures.facts[name]['columns']} columns")
        plot.legend(*axes.get_legend_handles_labels(), loc="outside right upper", frameon=False)
        plot.savefig(path, metadata={"Date": None})
