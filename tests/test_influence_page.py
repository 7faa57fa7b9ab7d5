"""The tables of the page on influence are those of the result file, and what the page says of them holds."""

import json
from pathlib import Path

import influence

STORED = json.loads(influence.RESULT.read_text(encoding="utf-8"))


def test_the_tables_are_on_the_page():
    page = influence.PAGE.read_text(encoding="utf-8")
    for name, block in influence.tables(STORED).items():
        assert f"<!-- {name} -->\n{block}<!-- end of {name} -->" in page


def test_the_predictions_go_with_the_refits():
    assert STORED["records"] == 100
    assert len(STORED["compared"]) == 3
    for row in STORED["compared"].values():
        assert row["correlation"] >= 0.99
        assert row["relative_error"] < 0.05


def test_the_figures_are_those_of_this_code():
    for name, what in influence.sets().items():
        found, stored = influence.compared(*what), STORED["compared"][name]
        for field in ("correlation", "relative_error", "stability_times_n"):
            assert abs(found[field] - stored[field]) <= 1e-3 * abs(stored[field]), (name, field)


def test_the_picture_has_a_point_for_every_record():
    picture = Path(influence.PICTURE).read_text(encoding="utf-8")
    assert picture.count("<use") >= 3 * STORED["records"]
    assert all(name in picture for name in STORED["compared"])
