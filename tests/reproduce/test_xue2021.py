"""Every target of Xue et al. 2021, quickly; what the published tables hold; small drawings."""

import xml.dom.minidom

import pytest
from typer.testing import CliRunner

from entrenous.cli.app import app
from entrenous.reproduce.drawing import _short_path, _small, drawing
from entrenous.reproduce.published import xue2021 as published
from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, Outcome, target_named, targets

XUE = [name for name in targets() if name.startswith("xue2021")]


@pytest.mark.real_data
@pytest.mark.parametrize("name", XUE)
def test_a_quick_run_writes_figures_drawing_and_page(name, tmp_path):
    rows = "ours" if name.endswith("figure4") else "paper"
    asked = ["reproduce", name, "--quick", "--repetitions", "1", "--preprocessing", rows, "--out", str(tmp_path)]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    stem = name if rows == "paper" else f"{name}-our-rows"
    html = (tmp_path / f"{stem}.html").read_text(encoding="utf-8")
    target = target_named(name)
    cells = target.chosen_cells(rows, quick=True)
    assert len(cells) >= 4
    has_numbers = cells[0].published is not None
    assert (f"{cells[0].published:.1f}" if has_numbers else "prints no numbers") in html
    assert target.preprocessing[rows].split(":")[0] in html
    xml.dom.minidom.parse(str(tmp_path / f"{stem}.svg"))
    assert (tmp_path / f"{stem}.json").is_file()


@pytest.mark.parametrize("name", targets())
def test_a_target_says_how_it_prepares_rows(name):
    shown = CliRunner().invoke(app, ["reproduce", name, "--describe"], env={"COLUMNS": "10000"})
    assert shown.exit_code == 0
    target = target_named(name)
    assert all(each and each in shown.output for each in target.preprocessing.values())
    assert f"{target.repetitions} of" in shown.output


def test_the_cells_are_those_of_the_paper():
    counts = {name: len(target_named(name).cells("paper")) for name in XUE}
    tables = (published.TABLE_2, published.TABLE_3, published.TABLE_4)
    private = [sum(len(row) for key, row in table.items() if key[2] is not None) for table in tables]
    assert list(counts.values()) == [*private, 12, 15, 12, 15]
    assert sum(len(row) for row in published.TABLE_2.values()) == 26 * 3
    table_4 = {(cell.group, cell.data, cell.algorithm, cell.x): cell.published for cell in _table_4()}
    assert table_4["strongly convex, delta = 1/n", "diabetes", "dpgdsc", 1.0] == 64.46
    assert table_4["convex, delta = 0", "debrecen", "offpairc", 2.0] == 58.06


def test_our_rows_change_every_fit():
    for name in XUE:
        settings = [job.settings for cell in target_named(name).cells("ours") for job in cell.jobs.values()]
        assert {each["rows"] for each in settings} == {"ours"}


def _table_4():
    return target_named("xue2021-table4").cells("paper")


def test_a_drawing_has_every_column_and_stays_small():
    target = target_named("xue2021-table4")
    outcomes = {job.name: Outcome((50.0, 60.0), 0.5) for cell in _table_4() for job in cell.jobs.values()}
    svg = drawing(target, _table_4(), outcomes)
    assert len(svg) < 60_000
    xml.dom.minidom.parseString(svg)
    for words in ("published", PRINTED, TIGHT, BEST, FREE, "diabetes, strongly convex, delta = 1/n, dpgdsc"):
        assert words in svg


def test_a_shorter_svg_is_the_same_picture():
    assert _short_path("M 1 2 L 1 5 L 3 5 z") == "M1 2V5L3 5z"
    assert _short_path("M 1 2 C 1 2 3 4 5 6") == "M 1 2 C 1 2 3 4 5 6"
    label = '<g id="a"><g opacity="0.5"><text x="1.23456">0.123456</text></g></g>'
    assert _small(label) == '<g opacity="0.5"><text x="1.2">0.123456</text></g>'
