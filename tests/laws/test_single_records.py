"""Lemmas 14 to 19 and 23 under attack: sums over single records, with the phases' own code."""

import itertools

import numpy as np
import pytest
from oracles import stated_mechanism

import entrenous as en
from entrenous.engine.phases.calibrate import Calibrate
from entrenous.engine.phases.capped_descent import CONSTANT, CappedDescent, class_weights
from entrenous.engine.phases.event_share import EventShare
from entrenous.engine.phases.phase import Released
from entrenous.engine.phases.probability_link import LogOddsMap, ProbabilityLink
from entrenous.engine.phases.residual_descent import NORM, ResidualDescent
from entrenous.engine.phases.standardise import FindCentre, Standardise
from entrenous.engine.phases.target_centre import TargetCentre
from entrenous.engine.phases.whiten import Whiten
from entrenous.engine.rows.capped_slopes import CappedSlopes
from entrenous.engine.rows.error_slopes import FADING, ErrorSlopes
from entrenous.engine.rows.registry import rows_of
from entrenous.errors import PrivacyError
from entrenous.privacy.lemmas.pointwise import (
    FILLED_WEIGHT,
    capped_gradient_sensitivity,
    event_share_sensitivity,
    mean_row_sensitivity,
    means_and_squares_sensitivity,
    residual_gradient_sensitivity,
    second_moment_sensitivity,
)
from entrenous.privacy.lemmas.statistics import record_histogram_sensitivity
from entrenous.privacy.noise import SeededNoise
from entrenous.problem.features.cut_box import CutBox
from entrenous.problem.features.ramps import normal_ramps
from entrenous.problem.features.shaped_box import ShapedBox

N = 5


def noise_for(lemma, bound=1.0, count=1):
    return stated_mechanism("gaussian", bound, lemma, sigma=1.0, count=count)


def table(rng, d):
    X = rng.normal(size=(N, d))
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))


def with_first(X, row):
    other = X.copy()
    other[0] = row
    return other


def test_lemma_14():
    rng = np.random.default_rng(0)
    bound, worst = mean_row_sensitivity(N).value, 0.0
    for _ in range(200):
        X = table(rng, 3)
        pole = X[0] / np.linalg.norm(X[0])
        ends = [rows_of(with_first(X, row)).mean() for row in (pole, -pole, X[1])]
        worst = max(worst, *(np.linalg.norm(a - b) for a, b in itertools.combinations(ends, 2)))
    assert worst == pytest.approx(bound, rel=1e-12)


def squares_phase(d, reach):
    bound, weight = means_and_squares_sensitivity(N, d, reach)
    return Standardise(0.1, reach, reach, weight, 1.0, False, noise_for("Lemma 15", bound.value)), bound.value


def boxed(d, reach):
    ends = (reach,) * d
    return CutBox(tuple(-end for end in ends), ends, (0.0,) * d, (1.0,) * d)


def largest_change_of_squares(d, reach, rng, tries=400):
    """By random replacements, corners, and the two-level rows that the proof says are worst."""
    phase, bound = squares_phase(d, reach)
    box, worst = boxed(d, reach), 0.0
    for k in range(tries):
        X = table(rng, d)
        if k % 3 == 0:
            corner = np.sign(rng.normal(size=d)) * reach
            rows = (corner, -corner)
        elif k % 3 == 1:
            q = rng.choice([0.322, rng.uniform()])
            half = rng.permutation(d) < d // 2
            rows = (np.where(half, reach, q * reach), np.where(half, -q * reach, -reach))
        else:
            rows = rng.uniform(-reach, reach, size=(2, d))
        one, two = (phase.exact(rows_of(with_first(X, row)).inside(box)) for row in rows)
        worst = max(worst, float(np.linalg.norm(one - two)))
    return worst / bound


SHAPES = [(1, 1.0), (4, 0.5), (9, 1 / 3), (6, 0.55), (8, np.sqrt(2 / (8 * (1 + 0.322**2)))), (40, 0.21), (3, 1.0)]


@pytest.mark.parametrize(("d", "reach"), SHAPES)
def test_lemma_15_is_never_exceeded(d, reach):
    assert largest_change_of_squares(d, reach, np.random.default_rng(d)) <= 1.0 + 1e-12


