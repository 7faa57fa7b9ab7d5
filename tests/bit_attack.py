"""The attack on bits: which float could have produced this release, and from which of two tables?"""

from __future__ import annotations

import numpy as np

from entrenous.privacy.noise import NoiseSource, SecureNoise


class FloatNoise(SecureNoise):
    """As it was before: noise in floating point, added in floating point."""

    plus_normal = NoiseSource.plus_normal
    plus_laplace = NoiseSource.plus_laplace


def neighbours(x, count):
    """Floats next to x."""
    found = [x]
    for side in (-np.inf, np.inf):
        near = x
        for _ in range(count):
            near = np.nextafter(near, side)
            found.append(near)
    return found


def possible(released, value, size):
    """Whether a float z exists whose noise ``size z``, added to the value, rounds to what was released."""
    found = np.zeros(released.shape, dtype=bool)
    for t in neighbours(released - value, 2):
        adds_up = value + t == released
        drawn = np.any([size * z == t for z in neighbours(t / size, 1)], axis=0)
        found |= adds_up & drawn
    # Noise much finer than what it is added to has more floats than are tried here.
    return found | (np.spacing(np.abs(released)) > 2.0 * np.spacing(np.abs(released - value)))


def accusations(mechanism, values, source, draws=400):
    """How often "it was the first table, the second cannot give this float" is said of releases of either."""

    def accused(value):
        released = [mechanism.release(value, source) for _ in range(draws)]
        return np.mean([not possible(one, values[1], mechanism.noise_size).all() for one in released])

    return [accused(value) for value in values]


def two_tables(d):
    """Tables that differ in one record."""
    rng = np.random.default_rng(d)
    X, y = rng.uniform(-0.4, 0.4, (50, d)), np.arange(50) % 2
    Z, z = X.copy(), y.copy()
    Z[0], z[0] = -X[0], 1 - y[0]
    return (X, y), (Z, z)
