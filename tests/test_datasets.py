"""Data sets by name."""

import numpy as np
import pytest

import entrenous as en


def test_breast_cancer_has_malignant_as_the_event():
    bunch = en.datasets.load("breast_cancer")
    assert bunch.data.shape == (569, 30)
    assert bunch.target.sum() == 212
    assert len(bunch.feature_names) == 30


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "shape", "events"), [("diabetes", (768, 8), 268), ("german", (1000, 24), 300)])
def test_the_folder_is_read(name, shape, events):
    bunch = en.datasets.load(name)
    assert bunch.data.shape == shape
    assert bunch.data.dtype == np.float64
    assert bunch.target.sum() == events
    assert "licence" in bunch.DESCR
    assert name in en.datasets.names()


@pytest.mark.real_data
def test_official_splits_come_along():
    bunch = en.datasets.load("letter")
    assert bunch.data.shape == (20000, 16)
    assert set(bunch.split) == {"train", "test"}


@pytest.mark.real_data
def test_text_columns_need_a_frame():
    with pytest.raises(en.InputError, match="as_frame=True"):
        en.datasets.load("bank_full")
    assert en.datasets.load("bank_full", as_frame=True).data.shape == (45211, 16)


def test_a_name_that_nobody_knows():
    with pytest.raises(en.InputError, match="ENTRENOUS_DATA"):
        en.datasets.load("no-such-set")


def test_the_named_folder_wins_and_a_file_of_ones_own_loads(tmp_path, monkeypatch):
    import pandas as pd

    monkeypatch.setenv("ENTRENOUS_DATA", str(tmp_path))
    pd.DataFrame({"a": [1, 2], "target": [0, 1]}).to_parquet(tmp_path / "mine.parquet")
    bunch = en.datasets.load("mine")
    assert bunch.data.tolist() == [[1.0], [2.0]]
    assert bunch.DESCR == ""
