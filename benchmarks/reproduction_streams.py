"""Write the tables of docs/reproduction-streams.md from the results on file.

    python benchmarks/reproduction_streams.py

A block of the page between `<!-- table NAME -->` or `<!-- findings NAME -->` and `<!-- end -->` is what the results of
that target say.
"""

from __future__ import annotations

import re
from pathlib import Path

from entrenous.reproduce.page import header, table_rows
from entrenous.reproduce.runner import Results
from entrenous.reproduce.targets import target_named

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reproduction-streams.md"
_BLOCK = re.compile(r"<!-- (table|findings) (\S+) -->\n.*?<!-- end -->", re.DOTALL)


def block(kind: str, name: str) -> str:
    """A table in Markdown, or the findings as a list, with how often it was run."""
    target = target_named(name)
    results = Results.read(ROOT / f"results/{name}.json", name, "paper")
    cells, outcomes = target.cells("paper"), results.outcomes(results.repetitions)
    if kind == "findings":
        lines = [f"- {line}" for line in target.findings(cells, outcomes)]
    else:
        titles = header(target)
        lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
        lines += ["| " + " | ".join(row) + " |" for row in table_rows(target, cells, outcomes)]
    minutes = f"{results.seconds / 60.0:.1f} minutes"
    lines.append(f"\n{results.repetitions} repetitions, {minutes}: `{results.command}`.")
    return "\n".join(lines)


def rendered(text: str) -> str:
    """The page with every block as the results have it."""
    return _BLOCK.sub(lambda found: f"<!-- {found[1]} {found[2]} -->\n{block(found[1], found[2])}\n<!-- end -->", text)


if __name__ == "__main__":
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
