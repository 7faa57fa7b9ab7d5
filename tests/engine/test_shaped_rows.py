"""Rows with ramps that are not written out: the same numbers as rows on which they are."""

import numpy as np
import pytest

from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.rows.shaped import ShapedRows
from entrenous.errors import InputError
from entrenous.problem.features.ramps import normal_ramps
from entrenous.problem.features.shaped_box import ShapedBox

RNG = np.random.default_rng(0)
N, D = 700, 5


def box(shaped=(0, 2, 4), count=9, length=2.0, edges=None):
    ramps = normal_ramps(count)
    edges = tuple(ramps.edges / length) if edges is None else edges
    sides = ((-4.0,) * D, (4.0,) * D, (0.0,) * (D - 1) + (0.3,), (length,) * D)
    return ShapedBox(
        *sides, None, (), shaped, edges, tuple(ramps.middles.tolist()), tuple((ramps.heights / length).tolist())
    )


BOXES = {
    "usual": box(),
    "all columns": box(shaped=(0, 1, 2, 3, 4), count=3),
    "one ramp": box(count=1),
    "uneven edges": box(count=4, edges=(-1.0, -0.9, 0.0, 0.1, 1.7)),
    "rows far inside": box(length=40.0),
}
TABLE = 2.0 * RNG.normal(size=(N, D))
TABLE[:5] = 1e200 * RNG.normal(size=(5, D))
TABLE[5:9] = 0.0
Y = RNG.integers(0, 2, N)


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_they_are_the_rows_that_the_box_makes(name, kind):
    domain = BOXES[name]
    with np.errstate(over="ignore"):
        table = np.nan_to_num(TABLE.astype(kind))
    rows = DenseRows(table).inside_on_grid(domain)
    assert isinstance(rows, ShapedRows)
    written = domain.to_internal(table)
    assert rows.shape == written.shape
    # Positions within a ramp are cut to multiples of 2^-16, entries and factors to multiples of 2^-20.
    np.testing.assert_allclose(rows.array(), written, atol=2e-5)
    assert np.linalg.norm(rows.array(), axis=1).max() <= 1.0


@pytest.mark.parametrize("name", BOXES)
def test_sums_and_scores_are_those_of_rows_written_out(name):
    rows = ShapedRows.inside_box(BOXES[name], TABLE)
    written = DenseRows(rows.array())
    w = 3.0 * RNG.normal(size=rows.shape[1])
    weights = RNG.normal(size=N)
    np.testing.assert_allclose(rows.scores(w), written.scores(w), atol=1e-5)
    np.testing.assert_allclose(rows.weighted_sum(weights), written.weighted_sum(weights), atol=1e-5)
    slopes = CappedSlopes(1.4, 0.8, 0.7)
    sums, level = rows.capped_sum(w, 0.2, Y, slopes)
    expected, expected_level = written.capped_sum(w, 0.2, Y, slopes)
    np.testing.assert_allclose(sums, expected, atol=2e-4)
    assert level == pytest.approx(expected_level, abs=2e-4)
    np.testing.assert_allclose(rows.mean(), written.mean(), atol=1e-7)
    np.testing.assert_allclose(rows.take(Y == 1).sum(), DenseRows(rows.array()[Y == 1]).sum(), atol=1e-5)
    np.testing.assert_allclose(rows.second_moments(), written.second_moments())
    np.testing.assert_allclose(rows.minus(rows.mean()).spread(), written.minus(written.mean()).spread(), rtol=1e-5)


def test_they_take_little_more_memory_than_the_table():
    rows = ShapedRows.inside_box(BOXES["all columns"], TABLE)
    stored = sum(part.nbytes for part in (rows.entries, rows.positions, rows.factor))
    assert stored <= TABLE.nbytes * 1.2


def test_entries_that_on_grid_cannot_hold_are_refused():
    one = ((0,), (-1.0, 1.0), (0.5,), (1.0,))
    far = ShapedBox((-1e10,), (1e10,), (0.0,), (1e-19,), None, (), *one)
    rows = ShapedRows.inside_box(far, np.array([[1e10], [-1e300], [0.0]]))
    np.testing.assert_allclose(rows.array()[:, 0], [1.0, -1.0, 0.0], atol=1e-6)
    with pytest.raises(InputError, match="at most 1e\\+30 axes"):
        ShapedBox((-1e10,), (1e10,), (0.0,), (1e-30,), None, (), *one)
    with pytest.raises(InputError, match="from 0 to 1"):
        ShapedBox((-1.0,), (1.0,), (0.0,), (1.0,), None, (), (0,), (-1.0, 1.0), (2e14,), (1.0,))
    with pytest.raises(InputError, match="at most 1e\\+30 axes"):
        ShapedBox((-1.0,), (1.0,), (0.0,), (1.0,), None, (), (0,), (-1.0, 1.0), (0.5,), (1e40,))
