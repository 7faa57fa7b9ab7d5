"""Declaring a domain: data dictionaries, what goes wrong in them, and what the domain implies."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import entrenous as en

polars = pytest.importorskip("polars")
CSV = "name,min,max\nage,0,120\nbmi,10,70\n"
EXPECTED = en.FeatureBounds.from_mapping({"age": (0, 120), "bmi": (10, 70)})
ROWS = [
    {"variable": "age", "lower": 0, "upper": 120, "unit": "years"},
    {"variable": "bmi", "lower": 10, "upper": 70, "unit": ""},
]


@pytest.mark.parametrize(
    "text",
    [
        CSV,
        CSV.replace("name,min,max", "Column,Low,HIGH"),
        CSV.replace(",", ";"),
        CSV.replace(",", "\t"),
        "\ufeff" + CSV,
        "unit,Variable , Minimum,Maximum,comment\ny,age,0,120,\nkg,bmi,10,70,\n",
        CSV.replace("\n", "\r\n"),
    ],
)
def test_dictionaries_in_files(tmp_path, text):
    path = tmp_path / "dictionary.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert en.FeatureBounds.from_dictionary(path) == EXPECTED
    assert en.FeatureBounds.from_file(str(path)) == EXPECTED


@pytest.mark.parametrize("kind", [list, pd.DataFrame, polars.DataFrame, pa.Table.from_pylist])
def test_dictionaries_in_memory(kind):
    assert en.FeatureBounds.from_dictionary(kind(ROWS)) == EXPECTED
    assert en.FeatureBounds.from_dictionary(kind(ROWS), clip=1.2).clip == 1.2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,min,max\n", "at least one line"),
        ("", "at least one line"),
        ("name,min\nage,0\n", "called max, high, upper or maximum, got none"),
        ("name,variable,min,max\nage,Age,0,120\n", "'name', 'variable'"),
        (CSV + "age,0,1\n", "'age' again in line 4"),
        (CSV + ",0,1\n", "none in line 4"),
        (CSV + "sex,,\n", "nothing as min of 'sex' in line 4.*OneHot"),
        (CSV + "sex,f\n", "'f' as min of 'sex' in line 4"),
        (CSV + "x,0\n", "nothing as max of 'x' in line 4"),
        (CSV + "x,0,inf\n", "'inf' as max of 'x' in line 4"),
        (CSV + "x,3,1\n", "3 and 1 for 'x' in line 4"),
        (CSV + "x,1.5 kg,3\n", "'1.5 kg' as min of 'x' in line 4"),
    ],
)
def test_mistakes_name_the_line(tmp_path, text, message):
    path = tmp_path / "dictionary.csv"
    path.write_text(text)
    with pytest.raises(en.InputError, match=message):
        en.FeatureBounds.from_file(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bounds.json", '{"age": [0, 120], "bmi": [10, 70], "age": [0, 12]}'),
        ("bounds.JSON", '{"clip": 2, "bounds": {"age": [0, 120], "age": [0, 120]}}'),
        ("bounds.toml", "age = [0, 120]\nage = [0, 12]\n"),
        ("bounds.toml", "[bounds]\nage = [0, 120]\nbmi = [1, 2]\nage = [\n0,\n12]\n"),
        ("bounds.csv", "name,min,max\nage,0,120\nage,0,12\n"),
        ("bounds.csv", "name,min,max\nage,0,120\n age ,0,12\n"),
    ],
)
def test_a_name_that_is_there_twice_is_an_error(tmp_path, name, text):
    """One of the two ranges is wrong, and nobody would see which was taken."""
    (tmp_path / name).write_text(text)
    with pytest.raises(en.InputError, match="age"):
        en.FeatureBounds.from_file(tmp_path / name)


def test_a_header_that_is_there_twice_is_an_error(tmp_path):
    (tmp_path / "bounds.csv").write_text("name,min,max,max\nage,0,120,12\n")
    with pytest.raises(en.InputError, match="'max' twice"):
        en.FeatureBounds.from_file(tmp_path / "bounds.csv")


@pytest.mark.parametrize("table", [{"age": (0, 120)}, 3, None, [("age", 0, 120)], "nowhere.csv"])
def test_other_things_are_no_dictionaries(table):
    with pytest.raises(en.InputError, match="data dictionary"):
        en.FeatureBounds.from_dictionary(table)


def test_missing_cells_of_frames_are_missing():
    frame = pd.DataFrame({"name": ["age", "sex"], "min": [0, np.nan], "max": [120, np.nan]})
    with pytest.raises(en.InputError, match="nothing as min of 'sex' in row 2"):
        en.FeatureBounds.from_dictionary(frame)


def test_describe_agrees_with_the_plan():
    bounds = en.FeatureBounds.from_mapping({"male": (0, 1), "age": (0, 120), "born": (7, 7)})
    told = bounds.describe(epsilon=0.5, n=400, algorithm="moments")
    plan = en.plan("moments", n=400, n_features=3, epsilon=0.5, bounds=bounds)
    lines = {line.name: line for line in told.lines}
    assert lines["age"].noise == pytest.approx(plan.noise_per_coefficient / plan.features.unit[1])
    # What `moments` releases is the class means, so its own figure is the yardstick.
    assert lines["age"].hidden == pytest.approx(plan.noise_per_coefficient * plan.features.unit[1])
    assert lines["male"].hidden == pytest.approx(lines["age"].hidden / 120)
    assert math.isnan(lines["born"].noise)
    assert [row[0] for row in told.rows()] == ["male", "age", "born"]
    assert told.reach == pytest.approx(math.sqrt(2))
    assert "constant" in str(told)


def test_describe_speaks_in_half_widths_whatever_the_units_are():
    """Sizes are those of rows drawn from the ranges, and a change of unit changes none of them."""
    ranges = {"male": (0, 1), "sex": (1, 2), "age": (0, 120), "born": (7, 7), "mass": (40, 200)}
    told = en.FeatureBounds.from_mapping(ranges, clip=1.5, binary=["male", "sex"]).describe()
    assert [line.kind for line in told.lines] == ["0/1", "0/1", "range", "constant", "range"]
    assert [row[4] for row in told.rows()] == [line.kind for line in told.lines]
    rng = np.random.default_rng(0)
    low, high = np.array(list(ranges.values()), dtype=float).T
    rows = rng.uniform(low, high, (100_000, 5))
    rows[:, :2] = np.where(rng.random((100_000, 2)) < 0.5, low[:2], high[:2])
    sizes = (rows - (low + high) / 2) / np.where(high > low, (high - low) / 2, 1.0)
    np.testing.assert_allclose([line.size for line in told.lines], np.sqrt((sizes**2).mean(axis=0)), atol=0.01)
    assert told.size == pytest.approx(np.sqrt((sizes**2).sum(axis=1).mean()), abs=0.01)
    assert told.reach == 1.5
    assert "about 1.63 half-widths long, at most 1.5" in str(told)
    assert "most rows are drawn in" in str(told)
    grams = ranges | {"mass": (40e3, 200e3)}
    again = en.FeatureBounds.from_mapping(grams, clip=1.5, binary=["male", "sex"]).describe()
    assert (again.size, again.reach) == pytest.approx((told.size, told.reach))


def test_describe_knows_how_long_coded_rows_are():
    bounds = en.OneHot({"stage": (1, 2, 3, 4)}, numeric={"age": (0, 120)}).bounds()
    told = bounds.describe()
    # One category of four: squared length 4/3 in every row; the clipping radius has room for the ends of age.
    assert sum(line.size**2 for line in told.lines[:4]) == pytest.approx(4 / 3)
    assert told.size < told.reach == pytest.approx(bounds.clip)


def test_describe_reads_no_row_and_draws_no_noise(monkeypatch):
    monkeypatch.setattr("os.urandom", lambda size: pytest.fail("noise was drawn"))
    wide, narrow = (en.FeatureBounds(-w, w).describe(n_features=4).lines[0].hidden for w in (2.0, 1.0))
    assert wide == pytest.approx(2 * narrow)
    clipped = en.FeatureBounds(-1.0, 1.0, clip=1.0).describe(n_features=4)
    assert clipped.lines[0].hidden == pytest.approx(narrow / 2)
    assert "2 times less" in str(clipped)


def test_describe_other_domains_and_budgets():
    ball = en.FeatureBall(3.0, (1.0, 2.0)).describe()
    assert (ball.reach, math.isnan(ball.size)) == (3.0, True)
    assert [line.low for line in ball.lines] == [-2.0, -1.0]
    other = EXPECTED.describe(algorithm="noisy-gd")
    assert other.lines[0].noise > 0.0
    assert "no privacy" in str(EXPECTED.describe(epsilon=None))
    with pytest.raises(en.InputError, match="bounds"):
        type(ball).of(en.plan(n=10, n_features=2, epsilon=1.0))


def test_describe_in_a_notebook_escapes_names():
    html = en.FeatureBounds.from_mapping({"<b>&": (0, 1)}).describe()._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;" in html


PAIRS = [
    [(0, 120), (0, 1e5)],
    [[0, 120], [0, 1e5]],
    ((0, 120), (0, 1e5)),
    [np.array([0, 120]), np.array([0, 1e5])],
    [(0, 120)],
    [(0, 120), (0, 1e5), (0, 1)],
    ([0, 120], [0, 1e5], [0, 1]),
]


@pytest.mark.parametrize("pairs", PAIRS)
def test_one_pair_per_feature_is_not_taken_for_low_and_high_ends(pairs):
    X, y = np.random.default_rng(0).uniform(size=(50, len(pairs))), np.arange(50) % 2
    spellings = r"=\(\[0, 0\], \[120, 1e5\]\).*=\{\"age\": \(0, 120\), ...\}"
    with pytest.raises(en.InputError, match=f"bounds{spellings}"):
        en.AUCClassifier(bounds=pairs).fit(X, y)
    with pytest.raises(en.InputError, match=f"bounds{spellings}"):
        en.plan(n=50, n_features=len(pairs), epsilon=1.0, bounds=pairs)
    with pytest.raises(en.InputError, match=f"within{spellings}"):
        en.PrivateBounds(within=pairs)


def test_a_long_list_of_pairs_is_not_repeated_whole():
    with pytest.raises(en.InputError, match=r"800 pairs.*\(cut\)") as caught:
        en.plan(n=50, n_features=800, epsilon=1.0, bounds=[(0, 1)] * 800)
    assert len(str(caught.value)) < 800


@pytest.mark.parametrize(
    "ends",
    [
        ([0, 1], [120, 1e5]),
        (np.array([0, 1]), np.array([120, 1e5])),
        ([0, 1], np.array([120, 1e5])),
        np.array([[0, 1], [120, 1e5]]),
    ],
)
def test_low_and_high_ends_of_two_features(ends):
    for box in (en.plan(n=50, n_features=2, epsilon=1.0, bounds=ends).features, en.PrivateBounds(within=ends).within):
        assert (box.low, box.high) == ((0.0, 1.0), (120.0, 1e5))


@pytest.mark.parametrize("ends", [(0, 100), [0, 100], [[0, 0, 0], [1, 2, 3]], ((0, 0, 0), (1, 2, 3)), ([0], [1])])
def test_ends_that_are_no_pairs_may_be_written_in_any_way(ends):
    assert en.plan(n=50, n_features=3, epsilon=1.0, bounds=ends).features.sides()[0].size == 3
