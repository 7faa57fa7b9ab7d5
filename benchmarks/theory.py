"""From which n each bound says anything, for docs/theory.md, and the picture there.

``python benchmarks/theory.py`` writes ``benchmarks/results/theory.json``, fills the tables of the page and draws the
picture. It evaluates formulas only: the same figures on every machine.
"""

from __future__ import annotations

import json
from pathlib import Path

import marked_blocks

from entrenous.theory import SCHEDULES, STATEMENTS, bites_from, plot, table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "theory.md"
RESULTS = ROOT / "benchmarks" / "results" / "theory.json"
PICTURE = ROOT / "docs" / "theory" / "bounds.svg"
AT = {"n": 10_000, "d": 50, "epsilon": 1.0, "delta": 1e-6}
SETTINGS = ((50, 1.0), (50, 0.1), (1000, 1.0))
MOST = 10**18


def measure() -> dict[str, object]:
    """Values at the page's setting, and the n from which each bound is below what is true without it."""
    found = table(**AT, show=False)
    bounds = {row.name: {"value": row.value, "says": row.says} for row in found.rows}
    bites = {
        entry.name: [bites_from(entry.name, d, epsilon, AT["delta"], most=MOST) for d, epsilon in SETTINGS]
        for entry in STATEMENTS
        if entry.trivial is not None
    }
    plans = {name: {"T": p.T, "eta": p.eta, "sigma": p.sigma, "gradients": p.gradients} for name, p in found.schedules}
    return {
        "at": AT,
        "settings": [list(pair) for pair in SETTINGS],
        "bounds": bounds,
        "bites": bites,
        "schedules": plans,
    }


def blocks(stored: dict) -> dict[str, str]:
    """The tables of the page."""
    lines = ["| function | theorem | bounds | constant | value |\n", "|---|---|---|---|---|\n"]
    for entry in STATEMENTS:
        value = stored["bounds"][entry.name]["value"]
        shown = "conditions fail" if value is None else f"{value:.3g}"
        lines.append(f"| `{entry.name}` | {entry.theorem} | {_cell(entry.bounds)} | {entry.constant} | {shown} |\n")
    bites = [
        "| function | constant | " + " | ".join(f"d = {d}, epsilon = {e:g}" for d, e in stored["settings"]) + " |\n"
    ]
    bites.append("|---|---|" + "---|" * len(stored["settings"]) + "\n")
    constant = {entry.name: entry.constant for entry in STATEMENTS}
    for name, ns in stored["bites"].items():
        bites.append(f"| `{name}` | {constant[name]} | " + " | ".join(_n(n) for n in ns) + " |\n")
    plans = ["| function | theorem | T | eta | sigma | gradients |\n", "|---|---|---|---|---|---|\n"]
    theorem = {entry.name: entry.theorem for entry in SCHEDULES}
    for name, p in stored["schedules"].items():
        sigma = "" if p["sigma"] is None else f"{p['sigma']:.3g}"
        plans.append(
            f"| `{name}` | {theorem[name]} | {p['T']:.3g} | {p['eta']:.3g} | {sigma} | {p['gradients']:.3g} |\n"
        )
    return {"bounds": "".join(lines), "bites": "".join(bites), "schedules": "".join(plans)}


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _n(n: int | None) -> str:
    if n is None:
        return "not up to 1e18"
    return "always" if n <= 2 else f"{n}" if n < 10_000 else f"{n:.2g}"


def main() -> None:
    """Write the results, the tables and the picture."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "entrenous"
    stored = measure()
    RESULTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    marked_blocks.fill(PAGE, blocks(stored))
    axes = plot(AT["d"], AT["epsilon"], AT["delta"])
    axes.figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
