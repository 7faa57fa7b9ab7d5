"""Symmetric matrices as vectors: their lower triangles, and the coordinates that noise is drawn in."""

from __future__ import annotations

import math

import numpy as np

from entrenous.arrays import Array


def lower_triangle(matrices: Array) -> Array:
    """The entries on and below the diagonal, row by row; of the last two axes."""
    return matrices[(..., *np.tril_indices(matrices.shape[-1]))]


def from_lower_triangle(entries: Array) -> Array:
    """The symmetric matrices with these entries, one matrix per row of them."""
    size = math.isqrt(2 * entries.shape[-1])
    rows, columns = np.tril_indices(size)
    matrices = np.empty((*entries.shape[:-1], size, size))
    matrices[..., rows, columns] = entries
    matrices[..., columns, rows] = entries
    return matrices


def to_coordinates(matrices: Array) -> Array:
    """Isometric coordinates: their norm is the Frobenius norm, because an entry off the diagonal stands for two."""
    return lower_triangle(matrices) * _stretch(matrices.shape[-1])


def from_coordinates(coordinates: Array) -> Array:
    """The inverse of `to_coordinates`."""
    return from_lower_triangle(coordinates / _stretch(math.isqrt(2 * coordinates.shape[-1])))


def _stretch(size: int) -> Array:
    rows, columns = np.tril_indices(size)
    return np.where(rows == columns, 1.0, np.sqrt(2.0))
