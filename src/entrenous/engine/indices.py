"""The index stream: which record meets which, drawn without looking at any of them.

It is a function of a public seed, separate from the noise: the planner draws it to learn how often each record is
touched, the run draws it again, and whoever verifies a certificate draws it a third time. A published seed says nothing
about the noise.
"""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from entrenous.arrays import Codes
from entrenous.privacy.noise import entropy_of


def fresh_seed(random_state: Any = None) -> int:
    """A seed for an index stream: from the operating system, or derived one way from a seeded run's state."""
    if random_state is None:
        return secrets.randbits(63)
    sequence = np.random.SeedSequence(entropy_of(random_state), spawn_key=(1,))
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def permutation(seed: int, n: int) -> Codes:
    """The order in which records are dealt out to phases."""
    return _generator(seed, 0).permutation(n)


def with_replacement(seed: int, phase: int, n: int, size: int) -> Codes:
    """`size` indices below n, uniform and independent, for a phase counted from 1."""
    return _generator(seed, phase).integers(n, size=size)


def _generator(seed: int, key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))
