"""A picture of bounds against n. Needs matplotlib (``pip install "entrenous[report]"``)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from entrenous.errors import InputError
from entrenous.theory.stated import STATEMENTS, Setting
from entrenous.theory.table import values_over_n

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot(
    d: int,
    epsilon: float,
    delta: float,
    *,
    names: Sequence[str] | None = None,
    ns: Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Bounds on the excess risk against n, with the line G D above which they say nothing.

    `names` are names of the table (all on the excess risk unless given), `ns` the numbers of records (1e2 to 1e12).
    Solid lines have explicit constants, dashed ones an open constant that counts as 1.
    """
    if find_spec("matplotlib") is None:
        raise InputError("a plot needs matplotlib", "none installed", 'Run: pip install "entrenous[report]"')
    from matplotlib import pyplot as plt

    if ax is None:
        ax = plt.subplots(figsize=(8.0, 5.0), layout="constrained")[1]
    shown = [e.name for e in STATEMENTS if e.kind == "excess risk"] if names is None else list(names)
    points = [round(10 ** (k / 4)) for k in range(8, 49)] if ns is None else list(ns)
    setting = Setting(points[0], d, epsilon, delta)
    explicit = {entry.name: entry.constant == "explicit" for entry in STATEMENTS}
    for name in shown:
        values = values_over_n(name, points, setting)
        kept = [(n, value) for n, value in zip(points, values, strict=True) if value is not None]
        if kept:
            ax.plot(*zip(*kept, strict=True), "-" if explicit[name] else "--", label=name, linewidth=1.3)
    ax.axhline(setting.trivial_risk, color="#1b2733", linewidth=0.8)
    ax.annotate(
        "G D: nothing is said above", (points[0], setting.trivial_risk), xytext=(2, 3), textcoords="offset points"
    )
    ax.set(xscale="log", yscale="log", xlabel="records n", ylabel="bound on the excess risk")
    ax.set_title(f"d = {d}, epsilon = {epsilon:g}, delta = {delta:g}", loc="left", fontsize=10)
    ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
