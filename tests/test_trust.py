"""The long runs on file: what they found, and that the page shows it."""

import json
from pathlib import Path

import pytest
import trust_noise
from noise_laws import LEAST_P
from trust_ledger import KILLS, PROCESSES, ROOM, ROUNDS, table

ROOT = Path(__file__).parents[1]
STORED = json.loads((ROOT / "benchmarks/results/trust.json").read_text(encoding="utf-8"))
LEDGER, NOISE = STORED["ledger"]["results"], STORED["noise"]["results"]


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


def test_ten_million_draws_had_their_law_and_a_wrong_scale_was_caught():
    assert STORED["noise"]["threshold"] == LEAST_P
    assert set(NOISE) == {"normal", "laplace"}
    for found in NOISE.values():
        assert [row["scale"] for row in found["rows"]] == [1, 3, 100, 2**30]
        assert {row["draws"] for row in [*found["rows"], found["off"]]} == {10_000_000}
        assert all(row["p"] > LEAST_P for row in found["rows"])
        assert found["rows"][-1]["p_of_low_bits"] > LEAST_P
        assert (found["off"]["drawn_at"], found["off"]["held_against"]) == (101, 100)
        assert found["off"]["p"] < LEAST_P
    assert trust_noise.failures(NOISE) == []


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_a_failure_of_the_noise_would_be_seen(law):
    for place, key, value in ((0, "p", 0.0), (3, "p_of_low_bits", 1e-7), (2, "p", float("nan"))):
        bent = json.loads(json.dumps(NOISE))
        bent[law]["rows"][place][key] = value
        assert len(trust_noise.failures(bent)) == 1
    bent = json.loads(json.dumps(NOISE))
    bent[law]["off"]["p"] = 0.5
    assert len(trust_noise.failures(bent)) == 1


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_the_long_run_of_the_noise_repeats(monkeypatch, law):
    """Its first scale, in small: the seed is on file, and the draws of it are the same everywhere."""
    monkeypatch.setattr(trust_noise, "DRAWS", 20_000)
    monkeypatch.setattr(trust_noise, "AT_ONCE", 10_000)
    row = NOISE[law]["rows"][0]
    one, again = (trust_noise.drawn(law, row["scale"], row["seed"]) for _ in range(2))
    assert len(one) == 20_000
    assert (one == again).all()
    assert len(trust_noise.edges(law, row["scale"])) + 1 == row["cells"]


def test_the_page_of_proofs_shows_what_is_on_file():
    assert trust_noise.table(NOISE) in (ROOT / "docs/proofs.md").read_text(encoding="utf-8")
