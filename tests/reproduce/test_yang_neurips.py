"""Yang's targets: the published table, choices that never see the test fold, steps in NumPy beside the engine's."""

import json
from pathlib import Path

import numpy as np
import pytest

from entrenous.reproduce.published import yang2021_neurips as published
from entrenous.reproduce.runner import Results, run
from entrenous.reproduce.targets import BEST, PRINTED, TIGHT, Outcome, jobs_of, target_named
from entrenous.reproduce.yang2021_neurips import DEFAULT, EXACT, SHUFFLED, TEN
from entrenous.reproduce.yang2021_neurips_clock import stepwise
from entrenous.reproduce.yang2021_neurips_findings import OURS, deviations, table_findings
from entrenous.reproduce.yang2021_neurips_folds import Choice, Part, auc_on, binary, choose, fitted, grid, parts, saddle

RESULTS = Path(__file__).parents[2] / "results"


def drawn(n=400, d=4, seed=0):
    random = np.random.default_rng(seed)
    rows = random.uniform(-1.0, 1.0, (n, d))
    labels = (rows @ np.arange(1.0, d + 1.0) + 0.5 * random.standard_normal(n) > 0.0).astype(np.int64)
    return Part(rows, labels)


def test_the_table_is_whole():
    cells = target_named("yang2021-table1").cells("paper") + target_named("yang2021-table1-mnist").cells("paper")
    assert len(cells) == 30
    by_place = {(cell.algorithm, cell.data): (cell.published, cell.published_spread) for cell in cells}
    assert by_place["sgd-previous", "ijcnn1"] == (0.934, 0.002)
    assert by_place["oam", "mnist"] == (0.898, 0.002)
    assert by_place["spauc", "usps"] == (0.923, 0.005)
    assert all(len(values) == len(published.DATA) for values in published.TABLE_1.values())


def test_figures_without_numbers_have_none():
    for name in ("figure1", "private", "buffer1"):
        assert all(cell.published is None for cell in target_named(f"yang2021-{name}").cells("paper"))


def test_a_difference_of_two_deviations_is_within():
    cells = tuple(cell for cell in target_named("yang2021-table1").cells("paper") if cell.data == "ijcnn1")
    values = [0.934 - 0.004, 0.934, 0.916, 0.930, 0.910]
    outcomes = {cell.jobs[OURS].name: Outcome((value,)) for cell, value in zip(cells, values, strict=True)}
    assert deviations(cells, outcomes)[-1][1] == pytest.approx(-11.0)
    said = table_findings(cells, outcomes)
    assert said[0].startswith("4 of 5 cells")
    assert said[1] == "spauc on ijcnn1 is -11.0 standard deviations away."


@pytest.mark.parametrize("algorithm", ["sgd-previous", "sgd-pair", "olp", "oam", "spauc"])
def test_a_chosen_fit_ranks(algorithm):
    train, test = drawn(), drawn(seed=1)
    choice = choose(algorithm, train, 0)
    assert choice in grid(algorithm, 4)
    assert auc_on(test, fitted(algorithm, train, choice, 0)) > 0.9


def test_more_passes_come_nearer_the_minimiser():
    import entrenous as en

    train = drawn(2000)
    exact = en.AUCClassifier(None, algorithm="moments", bounds=(-1, 1)).fit(train.rows, train.labels).coef_[0]
    exact = exact / np.linalg.norm(exact)
    angles = []
    for passes in (1, 10):
        found = saddle(train, Choice(80.0, 4.0), passes, 0)
        angles.append(float(found @ exact / np.linalg.norm(found)))
    assert angles[0] < angles[1]
    assert angles[1] > 0.999


@pytest.mark.parametrize("algorithm", ["sgd-previous", "sgd-pair", "olp"])
def test_steps_in_numpy_are_those_of_the_engine(algorithm):
    train, test = drawn(2000), drawn(seed=1)
    ours, plain = fitted(algorithm, train, Choice(20.0, 0.5), 0), stepwise(algorithm, train, 0)
    ours = ours / np.linalg.norm(ours)
    assert ours @ plain / np.linalg.norm(plain) > 0.99
    assert auc_on(test, plain) == pytest.approx(auc_on(test, ours), abs=0.01)


