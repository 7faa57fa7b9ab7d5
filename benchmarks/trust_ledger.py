"""The ledger in long form: crowds of processes, and fits that are killed, on SQLite and on PostgreSQL.

Writes the part ``ledger`` of ``results/trust.json`` and the table of ``docs/ledger.md``. Run with ``make trust``.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from ledger_hammer import hammered  # noqa: E402
from marked_blocks import fill  # noqa: E402
from postgres_server import missing, new_database, postgres_server  # noqa: E402

import entrenous as en  # noqa: E402

RESULTS = HERE / "results" / "trust.json"
PAGE = HERE.parent / "docs" / "ledger.md"
PROCESSES, ROOM, ROUNDS, KILLS = 64, 20, 10, 200


def measured(new_place: Callable[[str], Any]) -> dict[str, Any]:
    """All rounds on one kind of store; a new ledger for each."""
    crowds = [hammered("crowd", new_place(f"crowd{k}"), PROCESSES, ROOM) for k in range(ROUNDS)]
    return {
        "crowds": {
            "rounds": ROUNDS,
            "processes": PROCESSES,
            "room": ROOM,
            "done": [one["done"] for one in crowds],
            "refused": [one["refused"] for one in crowds],
            "overspent": sum(one["overspent"] for one in crowds),
        },
        "kills": hammered("kills", new_place("kills"), KILLS, 2026),
    }


def table(found: dict[str, Any]) -> str:
    """What the page shows."""
    lines = [
        "| store | processes, rounds | fits done, room for | overspent | killed | had seen rows | entries | lost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for store, row in found.items():
        crowds, kills = row["crowds"], row["kills"]
        done = ", ".join(str(number) for number in sorted(set(crowds["done"])))
        lines.append(
            f"| {store} | {crowds['processes']}, {crowds['rounds']} | {done}, {crowds['room']} | {crowds['overspent']} "
            f"| {kills['killed']} | {kills['saw_rows']} | {kills['entries']} | {kills['lost']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, write, and put the table into the page."""
    with tempfile.TemporaryDirectory() as folder:
        found = {"SQLite": measured(lambda name: Path(folder) / f"{name}.db")}
    reason = missing()
    if reason is not None:
        raise SystemExit(f"the long form needs both stores: {reason}")
    with postgres_server() as server:
        found["PostgreSQL"] = measured(lambda name: new_database(server, name))
    content = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    setting = {"library": en.__version__, "python": platform.python_version(), "machine": platform.machine()}
    content["ledger"] = {"setting": setting, "results": found}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    fill(PAGE, {"trust of the ledger": table(found)})
    if any(row["crowds"]["overspent"] or row["kills"]["lost"] for row in found.values()):
        raise SystemExit("a budget was overspent or a spend was lost")


if __name__ == "__main__":
    main()
