"""The same ledger on a PostgreSQL server, which this test starts as an ordinary user and stops."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from ledger_hammer import hammered

import entrenous as en

USERS = ("postgres", "nobody")
"""Who may run the server where the tests run as root, whom it refuses."""


def binaries():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return None if on_path is None else Path(on_path).parent


def as_ordinary_user():
    """What goes before a command, and the user's name."""
    if os.geteuid() != 0:
        return [], pwd.getpwuid(os.geteuid()).pw_name
    known = {entry.pw_name for entry in pwd.getpwall()}
    user = next((name for name in USERS if name in known), None)
    if user is None or shutil.which("runuser") is None:
        pytest.skip("running as root, and there is no ordinary user to run PostgreSQL as")
    return ["runuser", "-u", user, "--"], user


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'entrenous[postgresql]'")
    bin_folder = binaries()
    if bin_folder is None:
        pytest.skip("no PostgreSQL here: 'make postgresql' installs it")
    before, user = as_ordinary_user()
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    shutil.chown(folder, user)

    def called(*words):
        subprocess.run([*before, *map(str, words)], check=True, capture_output=True, cwd="/", text=True)

    data = folder / "data"
    # No port: a socket in a folder of its own, so that nothing else on the machine is in the way.
    settings = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=100"
    called(bin_folder / "initdb", "-D", data, "-U", "officer", "-A", "trust", "--no-sync")
    try:
        called(bin_folder / "pg_ctl", "-D", data, "-o", settings, "-l", folder / "log", "-w", "start")
        yield f"postgresql://officer@/{{}}?host={folder}"
    finally:
        called(bin_folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def database(server, name):
    import psycopg

    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.format(name)


def test_a_ledger_on_a_server_is_the_same_ledger(server):
    place = database(server, "same")
    ledger = en.Ledger(place)
    ledger.init("set", epsilon=1.0, delta=1e-6, owner="Zoë")
    plan = en.plan("moments", n=4, n_features=1, epsilon=0.5, delta=1e-6, bounds=(0, 1))
    for done in range(1, 10):
        try:
            plan.run([[1.0]] * 4, [0, 1, 0, 1], ledger=place, dataset="set")
        except en.BudgetError:
            break
        assert ledger.account("set").fits == done
    assert ledger.account("set").fits == 3
    assert [entry.status for entry in ledger.history()] == ["committed"] * 3
    ledger.verify(ledger.head())

    import psycopg

    with psycopg.connect(place) as connection:
        connection.execute("UPDATE entrenous_lines SET cost = '0.0' WHERE number = 2")
    with pytest.raises(en.BudgetError, match="as it was written"):
        ledger.verify()


def test_a_crowd_at_a_server_never_overspends(server):
    found = hammered("crowd", database(server, "crowd"), 64, 20)
    assert found["overspent"] is False
    assert (found["done"], found["refused"], found["entries"], found["unfinished"]) == (20, 44, 20, 0)


def test_killing_at_a_server_loses_no_spend(server):
    found = hammered("kills", database(server, "kills"), 5, 3)
    assert (found["killed"], found["lost"]) == (5, 0)


def test_a_server_that_is_gone_refuses(server):
    with pytest.raises(en.BudgetError, match="must be readable"):
        en.Ledger(server.format("none")).account("set")
