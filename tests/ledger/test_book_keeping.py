"""A ledger by itself: what it lets through, what it refuses, and how it notices changes."""

import json
import sqlite3
import subprocess
import sys

import pytest

import entrenous as en
from entrenous.ledger import store


def certificate(epsilon=0.5, **changes):
    ask = {"n": 100, "n_features": 2, "epsilon": epsilon, "delta": 1e-6, "bounds": (0, 1)} | changes
    return en.plan("moments", **ask).certificate()


def cost(made):
    return sum(m.gdp for m in made.mechanisms)


@pytest.fixture
def ledger(tmp_path):
    made = en.Ledger(tmp_path / "ledger.db")
    made.init("whole", mu=(2.5 * cost(certificate())) ** 0.5, owner="A. Officer", note="of 2026")
    return made


def test_fits_are_let_through_until_the_budget_is_spent(ledger):
    for done in range(2):
        entry = ledger.reserve("whole", [certificate()])
        assert ledger.account("whole").unfinished == 1
        ledger.commit(entry, certificate())
        assert ledger.account("whole").fits == done + 1
    with pytest.raises(en.BudgetError, match="'whole' may cost mu") as caught:
        ledger.reserve("whole", [certificate()])
    assert isinstance(caught.value, ValueError)
    assert all((caught.value.needs, caught.value.got, caught.value.way_out))
    account = ledger.account("whole")
    assert (account.fits, account.unfinished) == (2, 0)
    assert account.share_left == pytest.approx(0.2)
    assert ledger.reserve("whole", [certificate(0.1)])


def test_a_budget_of_one_fit_pays_for_exactly_that_fit(tmp_path):
    ledger = en.Ledger(tmp_path / "ledger.db")
    for rule in ("gdp", "rdp"):
        for epsilon in (0.1, 1.0, 5.0):
            name = f"{rule} {epsilon}"
            ledger.init(name, epsilon=epsilon, delta=1e-6, rule=rule)
            if rule == "gdp":
                ledger.reserve(name, [certificate(epsilon)])
            with pytest.raises(en.BudgetError):
                ledger.reserve(name, [certificate(epsilon)])
            assert ledger.account(name).spent <= ledger.account(name).terms.limit * (1 + 1e-11)


def test_what_was_reserved_counts_whether_or_not_its_certificate_ever_comes(ledger):
    ledger.reserve("whole", [certificate()])
    ledger.reserve("whole", [certificate()])
    with pytest.raises(en.BudgetError):
        ledger.reserve("whole", [certificate()])
    assert [entry.status for entry in ledger.history()] == ["reserved", "reserved"]
    assert "2 fits without a certificate" in ledger.verify()[-1]


def test_a_certificate_is_taken_once_and_at_most_for_what_was_reserved(ledger):
    entry = ledger.reserve("whole", [certificate()])
    with pytest.raises(en.BudgetError, match="must not cost more"):
        ledger.commit(entry, certificate(0.6))
    ledger.commit(entry, certificate())
    for number in (entry, 99, 1):
        with pytest.raises(en.BudgetError, match="under way"):
            ledger.commit(number, certificate())


def test_versions_share_the_budget(ledger):
    ledger.init("whole, with 2027", version_of="whole")
    ledger.init("whole, with 2028", version_of="whole, with 2027")
    ledger.reserve("whole", [certificate()])
    ledger.reserve("whole, with 2028", [certificate()])
    for name in ledger.datasets():
        assert ledger.account(name).spent == pytest.approx(2 * cost(certificate()))
        with pytest.raises(en.BudgetError):
            ledger.reserve(name, [certificate()])
    assert len(ledger.history("whole, with 2028")) == 1
    ledger.verify()


def test_of_disjoint_parts_the_dearest_counts(ledger):
    for part in ("left", "right"):
        ledger.init(part, part_of="whole", membership="random")
    ledger.init("right, grown", version_of="right")
    ledger.reserve("left", [certificate()])
    ledger.reserve("left", [certificate()])
    ledger.reserve("right", [certificate()])
    ledger.reserve("right, grown", [certificate()])
    assert ledger.account("whole").spent == pytest.approx(2 * cost(certificate()))
    for name in ledger.datasets():
        # One more of anything: the whole, and both parts, would be beyond it.
        with pytest.raises(en.BudgetError):
            ledger.reserve(name, [certificate()])
    with pytest.raises(en.InputError, match="part of the part"):
        ledger.init("quarter", part_of="right, grown", membership="position")
    ledger.verify()


