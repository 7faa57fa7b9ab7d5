"""One-hot coding from public categories: nothing is learnt from rows, and the domain is as small as the coding."""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

import entrenous as en

RNG = np.random.default_rng(0)
N = 300
TABLE = pd.DataFrame(
    {
        "age": RNG.uniform(20, 90, N),
        "sex": RNG.choice(["f", "m"], N),
        "stage": RNG.integers(1, 5, N),
        "smokes": RNG.choice([True, False], N),
    }
)
Y = (TABLE["age"] / 40 + TABLE["stage"] + RNG.normal(size=N) > 4).astype(int)
CATEGORIES = {"sex": ("f", "m"), "stage": (1, 2, 3, 4), "smokes": (True,)}
NAMES = ["sex_f", "sex_m", "stage_1", "stage_2", "stage_3", "stage_4", "smokes_True", "age"]


def coder(**settings):
    return en.OneHot(**{"categories": CATEGORIES, "numeric": {"age": (0, 120)}} | settings)


EXPECTED = coder().fit_transform(TABLE)


def test_the_coding():
    assert coder().get_feature_names_out().tolist() == NAMES
    for name, column in zip(NAMES[:-1], EXPECTED.T, strict=False):
        source, value = name.split("_")
        np.testing.assert_array_equal(column, TABLE[source].astype(str) == value)
    np.testing.assert_array_equal(EXPECTED[:, -1], TABLE["age"])


@pytest.mark.parametrize(
    "kind",
    [
        lambda t: t,
        lambda t: t[["stage", "smokes", "age", "sex"]],
        lambda t: t.astype({"sex": "category", "stage": float}),
        lambda t: t.astype(object),
        pl.DataFrame,
        lambda t: pl.DataFrame(t.to_dict("list"), schema_overrides={"sex": pl.Categorical}),
        lambda t: pa.Table.from_pandas(t, preserve_index=False),
    ],
)
def test_every_kind_of_table(kind):
    np.testing.assert_array_equal(coder().fit(TABLE).transform(kind(TABLE)), EXPECTED)
    np.testing.assert_array_equal(coder().fit_transform(kind(TABLE)), EXPECTED)


@pytest.mark.parametrize("kind", [lambda rows: rows, lambda rows: rows.tolist()])
def test_tables_without_names(kind):
    rows = TABLE.to_numpy(dtype=object)
    numbered = en.OneHot({1: ("f", "m"), 2: (1, 2, 3, 4), 3: (True,)}, numeric={0: (0, 120)})
    np.testing.assert_array_equal(numbered.fit_transform(kind(rows)), EXPECTED)
    assert numbered.get_feature_names_out().tolist() == [
        *("x1_f", "x1_m", "x2_1", "x2_2", "x2_3", "x2_4", "x3_True", "x0")
    ]
    assert numbered.bounds().names == tuple(numbered.get_feature_names_out())


def test_what_is_not_listed_is_no_error():
    strange = pd.DataFrame(
        {"sex": ["x", None, pd.NA, math.nan, ["f"], "f"], "stage": [9, math.nan, -1, 1.5, 0, 2]}
    ).assign(age=50.0, smokes=False)
    coded = coder().fit_transform(strange)
    assert coded[:5, :6].sum() == 0.0
    assert coded[5, [0, 3]].tolist() == [1.0, 1.0]
    other = coder(unknown="column")
    names = other.get_feature_names_out().tolist()
    assert [name for name in names if "other" in name] == ["sex_other", "stage_other", "smokes_other"]
    frame = pd.DataFrame(other.fit_transform(strange), columns=names)
    assert frame["sex_other"].tolist() == frame["stage_other"].tolist() == [1, 1, 1, 1, 1, 0]
    assert frame["smokes_other"].tolist() == [1] * 6


def test_fit_learns_nothing_from_rows():
    empty = coder().fit(TABLE.iloc[:0])
    full = coder().fit(TABLE)
    for name in vars(full):
        np.testing.assert_array_equal(getattr(empty, name), getattr(full, name))
    np.testing.assert_array_equal(coder().transform(TABLE), EXPECTED)
    assert clone(full).get_params() == full.get_params()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output(container):
    told = coder().set_output(transform=container).fit_transform(TABLE)
    assert list(told.columns) == NAMES
    np.testing.assert_array_equal(told.to_numpy(), EXPECTED)


