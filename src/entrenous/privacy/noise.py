"""Where randomness comes from: a secure source for noise and for secret samples; public index streams are elsewhere."""

from __future__ import annotations

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from entrenous.arrays import Array, Codes
from entrenous.errors import InputError
from entrenous.privacy.exact_laplace import rounded_laplaces
from entrenous.privacy.exact_normal import rounded_normals
from entrenous.privacy.exact_uniforms import Source
from entrenous.privacy.random_words import secret_words

_IN_CACHE = 1 << 14
"""Values that go through all steps together: 128 kB."""
_FINER = 30
"""Binary digits that the grid of exact noise is finer than the noise."""
_LARGEST = 2.0**60
"""Steps of the grid that values are cut to: the largest noise then fits beside them into 64 bits."""
_FINEST = -1000
_UP = 1.0 + 2.0**-48
"""More than rounding can take off a product."""


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
    def integers(self, highs: Sequence[int], size: int) -> Codes:
        """`size` rows of uniform integers, the one in column k from 0 to ``highs[k] - 1``, without bias."""

    def plus_normal(self, value: Array, sigma: float, sensitivity: float, error: float = 0.0) -> Array:
        """The value with independent normal noise of sd `sigma`, which covers this l2 sensitivity.

        `error` is how far, in l2, the value may be from the one that the sensitivity is about.
        """
        noise = self.normal(value.size).reshape(value.shape)
        noise *= sigma
        noise += value
        return noise

    def plus_laplace(self, value: Array, scale: float, sensitivity: float, error: float = 0.0) -> Array:
        """The value with independent Laplace noise of this scale, which covers this l1 sensitivity.

        `error` is how far, in l1, the value may be from what it stands for; noise on a grid covers that too.
        """
        return value + scale * self.laplace(value.size).reshape(value.shape)

    def laplace(self, size: int) -> Array:
        """Laplace values of scale 1: the difference of two exponentials."""
        return self.exponential(size) - self.exponential(size)


class SecureNoise(NoiseSource):
    """Noise from the operating system's cryptographic generator: nobody can repeat or predict it.

    Nothing is kept between two draws, so processes that fork from one another never draw the same noise.
    """

    seeded = False

    def normal(self, size: int) -> Array:
        # One bit is the sign, 63 bits are the tail probability in (0, 1/2): the inverse of the cdf keeps full
        # precision down to probability 2^-65, where a uniform on (0, 1) would cut the tail at 8.2 deviations.
        words = secret_words(size)
        for start in range(0, size, _IN_CACHE):
            bits = words[start : start + _IN_CACHE]
            # The inverse is negative, or zero: the lowest bit moves to the place of the sign and turns it.
            signs, value = bits << np.uint64(63), bits.view(np.float64)
            np.multiply(np.add(bits >> np.uint64(1), 0.5, out=value), 2.0**-64, out=value)
            ndtri(value, out=value)
            bits ^= signs
        return words.view(np.float64)

    def plus_normal(self, value: Array, sigma: float, sensitivity: float, error: float = 0.0) -> Array:
        """On a public grid, with noise that is drawn exactly: ``docs/proofs.md``, *Exact noise*."""
        grid = grid_of(sigma)
        # Two values are apart by at most this much more than the sensitivity; noise that much longer covers it.
        longer = 1.0 + (math.sqrt(value.size) * grid + 2.0 * error) / sensitivity
        return _on_grid(value, grid, sigma * longer, rounded_normals)

    def plus_laplace(self, value: Array, scale: float, sensitivity: float, error: float = 0.0) -> Array:
        """On a public grid, with noise that is drawn exactly: ``docs/proofs.md``, *Exact noise*."""
        grid = grid_of(scale)
        # In l1, rounding moves two values apart by at most p grid more, and errors by two of them.
        longer = 1.0 + (value.size * grid + 2.0 * error) / sensitivity
        return _on_grid(value, grid, scale * longer, rounded_laplaces)

    def exponential(self, size: int) -> Array:
        return -np.log((secret_words(size).astype(np.float64) + 0.5) * 2.0**-64)

    def integers(self, highs: Sequence[int], size: int) -> Codes:
        # A word modulo `high` favours small values unless the words are a whole number of times `high`: the last,
        # incomplete run of words is drawn again.
        last_whole = np.array([2**64 - 2**64 % high - 1 for high in highs], dtype=np.uint64)
        words = secret_words(size * len(highs)).reshape(size, len(highs))
        while (again := words > last_whole).any():
            words[again] = secret_words(int(np.count_nonzero(again)))
        words %= np.array(highs, dtype=np.uint64)
        return words.view(np.int64)


class SeededNoise(NoiseSource):
    """Repeatable noise for tests and research: whoever knows the seed can take it off again."""

    seeded = True

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator

    def normal(self, size: int) -> Array:
        return self._generator.standard_normal(size)

    def exponential(self, size: int) -> Array:
        return self._generator.standard_exponential(size)

    def integers(self, highs: Sequence[int], size: int) -> Codes:
        return self._generator.integers(highs, size=(size, len(highs)))


def grid_of(size: float) -> float:
    """The power of two that releases with noise of this size, the sigma or the scale, are rounded to."""
    return math.ldexp(1.0, max(math.frexp(size)[1] - _FINER, _FINEST))


def _on_grid(value: Array, grid: float, size: float, rounded: Callable[[int, int, Source], Codes]) -> Array:
    """The value on the grid, with noise of at least this size that is drawn in steps of it."""
    scale = math.ceil(size * _UP / grid)
    farthest = _LARGEST * grid
    # Not a number is no sum of rows; were there one, noise alone would leave.
    nearest = np.rint(np.clip(np.nan_to_num(value, nan=0.0), -farthest, farthest) / grid).astype(np.int64)
    nearest += rounded(scale, value.size, secret_words).reshape(value.shape)
    return nearest.astype(np.float64) * grid


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


def fresh_index_seed(random_state: Any = None, number: int = 0) -> int:
    """A seed for the index stream of one of several plans: from the operating system, or the plan's number if seeded.

    The index seed is published. Derived from the noise's seed, by however good a hash, it would tell a small one to
    whoever tries them all, and with it the noise.
    """
    return secrets.randbits(63) if random_state is None else number
