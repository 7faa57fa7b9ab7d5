"""Where randomness comes from: a secure source for noise and for secret samples; public index streams are elsewhere."""

from __future__ import annotations

import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import ndtri

from entrenous.arrays import Array, Codes
from entrenous.errors import InputError


class NoiseSource(ABC):
    """Independent standard normals, exponentials, and integers for samples that must stay as secret as the noise."""

    seeded: bool

    @abstractmethod
    def normal(self, size: int) -> Array:
        """Standard normal values."""

    @abstractmethod
    def exponential(self, size: int) -> Array:
        """Exponential values of mean 1."""

    @abstractmethod
    def integers(self, high: int, size: int) -> Codes:
        """Uniform integers from 0 to ``high - 1``, without bias."""

    def laplace(self, size: int) -> Array:
        """Laplace values of scale 1: the difference of two exponentials."""
        return self.exponential(size) - self.exponential(size)


class SecureNoise(NoiseSource):
    """Noise from the operating system's cryptographic generator: nobody can repeat or predict it."""

    seeded = False

    def normal(self, size: int) -> Array:
        # One bit is the sign, 63 bits are the tail probability in (0, 1/2): the inverse of the cdf keeps full
        # precision down to probability 2^-65, where a uniform on (0, 1) would cut the tail at 8.2 deviations.
        bits = self._bits(size)
        tail = (bits >> np.uint64(1)).astype(np.float64)
        magnitude = -ndtri((tail + 0.5) * 2.0**-64)
        return np.where(bits & np.uint64(1), magnitude, -magnitude)

    def exponential(self, size: int) -> Array:
        return -np.log((self._bits(size).astype(np.float64) + 0.5) * 2.0**-64)

    def integers(self, high: int, size: int) -> Codes:
        # A word modulo `high` favours small values unless the words are a whole number of times `high`: the last,
        # incomplete run of words is drawn again.
        last_whole = np.uint64(2**64 - 2**64 % high - 1)
        words = self._bits(size).copy()
        while (again := np.flatnonzero(words > last_whole)).size:
            words[again] = self._bits(again.size)
        return (words % np.uint64(high)).astype(np.int64)

    @staticmethod
    def _bits(size: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


class SeededNoise(NoiseSource):
    """Repeatable noise for tests and research: whoever knows the seed can take it off again."""

    seeded = True

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def normal(self, size: int) -> Array:
        return self._generator.standard_normal(size)

    def exponential(self, size: int) -> Array:
        return self._generator.standard_exponential(size)

    def integers(self, high: int, size: int) -> Codes:
        return self._generator.integers(high, size=size)


def noise_from(random_state: Any) -> NoiseSource:
    """The noise of a run: secure for ``None``, repeatable for an int, a Generator or a RandomState.

    >>> noise_from(0).normal(1) == noise_from(0).normal(1)
    array([ True])
    """
    if random_state is None:
        return SecureNoise()
    return SeededNoise(np.random.default_rng(np.random.SeedSequence(entropy_of(random_state))))


def entropy_of(random_state: Any) -> int:
    """The number behind a repeatable run: an int itself, or one drawn from a Generator or RandomState."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    raise InputError(
        "random_state must be None, an int >= 0, a numpy Generator or a RandomState",
        repr(random_state),
        "None draws secure noise; anything else makes the noise repeatable.",
    )


def fresh_index_seed(random_state: Any = None) -> int:
    """A seed for an index stream: from the operating system, or derived one way from a seeded run's state."""
    if random_state is None:
        return secrets.randbits(63)
    # The index seed is published; a cryptographic hash keeps the way back to the noise's seed closed.
    digest = hashlib.sha256(f"index stream of {entropy_of(random_state)}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
