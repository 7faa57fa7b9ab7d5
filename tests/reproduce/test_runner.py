"""Runs that stop and go on, names that nobody knows, and the page, on a target of a few numbers."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import entrenous as en
from entrenous.cli.app import app
from entrenous.reproduce.page import NO_NUMBER, REFUSED, page, table_rows
from entrenous.reproduce.runner import Results, run
from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Cell, Job, Target, jobs_of, target_named, targets


def measured(settings, seed):
    if settings["column"] == TIGHT:
        raise en.AssumptionError("a theorem needs more", "less", "Take another.")
    if os.environ.get("DIE_AT") == str(seed):
        os._exit(9)
    return {"value": settings["x"] + seed, "epsilon": 0.5 if settings["column"] == PRINTED else None}


def cells(preprocessing):
    made = []
    for x, published in ((1.0, 1.5), (2.0, None)):
        jobs = {column: Job({"column": column, "x": x, "rows": preprocessing}) for column in (PRINTED, TIGHT, BEST)}
        jobs[FREE] = Job({"column": FREE, "x": 0.0, "rows": preprocessing})
        made.append(Cell("setting", "toy", "algorithm", x, jobs, published))
    return tuple(made)


TOY = Target(
    "toy",
    "Nobody: Nothing. 2026",
    "Table 0",
    {"paper": "none", "ours": "none"},
    "value",
    "x",
    (PRINTED, TIGHT, BEST, FREE),
    cells,
    measured,
    lambda cells, outcomes: ["a <finding>"],
    repetitions=4,
    quick_repetitions=2,
)


def test_a_job_behind_many_cells_runs_once():
    assert len(jobs_of(cells("paper"))) == 7


def test_a_quick_run_is_the_beginning_of_a_full_one(tmp_path):
    asked = []

    def counted(settings, seed):
        asked.append(seed)
        return measured(settings, seed)

    target, path = replace(TOY, measure=counted), tmp_path / "toy.json"
    quick = run(target, path, quick=True)
    assert quick.quick
    assert quick.repetitions == 2
    asked.clear()
    full = run(target, path, quick=False, command="a line")
    assert set(asked) == {2, 3}
    assert not full.quick
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["command"] == "a line"
    asked.clear()
    run(target, path, quick=False)
    assert asked == []


def test_processes_find_the_same(tmp_path):
    alone = run(TOY, tmp_path / "alone.json", quick=False)
    together = run(TOY, tmp_path / "together.json", quick=False, processes=2)
    assert alone.values == together.values
    assert alone.epsilons == together.epsilons


def test_after_a_kill_the_rest_is_run(tmp_path):
    path = tmp_path / "toy.json"
    code = (
        "import entrenous.reproduce.runner as r; from pathlib import Path; import test_runner as t; "
        f"r._SECONDS_BETWEEN_WRITES = 0.0; r.run(t.TOY, Path({str(path)!r}), quick=False)"
    )
    where = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    killed = subprocess.run([sys.executable, "-c", code], env={**os.environ, "DIE_AT": "2", "PYTHONPATH": where})
    assert killed.returncode == 9
    left = Results.read(path, "toy", "paper")
    assert left.repetitions == 0
    assert max(seed for values in left.values.values() for seed in values) == 1
    run(TOY, path, quick=False)
    whole = run(TOY, tmp_path / "whole.json", quick=False)
    assert Results.read(path, "toy", "paper").values == whole.values


def test_the_file_of_another_target_is_refused(tmp_path):
    path = tmp_path / "toy.json"
    run(TOY, path, quick=True)
    with pytest.raises(en.InputError, match="another folder"):
        Results.read(path, "other", "paper")
    path.write_text("{", encoding="utf-8")
    with pytest.raises(en.InputError, match="must hold results"):
        run(TOY, path, quick=True)


def test_the_page_has_every_column_and_says_what_is_missing(tmp_path):
    results = run(TOY, tmp_path / "toy.json", quick=True)
    rows = table_rows(TOY, cells("paper"), results.outcomes(2))
    assert rows[0] == ["toy", "setting", "algorithm", "1", "1.500", "1.500 ± 0.707 (eps 0.50)", REFUSED, *rows[0][7:]]
    assert rows[1][4] == NO_NUMBER
    html = page(TOY, cells("paper"), results)
    assert "quick run" in html
    assert "a &lt;finding&gt;" in html
    assert "<svg" in html
    assert "a theorem needs more" in html


def test_a_name_that_nobody_knows():
    with pytest.raises(en.InputError, match=r"xue2021-table2.*'xue2021-tabel4'.*Did you mean xue2021-table4"):
        target_named("xue2021-tabel4")


def test_the_command_lists_and_refuses():
    listed = CliRunner().invoke(app, ["reproduce"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in targets())
    refused = CliRunner().invoke(app, ["reproduce", "xue2021-tabel4"])
    assert refused.exit_code == 2
    assert "Did you mean" in refused.output
