"""Wang's figures: the drawn rows, the settings of the paper, and what a quick run finds."""

import json
from pathlib import Path

import numpy as np
import pytest

from entrenous.reproduce.published import wang2024 as published
from entrenous.reproduce.runner import run
from entrenous.reproduce.targets import BEST, FREE, PRINTED, TIGHT, target_named
from entrenous.reproduce.wang2024 import drawn

RESULTS = Path(__file__).parents[2] / "results"


def test_drawn_rows_are_the_papers():
    (rows, targets), (new_rows, _) = drawn("least squares", 0.15, 0)
    assert rows.shape == new_rows.shape == (5000, 10)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(5000))
    assert np.abs(targets).max() <= 0.5
    exact = drawn("least squares", 0.0, 0)[0]
    assert exact[1] == pytest.approx(exact[0] @ np.array(published.TRUTH["least squares"]))
    rows, labels = drawn("logistic", 0.0, 0)[0]
    assert ((rows @ np.array(published.TRUTH["logistic"]) > 0.0) == labels).all()


def test_figures_have_the_papers_points_and_no_numbers():
    for number, count in ((1, 33), (2, 30)):
        target = target_named(f"wang2024-figure{number}")
        cells = target.cells("paper")
        assert len(cells) == count
        assert target.repetitions == 500
        assert all(cell.published is None for cell in cells)


@pytest.mark.parametrize(("number", "limit"), [(1, 0.001), (2, 0.05)])
def test_a_quick_figure(number, limit, tmp_path):
    target = target_named(f"wang2024-figure{number}")
    results = run(target, tmp_path / "quick.json", quick=True, repetitions=1)
    outcomes = results.outcomes(1)
    cells = [cell for cell in target.chosen_cells("paper", True) if cell.group == "kappa = 0"]
    assert [cell.x for cell in cells] == [2.0, 5.5]
    for cell in cells:
        value = {column: outcomes[job.name].values[0] for column, job in cell.jobs.items()}
        assert value[BEST] < limit
        assert value[FREE] < value[TIGHT]
        assert outcomes[cell.jobs[TIGHT].name].epsilon == pytest.approx(cell.x)
        # The printed noise is several times what its claim needs.
        assert outcomes[cell.jobs[PRINTED].name].epsilon < cell.x / 2.0


def test_committed_figures_cover_every_point():
    for number in (1, 2):
        stored = json.loads((RESULTS / f"wang2024-figure{number}.json").read_text(encoding="utf-8"))
        assert not stored["quick"]
        assert stored["repetitions"] >= 50
        assert all(len(entry["values"]) >= stored["repetitions"] for entry in stored["jobs"])
