"""The long runs on file: what they found, and that the page shows it."""

import json
from pathlib import Path

from trust_ledger import KILLS, PROCESSES, ROOM, ROUNDS, table

ROOT = Path(__file__).parents[1]
LEDGER = json.loads((ROOT / "benchmarks/results/trust.json").read_text(encoding="utf-8"))["ledger"]["results"]


def test_no_budget_was_overspent_and_no_spend_was_lost():
    assert set(LEDGER) == {"SQLite", "PostgreSQL"}
    for found in LEDGER.values():
        crowds, kills = found["crowds"], found["kills"]
        assert crowds["overspent"] == kills["lost"] == 0
        assert (crowds["rounds"], crowds["processes"]) == (ROUNDS, PROCESSES)
        assert crowds["done"] == [ROOM] * ROUNDS
        assert crowds["refused"] == [PROCESSES - ROOM] * ROUNDS
        assert kills["killed"] == KILLS
        assert kills["entries"] >= kills["saw_rows"] > 0


def test_the_page_shows_what_is_on_file():
    assert table(LEDGER) in (ROOT / "docs/ledger.md").read_text(encoding="utf-8")
