"""The frontier: a short run of the real thing, and pages that say what the result file says."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from frontier.__main__ import Runner
from frontier.cells import REPLACE, Cell, Key, Results, committed, committed_keys, grid_keys, our_keys
from frontier.pages import BLOCKS, PAGE, README, Figures
from frontier.peers import PEERS, same_adjacency
from frontier.sets import DESIGN, NAMES, Table, load_set
from rich.progress import Progress

from entrenous.privacy.gaussian_dp import mu_for

ROOT = Path(__file__).parents[1]
STORED = Results.read(ROOT / "benchmarks/results/frontier.json")
BARE = Key("breast_cancer", "noisy-descent", 1.0, REPLACE, 4)


def run(path, folder, keys, splits):
    table = load_set("breast_cancer")
    stored = folder / "table.npz"
    table.save(stored)
    runner = Runner(path, sys.executable, 2, Progress(disable=True))
    runner.results.sets[table.name] = table.facts
    runner.measure({table.name: stored}, {table.name: splits}, keys, "test")
    return runner.cells


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frontier")
    keys = [Key("breast_cancer", "auto", 1.0), Key("breast_cancer", "without privacy", None), BARE]
    return folder, run(folder / "frontier.json", folder, keys, 6)


def test_a_short_run_measures_ours_and_a_peer_in_processes_of_their_own(short_run):
    _, cells = short_run
    assert {len(cell.auc) for cell in cells.values()} == {6}
    assert cells[Key("breast_cancer", "auto", 1.0)].spent == pytest.approx(1.0)
    assert cells[Key("breast_cancer", "auto", 1.0)].mean > cells[BARE].mean > 0.7
    assert cells[Key("breast_cancer", "without privacy", None)].mean > 0.96


def test_a_stopped_run_goes_on_where_it_was(short_run):
    folder, before = short_run
    path = folder / "stopped.json"
    Results({BARE: Cell(before[BARE].auc[:2], before[BARE].seconds[:2])}).write(path, {})
    after = run(path, folder, [BARE], 4)[BARE]
    assert after.auc[:2] == before[BARE].auc[:2]
    assert len(after.auc) == 4
    again = run(path, folder, [BARE], 4)[BARE]
    assert again == after  # nothing was left to do
    assert Results.read(path).cells == {BARE: after}


def test_an_algorithm_that_refuses_is_noted(tmp_path):
    key = Key("breast_cancer", "oam, tight", 1.0)
    assert "no sensitivity covers" in run(tmp_path / "r.json", tmp_path, [key], 2)[key].refused


def test_splits_hold_out_a_fifth_and_rows_are_scaled_to_one():
    table = load_set("breast_cancer")
    train, test = table.split(3)
    assert len(train) == int(0.8 * len(table.labels))
    assert not set(train) & set(test)
    assert np.abs(table.scaled).max() <= 1.0
    assert isinstance(table, Table)


def test_add_or_remove_at_half_the_budget_implies_replace_one():
    # Two steps of (e, d) are (2 e, (1 + exp(e)) d): the group property.
    half, less = same_adjacency(1.0, 1e-6)
    assert 2.0 * half == pytest.approx(1.0)
    assert less * (1.0 + np.exp(half)) == pytest.approx(1e-6)
    # What the Gaussian mechanism itself would need there is less, so nobody is flattered.
    assert mu_for(half, less) < mu_for(1.0, 1e-6) / 2.0


def test_plain_descent_has_the_noise_of_its_sensitivity():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.0, 1.0, (400, 3)), np.arange(400) % 2
    settings = {"steps": 1, "learning_rate": 1.0}
    released = np.array([PEERS["noisy-descent"].fit(X, y, 1.0, 1e-6, settings)(np.eye(3)) for _ in range(2000)])
    assert released.std(axis=0) == pytest.approx(np.full(3, 2.0 / 400 / mu_for(1.0, 1e-6)), rel=0.08)


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_is_on_file(name):
    keys = our_keys(name, STORED.sets[name]["rows"])
    for method in Figures(STORED).peers:
        keys += [*grid_keys(name, method), *committed_keys(name, method, committed(STORED.cells, method))]
    splits = STORED.sets[name]["splits"]
    short = [key for key in keys if not STORED.cells[key].refused and len(STORED.cells[key].auc) != splits]
    assert not short


def test_the_pages_show_what_is_on_file():
    figures = Figures(STORED)
    for path, names in ((PAGE, [name for name in BLOCKS if name != "frontier at 1"]), (README, ["frontier at 1"])):
        text = path.read_text(encoding="utf-8")
        for name in names:
            assert f"<!-- {name} -->\n{BLOCKS[name](figures)}<!-- end of {name} -->" in text
    bent = figures.cell("letter", "shape auto", 1.0).mean
    assert f"which lifts letter to {bent:.3f}" in README.read_text(encoding="utf-8")
    for name in ("at-epsilon-1", *figures.sets):
        assert (ROOT / "docs/frontier" / f"{name}.svg").is_file()


def test_the_committed_settings_are_the_best_on_the_design_sets():
    for method, peer in PEERS.items():
        adjacency, setting = peer.adjacency, committed(STORED.cells, method)
        means = [
            np.mean([STORED.cells[Key(name, method, 1.0, adjacency, k)].mean for name in DESIGN])
            for k in range(len(peer.grid))
        ]
        assert means[setting] == max(means)


def test_the_grids_on_file_are_those_of_the_peers():
    stored = json.loads((ROOT / "benchmarks/results/frontier.json").read_text(encoding="utf-8"))
    assert stored["grids"] == {method: [dict(one) for one in peer.grid] for method, peer in PEERS.items()}


def test_what_the_page_says_that_shapes_are_worth():
    """The figures in the text are those of the frontier."""
    page = (ROOT / "docs" / "estimators" / "shapes.md").read_text(encoding="utf-8").replace("\n", " ")
    figures = Figures(STORED)

    def auc(name, method, epsilon):
        return figures.cell(name, method, epsilon).mean

    for name in ("letter", "covtype", "ijcnn1"):
        said = f"{name} {auc(name, 'shape auto', 1.0):.3f} against {auc(name, 'auto', 1.0):.3f}"
        assert said in page
    assert f"from {auc('diabetes', 'auto', 0.5):.3f} to {auc('diabetes', 'additive', 0.5):.3f}" in page
    for name in figures.sets:
        for epsilon in (0.5, 1.0, 4.0):
            best = max(auc(name, "auto", epsilon), auc(name, "additive", epsilon))
            assert auc(name, "shape auto", epsilon) >= best - 0.01, (name, epsilon)
            assert auc(name, "shape auto", epsilon) > auc(name, "dp-ebm", epsilon)


@pytest.mark.real_data
def test_ranges_hold_every_set_of_the_folder():
    for name in ("diabetes", "german", "bank_full"):
        table = load_set(name)
        inside = (table.rows >= table.low) & (table.rows <= table.high)
        assert inside.mean() > 0.99, name
        assert set(np.unique(table.rows[:, table.binary])) <= {0.0, 1.0}