@pytest.mark.parametrize(("d", "reach"), [SHAPES[1], SHAPES[4]])
def test_lemma_15_is_attained_and_never_exceeded(d, reach):
    """The box by opposite corners, the ball by rows of two levels."""
    assert 0.999 < largest_change_of_squares(d, reach, np.random.default_rng(1)) <= 1.0 + 1e-12


def test_lemma_15_is_caught_when_halved():
    for d, reach in SHAPES:
        assert largest_change_of_squares(d, reach, np.random.default_rng(2)) > 0.6


@pytest.mark.parametrize("weight", [1.70, 1.2])
def test_a_larger_weight_of_the_squares_breaks_lemma_15(weight):
    """1.66 per reach is as much as the box bears, 1 as much as the ball."""
    d, reach = (4, 0.5) if weight == 1.70 else SHAPES[4]
    phase, bound = squares_phase(d, reach)
    greedy = Standardise(0.1, reach, reach, weight / reach, 1.0, False, phase.noise)
    q = np.linspace(0.0, 1.0, 401)
    half = np.arange(d) < d // 2
    if weight == 1.70:
        pairs = [(np.full(d, reach), np.full(d, -t * reach)) for t in q]
    else:
        pairs = [(np.where(half, reach, t * reach), np.where(half, -t * reach, -reach)) for t in q]
    X = np.zeros((N, d))
    changes = [greedy.exact(rows_of(with_first(X, a))) - greedy.exact(rows_of(with_first(X, b))) for a, b in pairs]
    allowed = [
        np.linalg.norm(change)
        for change, (a, b) in zip(changes, pairs, strict=True)
        if max(np.linalg.norm(a), np.linalg.norm(b)) <= 1.0 + 1e-9
    ]
    assert max(allowed) > bound * 1.0005


def test_standardising_refuses_a_domain_that_it_is_not_priced_for():
    phase, _ = squares_phase(4, 0.5)
    phase.check(boxed(4, 0.5))
    with pytest.raises(PrivacyError, match="priced for rows whose entries"):
        phase.check(boxed(4, 0.6))


