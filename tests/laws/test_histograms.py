"""Lemma 11 under attack: an adversary picks rows, the replacement and the windows of the histograms."""

from dataclasses import replace

import numpy as np
import pytest
from oracles import stated_mechanism
from scipy import sparse

from entrenous.engine.phases.find_bounds import FindBounds, clipping_radius
from entrenous.engine.phases.histogram_fit import Histograms, read_histograms
from entrenous.engine.phases.zoom import Zoom
from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.rows.rows import Rows
from entrenous.privacy.lemmas.bound import lemma_named
from entrenous.privacy.lemmas.statistics import feature_histograms_sensitivity
from entrenous.privacy.noise import SeededNoise
from entrenous.problem.features.box import FeatureBounds

WIDE = 2.0**40
"""Ranges so wide that only values meant to be outside are clipped; a power of two, so that units cost no digits."""


def count_rows(X, low, high, bins):
    """The counts that a phase is given, for windows in the user's units."""
    d = X.shape[1]
    within = FeatureBounds((-WIDE,) * d, (WIDE,) * d)
    return rows_of(X).histograms(low / WIDE, high / WIDE, bins, within, np.arange(d))


def largest_change(d, bins, norm, rng):
    """Largest change of the real counts over random tables, replacements near and far, and random windows."""
    worst = 0.0
    for _ in range(60):
        X = rng.normal(size=(20, d))
        low = rng.normal(size=d)
        high = low + rng.exponential(size=d) + 1e-3
        other = X.copy()
        other[0] = rng.choice([X[0] + 1e-4, rng.normal(size=d), -np.sign(X[0]) * 1e9])
        change = count_rows(other, low, high, bins) - count_rows(X, low, high, bins)
        worst = max(worst, float(np.linalg.norm(change.ravel(), norm)))
    return worst


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(("d", "bins"), [(1, 2), (3, 32), (8, 5)])
def test_lemma_11_is_attained_and_never_exceeded(d, bins, norm):
    bound = feature_histograms_sensitivity(d).l1 if norm == 1 else feature_histograms_sensitivity(d).value
    worst = largest_change(d, bins, norm, np.random.default_rng(d))
    assert worst == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("norm", [1, 2])
def test_lemma_11_is_caught_when_halved(norm):
    worst = largest_change(4, 16, norm, np.random.default_rng(0))
    bound = feature_histograms_sensitivity(4)
    assert worst > (bound.l1 if norm == 1 else bound.value) / 2.0 * 1.9


def test_lemma_11_counts_the_searched_columns_alone():
    """With the phase's own counts: its sensitivity is that of the columns that are looked at, whatever else changes."""
    rng = np.random.default_rng(1)
    within = FeatureBounds((0.0, -1.0, 0.0, 5.0, -1.0), (1.0, 1.0, 9.0, 5.0, 1.0), binary=(0,))
    for only, searched in ((None, 3), ((1, 4), 2), ((0, 3, 4), 1)):
        phase = FindBounds(within, 0.1, None, only=only)
        assert phase.columns.size == searched
        numbers = phase.numbers
        assert lemma_named("Lemma 11").recompute(None, 20, numbers) == feature_histograms_sensitivity(searched)
        worst = {1: 0.0, 2: 0.0}
        for _ in range(60):
            X, row = rng.uniform(-1, 9, (20, 5)), rng.uniform(-1, 9, 5)
            window = (rng.uniform(-1, 0, searched), rng.uniform(0, 1, searched))
            change = phase.exact(rows_of(X), *window) - phase.exact(rows_of(np.vstack([row, X[1:]])), *window)
            worst = {norm: max(size, float(np.linalg.norm(change.ravel(), norm))) for norm, size in worst.items()}
        bound = feature_histograms_sensitivity(searched)
        assert (worst[1], worst[2]) == pytest.approx((bound.l1, bound.value), rel=1e-12)


def test_sparse_rows_have_the_counts_of_dense_ones():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 6)) * (rng.random((200, 6)) < 0.3) * [1, 1e-3, 1e3, 1, 1, 1]
    within = FeatureBounds((-2, -1e-3, 5, 0, -9, -3), (2, 2e-3, 1e3, 0, -1, 1), binary=(5,))
    phases = [FindBounds(within, 0.1, None), FindBounds(within, 0.1, None, only=(1, 2))]
    for phase in phases:
        d = phase.columns.size
        for window in ((np.full(d, -1.0), np.ones(d)), (rng.uniform(-1, 0, d), rng.uniform(0, 1, d))):
            dense, thin = (phase.exact(rows_of(table), *window) for table in (X, sparse.csr_array(X)))
            np.testing.assert_array_equal(thin, dense)
            assert (dense.sum(axis=1) == 200).all()
        found = [phase.find(rows_of(table), SeededNoise(rng)) for table in (X, sparse.csr_array(X))]
        assert found[0] == found[1]


