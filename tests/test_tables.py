"""Tables in files, a few rows at a time: all rows, in order, in memory that does not grow with the file."""

import numpy as np
import pandas as pd
import pytest

import entrenous as en
from entrenous.engine import progress


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(250, 3)), columns=["a", "b", "c"])
    frame.insert(1, "late", (frame["a"] > 0).astype(int))
    frame["name"] = "x"
    path = tmp_path / f"table.{request.param}"
    frame.to_csv(path, index=False) if request.param == "csv" else frame.to_parquet(path)
    return path, frame


@pytest.mark.parametrize("rows", [1, 100, 250, 1000])
def test_chunks_are_the_table(file, rows):
    path, frame = file
    chunks = en.read_chunks(path, "late", columns=["c", "a"], rows=rows)
    assert chunks.n_rows == 250
    for _ in range(2):
        parts = list(chunks)
        assert {len(X) for X, _ in parts[:-1]} <= {rows}
        assert all(len(X) == len(y) for X, y in parts)
        X = pd.concat([X for X, _ in parts], ignore_index=True)
        pd.testing.assert_frame_equal(X, frame[["c", "a"]])
        assert pd.concat([y for _, y in parts]).tolist() == frame["late"].tolist()
    assert en.read_chunks(path, "late").columns == ("a", "b", "c", "name")


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
def test_a_fit_in_chunks_is_the_fit_on_the_table(file):
    path, frame = file
    settings = {"algorithm": "sgd-previous", "bounds": (-3, 3), "random_state": 1, "options": {"order": "arrival"}}
    clf, chunks = en.AUCClassifier(1.0, **settings), en.read_chunks(path, "late", columns=["a", "b", "c"], rows=60)
    told = []
    token = progress._listener.set(lambda done, total: told.append((done, total)))
    for X, y in chunks:
        clf.partial_fit(X, y, n_total=chunks.n_rows)
    progress._listener.reset(token)
    whole = en.AUCClassifier(1.0, **settings).fit(frame[["a", "b", "c"]], frame["late"])
    np.testing.assert_allclose(clf.coef_, whole.coef_, rtol=1e-10)
    assert told == [(60, 250), (120, 250), (180, 250), (240, 250), (250, 250)]


def test_what_cannot_be_read_in_chunks(file, tmp_path):
    path, _ = file
    with pytest.raises(en.InputError, match="no nothing"):
        en.read_chunks(path, "nothing")
    with pytest.raises(en.InputError, match="no d"):
        en.read_chunks(path, "late", columns=["a", "d"])
    with pytest.raises(en.InputError, match="rows must be"):
        en.read_chunks(path, "late", rows=0)
    with pytest.raises(en.InputError, match="must be a"):
        en.read_chunks("table.xlsx", "late")
    for ending in ("csv", "parquet"):
        with pytest.raises(en.InputError, match="readable"):
            en.read_chunks(tmp_path / f"missing.{ending}", "late")
    (tmp_path / "broken.parquet").write_bytes(b"nothing of the kind")
    with pytest.raises(en.InputError, match="readable"):
        en.read_chunks(tmp_path / "broken.parquet", "late")
