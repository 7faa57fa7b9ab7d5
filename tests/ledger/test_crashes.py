"""Crowds, kills, and stores that are broken, full, locked away or not there: no spend is lost, and no fit goes on."""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ledger_hammer import hammered

import entrenous as en


def test_sixty_four_processes_at_once_never_overspend(tmp_path):
    found = hammered("crowd", tmp_path / "ledger.db", 64, 20)
    assert found["overspent"] is False
    assert (found["done"], found["refused"], found["entries"], found["unfinished"]) == (20, 44, 20, 0)


def test_killing_loses_no_spend(tmp_path):
    found = hammered("kills", tmp_path / "ledger.db", 20, 7)
    assert found["killed"] == 20
    assert found["lost"] == 0
    assert found["entries"] >= found["saw_rows"] > 0


def test_the_kills_would_see_a_fit_that_pays_too_late(tmp_path):
    assert hammered("late_kills", tmp_path / "ledger.db", 20, 7)["lost"] > 0


REFUSED = """
import os, sys, resource
import numpy as np
import entrenous as en
plan = en.plan("moments", n=4, n_features=1, epsilon=0.1, delta=1e-6, bounds=(0, 1))
plan.run(np.ones((4, 1)), [0, 1, 0, 1])
how, place = sys.argv[1:]
if how == "full":
    size = os.path.getsize(place)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
elif os.geteuid() == 0:
    # Root may write anything. What a fit imports is imported before, in case only root can read it.
    en.Ledger(place).account("set")
    os.setuid(65534)
seen = []
import entrenous.engine.run as engine_run
was = engine_run.current_listener
engine_run.current_listener = lambda: seen.append(1) or was()
try:
    for _ in range(40):
        plan.run(np.ones((4, 1)), [0, 1, 0, 1], ledger=place, dataset="set")
        seen.clear()
except en.BudgetError as error:
    print(len(seen), error)
"""


def refusal(how, place):
    command = [sys.executable, "-W", "ignore", "-c", REFUSED, how, str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows_seen, _, message = done.stdout.partition(" ")
    assert rows_seen == "0"
    assert "must be readable and writable" in message
    assert "Nothing was fitted" in message
    return message


@pytest.fixture
def place(tmp_path):
    place = tmp_path / "ledger.db"
    en.Ledger(place).init("set", mu=10.0)
    return place


def test_a_full_disk_refuses(place):
    message = refusal("full", place)
    assert "full" in message or "I/O" in message
    en.Ledger(place).verify()


def test_a_store_that_may_only_be_read_refuses():
    folder = Path(tempfile.mkdtemp())
    place = folder / "ledger.db"
    try:
        en.Ledger(place).init("set", mu=10.0)
        place.chmod(0o444)
        # Anybody may come here and read, and nobody may write.
        folder.chmod(0o555)
        assert "readonly" in refusal("read-only", place)
        assert en.Ledger(place).history() == []
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def fit(place):
    plan = en.plan("moments", n=4, n_features=1, epsilon=0.1, delta=1e-6, bounds=(0, 1))
    return plan.run([[1.0]] * 4, [0, 1, 0, 1], ledger=place, dataset="set")


@pytest.mark.parametrize("damage", ["not a database", "empty", "cut", "pages", "a folder", "another database", "gone"])
def test_a_broken_store_refuses(damage, place):
    fit(place)
    content = place.read_bytes()
    place.unlink()
    if damage == "a folder":
        place.mkdir()
    elif damage == "another database":
        with sqlite3.connect(place) as connection:
            connection.execute("CREATE TABLE entrenous_head (id INTEGER, schema TEXT, hash TEXT)")
        connection.close()
    elif damage != "gone":
        broken = {
            "not a database": b"ledger" * 1000,
            "empty": b"",
            "cut": content[: len(content) // 2],
            "pages": content[:4096] + b"\x07" * (len(content) - 4096),
        }
        place.write_bytes(broken[damage])
    with pytest.raises(en.BudgetError) as caught:
        fit(place)
    assert all((caught.value.needs, caught.value.got, caught.value.way_out))


def test_a_crash_in_the_middle_of_a_transaction_is_rolled_back(place):
    fit(place)
    code = (
        "import sqlite3, os, sys\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute('PRAGMA cache_size = 1')\n"
        "c.execute('BEGIN IMMEDIATE')\n"
        "c.execute('UPDATE entrenous_head SET hash = zeroblob(200000)')\n"
        "c.execute('DELETE FROM entrenous_lines')\n"
        "os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, str(place)], check=False).returncode == 9
    assert place.with_name("ledger.db-journal").exists()
    assert len(en.Ledger(place).history()) == 1
    fit(place)
    en.Ledger(place).verify()