@pytest.mark.parametrize("draws_in", [True, False])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.04, 0.1])
@pytest.mark.parametrize("common", [0.0, 1.0])
def test_an_indicator_is_never_taken_for_a_constant(common, share, draws_in):
    """Undeclared, whether the noise hides its rare level or not; 0.02 n and 0.05 n of noise, 2000 records."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((2000, 50)) < share, 1.0 - common, common)
    noise = stated_mechanism("gaussian", feature_histograms_sensitivity(50).value, "Lemma 11", sigma=1.0, count=2)
    for sigma in (40.0, 100.0):
        phase = FindBounds(FeatureBounds(0, 1).for_features(50), 0.1, replace(noise, sigma=sigma), draws_in=draws_in)
        found = phase.find(rows_of(X), SeededNoise(rng))
        low, high = found.sides()
        assert (low <= 1e-9).all()
        assert (high >= 1.0 - 1e-9).all()


def test_a_column_that_only_starts_at_an_end_is_still_narrowed():
    """In a range a hundred times too wide its first round looks like an indicator; the second tells."""
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.exponential(1.0, 2000), 100.0 - rng.exponential(1.0, 2000), abs(rng.normal(0, 1, 2000))])
    found = released_by(X, FeatureBounds((0.0,) * 3, (100.0,) * 3), 3, sigma=40.0)
    assert (np.subtract(found.high, found.low) < 15.0).all()


def test_zooming_keeps_indicators_too():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.random(5000) < 0.005, rng.normal(0.5, 0.03, 5000)])
    noise = stated_mechanism("gaussian", feature_histograms_sensitivity(2).value, "Lemma 11", sigma=40.0)
    phase = Zoom(FeatureBounds((0.0, 0.0), (1.0, 1.0)), 0.05, noise)
    found = phase.narrowed(phase.release(rows_of(X), SeededNoise(rng)), 5000)
    assert (found.low[0], found.high[0]) == (0.0, 1.0)
    assert 0.1 < found.high[1] - found.low[1] < 0.4


def test_every_row_is_counted_once_per_feature_wherever_it_lies():
    X = np.array([[-1e140], [1e140], [0.0], [1.0], [0.5], [1.0 - 1e-16]])
    counts = count_rows(X, np.zeros(1), np.ones(1), 4)
    assert counts.tolist() == [[2, 0, 1, 3]]


def released_by(X, within, seed, sigma=30.0):
    d = X.shape[1]
    mechanism = stated_mechanism("gaussian", feature_histograms_sensitivity(d).value, "Lemma 11", sigma=sigma, count=2)
    return FindBounds(within, 0.1, mechanism).find(rows_of(X), SeededNoise(np.random.default_rng(seed)))


def test_bounds_are_a_function_of_the_noisy_counts_alone(monkeypatch):
    """The same counts from other rows give the same bounds; so nothing else of the rows is in them."""
    rng = np.random.default_rng(3)
    within = FeatureBounds((-100.0,) * 3, (100.0,) * 3)
    seen = []

    def recorded(rows, *arguments):
        seen.append(Rows.histograms(rows, *arguments))
        return seen[-1]

    monkeypatch.setattr(DenseRows, "histograms", recorded)
    found = released_by(rng.normal(5, 2, (500, 3)), within, 1)
    again = iter(list(seen))
    monkeypatch.setattr(DenseRows, "histograms", lambda *arguments: next(again))
    assert released_by(np.full((500, 3), np.pi), within, 1) == found


def test_the_noise_of_every_count_is_the_mechanisms(monkeypatch):
    from entrenous.engine.phases import find_bounds as bounds_release

    heard = []

    def listen(rounds, n, noise):
        heard.append((rounds[-1].counts, noise))
        return read_histograms(rounds, n, noise)

    monkeypatch.setattr(bounds_release, "read_histograms", listen)
    # Everything in one bin: all other counts are noise alone.
    released_by(np.full((200, 40), -1.0), FeatureBounds((-1.0,) * 40, (1.0,) * 40), 5, sigma=30.0)
    (first, stated), (second, _) = heard
    assert stated == 30.0
    for counts in (first[:, 1:], second[:, 1:]):
        assert np.std(counts) == pytest.approx(30.0, rel=0.06)
    assert not np.array_equal(first, second)


def test_little_noise_finds_centre_and_scale_and_much_noise_claims_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal((3.0, -700.0), (2.0, 5.0), (5000, 2))
    within = FeatureBounds((-1000.0, -1000.0), (1000.0, 1000.0))
    found = released_by(X, within, 2, sigma=1.0)
    # To a bin of the second round: the loose ranges are 400 and 1000 standard deviations wide.
    np.testing.assert_allclose(found.origin, [3.0, -700.0], atol=4.0)
    half_width = np.subtract(found.high, found.low) / 2.0
    assert np.all((half_width > 2.0 * X.std(axis=0)) & (half_width < 10.0 * X.std(axis=0)))
    drowned = released_by(X, within, 2, sigma=1e7)
    np.testing.assert_allclose(drowned.low, within.low, rtol=0.1)
    np.testing.assert_allclose(drowned.high, within.high, rtol=0.1)
    assert found.clip == drowned.clip == clipping_radius(2)


def test_a_lump_and_a_second_level_are_both_seen():
    """Nine of ten at 0, the others at 1: a normal distribution explains only the lump."""
    counts = np.zeros((1, 32))
    counts[0, 0], counts[0, -1] = 9000, 1000
    centre, spread, lump = read_histograms([Histograms(np.zeros(1), np.ones(1), counts)], 10_000, 10.0)
    assert 0.05 < centre[0] < 0.2
    assert 0.2 < spread[0] < 0.7
    # The window does not begin at the end of the declared range, which is -1.
    assert lump[0] == 0.0


def test_far_and_tiny_ranges_do_not_overflow():
    rng = np.random.default_rng(1)
    low = np.array([-1e149, 0.0, 1e16, -1e-90])
    high = np.array([1e149, 1e149, 1e16 + 4.0, 1e-90])
    X = low + (high / 2 - low / 2) * rng.random((50, 4))
    for sigma in (1e-3, 1e3):
        found = released_by(X, FeatureBounds(tuple(low), tuple(high)), 4, sigma=sigma)
        assert np.isfinite(found.to_internal(X)).all()
