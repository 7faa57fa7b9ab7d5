"""The page on where the noise goes: its figures are those on file, and what it says about them holds there."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from why_it_works_measures import BASE, NO_GEOMETRY, PARTS, STEPS, UNITS, WITHOUT_PRIVACY, auc_of, bounded_single
from why_it_works_page import BLOCKS, PAGE, two_digits
from why_it_works_pictures import FOLDER, PICTURES
from why_it_works_variants import Gradients, Variant, capped_pair_slopes, descend, pair_signal, signal

import entrenous as en
from entrenous.engine.phases.capped_descent import class_weights
from entrenous.engine.phases.event_share import EventShare

ROOT = Path(__file__).parents[1]
TEXT = PAGE.read_text(encoding="utf-8")
STORED = json.loads((ROOT / "benchmarks/results/why_it_works.json").read_text(encoding="utf-8"))
FOLLOWED = STORED["steps"]
over_followed = pytest.mark.parametrize("name", FOLLOWED)


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_of_the_page_is_the_one_on_file(name):
    assert f"<!-- {name} -->\n{BLOCKS[name](STORED)}<!-- end of {name} -->" in TEXT


def test_no_figure_stands_outside_the_blocks():
    outside = re.sub(r"<!-- (.+?) -->\n.*?<!-- end of \1 -->", "", TEXT, flags=re.DOTALL)
    assert "<!--" not in outside
    assert not re.findall(r"\d\.\d|\d %|± \d", outside)


def test_every_picture_is_on_the_page_and_shows_the_figures_on_file():
    for name in PICTURES:
        assert f"(why-it-works/{name}.svg)" in TEXT
    shown = {path.stem for path in FOLDER.glob("*")}
    assert shown == set(PICTURES)
    drawn = {name: (FOLDER / f"{name}.svg").read_text(encoding="utf-8") for name in PICTURES}
    for found in FOLLOWED.values():
        for step, one in found.items():
            assert f">{one['auc']:.3f}</text>" in drawn["steps"], step
            if step != WITHOUT_PRIVACY:
                assert f">{two_digits(one['noise_to_signal'])}</text>" in drawn["noise"], step
    for name in FOLLOWED:
        found = STORED["parts"][name]
        for part in PARTS:
            if part != BASE:
                assert f">{found[part]['auc'] - found[BASE]['auc']:+.3f}</text>" in drawn["6-parts"]


@over_followed
def test_the_steps_on_file_are_those_of_the_script(name):
    found = FOLLOWED[name]
    assert list(found) == [*STEPS, WITHOUT_PRIVACY]
    for step, settings in STEPS.items():
        n, d = int(0.8 * STORED["sets"][name]["rows"]), STORED["sets"][name]["columns"]
        made = en.plan(**{"algorithm": "auto"} | settings, n=n, n_features=d, epsilon=STORED["epsilon"], bounds=(0, 1))
        assert made.epsilon == pytest.approx(found[step]["epsilon"], rel=1e-6)
        assert made.steps == found[step]["gradients"]


@over_followed
def test_printed_noise_is_more_than_a_ranking_needs_and_less_than_a_general_loss_would(name):
    found = FOLLOWED[name]
    for algorithm in ("dpgdsc", "dpgdc2"):
        printed, tight = (found[f"{algorithm}, {kind} noise"] for kind in ("printed", "tight"))
        assert printed["epsilon"] < 1.0
        assert tight["epsilon"] == pytest.approx(1.0)
        assert printed["noise_in_needed"] > tight["noise_in_needed"] == pytest.approx(1.0)
        assert printed["noise_to_signal"] > tight["noise_to_signal"]
    assert 0.9 < found["dpgdc2, printed noise"]["noise_in_needed"] / 2.0 < 1.0
    assert found["dpgdsc, printed noise"]["noise_in_needed"] > 4.0
    ridge = found["dpgdsc, tight noise, ridge 0.1"]["auc"] - found["dpgdsc, tight noise"]["auc"]
    tight = found["dpgdsc, tight noise"]["auc"] - found["dpgdsc, printed noise"]["auc"]
    assert (ridge > tight) == (name == "diabetes")
    claimed = STORED["promises"]["claimed"]
    for values in STORED["promises"]["real"].values():
        assert all(real < asked for real, asked in zip(values, claimed, strict=True))


@over_followed
def test_each_step_of_ours_has_less_noise_beside_its_signal_and_the_default_ranks_best(name):
    found = FOLLOWED[name]
    way = ["noisy-gd: all pairs", "single records", "single records, zoom", "the default"]
    ratios, aucs = ([found[step][key] for step in way] for key in ("noise_to_signal", "auc"))
    assert ratios == sorted(ratios, reverse=True)
    assert aucs == sorted(aucs)
    assert ratios[1] / ratios[-1] > ratios[0] / ratios[1]  # ranges and scales take away more than single records do
    assert max(found[step]["auc"] for step in STEPS) - found["the default"]["auc"] < 0.002
    assert ("Zoom" in found["the default"]["stages"]) == (name == "ijcnn1")


def test_what_the_page_says_about_noisy_gd_holds():
    ours, theirs, ridge = "noisy-gd: all pairs", "dpgdc2, tight noise", "dpgdsc, tight noise, ridge 0.1"
    for name, found in FOLLOWED.items():
        assert abs(found[ours]["auc"] - found[theirs]["auc"]) < np.hypot(found[ours]["se"], found[theirs]["se"])
        assert found[theirs]["gradients"] > 100 * found[ours]["gradients"]
        assert (found[ours]["auc"] > found[ridge]["auc"]) == (name == "diabetes")
        way = STORED["along_the_way"][name]
        sums = way["sums_of_gradients"]
        assert len(sums) == found[ours]["gradients"]
        assert sums[-1] == pytest.approx(len(sums) * sums[0], rel=0.02)  # all gradients are the first one
        assert np.sqrt(len(sums)) * way["noise"] / sums[-1] == pytest.approx(found[ours]["noise_to_signal"], rel=0.02)
        assert way["first_gradient"]["auc"] < found[WITHOUT_PRIVACY]["auc"] - 0.02


@pytest.mark.parametrize("name", STORED["parts"])
def test_the_same_descent_over_pairs_and_single_records(name):
    found, events = STORED["parts"][name], STORED["sets"][name]["events"]
    for place in ("declared", "found"):
        pairs, single, weighted = (found[f"{kind}, {place}"] for kind in ("pairs", "single", "single, class weights"))
        assert weighted["auc"] > pairs["auc"]
        assert (single["auc"] > pairs["auc"]) == ((name, place) != ("ijcnn1", "found"))
        # 1/max(p, 1 - p), less what the constant column costs.
        longer = 1.0 / max(events, 1.0 - events) / np.hypot(1.0, 0.3)
        assert pairs["noise_to_signal"] / single["noise_to_signal"] == pytest.approx(longer, rel=0.02)
    best = max(found[f"{kind}, found"]["auc"] for kind in UNITS if kind.startswith("pairs"))
    if name != "ijcnn1":
        assert best < found["single, found"]["auc"] - 0.02
    ranges = found["pairs, found"]["auc"] - found["pairs, declared"]["auc"]
    choice = found["single, declared"]["auc"] - found["pairs, declared"]["auc"]
    assert (ranges > choice) == (name != "german")


def test_most_of_the_fourth_step_on_the_large_set_is_the_descent():
    start, end = (FOLLOWED["ijcnn1"][step]["auc"] for step in ("noisy-gd: all pairs", "single records"))
    assert STORED["parts"]["ijcnn1"]["pairs, declared"]["auc"] - start > (end - start) / 2.0


def test_zooming_is_an_insurance():
    fitting, wide = (STORED["zoom"]["ijcnn1"][wider] for wider in ("1", "100"))
    assert abs(fitting["zoom"]["auc"] - fitting["no zoom"]["auc"]) < 0.002
    assert wide["zoom"]["auc"] > wide["no zoom"]["auc"] + 0.1


def test_without_privacy_single_records_rank_as_well():
    for found in STORED["without_privacy"].values():
        less = found["weighted"]["less_pairs"]
        assert abs(less["auc"]) < 0.005
    assert STORED["without_privacy"]["ijcnn1"]["single"]["less_pairs"]["auc"] < -0.004


def test_rows_are_nearer_to_their_mean_than_to_the_centre_and_far_from_the_corner():
    for name, found in STORED["rows"].items():
        assert found["mean"]["median"] < found["centre"]["median"], name
        assert found["mean"]["median"] < 0.75, name
    assert STORED["rows"]["a9a"]["centre"]["median"] == pytest.approx(1.0)


def test_what_the_page_says_about_parts_holds():
    parts = STORED["parts"]
    for name in ("diabetes", "german", "debrecen"):
        assert parts[name]["no cap on slopes"]["auc"] < parts[name][BASE]["auc"] - 0.01
    for part in ("no class weights", "no constant column"):
        assert parts["ijcnn1"][part]["auc"] < parts["ijcnn1"][BASE]["auc"] - 0.002
        for name in ("diabetes", "german", "debrecen"):
            assert abs(parts[name][part]["auc"] - parts[name][BASE]["auc"]) < parts[name][BASE]["se"]
    for name, found in FOLLOWED.items():
        assert parts[name][BASE]["auc"] == pytest.approx(found["the default"]["auc"], abs=0.01)


def test_what_the_page_says_about_wild_rows_holds():
    for found in STORED["outliers"].values():
        for kind in ("logistic over pairs", "logistic, single records"):
            assert found[f"{kind}, spoilt"]["auc"] < found["sigmoid over pairs, spoilt"]["auc"] - 0.01
            assert found[f"{kind}, spoilt"]["auc"] < found["sigmoid, single records, spoilt"]["auc"]
        assert found["sigmoid, single records, clean"]["auc"] < found["sigmoid over pairs, clean"]["auc"]
        clipped = found["logistic, single records, clipped, spoilt"]["auc"]
        assert clipped > found["sigmoid over pairs, spoilt"]["auc"] - 0.011


def a_table(n=300, d=3, events=0.3):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < events).astype(int)
    rows = rng.normal(size=(n, d)) + 0.8 * y[:, None]
    return rows / np.linalg.norm(rows, axis=1).max(), y


def test_slopes_over_pairs_are_those_of_the_double_loop():
    rng = np.random.default_rng(1)
    scores, y = rng.normal(size=150), rng.integers(0, 2, 150)
    slopes = np.minimum(1.0 / (1.0 + np.exp(scores[y == 1][:, None] - scores[y == 0][None, :])), 0.5)
    fast = capped_pair_slopes(scores, y)
    assert fast[y == 1] == pytest.approx(slopes.sum(axis=1), abs=0.02)
    assert -fast[y == 0] == pytest.approx(slopes.sum(axis=0), abs=0.02)


def test_signals_are_lengths_of_first_gradients():
    rows, y = a_table()
    n, w = len(y), np.zeros(3)
    pull = capped_pair_slopes(rows @ w, y) / (n - 1)
    assert np.linalg.norm(pull @ rows / n) == pytest.approx(pair_signal(rows, y))
    p = y.mean()
    # Slopes of events are at the cap, those of the others balance them.
    pull = np.where(y == 1, 0.5, -0.5 * p / (1.0 - p))
    assert np.linalg.norm(pull @ rows / n) == pytest.approx(signal(rows, y, class_weights(None)))


def test_the_variant_with_nothing_left_out_is_the_librarys_descent():
    rows, y = a_table(4000)
    clf = en.AUCClassifier(epsilon=100.0, delta=1e-6, bounds=(-1, 1), options=NO_GEOMETRY, random_state=0)
    with pytest.warns(en.PrivacyWarning):
        clf.fit(rows, y)
    first, last = clf.plan_.phases
    assert isinstance(first, EventShare)
    gradients = Gradients.of(last)
    inside = clf.bounds_.to_internal(rows)
    w = descend(Variant(), inside, y, first.shrunk(float(y.mean())), gradients, 0) / np.hypot(1.0, 0.3)
    there = clf.coef_[0] * clf.bounds_.unit
    assert w == pytest.approx(there, abs=0.01 * np.linalg.norm(there))
    uncapped = descend(Variant(cap=False), inside, y, first.shrunk(float(y.mean())), gradients, 0) / np.hypot(1.0, 0.3)
    assert uncapped != pytest.approx(there, abs=0.01 * np.linalg.norm(there))


def test_a_bounded_loss_of_single_records_is_minimised():
    rows, y = a_table()
    w = bounded_single(10.0 * rows, y, np.zeros(4))
    assert np.mean((rows @ w)[y == 1]) > np.mean((rows @ w)[y == 0])


def test_a_standard_error_is_that_of_the_mean():
    found = auc_of([0.6, 0.8])
    assert (found["auc"], found["fits"]) == (pytest.approx(0.7), 2)
    assert found["se"] == pytest.approx(0.1)
