"""The page on reproduction and the list of results: their figures are those on file, and what is said of them holds."""

import re
from html import unescape

import pytest
import reproduction_page
import reproduction_xue2021
from reproduction_page import FILES, PAGE, RESULTS

from entrenous.reproduce.page import table_rows
from entrenous.reproduce.targets import BEST, FREE, PRINTED, target_named, targets
from entrenous.reproduce.xue2021 import EUCLID, EUCLID_OURS
from entrenous.reproduce.xue2021_findings import means

STORED = reproduction_page.on_file()
RESULT_FILES = sorted(path.stem for path in RESULTS.glob("*.json"))


def cells_of(name):
    results = STORED[name]
    outcomes = results.outcomes(results.repetitions)
    return [(cell, means(cell, outcomes)) for cell in target_named(results.target).cells(results.preprocessing)]


@pytest.mark.parametrize("name", reproduction_page.page_blocks())
def test_a_block_of_the_page_is_what_the_results_say(name):
    block = reproduction_page.page_blocks()[name]
    way_out = "run 'python benchmarks/reproduction_page.py'"
    assert f"<!-- {name} -->\n{block}<!-- end of {name} -->" in PAGE.read_text(encoding="utf-8"), way_out


def test_every_result_is_listed_with_its_command():
    assert reproduction_page.commands() in FILES.read_text(encoding="utf-8")
    assert sorted(STORED) == RESULT_FILES, "a run on file is not finished"


@pytest.mark.parametrize("name", RESULT_FILES)
def test_a_page_on_file_shows_the_figures_on_file(name):
    results = STORED[name]
    target = target_named(results.target)
    html = (RESULTS / f"{name}.html").read_text(encoding="utf-8")
    shown = [re.split(r"<td[^>]*>", row.strip())[1:] for row in re.findall(r"^<tr>(<td.*)$", html, re.MULTILINE)]
    cells, outcomes = target.cells(results.preprocessing), results.outcomes(results.repetitions)
    assert [[unescape(entry) for entry in row] for row in shown] == table_rows(target, cells, outcomes)
    assert all(line in unescape(html) for line in target.findings(cells, outcomes))
    for ending in ("html", "svg"):
        assert (RESULTS / f"{name}.{ending}").stat().st_size < 100_000


def test_every_target_of_xue_is_on_file():
    assert {name for name in targets() if name.startswith("xue2021")} <= set(STORED)


def test_our_best_is_above_every_private_auc_on_diabetes_with_delta_one_over_n():
    ahead = [
        found[BEST] - cell.published
        for cell, found in cells_of("xue2021-table4")
        if cell.data == "diabetes" and cell.group.endswith("1/n")
    ]
    assert len(ahead) == 20
    assert min(ahead) > 10.0


def test_the_printed_noise_of_table_4_ranks_by_chance():
    for cell, found in cells_of("xue2021-table4"):
        if cell.algorithm == "dpgdsc":
            assert abs(found[PRINTED] - 50.0) < 2.5
            assert found[FREE] > 60.0


def test_the_plain_distance_is_above_the_means_of_private_metrics():
    for name in ("xue2021-table2", "xue2021-table3"):
        for data in ("diabetes", "debrecen"):
            here = [found for cell, found in cells_of(name) if cell.data == data]

            def level(column, here=here):
                return sum(found[column] for found in here) / len(here)

            assert level(EUCLID) > max(level(PRINTED), level("ours tight"), level(FREE))
            assert level(EUCLID_OURS) > level(BEST)


def test_the_arithmetic_is_that_of_the_planner():
    plan = reproduction_xue2021._plan(256, 8, 1e-3, 1.0, "paper")
    assert plan.mechanisms[0].sigma == pytest.approx(416.934, abs=1e-3)
    assert plan.epsilon == pytest.approx(0.0919, abs=1e-4)


@pytest.mark.real_data
@pytest.mark.parametrize("name", reproduction_xue2021.LARGEST_CLASS)
def test_the_larger_class_is_as_large_as_the_page_says(name):
    from entrenous.reproduce.tables import raw

    _, labels = raw(name)
    assert (max((labels == each).sum() for each in set(labels)), len(labels)) == reproduction_xue2021.LARGEST_CLASS[
        name
    ]