def test_the_second_round_stays_in_its_reach_whatever_the_first_released():
    """Centres anywhere, beyond the range too, ranges of any width, constants: never an entry that is not priced."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        d = int(rng.integers(2, 12))
        low = rng.normal(size=d) * 10.0 ** rng.integers(-3, 4, d)
        high = low + rng.exponential(size=d) * 10.0 ** rng.integers(-3, 4, d) * (rng.random(d) < 0.8)
        high[0] = low[0] + 1.0
        bounds = en.FeatureBounds(tuple(low), tuple(high))
        made = en.plan(n=300, n_features=d, epsilon=1.0, delta=1e-5, bounds=bounds, options={"zoom": 0.0})
        centre = next((phase for phase in made.phases if isinstance(phase, FindCentre)), None)
        if centre is None:
            continue
        second = next(phase for phase in made.phases if isinstance(phase, Standardise))
        smaller = centre.centred(bounds, rng.normal(size=d) * rng.choice([0.1, 1.0, 100.0]))
        second.check(smaller)
        rows = rows_of(rng.normal(size=(50, d)) * 100.0).inside_on_grid(smaller).array()
        assert np.abs(rows).max() <= second.reach * (1.0 + 1e-9)
        assert np.linalg.norm(rows, axis=1).max() <= 1.0
        final, _ = second.standardised(smaller, rng.normal(size=d), rng.normal(size=d))
        assert (
            np.linalg.norm(rows_of(rng.normal(size=(50, d)) * 100.0).inside_on_grid(final).array(), axis=1).max() <= 1.0
        )


def test_lemma_16():
    phase = EventShare(0.01, noise_for("Lemma 16"))
    y = np.array([1, 0, 0, 1, 1])
    changes = [abs(float((phase.exact(y) - phase.exact(with_first(y, label)))[0])) for label in (0, 1)]
    assert max(changes) == pytest.approx(event_share_sensitivity(N).value, rel=1e-12)


def largest_change_of_gradients(rng, tries=400):
    phase = CappedDescent(3, noise_for("Lemma 17", count=3))
    worst = 0.0
    for _ in range(tries):
        d = int(rng.integers(1, 5))
        X, w = table(rng, d), rng.normal(size=d + 1) * rng.choice([0.0, 1.0, 30.0])
        y = rng.integers(0, 2, N)
        slopes = class_weights(rng.choice([None, float(rng.uniform(0.03, 0.97))]))
        pole = w[:-1] / max(np.linalg.norm(w[:-1]), 1e-300) if rng.random() < 0.7 else X[0]
        values = [
            phase.exact(rows_of(with_first(X, row)).inside_on_grid(boxed(d, 1.0)), with_first(y, label), w, slopes)
            for row in (pole, -pole, X[1])
            for label in (0, 1)
        ]
        worst = max(worst, *(np.linalg.norm(a - b) for a, b in itertools.combinations(values, 2)))
    return worst


def test_lemma_17_is_attained_and_never_exceeded():
    worst = largest_change_of_gradients(np.random.default_rng(3))
    assert 0.99 < worst <= capped_gradient_sensitivity().value * (1.0 + 1e-9)


def test_lemma_17_is_caught_when_halved():
    assert largest_change_of_gradients(np.random.default_rng(4)) > capped_gradient_sensitivity().value / 2.0 * 1.9


def test_lemma_17_covers_rows_with_ramps_and_is_attained():
    """Ramps make a row longer before it is drawn in, never after."""
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(200):
        d, count = int(rng.integers(1, 4)), int(rng.integers(1, 6))
        ramps = normal_ramps(count)
        length = rng.choice([0.3, 1.0, 3.0])
        sides = (tuple(ramps.edges / length), tuple(ramps.middles), tuple(ramps.heights / length))
        box = ShapedBox((-1.0,) * d, (1.0,) * d, (0.0,) * d, (1.0,) * d, None, (), tuple(range(d)), *sides)
        phase = CappedDescent(3, noise_for("Lemma 17", count=3), added_entries=box.added_entries)
        X, y, w = table(rng, d), rng.integers(0, 2, N), rng.normal(size=box.added_entries + d + 1) * rng.choice([0, 9])
        slopes = class_weights(rng.choice([None, float(rng.uniform(0.03, 0.97))]))
        values = [
            phase.exact(rows_of(with_first(X, row)).inside_on_grid(box), with_first(y, label), w, slopes)
            for row in (np.ones(d), -np.ones(d), X[1])
            for label in (0, 1)
        ]
        worst = max(worst, *(np.linalg.norm(a - b) for a, b in itertools.combinations(values, 2)))
    assert 0.97 < worst <= capped_gradient_sensitivity().value * (1.0 + 1e-9)


def largest_change_of_second_moments(rng, tries=300):
    """By random replacements, and by rows at every angle to the one that they replace, the right angle first."""
    phase = Whiten(0.1, noise_for("Lemma 18"))
    worst = 0.0
    for k in range(tries):
        d = int(rng.integers(2, 6))
        X = table(rng, d)
        pole = X[0] / np.linalg.norm(X[0])
        beside = X[1] - (X[1] @ pole) * pole
        beside /= np.linalg.norm(beside)
        angle = np.pi / 2.0 if k == 0 else rng.uniform(0.0, np.pi)
        rows = (pole, np.cos(angle) * pole + np.sin(angle) * beside, -pole, X[1], np.zeros(d))
        values = [phase.exact(rows_of(with_first(X, row)).inside_on_grid(boxed(d, 1.0))) for row in rows]
        worst = max(worst, *(np.linalg.norm(a - b) for a, b in itertools.combinations(values, 2)))
    return worst


def test_lemma_18_is_attained_and_never_exceeded():
    worst, bound = largest_change_of_second_moments(np.random.default_rng(7)), second_moment_sensitivity(N).value
    assert 0.999 * bound < worst <= bound * (1.0 + 1e-9)


def test_lemma_18_is_caught_when_halved():
    worst = largest_change_of_second_moments(np.random.default_rng(8))
    assert worst > second_moment_sensitivity(N).value / 2.0 * 1.9


def test_second_moments_are_isometric_and_in_double_precision():
    rng = np.random.default_rng(9)
    X = table(rng, 4)
    phase = Whiten(0.1, noise_for("Lemma 18"))
    assert np.linalg.norm(phase.exact(rows_of(X))) == pytest.approx(np.linalg.norm(X.T @ X / N), rel=1e-12)
    # In single precision a sum of this many ones would stop growing.
    ones = rows_of(np.ones((2**24 + 8, 1), dtype=np.float32))
    assert phase.exact(ones).tolist() == [1.0]


def test_capped_sums_agree_with_plain_numpy():
    rng = np.random.default_rng(6)
    for d, dtype in itertools.product((1, 7, 64), (np.float32, np.float64)):
        X, y, w = table(rng, d).astype(dtype), rng.integers(0, 2, N), rng.normal(size=d)
        slopes = CappedSlopes(1.7, 0.6, 0.85)
        z = np.column_stack([X, np.full(N, CONSTANT)]).astype(float)
        margins = (X.astype(float) @ w + 0.3) * np.where(y == 1, 1.0, -1.0)
        a = np.minimum(np.where(y == 1, 1.7, 0.6) / (1.0 + np.exp(margins)), 0.85) * np.where(y == 1, 1.0, -1.0)
        total, level = rows_of(X).capped_sum(w, 0.3, y, slopes)
        np.testing.assert_allclose(total, z[:, :-1].T @ a, rtol=2e-6, atol=1e-7)
        assert level == pytest.approx(a.sum(), rel=1e-5, abs=1e-6)


def test_the_link_makes_the_expected_slope_vanish():
    for share in (None, 0.03, 0.2, 0.5, 0.9):
        slopes = class_weights(share)
        scores = np.linspace(-6.0, 6.0, 101)
        p = slopes.probability(scores)
        ones, zeros = slopes.at(scores, np.ones(101)), slopes.at(scores, np.zeros(101))
        np.testing.assert_allclose(p * ones + (1.0 - p) * zeros, 0.0, atol=1e-12)
        assert (np.diff(p) >= -1e-12).all()
        assert slopes.probability(np.array([slopes.even_score]))[0] == pytest.approx(0.5)
        assert max(np.abs(ones).max(), np.abs(zeros).max()) <= slopes.cap


def counts_phase(sigma=1.0, bins=16):
    return Calibrate(0.02, stated_mechanism("gaussian", np.sqrt(2.0), "Lemma 19", sigma=sigma), bins)


def largest_change_of_counts(norm, rng, tries=300):
    """Over replacements near and far with either label, and whatever was released before."""
    worst = 0.0
    for _ in range(tries):
        d, phase = int(rng.integers(1, 5)), counts_phase(bins=int(rng.integers(2, 30)))
        X, y = table(rng, d), rng.integers(0, 2, N)
        w = rng.normal(size=d) * rng.choice([0.0, 1.0, 30.0])
        released = Released(w, float(rng.normal()), event_share=rng.choice([None, float(rng.uniform(0.03, 0.97))]))
        pole = X[0] / np.linalg.norm(X[0])
        values = [
            phase.exact(rows_of(with_first(X, row)).inside_on_grid(boxed(d, 1.0)), with_first(y, label), released)
            for row in (pole, -pole, X[1])
            for label in (0, 1)
        ]
        assert all(value.sum() == N for value in values)
        changes = [(one - other).ravel() for one, other in itertools.combinations(values, 2)]
        worst = max(worst, *(float(np.linalg.norm(change, norm)) for change in changes))
    return worst


@pytest.mark.parametrize("norm", [1, 2])
def test_lemma_19_is_attained_and_never_exceeded(norm):
    bound = record_histogram_sensitivity()
    worst = largest_change_of_counts(norm, np.random.default_rng(7))
    assert worst == pytest.approx(bound.l1 if norm == 1 else bound.value, rel=1e-12)


@pytest.mark.parametrize("norm", [1, 2])
def test_lemma_19_is_caught_when_halved(norm):
    bound = record_histogram_sensitivity()
    worst = largest_change_of_counts(norm, np.random.default_rng(8))
    assert worst > (bound.l1 if norm == 1 else bound.value) / 2.0 * 1.9


def test_counts_by_score_are_of_the_bins_that_they_say():
    """Against plain loops; every record in one bin, the end bins reaching on."""
    rng = np.random.default_rng(9)
    X, y, w = table(rng, 3), rng.integers(0, 2, N), np.array([3.0, -20.0, 5.0])
    released, phase = Released(w, -1.0, event_share=0.2), counts_phase()
    slopes = class_weights(0.2)
    low, high = phase.ends(released)
    assert -6.0 <= low < high <= 6.0
    expected = np.zeros((2, 16))
    for row, label in zip(X, y, strict=True):
        p = float(slopes.probability(np.array([row @ w - 1.0 + slopes.even_score]))[0])
        place = (np.log(p / (1.0 - p)) - low) / (high - low) * 16
        expected[label, int(np.clip(np.floor(place), 0, 15))] += 1.0
    np.testing.assert_array_equal(phase.exact(rows_of(X), y, released), expected)


def test_log_odds_are_those_of_the_link_and_have_an_inverse():
    for share in (None, 0.03, 0.2, 0.5, 0.9):
        slopes = class_weights(share)
        scores = np.linspace(-30.0, 30.0, 121)
        log_odds = slopes.log_odds(scores)
        p = slopes.probability(scores)
        np.testing.assert_allclose(1.0 / (1.0 + np.exp(-log_odds)), p, rtol=1e-9)
        rise = np.diff(log_odds) / np.diff(scores)
        assert 0.5 - 1e-9 <= rise.min() <= rise.max() <= 1.0 + 1e-9
        np.testing.assert_allclose([slopes.score_at(at) for at in log_odds], scores, atol=1e-6)
        assert np.isfinite(slopes.log_odds(np.array([-1e4, 1e4]))).all()
        for slope, shift in ((1.0, 0.0), (0.5, 1.0), (3.0, -4.0)):
            link = ProbabilityLink(slopes, LogOddsMap(slope, shift))
            assert link.probability(np.array([link.even_score]))[0] == pytest.approx(0.5)
            assert (np.diff(link.probability(scores)) >= 0.0).all()


def test_counts_that_are_mostly_noise_leave_probabilities_as_they_are():
    rng, released = np.random.default_rng(10), Released(np.array([5.0, 5.0]), -0.5, event_share=0.3)
    X, y = table(rng, 2), rng.integers(0, 2, N)
    phase = counts_phase(sigma=100.0)
    maps = [phase.fitted(phase.release(rows_of(X), y, released, SeededNoise(rng)), released) for _ in range(200)]
    slopes, shifts = np.array(maps).T
    assert np.abs(np.median(slopes) - 1.0) < 1e-6
    assert np.abs(np.median(shifts)) < 1e-6
    assert np.abs(slopes - 1.0).max() < 0.3
    assert np.abs(shifts).max() < 0.3
    # Whatever noise makes of the counts, the map is finite and rises.
    for scale in (1.0, 1e3, 1e9):
        found = phase.fitted(rng.normal(size=(2, 16)) * scale, released)
        assert 0.1 <= found.slope <= 10.0
        assert np.isfinite(found.shift)


@pytest.mark.parametrize(("slope", "shift"), [(1.0, 0.0), (1.6, 0.3), (0.6, -0.5)])
def test_clear_counts_give_the_map_that_made_them(slope, shift):
    released, phase = Released(np.array([6.0]), -1.0, event_share=0.3), counts_phase(sigma=20.0)
    low, high = phase.ends(released)
    middle = low + (high - low) * (np.arange(16) + 0.5) / 16
    held = 2e5 * np.exp(-((middle + 1.0) ** 2) / 4.0)
    p = 1.0 / (1.0 + np.exp(-slope * middle - shift))
    found = phase.fitted(np.array([held * (1.0 - p), held * p]), released)
    assert (found.slope, found.shift) == pytest.approx((slope, shift), abs=0.02)


def residual_phase(**more):
    return ResidualDescent(3, noise_for("Lemma 23", count=3), **more)


def largest_change_of_residuals(rng, tries=400):
    """Over caps, both kinds of slopes, parameters of any length, rows at either pole and targets anywhere."""
    phase, worst = residual_phase(), 0.0
    for k in range(tries):
        d = int(rng.integers(1, 5))
        X, w = table(rng, d), rng.normal(size=d + 1) * rng.choice([0.0, 0.3, 30.0])
        y = rng.uniform(-1.0, 1.0, N)
        # The width of fading slopes that the largest target reaches is among the caps.
        slopes = ErrorSlopes(float(rng.choice([1.0, 1.0 / FADING, np.exp(rng.normal())])), bool(k % 2))
        pole = X[0] / np.linalg.norm(X[0])
        values = [
            phase.exact(rows_of(with_first(X, row)).inside_on_grid(boxed(d, 1.0)), with_first(y, target), w, slopes)
            for row in (pole, -pole, X[1])
            for target in (-1.0, 1.0, float(rng.uniform(-1.0, 1.0)))
        ]
        worst = max(worst, *(np.linalg.norm(a - b) for a, b in itertools.combinations(values, 2)))
    return worst


def test_lemma_23_is_attained_and_never_exceeded():
    worst = largest_change_of_residuals(np.random.default_rng(11))
    assert 0.999 < worst <= residual_gradient_sensitivity().value * (1.0 + 1e-6)


def test_lemma_23_is_caught_when_halved():
    assert largest_change_of_residuals(np.random.default_rng(12)) > residual_gradient_sensitivity().value / 2.0 * 1.9


def test_a_larger_weight_breaks_lemma_23():
    """0.83 is as much as the sum of squares bears: records at the cap and at a fraction of it."""
    phase, X = residual_phase(), np.ones((N, 1))
    w, slopes = np.zeros(2), ErrorSlopes(1.0, fades=False)
    one = phase.exact(rows_of(X), with_first(np.zeros(N), 1.0), w, slopes)
    worst = dict.fromkeys((FILLED_WEIGHT, 0.85), 0.0)
    for part in np.linspace(0.0, 1.0, 401):
        change = one - phase.exact(rows_of(X), with_first(np.zeros(N), -part), w, slopes)
        for weight in worst:
            worst[weight] = max(worst[weight], np.linalg.norm([*change[:-1], change[-1] * weight / FILLED_WEIGHT]))
    assert worst[FILLED_WEIGHT] <= 1.0 + 1e-9
    assert worst[0.85] > 1.0005


def test_slopes_of_errors_stay_below_their_bound():
    errors = np.concatenate([[-1e300, 1e300, 0.0], np.linspace(-5.0, 5.0, 2001), 0.01 * np.linspace(-5.0, 5.0, 2001)])
    for cap, fades in itertools.product((0.01, 1.0, 1.7), (False, True)):
        slopes, filled = ErrorSlopes(cap, fades).at(errors)
        assert (np.abs(slopes) <= cap * np.sqrt(filled) * (1.0 + 1e-12)).all()
        assert np.abs(slopes).max() == pytest.approx(cap, rel=1e-4)
        assert (filled <= 1.0).all()


def test_residual_sums_agree_with_plain_numpy():
    rng = np.random.default_rng(13)
    from scipy import sparse

    for d, dtype, fades in itertools.product((1, 7, 64), (np.float32, np.float64), (False, True)):
        X, y, w = table(rng, d).astype(dtype), rng.uniform(-1, 1, N), rng.normal(size=d)
        a, filled = ErrorSlopes(0.4, fades).at(y - X.astype(float) @ w - 0.1)
        turned = np.asfortranarray(X)
        for rows in (rows_of(X), rows_of(turned), rows_of(sparse.csr_array(X.astype(float)))):
            total, level, share = rows.residual_sum(w, 0.1, y, ErrorSlopes(0.4, fades))
            np.testing.assert_allclose(total, X.astype(float).T @ a, rtol=1e-5, atol=1e-6)
            assert level == pytest.approx(a.sum(), rel=1e-5, abs=1e-6)
            assert share == pytest.approx(filled.sum(), rel=1e-5)


def test_a_partner_with_a_normal_error_widens_the_slope():
    """The formula behind the second half of a residual descent, against a mean over many partners."""
    phase = residual_phase(bandwidth=0.4)
    partners = 0.3 * np.random.default_rng(14).normal(size=200_000)
    slopes = phase.late_slopes(0.3)
    for error in (-0.9, -0.2, 0.1, 0.5):
        apart = error - partners
        pairs = np.mean(apart * np.exp(-(apart**2) / (2.0 * 0.4**2)))
        alone = slopes.at(np.array([error]))[0][0] * (0.4**2 / (0.4**2 + 0.3**2)) ** 1.5
        assert pairs == pytest.approx(alone, abs=0.002)
    assert residual_phase().late_slopes(0.3).cap == pytest.approx(0.3)
    assert pytest.approx(np.sqrt(1.25)) == NORM


def test_counts_of_targets_are_of_one_bin_each():
    rng = np.random.default_rng(15)
    for bins in (1, 2, 16, 512):
        phase = TargetCentre(0.05, noise_for("Lemma 19", np.sqrt(2.0)), bins)
        y = rng.uniform(-1, 1, N)
        changes = [phase.exact(y) - phase.exact(with_first(y, target)) for target in (-1.0, 1.0, y[1])]
        assert phase.exact(y).sum() == N
        worst = max(float(np.linalg.norm(change)) for change in changes)
        assert worst == pytest.approx(0.0 if bins == 1 else record_histogram_sensitivity().value)
