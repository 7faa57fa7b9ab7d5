"""What the mechanisms add really has the distribution and the size that their price assumes.

Every statistical test is a function of samples that says whether they are plausible. On honest samples one comparison
raises a false alarm with probability 1e-11, so that all of them together stay below 1e-9; the same function must
reject samples that are 3 % too large or too small, and the sample sizes make missing that as rare.
"""

import math

import numpy as np
import pytest
from oracles import stated_mechanism
from scipy import stats

from entrenous.errors import PrivacyError
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import epsilon_of
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.noise import SecureNoise, noise_from

ALARM = 1e-11
"""Chance that one comparison rejects honest samples; some fifty of them see secure noise."""
Z = stats.norm.isf(ALARM / 2.0)
DRAWS = 300_000
SOURCES = {"secure": lambda: SecureNoise(), "seeded": lambda: noise_from(7)}
over_sources = pytest.mark.parametrize("source", SOURCES)


def within(value, distribution) -> bool:
    """Whether a statistic of known distribution is where honest samples put it."""
    return bool(distribution.cdf(value) > ALARM / 2.0 and distribution.sf(value) > ALARM / 2.0)


def fits(samples, distribution) -> bool:
    """Kolmogorov-Smirnov, by the bound 2 exp(-2 n D^2), which holds for every n."""
    ordered = np.sort(samples)
    cdf = distribution.cdf(ordered)
    n = len(ordered)
    largest = max(np.max(np.arange(1, n + 1) / n - cdf), np.max(cdf - np.arange(n) / n))
    return bool(2.0 * math.exp(-2.0 * n * largest**2) > ALARM)


def uncorrelated(columns) -> bool:
    """No two columns, and no column with its own shift by one row, move together."""
    shifted = np.column_stack([columns[1:], columns[:-1]])
    correlation = np.corrcoef(shifted.T) - np.eye(shifted.shape[1])
    return bool(np.abs(correlation).max() < Z / math.sqrt(len(columns) - 1) * 1.2)


def plausible_gaussian(samples, sigma) -> bool:
    flat = samples.ravel() / sigma
    return within(float(np.sum(flat**2)), stats.chi2(flat.size)) and fits(flat, stats.norm())


def plausible_laplace(samples, scale) -> bool:
    flat = samples.ravel() / scale
    return within(float(np.sum(np.abs(flat))), stats.gamma(flat.size)) and fits(flat, stats.laplace())


def plausible_l2_laplace(samples, scale) -> bool:
    """Length Gamma(p), direction uniform, the two independent."""
    n, p = samples.shape
    length = np.linalg.norm(samples, axis=1)
    direction = samples / length[:, None]
    if not (within(float(np.sum(length)) / scale, stats.gamma(n * p)) and fits(length / scale, stats.gamma(p))):
        return False
    if p == 1:
        return within(float(np.sum(direction > 0)), stats.binom(n, 0.5))
    # A coordinate of a uniform direction, along the axes and along a slanted line, is a stretched Beta.
    cosine = stats.beta((p - 1) / 2.0, (p - 1) / 2.0, loc=-1.0, scale=2.0)
    slanted = direction @ np.ones(p) / math.sqrt(p)
    along = [fits(t, cosine) for t in (*direction.T, slanted)]
    return all(along) and uncorrelated(np.column_stack([length, direction, np.abs(slanted)]))


def gaussian(sigma):
    return stated_mechanism("gaussian", 0.1, "Lemma 2", sigma=sigma)


def laplace(scale):
    return stated_mechanism("laplace", 0.1, "Lemma 3", scale=scale, l1_sensitivity=0.2)


def l2_laplace(scale):
    return stated_mechanism("l2-laplace", 0.1, "Lemma 3", scale=scale)


def draws(mechanism, source, rows, dimension):
    """Releases one below the other, through the public way."""
    noise = SOURCES[source]()
    return np.array([mechanism.draw(noise, dimension) for _ in range(rows)])


