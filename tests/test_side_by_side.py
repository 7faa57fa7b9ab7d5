"""The page that compares with other libraries says what the result file says, and its claims hold there."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/side-by-side.md").read_text(encoding="utf-8")
STORED = json.loads((ROOT / "benchmarks/results/side_by_side.json").read_text(encoding="utf-8"))


def table_rows():
    lines = PAGE[PAGE.index("<!-- table -->") : PAGE.index("<!-- end of table -->")].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def shown(found):
    if "over_limit" in found:
        return f"over {found['over_limit']:g} s"
    return f"{found['auc']:.4f}, {found['processor_seconds']:.2g} s"


def test_the_table_is_the_one_on_file():
    heading, _, *rows = table_rows()
    assert heading[3:] == list(STORED["data"])
    assert [row[0] for row in rows] == list(STORED["methods"])
    for name, linear, pairs, *cells in rows:
        kind = STORED["methods"][name]
        assert (linear, pairs) == tuple("yes" if kind[field] else "no" for field in ("linear", "pairwise"))
        assert cells == [shown(one["results"][name]) for one in STORED["data"].values()]


def test_the_circumstances_are_the_ones_on_file():
    for name, kind in STORED["methods"].items():
        assert f"- {name}: {kind['settings']}\n" in PAGE
    for name, one in STORED["data"].items():
        assert f"- {name}: {one['train_rows']:,} x {one['features']} to learn from" in PAGE
    for package, number in STORED["versions"].items():
        assert f"{package} {number}" in PAGE
    assert f"limit of {STORED['limit_seconds']:g} s" in PAGE
    for name, seconds in STORED["data"]["synth20k"]["compiling_first_seconds"].items():
        assert f"{seconds:.1f} s ({name.removeprefix('entrenous, ')})" in PAGE


@pytest.mark.parametrize("data", STORED["data"])
def test_the_sigmoid_ranks_training_rows_best_and_the_hinge_next(data):
    ours = {
        name: found["train_auc"]
        for name, found in STORED["data"][data]["results"].items()
        if STORED["methods"][name]["package"] == "entrenous"
    }
    assert sorted(ours, key=ours.get)[:-3:-1] == ["entrenous, sigmoid", "entrenous, hinge"]


@pytest.mark.parametrize("data", STORED["data"])
def test_the_distance_to_the_best_linear_method_is_the_one_on_file(data):
    results = STORED["data"][data]["results"]
    kinds = STORED["methods"]
    others = [
        f["auc"] for name, f in results.items() if kinds[name]["linear"] and kinds[name]["package"] != "entrenous"
    ]
    for surrogate in ("sigmoid", "hinge"):
        (line,) = [line for line in PAGE.splitlines() if line.startswith(f"- with the {surrogate}: ")]
        assert f"{data} {results[f'entrenous, {surrogate}']['auc'] - max(others):+.4f} (" in line
    assert results["entrenous, sigmoid"]["auc"] > max(others) - 0.001


@pytest.mark.parametrize("data", STORED["data"])
def test_the_claims_about_pairwise_methods_hold_on_file(data):
    results = STORED["data"][data]["results"]
    hinge, sigmoid, square = (results[f"entrenous, {name}"] for name in ("hinge", "sigmoid", "square"))
    for name, kind in STORED["methods"].items():
        if kind["pairwise"] and kind["package"] != "entrenous" and "auc" in results[name]:
            found = results[name]
            assert square["processor_seconds"] < found["processor_seconds"], name
            if name != "dlib svm_rank":
                assert hinge["processor_seconds"] < found["processor_seconds"], name
                assert sigmoid["processor_seconds"] < found["processor_seconds"], name
