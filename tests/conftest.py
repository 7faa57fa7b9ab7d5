"""Where tests find real data, and a count of how many used it."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if "ENTRENOUS_DATA" not in os.environ and _BESIDE.is_dir():
    os.environ["ENTRENOUS_DATA"] = str(_BESIDE)


def pytest_collection_modifyitems(items):
    folder = os.environ.get("ENTRENOUS_DATA")
    if folder and any(Path(folder).glob("*.parquet")):
        return
    skip = pytest.mark.skip(reason="no real data: set ENTRENOUS_DATA to a folder with the data sets")
    for item in items:
        if item.get_closest_marker("real_data"):
            item.add_marker(skip)


def pytest_terminal_summary(terminalreporter):
    counted = {
        outcome: sum("real_data" in report.keywords for report in terminalreporter.stats.get(outcome, []))
        for outcome in ("passed", "failed", "skipped")
    }
    used = counted["passed"] + counted["failed"]
    terminalreporter.write_line(f"tests on real data: {used} ran, {counted['skipped']} skipped")