@pytest.mark.real_data
def test_rows_are_those_of_the_file_that_the_authors_read():
    counts = {name: len(binary(name)[0]) for name in ("diabetes", "german", "ijcnn1", "letter", "usps")}
    assert counts == {"diabetes": 768, "german": 1000, "ijcnn1": 49990, "letter": 15000, "usps": 7291}
    assert len(binary("ijcnn1", whole=True)[0]) == 141691


@pytest.mark.real_data
def test_folds_part_the_rows_and_the_choice_sees_no_test_row(monkeypatch):
    tests = [parts("diabetes", seed, False)[1] for seed in range(5)]
    assert sum(len(test.rows) for test in tests) == 768
    train, test = parts("diabetes", 3, False)
    assert len(train.rows) + len(test.rows) == 768
    module = "entrenous.reproduce.yang2021_neurips_folds"
    seen = []

    def noted(algorithm, part, choice, seed, buffer=None):
        seen.append(part.rows)
        return fitted(algorithm, part, choice, seed, buffer)

    monkeypatch.setattr(f"{module}.fitted", noted)
    choose("olp", train, 3)
    known = {row.tobytes() for row in train.rows}
    assert len(seen) == 2 * len(grid("olp", 8))
    assert all(row.tobytes() in known for rows in seen for row in rows)
    # Our rows: the test fold has no say in the ranges either.
    ours, _ = parts("diabetes", 3, True)
    assert np.abs(ours.rows).max(axis=0) == pytest.approx(np.ones(8))


@pytest.mark.real_data
def test_a_quick_table_is_near_the_published_one(tmp_path):
    target = target_named("yang2021-table1")
    results = run(target, tmp_path / "quick.json", quick=True, repetitions=5)
    cells = target.chosen_cells("paper", True)
    assert len(cells) == 10
    assert all(abs(sds) < 2.0 for _, sds in deviations(cells, results.outcomes(5)))


@pytest.mark.real_data
def test_a_quick_private_run_has_every_column(tmp_path):
    target = target_named("yang2021-private")
    results = run(target, tmp_path / "quick.json", quick=True)
    outcomes = results.outcomes(1)
    for cell in target.chosen_cells("paper", True):
        assert all(len(outcomes[job.name].values) == 1 for job in cell.jobs.values())
        assert outcomes[cell.jobs[PRINTED].name].epsilon < 1.0
        assert outcomes[cell.jobs[TIGHT].name].epsilon == pytest.approx(1.0)
        assert outcomes[cell.jobs[BEST].name].values[0] > 70.0


def test_committed_results_are_full_and_say_what_the_page_says():
    for name in ("table1", "spauc", "buffer1", "figure1", "private"):
        target = target_named(f"yang2021-{name}")
        path = RESULTS / f"{target.name}.json"
        stored = json.loads(path.read_text(encoding="utf-8"))
        assert not stored["quick"]
        assert stored["repetitions"] == target.repetitions
        results = Results.read(path, target.name, "paper")
        for job in jobs_of(target.cells("paper")):
            assert job.name in results.refused or len(results.values[job.name]) >= target.repetitions


def test_spauc_on_ijcnn1_is_explained():
    target = target_named("yang2021-spauc")
    results = Results.read(RESULTS / "yang2021-spauc.json", target.name, "paper")
    outcomes = results.outcomes(results.repetitions)
    file, whole = target.cells("paper")
    mean = {
        (cell.x, way): np.mean(outcomes[cell.jobs[way].name].values)
        for cell in (file, whole)
        for way in (DEFAULT, SHUFFLED, TEN, EXACT)
    }
    assert abs(mean[file.x, TEN] - 0.932) <= 2 * 0.002
    assert mean[whole.x, EXACT] < mean[file.x, EXACT] - 0.002
    assert all(mean[cell.x, DEFAULT] < mean[cell.x, SHUFFLED] - 0.01 for cell in (file, whole))
