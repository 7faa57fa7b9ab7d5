"""The front door: its figures are the result files', its code runs, its commands exist."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMO = (ROOT / "docs/demo/README.md").read_text(encoding="utf-8")


def rows_after(heading):
    """Cells of the table rows that follow a table's header line."""
    lines = DEMO[DEMO.index(heading) :].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]


def test_the_demos_figures_are_the_ones_on_file():
    stored = json.loads((ROOT / "docs/demo/results.json").read_text())
    expected = [
        [
            "without privacy" if r["epsilon"] is None else f"{r['epsilon']:g}",
            f"{r['auc']['mean']:.3f} ± {r['auc']['sd']:.3f}",
        ]
        for r in stored["results"]
    ]
    assert rows_after("| epsilon | AUC on held-out rows |") == expected
    assert f"cost {stored['wider_ranges']['auc_lost']:.3f} AUC" in DEMO
    assert f"mean over {stored['splits']} splits" in DEMO
    assert f"{stored['train_rows']} training rows" in DEMO


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_its_python_runs(block, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile("import entrenous as en\n" + block, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_its_commands_and_links_exist():
    from typer.main import get_command

    from entrenous.cli.app import app

    commands = get_command(app).commands
    for word in re.findall(r"^entrenous (\w+)", README, re.MULTILINE):
        assert word in commands
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link
    targets = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"\n{target}:" in targets


def test_its_speeds_are_the_ones_on_file():
    figures = json.loads((ROOT / "benchmarks/results/engine.json").read_text())["figures"]
    copies = {f["case"]: f["ratio"] for f in figures if f["meaning"] == "time of one copy of X"}
    hinge = copies["hinge over all pairs, n = 1e6"]
    assert f"the hinge {hinge:.1f} times" in README
