"""Pairs as users write them: row numbers or names, flags, or two vectors each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from entrenous.arrays import Array, Codes
from entrenous.errors import InputError


def rows_of_pairs(pairs: Any, rows: int, ids: Sequence[Any] | None) -> Codes:
    """Row numbers of listed pairs. Which rows are paired is public, but no error says what they are called."""
    listed = np.asarray(pairs)
    if listed.ndim != 2 or listed.shape[1] != 2:
        raise InputError("pairs need shape (m, 2)", f"shape {listed.shape}", "List two records per pair.")
    if ids is not None:
        return _named(listed.tolist(), rows, ids)
    if listed.dtype.kind not in "iu":
        raise InputError(
            "pairs must be row numbers", f"type {listed.dtype}", "Use integers, or say what pairs calls each row: ids=."
        )
    return listed.astype(np.int64)


def _named(listed: list[list[Any]], rows: int, ids: Sequence[Any]) -> Codes:
    names = np.asarray(ids).tolist()
    row_of = {name: row for row, name in enumerate(names)}
    if len(names) != rows or len(row_of) != rows:
        raise InputError(
            f"ids need one different name per row ({rows})", f"{len(row_of)} of {len(names)}", "Name each row once."
        )
    unknown = [place for place, (a, b) in enumerate(listed) if a not in row_of or b not in row_of]
    if unknown:
        raise InputError(
            "pairs must be among the ids",
            f"{len(unknown)} of {len(listed)} pairs with a record that is not, the first at position {unknown[0]}",
            "List the record in X and ids, or drop the pair.",
        )
    return np.array([[row_of[a], row_of[b]] for a, b in listed], dtype=np.int64).reshape(-1, 2)


def flags_of(similar: Any, pairs: int) -> Codes:
    """1 where a pair is similar; only 0, 1 and booleans are taken."""
    flags = np.asarray(similar)
    if flags.shape != (pairs,):
        raise InputError(f"similar needs one flag per pair ({pairs})", f"shape {flags.shape}", "Pass a flat array.")
    if flags.dtype.kind not in "biuf" or not np.isin(flags, (0, 1)).all():
        raise InputError("similar needs booleans, or 0 and 1", "something else", "Use for instance similar == 1.")
    return flags.astype(np.int64)


def vectors_of_pairs(pairs: Any, n_features: int) -> Array:
    """Pairs of vectors as finite numbers."""
    try:
        vectors = np.asarray(pairs, dtype=float)
    except (TypeError, ValueError):
        # The original message quotes a cell, and cells are private.
        raise InputError("pairs must be numbers", "something else", "Encode or drop text.") from None
    if vectors.ndim != 3 or vectors.shape[1:] != (2, n_features):
        raise InputError(f"pairs need shape (m, 2, {n_features})", f"shape {vectors.shape}", "Stack pairs of rows.")
    if not np.isfinite(vectors).all():
        raise InputError("pairs must be finite", "NaN or infinity", "Fill or drop missing values first.")
    return vectors
