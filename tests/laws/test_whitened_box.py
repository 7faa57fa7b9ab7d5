"""The domain that whitening finds: what a row becomes in it, one definition for fits, scores and files."""

import math

import numpy as np
import pytest

from entrenous.engine.codec import decode, encode
from entrenous.engine.rows.registry import rows_of
from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.whitened_box import WhitenedBox
from entrenous.problem.symmetric import from_coordinates, from_lower_triangle, lower_triangle, to_coordinates

RNG = np.random.default_rng(0)


def drawn_box(d, constant=None, axes=1.0):
    """A random one; `constant` is the number of a column that does not vary."""
    root = RNG.normal(size=(d, d))
    matrix = root @ root.T / d + 0.1 * np.eye(d)
    center = RNG.normal(size=d)
    sides = {"low": center - 2.0, "high": center + 3.0, "center": center, "axes": axes * RNG.uniform(0.2, 2.0, d)}
    if constant is not None:
        for name in ("low", "high"):
            sides[name][constant] = center[constant]
        sides["axes"][constant] = 0.0
    numbers = {name: tuple(side.tolist()) for name, side in sides.items()}
    return WhitenedBox(**numbers, whitening=tuple(lower_triangle(matrix).tolist()))


BOXES = [drawn_box(1), drawn_box(3), drawn_box(3, constant=1), drawn_box(7, axes=1e-6), drawn_box(70)]
over_boxes = pytest.mark.parametrize("box", BOXES, ids=lambda box: f"{len(box.low)} features")


def rows_around(box, n=80):
    size = np.repeat([0.1, 1.0, 10.0, 1e200], n // 4)[:, None]
    return box.origin + RNG.normal(size=(n, box.origin.size)) * size


def literally_internal(box, X):
    """One row after the other: cut, scaled, whitened, drawn into the unit ball."""
    rows = []
    for row in X:
        row = np.minimum(np.maximum(row, box.low), box.high) - box.origin
        row = np.array([x / u if u > 0.0 else 0.0 for x, u in zip(row, box.axes, strict=True)])
        row = from_lower_triangle(np.array(box.whitening)) @ row
        rows.append(row / max(1.0, math.hypot(*row)))
    return np.array(rows)


@over_boxes
def test_internal_rows_are_their_definition_and_no_longer_than_one(box):
    X = rows_around(box)
    found = box.to_internal(X)
    np.testing.assert_allclose(found, literally_internal(box, X), rtol=0, atol=1e-12)
    norms = np.linalg.norm(found, axis=1)
    assert 0.3 < norms.max() <= 1.0 + 1e-12
    single = box.to_internal_on_grid(X)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, rtol=0, atol=2.0**-20)
    assert np.linalg.norm(single.astype(float), axis=1).max() <= 1.0


@over_boxes
def test_a_row_does_not_depend_on_the_others_to_the_bit(box):
    X = rows_around(box)
    internal = box.to_internal(X)
    for i in (0, 33, 79):
        np.testing.assert_array_equal(box.to_internal(X[i : i + 1])[0], internal[i])


@over_boxes
def test_clipped_rows_are_inside_and_map_to_the_same(box):
    X = rows_around(box)
    clipped = box.clipped(X)
    internal = box.to_internal(X)
    assert (clipped >= np.array(box.low) - 1e-12).all()
    assert (clipped <= np.array(box.high) + 1e-12).all()
    np.testing.assert_allclose(box.to_internal(clipped), internal, rtol=0, atol=1e-7)
    inside = (np.clip(X, box.low, box.high) == X).all(axis=1) & (np.linalg.norm(internal, axis=1) < 0.999)
    np.testing.assert_array_equal(clipped[inside], X[inside])


@over_boxes
def test_user_units_give_the_same_scores_there_and_back(box):
    X = box.clipped(rows_around(box))
    w = RNG.normal(size=(2, box.origin.size))
    coefs, levels = zip(*(box.to_user(row, 0.7) for row in w), strict=True)
    coef, level = np.array(coefs), np.array(levels)
    np.testing.assert_allclose(X @ coef.T + level, box.to_internal(X) @ w.T + 0.7, rtol=0, atol=1e-5)
    assert not coef[:, box.unit == 0.0].any()
    # A constant's own internal weight is nothing to a score, so what comes back is compared by its scores.
    back, intercept = box.from_user(coef, level)
    np.testing.assert_allclose(intercept, 0.7, rtol=1e-6)
    np.testing.assert_allclose(X @ coef.T + level, box.to_internal(X) @ back.T + intercept, rtol=0, atol=1e-5)


def test_noise_in_user_units_is_that_of_the_sums():
    box = BOXES[1]
    sds = np.array([0.5, 1.0, 2.0])
    draws = np.random.default_rng(1).normal(size=(200_000, 3)) * sds
    coefs = np.array(box.scale) * (draws @ box.matrix)
    np.testing.assert_allclose(box.noise_to_user(sds), coefs.std(axis=0), rtol=0.02)


def test_a_squared_distance_is_the_same_in_user_units():
    box = BOXES[1]
    a, b = (box.origin + 0.01 * RNG.normal(size=3) for _ in range(2))
    root = RNG.normal(size=(3, 3))
    w = root @ root.T
    internal = np.subtract(*box.to_internal(np.array([a, b])))
    assert (a - b) @ box.metric_to_user(w) @ (a - b) == pytest.approx(internal @ w @ internal, rel=1e-9)


def test_it_survives_files():
    box = BOXES[2]
    again = decode(encode(box), FeatureDomain)
    assert again == box
    assert hash(again) == hash(box)
    assert box.public_numbers()["kind"] == "whitened box"


@pytest.mark.parametrize(
    "changes",
    [
        {"whitening": (1.0, 0.0)},
        {"whitening": (1.0, 2.0, 1.0)},
        {"whitening": (1.0, 0.0, 0.0)},
        {"whitening": (1.0, math.nan, 1.0)},
        {"axes": (1.0, -1.0)},
        {"axes": (1.0,)},
        {"low": (2.0, 0.0)},
    ],
)
def test_what_is_no_whitened_box_is_refused(changes):
    sides = {"low": (0.0, 0.0), "high": (1.0, 1.0), "center": (0.5, 0.5), "axes": (1.0, 1.0)}
    whole = sides | {"whitening": (1.0, 0.5, 1.0)}
    WhitenedBox(**whole)
    with pytest.raises(InputError, match="whitened box"):
        WhitenedBox(**whole | changes)
    with pytest.raises(InputError, match="one range per feature"):
        WhitenedBox(**whole).for_features(3)


def test_sparse_rows_are_written_out_or_refused():
    from scipy import sparse

    box = BOXES[1]
    X = np.where(RNG.random((30, 3)) < 0.5, 0.0, RNG.normal(size=(30, 3)))
    weights = RNG.normal(size=(2, 3))
    found = rows_of(sparse.csr_array(X)).scores_inside(box, weights)
    np.testing.assert_allclose(found, box.to_internal(X) @ weights.T, rtol=0, atol=1e-12)
    with pytest.raises(InputError, match="keeps columns as they are"):
        rows_of(sparse.csr_array(X)).inside(box)


def test_coordinates_of_symmetric_matrices_are_isometric():
    roots = RNG.normal(size=(4, 5, 5))
    matrices = roots + roots.transpose(0, 2, 1)
    flat = to_coordinates(matrices)
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), np.linalg.norm(matrices, axis=(1, 2)))
    np.testing.assert_allclose(from_coordinates(flat), matrices)
    np.testing.assert_array_equal(from_lower_triangle(lower_triangle(matrices)), matrices)
