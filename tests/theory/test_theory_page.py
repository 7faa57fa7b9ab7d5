"""The tables of the page are those of the file, the file is what the formulas give, and what the page says holds."""

import json
from pathlib import Path

import pytest

from entrenous.theory import STATEMENTS, bites_from, table

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "benchmarks" / "results" / "theory.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")


@pytest.fixture
def script(monkeypatch):
    """The script, which shares its name with no module of the tests."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import importlib.util

    spec = importlib.util.spec_from_file_location("theory_script", ROOT / "benchmarks" / "theory.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_on_the_page(script):
    for name, block in script.blocks(STORED).items():
        assert f"<!-- {name} -->\n{block}<!-- end of {name} -->" in PAGE


def test_the_file_is_what_the_formulas_give():
    found = table(**STORED["at"], show=False)
    assert {row.name for row in found.rows} == set(STORED["bounds"])
    for row in found.rows:
        value = STORED["bounds"][row.name]["value"]
        assert row.value is value is None or row.value == pytest.approx(value, rel=1e-9), row.name
    for name in ("kang2021.theorem_2", "yang2021_neurips.theorem_4"):
        for (d, epsilon), n in zip(STORED["settings"], STORED["bites"][name], strict=True):
            assert bites_from(name, d, epsilon, STORED["at"]["delta"]) == n


def test_what_the_page_says_of_them():
    bites = {name: ns[0] for name, ns in STORED["bites"].items()}
    for theorem in ("theorem_2", "theorem_3", "theorem_5"):
        assert bites[f"yang2021_aistats.{theorem}"] > 10**16
    explicit = {e.name for e in STATEMENTS if e.kind == "excess risk" and e.constant == "explicit"}
    assert explicit == {"kang2021.theorem_2", *(f"yang2021_aistats.theorem_{k}" for k in (2, 3, 5))}
    assert 4e5 < bites["kang2021.theorem_2"] < 6e5
    stable = [bites[e.name] for e in STATEMENTS if e.kind == "stability" and e.name != "yang2021_aistats.equation_9"]
    assert max(stable) < 4000
    assert 1.8e5 < bites["yang2021_aistats.equation_9"] < 2e5
