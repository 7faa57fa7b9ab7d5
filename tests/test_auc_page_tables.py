"""The tables of the pages on AUC and shapes are those of the result files."""

import json
from pathlib import Path

import pytest
import shapes
import whitening

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "estimators" / "auc.md").read_text(encoding="utf-8")


def results(name):
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))["results"]


@pytest.mark.parametrize("name", results("coef_noise"))
def test_the_table_of_noise(name):
    found = results("coef_noise")[name].values()
    cells = [f"{cell['min']:.2f} / {cell['median']:.2f} / {cell['max']:.2f}" for cell in found]
    assert f"| {name} | {' | '.join(cells)} |" in PAGE


@pytest.mark.parametrize("name", results("calibration"))
def test_the_table_of_probabilities(name):
    found = results("calibration")[name]

    def both(epsilon, key):
        return " → ".join(f"{found[epsilon][way][key]:.3f}" for way in ("as released", "calibrated"))

    cells = [f"{found['rows']:,}", f"{found['event_share']:.3f}", both("1.0", "largest_off")]
    cells += [both(epsilon, "calibration_error") for epsilon in ("0.5", "1.0", "4.0")]
    assert f"| {name} | {' | '.join(cells)} |" in PAGE


def test_what_the_page_says_of_them():
    """Mean probabilities hold on large tables at epsilon 1 and more; noise is not stated too small."""
    large = [found for found in results("calibration").values() if found["rows"] >= 20_000]
    assert len(large) == 5
    assert max(found[epsilon]["as released"]["largest_off"] for found in large for epsilon in ("1.0", "4.0")) < 0.01
    noise = [cell for found in results("coef_noise").values() for cell in found.values()]
    assert min(cell["min"] for cell in noise) >= 1.0
    assert all(1.0 <= cell["median"] <= 5.0 for cell in noise)


def test_the_table_of_whitening():
    stored = json.loads((ROOT / "benchmarks" / "results" / "whitening.json").read_text(encoding="utf-8"))["sets"]
    assert f"<!-- whitening -->\n{whitening.table(stored)}<!-- end of whitening -->" in PAGE
    gains = {
        name: [cell["whiten=0.1"] - cell["whiten=0"] for cell in found["auc"].values()]
        for name, found in stored.items()
    }
    assert min(gains["debrecen"][1:]) > 0.03  # what it is for, at epsilon 1 and 4
    assert min(min(found) for found in gains.values()) > -0.0165  # what the page says that it costs


def test_the_table_of_noise_in_shapes():
    found = results("shapes")
    page = (ROOT / "docs" / "estimators" / "shapes.md").read_text(encoding="utf-8")
    assert f"<!-- noise of shapes -->\n{shapes.table_of(found)}<!-- end of noise of shapes -->" in page
    cells = [cell for by_epsilon in found.values() for cell in by_epsilon.values()]
    assert all(cell["5 %"] >= 1.0 for cell in cells)
    assert all(cell["median"] <= 5.0 for cell in cells)
