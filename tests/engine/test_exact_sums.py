"""Sums over single records do not round: against whole numbers of Python, in any order, for every kind of rows."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import entrenous as en
from entrenous.engine.phases.capped_descent import class_weights
from entrenous.engine.phases.intercept import InterceptRelease
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.error_slopes import ErrorSlopes
from entrenous.engine.rows.exact_sums import SLOPE_GRID, ExactTotal, exact_sum, short_digits
from entrenous.engine.rows.registry import rows_of
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.problem.features.ball import FeatureBall
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.domain import ROW_GRID
from entrenous.problem.features.ramps import normal_ramps
from entrenous.problem.features.shaped_box import ShapedBox
from entrenous.problem.features.whitened_box import WhitenedBox

N, D = 20_000, 5
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(N, D)) * RNG.choice([0.01, 1.0, 100.0], (N, 1))
TABLE[RNG.random((N, D)) < 0.5] = 0.0
Y = RNG.integers(0, 2, N)
BALL = FeatureBall(3.0).for_features(D)
OFF_CENTRE = FeatureBounds((-1.0,) * D, (3.0,) * D, clip=1.2)


def shaped(d=D, count=5):
    ramps = normal_ramps(count)
    length = math.sqrt(d * (1.0 + ramps.square))
    numbers = {"low": -9.0, "high": 9.0, "center": 0.0, "axes": length}
    return ShapedBox(
        **{name: (value,) * d for name, value in numbers.items()},
        shaped=tuple(range(d)),
        edges=tuple((ramps.edges / length).tolist()),
        middles=tuple(ramps.middles.tolist()),
        heights=tuple((ramps.heights / length).tolist()),
    )


KINDS = {
    "dense": (TABLE, BALL),
    "dense, single": (TABLE.astype(np.float32), OFF_CENTRE),
    "sparse": (sparse.csr_array(TABLE), BALL),
    "sparse, off centre": (sparse.csr_array(TABLE), OFF_CENTRE),
    "shaped": (TABLE, shaped()),
}


@pytest.fixture(params=KINDS)
def rows(request):
    table, domain = KINDS[request.param]
    return rows_of(table).inside_on_grid(domain)


def written(rows):
    """The rows. The shift of sparse ones and the ramps of shaped ones are real numbers, all else lies on the grid."""
    if rows.has_array:
        return rows.array()
    return rows.stored.toarray() + rows.factor[:, None] * rows.shift


# --- the pieces -------------------------------------------------------------------------------------------------------


def test_totals_keep_every_digit():
    parts = [RNG.integers(-(2**52), 2**52, 3) * 2.0**-40 for _ in range(5000)]
    total = ExactTotal(3, 2.0**-20)
    for part in parts:
        total.add(part)
    wanted = [float(sum(Fraction(part[k]) for part in parts)) for k in range(3)]
    assert total.value.tolist() == wanted
    values = np.concatenate(parts)
    assert exact_sum(values, 2.0**-20) == float(sum(map(Fraction, values)))
    assert float(np.sum(values)) != float(sum(map(Fraction, values))), "the test would not notice a plain sum"


def test_few_digits_make_scores_exact_in_any_order():
    rows = rows_of(TABLE).inside_on_grid(BALL)
    w = short_digits(7.0 * RNG.normal(size=D))
    for i in range(200):
        exact = sum(Fraction(float(x)) * Fraction(float(c)) for x, c in zip(rows.table[i], w, strict=True))
        order = RNG.permutation(D)
        assert Fraction(float(np.sum(rows.table[i].astype(float)[order] * w[order]))) == exact
    assert not short_digits(np.zeros(3)).any()
    np.testing.assert_allclose(short_digits([1e-100, 3e-100]), [1e-100, 3e-100], rtol=1e-6)
    np.testing.assert_allclose(w, short_digits(w))


# --- rows on the grid -------------------------------------------------------------------------------------------------


def test_norms_are_at_most_one_in_whole_numbers():
    d = 7
    corners = RNG.choice([-1.0, 1.0], (3000, d))
    sphere = RNG.normal(size=(3000, d))
    sphere /= np.linalg.norm(sphere, axis=1)[:, None]
    far = 10.0 ** RNG.uniform(-300, 300, (3000, d)) * RNG.choice([-1.0, 1.0], (3000, d))
    table = np.vstack([corners, sphere, far, np.eye(d), -np.eye(d)])
    lower = np.tril(np.full((d, d), 0.1)) + np.eye(d)
    whitened = WhitenedBox(
        (-1.0,) * d, (1.0,) * d, (0.0,) * d, (1.0,) * d, whitening=tuple(lower[np.tril_indices(d)].tolist())
    )
    for domain in (FeatureBounds((-1.0,) * d, (1.0,) * d), FeatureBall(1.0).for_features(d), whitened):
        found = rows_of(table).inside_on_grid(domain).table
        whole = found.astype(float) / ROW_GRID
        assert (whole == np.rint(whole)).all()
        lengths = [sum(int(x) ** 2 for x in row) for row in whole]
        assert max(lengths) <= 2**40
        np.testing.assert_allclose(found, domain.to_internal(table), atol=2.0 * ROW_GRID)
    assert 2**40 in lengths or max(lengths) > 0.999 * 2**40, "some rows are as long as they may be"


def test_rows_of_every_kind_are_short_enough(rows):
    assert max(math.fsum(x * x for x in row) for row in written(rows).tolist()) <= 1.0 + 1e-15


# --- sums -------------------------------------------------------------------------------------------------------------


def whole_slopes(rows, w, intercept, slopes):
    """The slopes as they should be, one record at a time."""
    # Shaped rows shorten the digits of what they look up themselves.
    scores = rows.scores(w if rows.shape[1] > D else short_digits(w)) + intercept
    found = []
    for score, label in zip(scores.tolist(), Y.tolist(), strict=True):
        sign, weight = (1.0, slopes.event) if label == 1 else (-1.0, slopes.other)
        share = min(weight / slopes.cap / (1.0 + math.exp(sign * score)), 1.0)
        found.append(sign * math.floor(share / SLOPE_GRID))
    return found


def test_capped_sums_are_sums_of_whole_numbers(rows):
    slopes = CappedSlopes(1.4, 0.8, 0.7)
    w = 3.0 * RNG.normal(size=rows.shape[1])
    total, level = rows.capped_sum(w, 0.2, Y, slopes)
    whole = whole_slopes(rows, w, 0.2, slopes)
    unit = SLOPE_GRID * slopes.cap
    assert level == sum(map(int, whole)) * unit
    exact = [math.fsum(a * x for a, x in zip(whole, column, strict=True)) * unit for column in written(rows).T.tolist()]
    # A shift or ramps are multiplied once, at the end; slopes of ramps are cut once more.
    np.testing.assert_allclose(total, exact, rtol=0, atol=1e-2 * N * SLOPE_GRID if rows.shape[1] > D else 1e-9)
    if type(rows).__name__ == "DenseRows":
        assert total.tolist() == [
            float(sum(Fraction(a) * Fraction(x) for a, x in zip(whole, column, strict=True))) * unit
            for column in written(rows).T.tolist()
        ]


def test_order_and_blocks_do_not_matter(rows):
    order = RNG.permutation(N)
    w = 2.0 * RNG.normal(size=rows.shape[1])
    slopes, errors = CappedSlopes(1.4, 0.8, 0.7), ErrorSlopes(0.4, fades=True)
    shuffled = rows.take(order)
    targets = RNG.normal(size=N)

    def all_sums(table, y, numbers):
        found = [*table.capped_sum(w, 0.2, y, slopes), table.sum()]
        if not isinstance(table, type(rows)) or rows.shape[1] == D:
            found += [*table.residual_sum(w, 0.1, numbers, errors), table.mean_squares(), table.second_moments()]
            moments = table.class_moments(y)
            found += [moments.sums, moments.seconds, np.array(moments.events)]
        return found

    for one, other in zip(all_sums(rows, Y, targets), all_sums(shuffled, Y[order], targets[order]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_squares_and_products_are_exact_for_many_rows():
    # Long rows along one axis: their squares add up to more than 53 digits.
    table = TABLE + np.eye(1, D)[0] * 50.0
    rows = rows_of(table).inside_on_grid(BALL)
    whole = (rows.table.astype(float) / ROW_GRID).astype(object)
    whole = np.array([[int(x) for x in row] for row in whole], dtype=object)
    products = whole.T @ whole
    wanted = [[float(Fraction(int(p), 2**40)) for p in line] for line in products]
    assert rows.second_moments().tolist() == wanted
    plain = rows.table.astype(np.float64)
    assert (plain.T @ plain).tolist() != wanted, "the test would not notice plain sums"
    moments = rows.class_moments(Y)
    for code in (0, 1):
        chosen = whole[code == Y]
        assert moments.seconds[code].tolist() == [
            [float(Fraction(int(p), 2**40)) for p in line] for line in chosen.T @ chosen
        ]
    sparse_rows = rows_of(sparse.csr_array(table)).inside_on_grid(BALL)
    whole = np.array([[int(x / ROW_GRID) for x in row] for row in sparse_rows.stored.toarray()], dtype=object)
    wanted = [[float(Fraction(int(p), 2**40)) for p in line] for line in whole.T @ whole]
    assert sparse_rows.second_moments().tolist() == wanted


def test_one_record_moves_a_gradient_by_no_more_than_the_lemma_says():
    """As the same row becomes an event and a non-event: attained, and not exceeded but for the last rounding."""
    slopes = class_weights(None)
    d = 2
    table = RNG.normal(size=(4001, d))
    y = RNG.integers(0, 2, len(table))
    farthest, domain = 0, FeatureBall(1.0).for_features(d)
    for row in ([-1.0, 0.0], [-0.6, 0.8], [-1.0, 1e-9]):
        found = []
        for label in (0, 1):
            changed, labels = table.copy(), y.copy()
            changed[7], labels[7] = row, label
            total, level = rows_of(changed).inside_on_grid(domain).capped_sum(np.zeros(d), 0.0, labels, slopes)
            found.append([Fraction(float(x)) / Fraction(slopes.cap) for x in (*total, 0.3 * level)])
        moved = sum((a - b) ** 2 for a, b in zip(*found, strict=True))
        farthest = max(farthest, moved)
        assert moved <= 4 * (Fraction(1) + Fraction(9, 100)) + Fraction(1, 10**12)
    assert farthest > Fraction(43, 10), "an event and a non-event pull opposite ways"


def test_a_mean_error_is_a_sum_of_whole_numbers():
    rows = rows_of(TABLE).inside(BALL)
    phase = InterceptRelease(0.1, Gaussian(Bound(0.1, "Lemma 13"), 1.0), 0.7)
    y, w = RNG.normal(size=N), RNG.normal(size=D)
    order = RNG.permutation(N)
    assert phase.exact(rows, y, w) == phase.exact(rows.take(order), y[order], w)
    assert phase.exact(rows, y, w) == pytest.approx(np.clip(y - rows.scores(w), -0.7, 0.7).mean(), abs=1e-6)


def test_a_slope_never_exceeds_the_root_of_what_its_error_fills():
    """What Lemma 23 rests on, after both are rounded."""
    from entrenous.engine.rows.residual_kernel import whole_pull

    errors = np.concatenate([10.0 ** RNG.uniform(-12, 3, 20_000), 0.4 * (1.0 + 1e-9 * RNG.normal(size=20_000)), [0.0]])
    for fades in (False, True):
        for error in errors.tolist():
            pull, filled = whole_pull(error, 0.4, fades)
            assert Fraction(int(pull)) ** 2 * Fraction(SLOPE_GRID) <= int(filled) <= 1 / SLOPE_GRID
            assert whole_pull(-error, 0.4, fades) == (-pull, filled)


def test_the_fit_does_not_depend_on_the_order_of_the_records():
    """Seeded noise, and sums that do not round: the same model to the last bit."""
    X, y = TABLE[:3000], Y[:3000]
    order = RNG.permutation(len(X))
    settings = {"bounds": (-3, 3), "random_state": 0}
    for make in (en.AUCClassifier, lambda **given: en.AUCClassifier(shape="additive", **given)):
        with pytest.warns(en.PrivacyWarning):
            one, other = make(**settings).fit(X, y), make(**settings).fit(X[order], y[order])
        assert one.coef_.tolist() == other.coef_.tolist()
        assert one.intercept_.tolist() == other.intercept_.tolist()
