"""The figures of docs/reproduction.md and results/README.md, written from the results on file.

``python benchmarks/reproduction_page.py`` after a run of ``entrenous reproduce``. It needs no data.
"""

from __future__ import annotations

from pathlib import Path

from marked_blocks import fill
from reproduction_xue2021 import xue_blocks

from entrenous.reproduce.runner import Results
from entrenous.reproduce.targets import target_named, targets

ROOT = Path(__file__).parents[1]
PAGE, FILES, RESULTS = ROOT / "docs" / "reproduction.md", ROOT / "results" / "README.md", ROOT / "results"
OTHER_PAPERS = ("yang2021", "wang2024")


def on_file() -> dict[str, Results]:
    """Finished runs by the name of their file."""
    read = {path.stem: Results.on_file(path) for path in sorted(RESULTS.glob("*.json"))}
    return {name: results for name, results in read.items() if results.repetitions and not results.quick}


def paper_block(prefix: str, stored: dict[str, Results]) -> str:
    """What each target of a paper found."""
    here = {name: stored[name] for name in targets() if name.startswith(prefix) and name in stored}
    if not here:
        return "No results are on file.\n"
    parts = []
    for name, results in here.items():
        target = target_named(name)
        cells = target.cells("paper")
        lines = [f"- {line}\n" for line in target.findings(cells, results.outcomes(results.repetitions))]
        what = f"{target.what}. {results.repetitions} repetitions. {target.published_repetitions}".strip()
        parts.append(f"### {name}\n\n{what}\n[The page](../results/{name}.html).\n\n{''.join(lines)}")
    return "\n".join(parts)


def commands() -> str:
    """Every file of results with the line that makes it."""
    rows = []
    for name, results in on_file().items():
        files = f"[page]({name}.html), [figures]({name}.json), [drawing]({name}.svg)"
        minutes = f"{results.seconds / 60.0:.0f}" if results.seconds >= 60.0 else "under 1"
        what = target_named(results.target).what + (", our rows" if results.preprocessing == "ours" else "")
        rows.append(f"| {what} | `{results.command}` | {results.repetitions} | {minutes} | {files} |\n")
    return "| what | command | repetitions | minutes | files |\n|---|---|---|---|---|\n" + "".join(rows)


def page_blocks() -> dict[str, str]:
    """Of docs/reproduction.md."""
    stored = on_file()
    return xue_blocks(stored) | {prefix: paper_block(prefix, stored) for prefix in OTHER_PAPERS}


if __name__ == "__main__":
    fill(PAGE, page_blocks())
    fill(FILES, {"commands": commands()})
