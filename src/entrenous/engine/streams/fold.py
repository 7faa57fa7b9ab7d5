"""A phase under way on records that come in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod

from entrenous.arrays import AnyArray, Array


class Fold(ABC):
    """A running phase whose records come in chunks. It holds private rows and iterates, in memory only."""

    done: int
    """Steps taken so far."""

    @abstractmethod
    def feed(self, X: Array, y: AnyArray) -> None:
        """The next records, in internal units."""

    @abstractmethod
    def result(self) -> Array:
        """What noise is to be added to, after the records so far."""
