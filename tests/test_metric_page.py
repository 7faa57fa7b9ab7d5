"""The tables of the page on metrics are those of the result file, and say what the page says."""

import json

import metric_quality
import pytest
from metric_sets import CHECKED, CHOSEN_ON, NAMES

PAGE = metric_quality.PAGE.read_text(encoding="utf-8")
RESULTS = json.loads(metric_quality.RESULT.read_text(encoding="utf-8"))["results"]


def auc(name, method, epsilon):
    return RESULTS[name][method][epsilon]["auc"]["mean"]


@pytest.mark.parametrize("block", ["metric auc", "metric precision"])
def test_tables_are_the_ones_on_file(block):
    assert f"<!-- {block} -->\n{metric_quality.blocks(RESULTS)[block]}<!-- end of {block} -->" in PAGE


def test_every_set_was_measured():
    assert set(RESULTS) == {*NAMES, metric_quality.FROM_PAIRS}
    assert set(CHOSEN_ON) | set(CHECKED) == set(NAMES)


@pytest.mark.parametrize("name", ["letter", "usps", "digits", "breast_cancer"])
def test_labels_are_what_is_learnt_from(name):
    for epsilon in ("1", "4"):
        learnt = auc(name, metric_quality.OURS, epsilon)
        assert learnt > auc(name, metric_quality.PLAIN, "") + 0.03
        assert learnt > auc(name, metric_quality.UNITS, epsilon) + 0.03
        assert learnt > auc(name, metric_quality.SHUFFLED, epsilon) + 0.03
        if metric_quality.DESCENT in RESULTS[name]:
            assert learnt > auc(name, metric_quality.DESCENT, epsilon) + 0.03


@pytest.mark.parametrize("name", NAMES)
def test_noise_leads_back_to_the_plain_distance(name):
    for epsilon in ("0.5", "1", "4"):
        assert auc(name, metric_quality.OURS, epsilon) > auc(name, metric_quality.UNITS, epsilon) - 0.01


@pytest.mark.parametrize("name", NAMES)
def test_labels_without_meaning_bring_nothing(name):
    for epsilon in ("0.5", "1", "4"):
        shuffled = auc(name, metric_quality.SHUFFLED, epsilon)
        assert shuffled < auc(name, metric_quality.UNITS, epsilon) + 0.02


def test_retrieval_of_images_loses():
    for name in ("digits", "usps"):
        found = RESULTS[name]
        plain = found[metric_quality.PLAIN][""]["precision"]["mean"]
        assert all(cell["precision"]["mean"] < plain for cell in found[metric_quality.OURS].values())
