"""The pages of the algorithms are what their script writes today, and nothing is left out of them."""

import inspect
import re
from dataclasses import replace

import pytest
from algorithm_pages.algorithm_page import page
from algorithm_pages.index import index
from algorithm_pages.noise_table import rows_of
from algorithm_pages.options_table import described, options_of
from algorithm_pages.sources import library_lines, lines_of_a_test
from algorithm_pages.words import FOLDER, WORDS, PageError, key_of, library_algorithms, shared_arguments, words_of

import entrenous as en

RECORDS = {key_of(record): record for record in library_algorithms()}
STALE = "docs/algorithms/{} is not what its script writes. Run `make pages`."
over_algorithms = pytest.mark.parametrize("key", RECORDS)


def on_file(name):
    path = FOLDER / name
    assert path.exists(), f"docs/algorithms/{name} is missing. Run `make pages`."
    return path.read_text(encoding="utf-8")


@over_algorithms
def test_a_page_is_up_to_date_and_its_tight_noise_spends_what_was_asked_for(key):
    assert on_file(f"{key}.md") == page(RECORDS[key]), STALE.format(f"{key}.md")
    for row in rows_of(key):
        if row.label == "tight":
            assert row.gives == pytest.approx(row.setting.epsilon, rel=1e-4)


def test_the_index_is_up_to_date():
    assert on_file("README.md") == index(), STALE.format("README.md")


def test_every_page_and_every_file_of_words_has_an_algorithm():
    assert {path.stem for path in FOLDER.glob("*.md")} == {*RECORDS, "README"}, "Run `make pages`."
    assert {path.stem for path in (WORDS / "algorithms").glob("*.toml")} == set(RECORDS)


@over_algorithms
def test_words_of_options_are_about_options_it_has(key):
    assert set(words_of(RECORDS[key]).options) <= set(RECORDS[key].options)


def test_an_algorithm_without_words_is_an_error_that_says_what_to_write():
    unknown = replace(RECORDS["dpgdsc"], name="dpgdsc-two")
    with pytest.raises(PageError, match=r"no words\. Write benchmarks/.*dpgdsc-two\.toml\. Then run `make pages`"):
        page(unknown)


def test_an_option_that_is_not_described_is_an_error_that_says_where_it_goes():
    def planner(problem, budget, n, *, new_option=1): ...

    with pytest.raises(PageError, match=r"new_option is not described.*options\.toml.*make pages"):
        options_of(replace(RECORDS["dpgdsc"], planner=planner))


def test_every_described_option_exists():
    from algorithm_pages.words import option_words

    used = {name for record in RECORDS.values() for name in record.options}
    assert set(option_words()) == used
    plan = inspect.signature(en.plan).parameters
    for name in used:
        assert described(name).argument in ("", *plan)
    assert {each.name for each in shared_arguments()} <= set(plan)


def test_every_bound_of_the_papers_is_on_a_page():
    shown = {name for record in RECORDS.values() for name in words_of(record).theory}
    assert shown == {each.name for each in en.theory.STATEMENTS}


def test_code_that_is_gone_is_an_error():
    for name in ("entrenous.planners.xue2021:no_such", "entrenous.planners.no_such:dpgdsc"):
        with pytest.raises(PageError, match="make pages"):
            library_lines(name)
    with pytest.raises(PageError, match="make pages"):
        lines_of_a_test("planners/test_xue.py::no_such")


def test_where_the_printed_noise_breaks_its_claim_the_page_says_so():
    said = {key for key in RECORDS if "**The printed noise spends more than it claims**" in on_file(f"{key}.md")}
    assert said == {"dpgdc2", "kang-gp"}


@over_algorithms
def test_tables_are_whole(key):
    text = re.sub(r"```.*?```", "", on_file(f"{key}.md"), flags=re.DOTALL).replace(r"\|", "")
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table