@pytest.mark.parametrize("unknown", ["zeros", "column"])
def test_the_domain_holds_every_coded_row(unknown):
    made = coder(unknown=unknown)
    rows = np.vstack([made.transform(TABLE), made.transform(TABLE.assign(sex="?", stage=0, age=120))])
    rows[:, -1] = np.where(np.arange(len(rows)) % 2, 0.0, 120.0)
    domain = made.bounds()
    size = np.linalg.norm((rows - domain.origin) / domain.unit, axis=1)
    assert size.max() <= 1.0 + 1e-12
    if unknown == "column":
        assert size.min() == pytest.approx(1.0)
    internal = domain.to_internal(rows)
    np.testing.assert_allclose(internal, (rows - domain.origin) / domain.unit, atol=1e-12)
    box = en.FeatureBounds([0.0] * rows.shape[1], [1.0] * (rows.shape[1] - 1) + [120.0])
    # Less room than the box of zeros and ones, for the number and for the categories' own spans.
    assert domain.unit[-1] < box.unit[-1]


def test_rows_that_are_no_coding_are_drawn_in():
    domain = coder().bounds()
    wild = np.array([[1.0] * 7 + [500.0], [9e9] * 8, [-9e9] * 8])
    assert np.linalg.norm(domain.to_internal(wild), axis=1).max() <= 1.0 + 1e-12


def test_the_radius_of_the_domain():
    # Two categories: 2; four: 4/3; one: 1; a number: 1.
    assert coder().bounds().clip == pytest.approx(math.sqrt(2 + 4 / 3 + 1 + 1))
    assert coder().bounds(clip=1.5).clip == 1.5
    ranges = en.FeatureBounds.from_mapping({"age": (0, 120)}, clip=0.5)
    assert coder(numeric=ranges).bounds().clip == pytest.approx(math.sqrt(2 + 4 / 3 + 1 + 0.25))
    constant = coder(numeric={"age": (3, 3)}).bounds()
    assert constant.clip == pytest.approx(math.sqrt(2 + 4 / 3 + 1))


@pytest.mark.parametrize("output", ["default", "pandas"])
def test_in_a_pipeline(output):
    made = coder().set_output(transform=output)
    clf = en.AUCClassifier(4.0, bounds=made.bounds(), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        # The coder orders the columns, so bounds fit whatever the order of the table.
        models = [make_pipeline(made, clone(clf)).fit(t, Y) for t in (TABLE, TABLE[TABLE.columns[::-1]])]
    assert models[0].score(TABLE, Y) > 0.8
    np.testing.assert_array_equal(models[0][-1].coef_, models[1][-1].coef_)
    some = make_column_transformer((en.OneHot({"sex": ("f", "m")}), ["sex"]), remainder="drop")
    assert some.fit_transform(TABLE).shape == (N, 2)


@pytest.mark.parametrize(
    ("settings", "table", "message"),
    [
        ({"categories": {}}, TABLE, "categories must map"),
        ({"categories": ["sex"]}, TABLE, "categories must map"),
        ({"categories": {"sex": "fm"}}, TABLE, "different categories"),
        ({"categories": {"sex": ()}}, TABLE, "different categories"),
        ({"categories": {"sex": ("f", "f")}}, TABLE, "different categories"),
        ({"categories": {"sex": ("f", 1)}}, TABLE, "all text or all numbers"),
        ({"categories": {"sex": ("f", "other")}, "unknown": "column"}, TABLE, "different categories"),
        ({"unknown": "error"}, TABLE, "unknown must be"),
        ({"numeric": None}, TABLE, "the declared ones"),
        ({}, TABLE.drop(columns="sex"), "the declared ones"),
        ({}, TABLE.assign(weight=1), "the declared ones"),
        ({}, TABLE.to_numpy(), "column numbers"),
        ({}, TABLE["age"].to_numpy(), "table|2D"),
        ({"numeric": {"age": (0, 120), "sex": (0, 1)}}, TABLE, "the declared ones"),
        ({"numeric": en.FeatureBounds(0, 1)}, TABLE, "need names"),
        ({}, TABLE.assign(stage=TABLE["stage"].astype(str).to_numpy("U1")), None),
        ({"categories": CATEGORIES | {"stage": ("1", "2")}}, TABLE, "numbers"),
        ({"categories": {"age": (1, 2)}, "numeric": {"sex": (0, 1)}}, TABLE[["age", "sex"]], "must hold numbers"),
    ],
)
def test_mistakes_in_the_schema_are_errors(settings, table, message):
    if message is None:
        # Text in an object column cannot be told from the schema; nothing is listed, nothing is raised.
        assert coder(**settings).fit_transform(table)[:, 2:6].sum() == 0.0
        return
    with pytest.raises(ValueError, match=message):
        coder(**settings).fit_transform(table)


def test_cells_are_not_quoted():
    with pytest.raises(en.InputError) as caught:
        en.OneHot({"a": (1,)}, numeric={"b": (0, 1)}).transform(pd.DataFrame({"a": [1], "b": ["secret"]}))
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