@over_sources
def test_gaussian_noise_has_its_size_and_rejects_three_per_cent(source):
    samples = draws(gaussian(0.3), source, 20, DRAWS // 20)
    assert samples.shape == (20, DRAWS // 20)
    assert plausible_gaussian(samples, 0.3)
    assert not plausible_gaussian(1.03 * samples, 0.3)
    assert not plausible_gaussian(0.97 * samples, 0.3)


@over_sources
def test_laplace_noise_has_its_size_and_rejects_three_per_cent(source):
    samples = draws(laplace(2.5), source, 20, DRAWS // 20)
    assert plausible_laplace(samples, 2.5)
    assert not plausible_laplace(1.03 * samples, 2.5)
    assert not plausible_laplace(0.97 * samples, 2.5)


@over_sources
@pytest.mark.parametrize(("dimension", "rows"), [(2, 110_000), (7, 32_000)])
def test_l2_laplace_noise_has_its_size_and_rejects_three_per_cent(source, dimension, rows):
    samples = draws(l2_laplace(0.7), source, rows, dimension)
    assert plausible_l2_laplace(samples, 0.7)
    assert not plausible_l2_laplace(1.03 * samples, 0.7)
    assert not plausible_l2_laplace(0.97 * samples, 0.7)


def test_the_shape_tests_tell_the_kinds_apart():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(30_000, 5))
    length = rng.gamma(5.0, size=(30_000, 1))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert plausible_l2_laplace(unit * length, 1.0)
    # Same sizes, wrong shapes.
    assert not plausible_gaussian(rng.laplace(size=DRAWS) / math.sqrt(2.0), 1.0)
    assert not plausible_laplace(rng.normal(size=DRAWS) * math.sqrt(math.pi / 2.0), 1.0)
    assert not plausible_l2_laplace(rng.laplace(size=(30_000, 5)), 1.0)
    # A direction that favours the corners of the cube, and one that is never negative.
    cube = rng.uniform(-1.0, 1.0, size=(30_000, 5))
    assert not plausible_l2_laplace(cube / np.linalg.norm(cube, axis=1, keepdims=True) * length, 1.0)
    assert not plausible_l2_laplace(np.abs(unit) * length, 1.0)
    # A length that belongs to one coordinate less.
    assert not plausible_l2_laplace(unit * rng.gamma(4.0, size=(30_000, 1)) * 5.0 / 4.0, 1.0)


@over_sources
@pytest.mark.parametrize("make", [gaussian, laplace, l2_laplace])
def test_coordinates_and_releases_are_independent(source, make):
    samples = draws(make(1.0), source, 30_000, 3)
    assert uncorrelated(samples)
    if make is not l2_laplace:
        # Sizes too; those of the l2 mechanism share one length by design.
        assert uncorrelated(np.abs(samples))
    assert not uncorrelated(np.column_stack([samples, samples[:, 0]]))
    repeated = np.repeat(samples[:15_000], 2, axis=0)
    assert not uncorrelated(repeated)


def test_secure_tails_beyond_four_deviations():
    noise = SecureNoise()
    beyond = beyond_five = 0
    total = 2_000_000
    for _ in range(4):
        samples = np.abs(noise.normal(total // 4))
        beyond += int(np.sum(samples > 4.0))
        beyond_five += int(np.sum(samples > 5.0))
    assert within(beyond, stats.binom(total, 2.0 * stats.norm.sf(4.0)))
    assert within(beyond_five, stats.binom(total, 2.0 * stats.norm.sf(5.0)))
    # The same test sees a tail that is cut at four deviations, and one that is 25 % too heavy in scale.
    assert not within(0, stats.binom(total, 2.0 * stats.norm.sf(4.0)))
    assert not within(round(total * 2.0 * stats.norm.sf(3.2)), stats.binom(total, 2.0 * stats.norm.sf(4.0)))


# --- what the size buys -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_the_l2_mechanism_is_purely_private(dimension):
    """``|log p(z - a) - log p(z - b)| <= ||a - b|| / scale``, for every z, and some z reaches it."""
    mechanism = stated_mechanism("l2-laplace", 0.4, "Lemma 3", scale=0.25)
    assert mechanism.pure == pytest.approx(1.6)
    rng = np.random.default_rng(2)
    shift = rng.normal(size=dimension)
    shift *= mechanism.l2_sensitivity / np.linalg.norm(shift)
    z = rng.normal(size=(2000, dimension)) * rng.gamma(2.0, size=(2000, 1))
    z[0] = -3.0 * shift
    ratio = np.abs(np.linalg.norm(z, axis=1) - np.linalg.norm(z - shift, axis=1)) / mechanism.scale
    assert ratio.max() <= mechanism.pure * (1.0 + 1e-12)
    assert ratio[0] == pytest.approx(mechanism.pure, rel=1e-12)


@pytest.mark.parametrize("make", ["laplace", "l2-laplace"])
def test_the_worst_event_has_the_priced_ratio(make):
    """One coordinate, neighbours a sensitivity apart, the event beyond the farther one: the ratio is e^eps."""
    l1 = 0.4 if make == "laplace" else None
    mechanism = stated_mechanism(make, 0.4, "Lemma 3", scale=0.5, l1_sensitivity=l1)
    assert mechanism.pure == pytest.approx(0.8)
    samples = draws(mechanism, "secure", 20, 10_000) if make == "laplace" else draws(mechanism, "secure", 100_000, 1)
    flat = samples.ravel()
    far, near = int(np.sum(flat > 0.4)), int(np.sum(flat > 0.0))
    # Given that it is above 0, it is above the sensitivity with probability e^-eps.
    assert within(far, stats.binom(near, math.exp(-mechanism.pure)))
    assert not within(far, stats.binom(near, math.exp(-mechanism.pure * 1.1)))
    assert not within(far, stats.binom(near, math.exp(-mechanism.pure / 1.1)))


@pytest.mark.parametrize("count", [1, 3, 500])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (5.0, 1e-9)])
def test_gaussian_calibration_spends_the_budget(epsilon, delta, count):
    mechanism = calibrated(Budget(epsilon, delta), Bound(0.02, "Lemma 2"), count=count)
    assert (mechanism.kind, mechanism.count, mechanism.lemma) == ("gaussian", count, "Lemma 2")
    spent = epsilon_of(math.sqrt(mechanism.gdp), delta)
    assert spent == pytest.approx(epsilon, rel=1e-9)
    assert mechanism.noise_multiplier == pytest.approx(mechanism.sigma / 0.02)


@pytest.mark.parametrize("count", [1, 4])
def test_pure_calibration_spends_the_budget(count):
    mechanism = calibrated(Budget(0.5, 0.0), Bound(0.02, "Lemma 3"), count=count)
    assert mechanism.kind == "l2-laplace"
    assert mechanism.pure == pytest.approx(0.5, rel=1e-14)
    assert mechanism.scale == pytest.approx(count * 0.04)


@pytest.mark.parametrize("dimension", [1, 3, 10])
def test_rms_is_the_root_mean_square(dimension):
    assert gaussian(0.3).rms(dimension) == 0.3
    # E z^2 of a Laplace is 2; E ||z||^2 / p of the l2 mechanism is the second moment of Gamma(p) over p.
    assert laplace(0.3).rms(dimension) == pytest.approx(0.3 * math.sqrt(stats.laplace().moment(2)))
    second = stats.gamma(dimension).moment(2) / dimension
    assert l2_laplace(0.3).rms(dimension) == pytest.approx(0.3 * math.sqrt(second))
    coordinate_wise = laplace(0.3 * math.sqrt(dimension)).rms(dimension)
    assert coordinate_wise / l2_laplace(0.3).rms(dimension) == pytest.approx(
        math.sqrt(2.0 * dimension / (dimension + 1.0))
    )


GOOD = {"kind": "gaussian", "l2_sensitivity": 0.1, "lemma": "Lemma 2", "sigma": 0.5}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "uniform"},
        {"kind": "sampled-gaussian"},
        {"sigma": 0.0},
        {"sigma": -1.0},
        {"sigma": math.nan},
        {"sigma": math.inf},
        {"sigma": None},
        {"sigma": "1"},
        {"sigma": True},
        {"scale": 1.0},
        {"l1_sensitivity": 1.0},
        {"l2_sensitivity": 0.0},
        {"l2_sensitivity": -0.1},
        {"l2_sensitivity": math.nan},
        {"l2_sensitivity": math.inf},
        {"count": 0},
        {"count": -1},
        {"count": 1.5},
        {"count": True},
        {"sampling": {"scheme": "without-replacement", "population": 9, "sample": 2}},
        {"kind": "laplace"},
        {"kind": "laplace", "sigma": None, "scale": 1.0},
        {"kind": "laplace", "sigma": None, "scale": 1.0, "l1_sensitivity": math.nan},
        {"kind": "l2-laplace"},
        {"kind": "l2-laplace", "sigma": None, "scale": 0.0},
        {"kind": "l2-laplace", "sigma": None, "scale": 1.0, "l1_sensitivity": 1.0},
    ],
)
def test_mechanisms_without_a_stated_price_are_refused(change):
    stated_mechanism(**GOOD)
    with pytest.raises(PrivacyError):
        stated_mechanism(**{**GOOD, **change})
