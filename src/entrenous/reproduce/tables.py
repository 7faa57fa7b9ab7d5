"""Rows of a data set as a paper prepares them, and as we do."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

import numpy as np

from entrenous.arrays import AnyArray, Array
from entrenous.files import datasets
from entrenous.problem.features.box import FeatureBounds


@cache
def raw(name: str) -> tuple[Array, AnyArray]:
    """The set's rows and labels as they are."""
    bunch = datasets.load(name)
    return np.asarray(bunch.data, dtype=float), np.asarray(bunch.target)


@cache
def unit_rows(name: str) -> tuple[Array, AnyArray]:
    """Every row divided by its own length, so that it lies on the unit sphere; a row of zeros stays."""
    rows, labels = raw(name)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0.0, lengths, 1.0), labels


@cache
def ranges(name: str) -> FeatureBounds:
    """The public ranges of the set's columns."""
    text = files("entrenous.reproduce").joinpath("ranges.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)[name]
    return FeatureBounds(tuple(low for low, _ in listed.values()), tuple(high for _, high in listed.values()))


def split(n_rows: int, train: int, seed: int) -> tuple[AnyArray, AnyArray]:
    """`train` rows at random, and all the others."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return order[:train], order[train:]
