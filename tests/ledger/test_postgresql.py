"""The same ledger on a PostgreSQL server, which this test starts as an ordinary user and stops."""

import pytest
from ledger_hammer import hammered
from postgres_server import missing, new_database, postgres_server

import entrenous as en


@pytest.fixture(scope="module")
def server():
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with postgres_server() as address:
        yield address


def test_a_ledger_on_a_server_is_the_same_ledger(server):
    place = new_database(server, "same")
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
    found = hammered("crowd", new_database(server, "crowd"), 64, 20)
    assert found["overspent"] is False
    assert (found["done"], found["refused"], found["entries"], found["unfinished"]) == (20, 44, 20, 0)


def test_killing_at_a_server_loses_no_spend(server):
    found = hammered("kills", new_database(server, "kills"), 5, 3)
    assert (found["killed"], found["lost"]) == (5, 0)


def test_a_server_that_is_gone_refuses(server):
    with pytest.raises(en.BudgetError, match="must be readable"):
        en.Ledger(server.format("none")).account("set")
