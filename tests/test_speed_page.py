"""The page on speed: its table is the result file, and it does not hide a goal that was missed."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/speed.md").read_text(encoding="utf-8")
FIGURES = json.loads((ROOT / "benchmarks/results/engine.json").read_text(encoding="utf-8"))["figures"]


def test_the_table_is_the_one_on_file():
    rows = PAGE.split("<!-- table -->")[1].split("<!-- end of table -->")[0].strip().splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[:3] for row in cells] == [[f["case"], f"{f['ratio']:.2f}", f["meaning"]] for f in FIGURES]
    for row, figure in zip(cells, FIGURES, strict=True):
        goal = figure["goal"]
        met = goal is None or (figure["ratio"] >= goal if figure["more_is_better"] else figure["ratio"] <= goal)
        assert (row[3] == "") == (goal is None)
        assert ("missed" in row[3]) == (not met)
        assert figure["reached"] == (None if goal is None else met)


def test_every_subject_of_the_benchmark_is_there():
    for word in (
        "hinge over all pairs",
        "logistic",
        "metric over all pairs",
        "stream,",
        "noisy steps",
        "Lemma 6",
        "first fit",
    ):
        assert any(word in figure["case"] for figure in FIGURES), word
