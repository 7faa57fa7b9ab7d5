"""Rows of one's own: a table that is held in pieces."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.rows.registry import row_kind
from entrenous.engine.rows.rows import Rows


class Blocks:
    """A table that is held in pieces."""

    def __init__(self, pieces):
        self.pieces = pieces


@row_kind(accepts=lambda table: isinstance(table, Blocks))
@dataclass(frozen=True)
class BlockRows(Rows):
    """The rows of `Blocks`: every question goes to the pieces, and the answers are added up."""

    pieces: tuple

    described = "a table in blocks"
    as_array = "numpy.concatenate(X.pieces)"

    @classmethod
    def of(cls, table):
        return cls(tuple(DenseRows(piece) for piece in table.pieces))

    @property
    def shape(self):
        return sum(map(len, self.pieces)), self.pieces[0].shape[1]

    def _parts(self, values):
        ends = np.cumsum([0, *map(len, self.pieces)])
        return zip(self.pieces, (values[start:end] for start, end in pairwise(ends)), strict=True)

    def all_finite(self):
        return all(piece.all_finite() for piece in self.pieces)

    def inside(self, domain):
        return BlockRows(tuple(piece.inside(domain) for piece in self.pieces))

    def take(self, chosen):
        mask = np.isin(np.arange(len(self)), np.arange(len(self))[chosen])
        return BlockRows(tuple(piece.take(own) for piece, own in self._parts(mask)))

    def scores(self, w):
        return np.concatenate([piece.scores(w) for piece in self.pieces])

    def weighted_sum(self, weights):
        return sum(piece.weighted_sum(own) for piece, own in self._parts(weights))

    def minus(self, row):
        return BlockRows(tuple(piece.minus(row) for piece in self.pieces))

    def spread(self):
        return np.sqrt(np.diag(self.second_moments()) / len(self))

    def second_moments(self):
        return sum(piece.second_moments() for piece in self.pieces)

    def class_moments(self, y):
        first, *others = (piece.class_moments(own) for piece, own in self._parts(y))
        return sum(others, first)


def blocks(table):
    return Blocks(np.array_split(table, 3))
