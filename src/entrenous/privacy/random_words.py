"""Random words from a secure source: what noise and secret samples are made of."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint64]]

_WORTH_A_KEY = 256
"""Words from which on setting up the cipher costs less than asking the operating system for all of them."""

_IN_CACHE = 1 << 14
"""Words that are made together: 128 kB."""

_ZEROS = memoryview(bytes(8 * _IN_CACHE))
"""What a stream cipher makes words of."""


def secret_words(size: int) -> Words:
    """Uniform 64-bit words that nobody can repeat: from the operating system, or from ChaCha20 under a key from there.

    The operating system's generator is a stream cipher too, but a call of it costs ten times as much per word as the
    same cipher in this process; a key costs more than a few words. The key serves one call and is forgotten.
    """
    if size < _WORTH_A_KEY:
        return _from_the_system(size)
    # Imported here: most fits draw a few hundred values.
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    try:
        key_stream = Cipher(algorithms.ChaCha20(os.urandom(32), nonce=bytes(16)), mode=None).encryptor()
    except UnsupportedAlgorithm:
        # A machine that is locked to a list of approved ciphers: slower, and no less secure.
        return _from_the_system(size)
    words = np.empty(size, dtype=np.uint64)
    target = words.data.cast("B")
    for start in range(0, 8 * size, 8 * _IN_CACHE):
        part = target[start : start + 8 * _IN_CACHE]
        key_stream.update_into(_ZEROS[: len(part)], part)
    return words


def _from_the_system(size: int) -> Words:
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64).copy()
