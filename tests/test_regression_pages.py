"""The tables of the pages on regression are those of the result file, and what the pages say of them holds."""

import json
from pathlib import Path

import regression

ROOT = Path(__file__).parents[1]
STORED = json.loads((ROOT / "benchmarks" / "results" / "regression.json").read_text(encoding="utf-8"))


def test_the_tables_are_on_the_pages():
    blocks = regression.tables(STORED)
    pages = [page.read_text(encoding="utf-8") for page in regression.PAGES]
    for name, block in blocks.items():
        marked = [f"<!-- {name} -->" in page for page in pages]
        assert any(marked), name
        for page, has_it in zip(pages, marked, strict=True):
            assert not has_it or f"<!-- {name} -->\n{block}<!-- end of {name} -->" in page


def test_targets_of_the_regression_set():
    found = STORED["the regression set"]["ErrorEntropyRegressor"]
    assert found["1"]["coef"] <= 0.02
    assert found["1"]["intercept"] <= 0.08
    exact, free = STORED["without privacy"]["error entropy"], STORED["without privacy"]["least squares"]
    assert exact["median_error"] < free["median_error"] / 2.0


def test_ours_is_nearer_than_private_ridge_on_every_real_table():
    for found in STORED["real"].values():
        for epsilon in ("0.5", "1", "4"):
            ours = [found["found"][kind][epsilon]["r2"] for kind in regression.KINDS]
            assert min(ours) > found["found"]["AdaSSP"][epsilon]["r2"]
    checked = STORED["real"]["covtype, elevation"]["found"]
    assert checked["PointwiseRegressor"]["1"]["r2"] > checked["least squares"]["none"]["r2"] - 0.01


def test_noise_is_not_stated_too_small_but_for_columns_that_repeat_each_other():
    ratios = dict(STORED["coef_noise"])
    assert ratios.pop("a column almost twice")["min"] < 1.0
    assert min(ratio["min"] for ratio in ratios.values()) > 1.0