def test_parts_of_two_versions_may_hold_the_same_people_and_add_up(ledger):
    ledger.init("grown", version_of="whole")
    ledger.init("left", part_of="whole", membership="position")
    ledger.init("left of grown", part_of="grown", membership="position")
    ledger.init("right of grown", part_of="grown", membership="position")
    ledger.reserve("left", [certificate()])
    ledger.reserve("left of grown", [certificate()])
    ledger.reserve("right of grown", [certificate()])
    for name in ledger.datasets():
        assert ledger.account(name).spent == pytest.approx(2 * cost(certificate()))
        with pytest.raises(en.BudgetError):
            ledger.reserve(name, [certificate()])
    ledger.verify()


def test_the_whole_and_a_part_add_up(ledger):
    ledger.init("left", part_of="whole", membership="position")
    ledger.init("right", part_of="whole", membership="position")
    ledger.reserve("left", [certificate()])
    ledger.reserve("whole", [certificate()])
    with pytest.raises(en.BudgetError):
        ledger.reserve("left", [certificate()])
    # The records of the other part have paid for the whole only.
    spent = {name: ledger.account(name).spent / cost(certificate()) for name in ledger.datasets()}
    assert spent == pytest.approx({"whole": 2.0, "left": 2.0, "right": 1.0})
    ledger.reserve("right", [certificate()])


def test_names_are_entered_once_and_known(ledger):
    with pytest.raises(en.InputError, match="entered once"):
        ledger.init("whole", mu=99.0)
    with pytest.raises(en.BudgetError, match="knows the data sets 'whole'"):
        ledger.reserve("hole", [certificate()])
    for ask in (ledger.account, ledger.history):
        with pytest.raises(en.BudgetError, match="hole"):
            ask("hole")
    with pytest.raises(en.BudgetError, match="hole"):
        ledger.init("part", part_of="hole", membership="random")


def test_no_ledger_is_made_up(tmp_path):
    place = tmp_path / "none.db"
    for ask in (lambda made: made.reserve("whole", [certificate()]), lambda made: made.verify()):
        with pytest.raises(en.BudgetError, match="must be there"):
            ask(en.Ledger(place))
    assert not place.exists()
    with pytest.raises(en.InputError):
        en.Ledger(place).init("set", epsilon=-1, delta=1e-6)
    assert not place.exists()
    for wrong in ("", None, 3):
        with pytest.raises(en.InputError, match="path"):
            en.Ledger(wrong)
    with pytest.raises(en.InputError, match="address"):
        en.Ledger("://nothing")


def test_an_address_of_sqlite_is_the_same_file(ledger, tmp_path):
    other = en.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    other.reserve("whole", [certificate()])
    assert len(ledger.history()) == 1
    with pytest.raises(en.BudgetError):
        en.Ledger("sqlite://").reserve("whole", [certificate()])


def test_passwords_are_not_shown():
    ledger = en.Ledger("postgresql://officer:secret@127.0.0.1:1/none")
    with pytest.raises(en.BudgetError, match="must be readable") as caught:
        ledger.account("whole")
    assert "secret" not in str(caught.value) + ledger.shown
    assert "officer:***" in str(caught.value)


def changed(path, statement, *values):
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)
    connection.close()


TAMPERING = {
    "a lower cost": "UPDATE entrenous_lines SET cost = '1e-9' WHERE kind = 'reserve'",
    "a cost that is no number": "UPDATE entrenous_lines SET cost = 'nan' WHERE kind = 'reserve'",
    "a line taken out": "DELETE FROM entrenous_lines WHERE number = 2",
    "the last line taken out": "DELETE FROM entrenous_lines WHERE number = 4",
    "all lines taken out": "DELETE FROM entrenous_lines",
    "another data set": "UPDATE entrenous_lines SET dataset = 'other' WHERE number = 2",
    "a larger budget": "UPDATE entrenous_lines SET content = replace(content, 'mu\": 0', 'mu\": 9') WHERE number = 1",
    "another schema": "UPDATE entrenous_head SET schema = 'entrenous-ledger/2'",
    "no head": "DELETE FROM entrenous_head",
}


