"""The index stream: which record meets which, drawn without looking at any of them.

It is a function of a public seed, separate from the noise: the planner draws it to learn how often each record is
touched, the run draws it again, and whoever verifies a certificate draws it a third time. A published seed says nothing
about the noise.
"""

from __future__ import annotations

import numpy as np

from entrenous.arrays import Array, Codes


def permutation(seed: int, n: int) -> Codes:
    """The order in which records are dealt out to phases."""
    return _generator(seed, 0).permutation(n)


def with_replacement(seed: int, phase: int, n: int, size: int) -> Codes:
    """`size` indices below n, uniform and independent, for a phase counted from 1."""
    return _generator(seed, phase).integers(n, size=size)


def uniform(seed: int, phase: int, shape: tuple[int, ...]) -> Array:
    """Numbers in (0, 1) for a phase counted from 1, independent of its indices."""
    return chances(seed, phase).random(shape)


def chances(seed: int, phase: int) -> np.random.Generator:
    """What a reservoir of a phase is drawn from, record after record."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(phase, 1)))


def _generator(seed: int, key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))
