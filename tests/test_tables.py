"""Tables in files, a few rows at a time: all rows, in order, in memory that does not grow with the file."""

import traceback

import numpy as np
import pandas as pd
import pytest

import entrenous as en
from entrenous.engine import progress
from entrenous.files.tables import read_table, write_table


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


@pytest.mark.parametrize("index", ["shuffled", "named"])
def test_an_index_is_no_feature(index, tmp_path):
    """Pandas stores it as a column of the file; a table read as a whole does not have it among its columns."""
    frame = pd.DataFrame({"a": np.arange(50.0), "b": np.arange(50.0), "late": np.arange(50) % 2})
    frame = frame.sample(frac=1.0, random_state=0) if index == "shuffled" else frame.set_index("b")
    frame.to_parquet(tmp_path / "table.parquet")
    chunks = en.read_chunks(tmp_path / "table.parquet", "late", rows=20)
    assert list(chunks.columns) == [name for name in frame.columns if name != "late"]
    np.testing.assert_array_equal(np.concatenate([X for X, _ in chunks]), frame[list(chunks.columns)])


def test_a_line_with_too_many_fields_is_refused(tmp_path):
    lines = ["a,b,late", *(f"{k},0.5,{k % 2}" for k in range(30))]
    lines[20] = "1,5,0.5,1"
    (tmp_path / "table.csv").write_text("\n".join(lines))
    for columns in (["a", "b"], ["a"]):
        with pytest.raises(en.InputError, match="line 21"):
            list(en.read_chunks(tmp_path / "table.csv", "late", columns=columns, rows=7))


@pytest.mark.parametrize("record", ["Anna,71.25,1", "Alice,F,yes", "Alice,F,37"])
def test_a_first_line_that_may_be_a_record_is_not_repeated(record, tmp_path):
    (tmp_path / "table.csv").write_text(f"{record}\n{record}\n")
    with pytest.raises(en.InputError, match=r"3 columns. Is the first line a header") as caught:
        en.read_chunks(tmp_path / "table.csv", "late", columns=["a"])
    assert not any(cell in str(caught.value).removeprefix(str(tmp_path)) for cell in record.split(",") if len(cell) > 1)


def test_the_names_of_a_parquet_file_are_listed(tmp_path):
    pd.DataFrame({"a": [1], "b": [2]}).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(en.InputError, match="It has: a, b"):
        en.read_chunks(tmp_path / "table.parquet", "late")


@pytest.mark.parametrize(
    ("bytes_", "says"),
    [
        (b"a,late\n1,0\nAlice,1,5,6\n", "line 3"),
        (b'a,late\n1,0\n"Alice,1\n', "row 1|row 2"),
        (b"a,late\n1,0\nAlice\xe9,1\n", "not UTF-8"),
    ],
    ids=["too many fields", "an open quote", "Latin-1"],
)
def test_what_a_parser_says_is_not_repeated_in_a_message_or_a_traceback(bytes_, says, tmp_path):
    (tmp_path / "table.csv").write_bytes(bytes_)
    with pytest.raises(en.InputError, match=says) as caught:
        list(en.read_chunks(tmp_path / "table.csv", "late"))
    shown = "".join(traceback.format_exception(caught.value))
    assert "Alice" not in shown
    assert "0xe9" not in shown


def test_a_table_that_cannot_be_written_is_not_quoted(tmp_path):
    mixed = pd.DataFrame({"id": [1, "Alice"]}, dtype=object)
    with pytest.raises(en.InputError, match="can be written") as caught:
        write_table(mixed, tmp_path / "scores.parquet")
    assert "Alice" not in "".join(traceback.format_exception(caught.value))


def test_cells_of_several_kinds_give_no_warning(tmp_path):
    """The suite makes warnings errors; pandas warns of such columns where a file is longer than its portions."""
    lines = [f"{k},{k % 2}" for k in range(300_000)]
    (tmp_path / "table.csv").write_text("\n".join(["a,late", *lines[:-1], "Alice,1"]))
    assert len(read_table(tmp_path / "table.csv")) == 300_000
    assert sum(len(X) for X, _ in en.read_chunks(tmp_path / "table.csv", "late", rows=200_000)) == 300_000


def test_the_target_is_no_feature(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n1,0\n2,1\n")
    with pytest.raises(en.InputError, match="target cannot be a feature"):
        en.read_chunks(path, "y", columns=["a", "y"])