@pytest.mark.parametrize("how", TAMPERING)
def test_a_changed_ledger_refuses_to_fit(how, ledger, tmp_path):
    ledger.commit(ledger.reserve("whole", [certificate(0.1)]), certificate(0.1))
    ledger.reserve("whole", [certificate(0.1)])
    before = (tmp_path / "ledger.db").read_bytes()
    changed(tmp_path / "ledger.db", TAMPERING[how])
    assert (tmp_path / "ledger.db").read_bytes() != before
    for ask in (lambda: ledger.reserve("whole", [certificate(0.1)]), ledger.verify, lambda: ledger.account("whole")):
        with pytest.raises(en.BudgetError):
            ask()


@pytest.mark.parametrize("number", [2, 3])
def test_verify_sees_a_certificate_that_was_exchanged(number, ledger, tmp_path):
    ledger.commit(ledger.reserve("whole", [certificate()]), certificate())
    content = certificate(0.1).to_dict()
    text = json.dumps([content] if number == 2 else content)
    changed(tmp_path / "ledger.db", "UPDATE entrenous_lines SET content = ? WHERE number = ?", text, number)
    with pytest.raises(en.BudgetError, match="another content"):
        ledger.verify()


def test_verify_recomputes_costs_and_limits_even_where_every_seal_is_right(ledger, monkeypatch):
    """Whoever can write the file can seal it anew; then the certificates still speak."""
    from entrenous.ledger import ledger as module

    monkeypatch.setattr(module, "cost_of", lambda certificates, rule: 1e-6)
    for _ in range(3):
        ledger.reserve("whole", [certificate()])
    monkeypatch.undo()
    with pytest.raises(en.BudgetError, match="its certificate says"):
        ledger.verify()


def test_a_noted_head_shows_that_lines_were_rewritten(ledger, tmp_path):
    ledger.reserve("whole", [certificate()])
    noted = ledger.head()
    ledger.reserve("whole", [certificate()])
    ledger.verify(noted)
    other = en.Ledger(tmp_path / "other.db")
    other.init("whole", mu=1.0)
    with pytest.raises(en.BudgetError, match="noted"):
        other.verify(noted)


def test_an_export_holds_everything_and_nothing_else(ledger):
    ledger.commit(ledger.reserve("whole", [certificate()]), certificate())
    content = json.loads(json.dumps(ledger.export(), allow_nan=False))
    (dataset,), (entry,) = content["datasets"], content["entries"]
    assert (dataset["owner"], dataset["note"]) == ("A. Officer", "of 2026")
    assert dataset["spent"] == entry["cost"] == pytest.approx(cost(certificate()))
    assert en.PrivacyCertificate.from_dict(entry["certificate"]) == certificate()
    assert content["head"] == content["lines"][-1]["hash"]


def test_other_units_are_refused(ledger):
    from dataclasses import replace

    with pytest.raises(en.BudgetError, match="one record"):
        ledger.reserve("whole", [replace(certificate(), unit={"records_per_person": 3})])


def test_nothing_loads_a_database_before_a_ledger_is_used(tmp_path):
    code = (
        "import sys, entrenous as en\n"
        "en.AUCClassifier, en.Ledger\n"
        "import numpy as np\n"
        "en.AUCClassifier(1.0, bounds=(0, 1)).fit(np.ones((4, 2)), [0, 1, 0, 1])\n"
        "print('sqlalchemy' in sys.modules)\n"
        "sys.modules['sqlalchemy'] = None\n"
        "try:\n"
        "    en.AUCClassifier(1.0, bounds=(0, 1), ledger='l.db', dataset='a').fit(np.ones((4, 2)), [0, 1, 0, 1])\n"
        "except en.BudgetError as error:\n"
        "    print(error)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    assert shown.splitlines()[0] == "False"
    assert "entrenous[ledger]" in shown


def test_patience_is_finite(ledger, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    holder = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(en.BudgetError, match="locked"):
        ledger.reserve("whole", [certificate()])
    holder.execute("ROLLBACK")
    holder.close()
    ledger.reserve("whole", [certificate()])
