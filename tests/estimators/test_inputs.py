"""Tables of every kind go in; names are read and checked; none of the libraries behind them is needed."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import make_classification

import entrenous as en

X, Y = make_classification(300, 3, n_informative=2, n_redundant=1, random_state=0)
NAMES = ["age", "bmi", "sugar"]
# In another order than the columns: names must decide.
BOUNDS = {"sugar": (-7, 7), "age": (-5, 5), "bmi": (-6, 6)}
WORDS = np.array(["well", "ill"])[Y]

TABLES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame({name: X[:, i] for i, name in enumerate(NAMES)}),
    "arrow": lambda X: pa.table({name: X[:, i] for i, name in enumerate(NAMES)}),
}
LABELS = {
    "numpy": np.asarray,
    "pandas": pd.Series,
    "polars": lambda y: pl.Series(y.tolist()),
    "arrow": lambda y: pa.array(y.tolist()),
    "chunked arrow": lambda y: pa.chunked_array([y[:100].tolist(), y[100:].tolist()]),
    "list": list,
}


def fit(table, labels, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        return en.AUCClassifier(**{"bounds": BOUNDS, "random_state": 0} | settings).fit(table, labels)


EXPECTED = fit(X, Y, bounds=([-5, -6, -7], [5, 6, 7]))


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("table", TABLES)
def test_every_table_gives_the_same_model(table, labels):
    rows = TABLES[table](X)
    clf = fit(rows, LABELS[labels](Y))
    np.testing.assert_allclose(clf.coef_, EXPECTED.coef_)
    assert clf.feature_names_in_.tolist() == NAMES
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(clf.decision_function(rows), EXPECTED.decision_function(X), atol=1e-12)
        assert clf.score(rows, LABELS[labels](Y)) == EXPECTED.score(X, Y)
    words = fit(rows, LABELS[labels](WORDS), classes=("well", "ill"))
    np.testing.assert_allclose(words.coef_, EXPECTED.coef_)
    assert words.score(rows, LABELS[labels](WORDS)) == EXPECTED.score(X, Y)


@pytest.mark.parametrize("table", TABLES)
def test_names_are_checked(table):
    clf = fit(TABLES[table](X), Y)
    with pytest.raises(ValueError, match="feature names"):
        clf.predict(
            TABLES[table](X)[["bmi", "age", "sugar"]] if table != "arrow" else TABLES[table](X).select([1, 0, 2])
        )
    with pytest.raises(en.InputError, match="no bounds for 'age'"):
        fit(TABLES[table](X), Y, bounds={name: BOUNDS[name] for name in NAMES[1:]})


@pytest.mark.parametrize("table", TABLES)
def test_gaps_and_text_are_refused_without_a_quote(table):
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fit(TABLES[table](holes), Y)
    text = X.astype(object)
    text[:, 1] = "secret"
    with pytest.raises(en.InputError, match="features must be numbers") as caught:
        fit(TABLES[table](text), Y)
    assert "secret" not in str(caught.value)


def test_gaps_that_polars_and_arrow_call_null():
    columns = {"age": [1, None, 3], "bmi": [1, 2, 3], "sugar": [1, 2, 3]}
    for table in (pl.DataFrame(columns), pa.table(columns)):
        with pytest.raises(ValueError, match="NaN"):
            fit(table, [0, 1, 0])


def test_names_that_cannot_be_read_are_an_error():
    class Table:
        """A table of a kind that scikit-learn does not know."""

        columns = NAMES
        shape = X.shape

        def __array__(self, dtype=None, copy=None):
            return X.astype(dtype)

        def __len__(self):
            return len(X)

    with pytest.raises(en.InputError, match="readable by scikit-learn"):
        fit(Table(), Y)


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "polars", "pyarrow", "matplotlib"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import numpy as np
import entrenous as en

rng = np.random.default_rng(0)
en.AUCClassifier(bounds=(-1, 1)).fit(rng.normal(size=(50, 2)), rng.integers(0, 2, 50))
en.OneHot({0: (0, 1)}).fit_transform(np.zeros((3, 1)))
print(en.FeatureBounds.from_dictionary([{"name": "age", "min": 0, "max": 120}]).describe())
"""


def test_none_of_these_libraries_is_needed():
    shown = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert "age" in shown.stdout
