"""Where the noise goes, from the papers' noise to the default, and when pairs matter: docs/why-it-works.md.

    cd benchmarks && python why_it_works.py            (about a quarter of an hour on one core)
    cd benchmarks && python why_it_works.py --redraw   (pictures and page from the figures on file)

epsilon = 1, delta = 1/n^2, public ranges, 80/20 splits. Noise is seeded: a second run gives the same figures. The sets
are those of the frontier and need the data folder (ENTRENOUS_DATA). Writes ``results/why_it_works.json``, the pictures
in ``docs/why-it-works`` and the figures between the marks of the page.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from pathlib import Path
from typing import Any

from frontier.sets import NAMES, load_set
from rich.console import Console
from why_it_works_measures import (
    EPSILON,
    along_the_way,
    outliers,
    parts_of,
    promises,
    steps_of,
    two_columns,
    where_rows_lie,
    with_and_without_zoom,
    without_privacy,
)
from why_it_works_page import write_page
from why_it_works_pictures import draw_all

import entrenous as en

RESULT = Path(__file__).parent / "results" / "why_it_works.json"
FOLLOWED = {"diabetes": 3, "ijcnn1": 3}
"""The sets that are followed step by step, and fits on each split."""
COMPARED = {"diabetes": 3, "german": 2, "debrecen": 2, "ijcnn1": 2}
"""The sets on which pairs and single records are compared, and fits on each split."""
ZOOMED, WIDER = ("ijcnn1", "bank_full"), (1.0, 10.0, 100.0)
"""Sets that are large enough for zooming, and how much wider their ranges are made."""
COLUMNS = ("pedigree", "age"), (6, 7)
"""Two columns of diabetes to look at, and their numbers."""


def measure(console: Console) -> dict[str, Any]:
    """All figures."""

    def tell(text: str) -> None:
        console.print(text, highlight=False)

    tables = {name: load_set(name) for name in NAMES}
    content: dict[str, Any] = {"library": f"entrenous {en.__version__}", "epsilon": EPSILON}
    content["sets"] = {name: table.facts for name, table in tables.items()}
    content["rows"] = {name: where_rows_lie(table) for name, table in tables.items()}
    content["two_columns"] = {"names": COLUMNS[0], **two_columns(tables["diabetes"], COLUMNS[1])}
    content["promises"] = promises(tables["diabetes"])
    content["along_the_way"] = {name: along_the_way(tables[name]) for name in FOLLOWED}
    content["zoom"] = {
        name: {f"{wider:g}": with_and_without_zoom(tables[name], wider, 3) for wider in WIDER} for name in ZOOMED
    }
    tell(f"zoom: {content['zoom']}")
    content["outliers"] = {name: outliers(tables[name]) for name in ("diabetes", "german", "debrecen")}
    tell(f"outliers: {content['outliers']}")
    content["parts"] = {name: parts_of(tables[name], repeats) for name, repeats in COMPARED.items()}
    tell(f"parts: {content['parts']}")
    content["without_privacy"] = {}
    for name, table in tables.items():
        content["without_privacy"][name] = without_privacy(table)
        tell(f"{name}, without privacy: {content['without_privacy'][name]}")
    content["steps"] = {name: steps_of(tables[name], repeats, tell) for name, repeats in FOLLOWED.items()}
    return content


def as_text(content: dict[str, Any]) -> str:
    """JSON, lists of numbers on one line."""
    text = json.dumps(content, indent=2)
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: " ".join(found.group().split()), text) + "\n"


def main() -> None:
    """Measure, store, draw, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--redraw", action="store_true", help="pictures and page from the figures on file")
    if not arguments.parse_args().redraw:
        # Seeded noise and printed noise are the subject here.
        warnings.simplefilter("ignore", en.PrivacyWarning)
        RESULT.write_text(as_text(measure(Console(width=200))), encoding="utf-8")
    content = json.loads(RESULT.read_text(encoding="utf-8"))
    draw_all(content)
    write_page(content)


if __name__ == "__main__":
    main()
