"""Secret samples: dp-accounting's Renyi bound against its own theorem, exact curves, and what an observer could see."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from oracles import stated_mechanism
from scipy.special import logsumexp
from scipy.stats import norm

from entrenous.errors import PrivacyError
from entrenous.privacy import accounting
from entrenous.privacy.accounting import account_name, confirm, second_opinion, total_epsilon
from entrenous.privacy.budget import Budget
from entrenous.privacy.gaussian_dp import delta_of, epsilon_of
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.mechanisms.mechanism import mechanism_from
from entrenous.privacy.mechanisms.sampling import Sampling
from entrenous.privacy.subsampling import one_release_epsilon, price, renyi_epsilon

SHARES_AND_NOISE = [(2 / 300, 1.3), (1 / 1000, 0.8), (0.1, 3.0), (0.5, 5.0), (2 / 3, 1.5)]


def sampling(population, sample):
    return Sampling("without-replacement", population, sample)


def sampled(multiplier, population, sample, count=1, sensitivity=0.4, scope="all"):
    return stated_mechanism(
        "sampled-gaussian",
        sensitivity,
        "Lemma 1",
        sigma=multiplier * sensitivity,
        count=count,
        sampling=sampling(population, sample),
        scope=scope,
    )


def renyi_of_one_release(multiplier, population, sample, order):
    accountant = RdpAccountant([order, order + 1], dp_accounting.NeighboringRelation.REPLACE_ONE)
    event = dp_accounting.GaussianDpEvent(multiplier)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(population, sample, event))
    return float(accountant._rdp[0])


def theorem_27(multiplier, share, order):
    """Wang, Balle, Kasiviswanathan 2019, in 300 digits; the inner mechanism is a replacement of unit size."""
    with localcontext() as context:
        context.prec = 300
        q, variance = Decimal(share), Decimal(multiplier) ** 2
        moment = [(Decimal(k * (k - 1)) / (2 * variance)).exp() for k in range(order + 2)]

        def chi(power):
            return sum((-1) ** (power - i) * math.comb(power, i) * moment[i] for i in range(power + 1))

        total = 1 + math.comb(order, 2) * q**2 * min(4 * (moment[2] - 1), 2 * moment[2])
        for j in range(3, order + 1):
            ternary = 4 * (chi(2 * (j // 2)) * chi(2 * -(-j // 2))).sqrt()
            total += math.comb(order, j) * q**j * min(ternary, 2 * moment[j])
        return float(total.ln()) / (order - 1)


@pytest.mark.parametrize("order", [2, 3, 4, 7, 12, 20, 32])
@pytest.mark.parametrize(
    ("population", "sample", "multiplier"), [(300, 2, 1.3), (1000, 1, 0.8), (50, 5, 3.0), (30, 20, 10.0)]
)
def test_dp_accounting_prices_a_replacement_of_unit_size(population, sample, multiplier, order):
    """Its convention: the noise multiplier is sigma over the replace-one sensitivity, nothing is doubled."""
    theirs = renyi_of_one_release(multiplier, population, sample, order)
    assert theirs == pytest.approx(theorem_27(multiplier, sample / population, order), rel=1e-6)
    assert theirs < theorem_27(multiplier / 2, sample / population, order)


@pytest.mark.parametrize("order", [48, 64])
def test_rounding_makes_dp_accountings_bound_larger_never_smaller(order):
    theirs, exact = renyi_of_one_release(10.46, 3, 2, order), theorem_27(10.46, 2 / 3, order)
    assert theirs > exact * (1.0 + 1e-3)
    for share, multiplier in SHARES_AND_NOISE:
        population = 3000
        theirs = renyi_of_one_release(multiplier, population, round(share * population), order)
        assert theirs >= theorem_27(multiplier, round(share * population) / population, order) * (1.0 - 1e-6)


def arrangements(mu):
    """Where a release may be centred without the record, with it, and with its replacement: mu apart at most."""
    return itertools.product(np.linspace(0.0, mu, 5), repeat=3)


def mixtures(share, untouched, before, after, grid):
    """Log densities of a release for two adjacent data sets: the sample holds the record with probability `share`."""
    rest = math.log1p(-share) + norm.logpdf(grid, untouched)
    return [np.logaddexp(rest, math.log(share) + norm.logpdf(grid, centre)) for centre in (before, after)]


def hockey_stick(epsilon, log_p, log_q, width):
    return float(np.sum(np.maximum(0.0, np.exp(log_p) - np.exp(epsilon + log_q))) * width)


@pytest.mark.parametrize(("share", "multiplier"), SHARES_AND_NOISE)
def test_one_release_is_the_worst_arrangement_of_three_centres(share, multiplier):
    """Without the record, with it, with its replacement: the exact curve holds for all of them and one attains it."""
    mu = 1.0 / multiplier
    grid = np.linspace(-12.0, 12.0 + mu, 60_001)
    width = grid[1] - grid[0]
    for delta in (1e-3 * share, 0.05 * share):
        epsilon = one_release_epsilon(multiplier, share, delta)
        assert epsilon > 0.0
        found = [hockey_stick(epsilon, *mixtures(share, *centres, grid), width) for centres in arrangements(mu)]
        assert max(found) == pytest.approx(delta, rel=1e-3)


@pytest.mark.parametrize("order", [2, 5, 16])
@pytest.mark.parametrize(("share", "multiplier"), SHARES_AND_NOISE)
def test_the_renyi_bound_holds_for_every_arrangement(share, multiplier, order):
    population = 3000
    share = round(share * population) / population
    bound = renyi_of_one_release(multiplier, population, round(share * population), order)
    mu = 1.0 / multiplier
    grid = np.linspace(-15.0 - order * mu, 15.0 + (order + 1) * mu, 40_001)
    largest = 0.0
    for centres in arrangements(mu):
        log_p, log_q = mixtures(share, *centres, grid)
        moment = logsumexp(order * log_p - (order - 1) * log_q) + math.log(grid[1] - grid[0])
        largest = max(largest, moment / (order - 1))
    assert largest <= bound * (1.0 + 1e-9)
    # It is a bound of the right size; that of half the noise would not hold.
    assert largest > renyi_of_one_release(2.5 * multiplier, population, round(share * population), order)


@pytest.mark.parametrize(("share", "multiplier"), SHARES_AND_NOISE)
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-4])
def test_one_release_against_the_bound_for_one(share, multiplier, delta):
    population = 3000
    mechanism = sampled(multiplier, population, round(share * population))
    exact = one_release_epsilon(multiplier, round(share * population) / population, delta)
    assert exact <= renyi_epsilon([mechanism], delta)
    assert exact <= epsilon_of(1.0 / multiplier, delta)
    confirm(renyi_epsilon([mechanism], delta), [mechanism], delta)


def test_one_release_has_the_curve_of_its_definition():
    share, multiplier = 0.02, 1.1
    for epsilon in (0.3, 2.0, 6.0):
        after = math.log1p(share * math.expm1(epsilon))
        assert one_release_epsilon(multiplier, share, share * delta_of(epsilon, 1 / multiplier)) == pytest.approx(after)
    assert one_release_epsilon(multiplier, share, share) == 0.0
    assert one_release_epsilon(multiplier, 1.0, 1e-5) == epsilon_of(1 / multiplier, 1e-5)
    # e^eps overflows, its logarithm does not.
    assert one_release_epsilon(0.02, share, 1e-6) == pytest.approx(epsilon_of(50.0, 1e-6 / share) + math.log(share))


def composed_epsilon(multiplier, share, count, delta, *, reverse, bins=1 << 16, reach=40.0):
    """Epsilon of `count` releases of the attaining arrangement, by convolving binned losses, rounded DOWN.

    One record's presence shifts the sample's mean: (1-q) N(0,1) + q N(mu,1) against N(0,1). Rounding down makes it a
    lower bound of the true epsilon.
    """
    mu = 1.0 / multiplier
    width = 2.0 * reach / bins
    grid = np.linspace(-14.0, 14.0 + mu, 400_001)
    log_q = norm.logpdf(grid)
    log_p = np.logaddexp(math.log1p(-share) + log_q, math.log(share) + norm.logpdf(grid, mu))
    if reverse:
        log_p, log_q = log_q, log_p
    mass = np.exp(log_p) * (grid[1] - grid[0])
    index = np.floor((log_p - log_q) / width).astype(int) + bins // 2
    pmf = np.bincount(np.clip(index, 0, bins - 1), weights=mass, minlength=bins)
    # The offset bins/2 comes back `count` times; rolled away before the transform, wrapping never reaches the middle.
    spectrum = np.fft.rfft(np.roll(pmf, -(bins // 2))) ** count
    total = np.roll(np.fft.irfft(spectrum, bins), bins // 2)
    losses = (np.arange(bins) - bins // 2) * width

    def delta_at(epsilon):
        above = losses > epsilon
        return float(np.sum(total[above] * -np.expm1(epsilon - losses[above])))

    low, high = 0.0, reach
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
    return low


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("multiplier", "population", "sample", "count"), [(1.2, 100, 2, 5), (1.0, 300, 2, 20), (3.0, 20, 5, 10)]
)
def test_the_bound_holds_for_composed_releases_and_is_not_far(multiplier, population, sample, count, reverse):
    delta = 1e-5
    bound = total_epsilon([sampled(multiplier, population, sample, count)], delta)
    reached = composed_epsilon(multiplier, sample / population, count, delta, reverse=reverse)
    assert reached <= bound
    if not reverse:
        assert bound < 3.5 * reached
        # The true epsilon of half the noise is above what the full noise is priced at: a halved constant is no bound.
        assert composed_epsilon(multiplier / 2, sample / population, count, delta, reverse=False) > bound


def test_composition_of_the_check_itself():
    """With every record in the sample the convolution is the exact Gaussian curve."""
    found = composed_epsilon(4.0, 1.0 - 1e-12, 9, 1e-5, reverse=False)
    assert found == pytest.approx(epsilon_of(0.75, 1e-5), abs=0.02)


def test_one_release_against_monte_carlo():
    """The hockey stick of one release, estimated from draws of the release itself."""
    rng = np.random.default_rng(0)
    share, multiplier, delta = 0.3, 1.0, 0.02
    mu = 1.0 / multiplier
    epsilon = one_release_epsilon(multiplier, share, delta)
    size = 2_000_000
    draws = rng.normal(size=size) + mu * (rng.random(size) < share)
    ratio = np.log1p(share * np.expm1(mu * draws - mu**2 / 2.0))
    estimate = np.maximum(0.0, -np.expm1(epsilon - ratio)).mean()
    assert estimate == pytest.approx(delta, rel=0.02)


@pytest.mark.parametrize(
    ("budget", "population", "sample", "count"),
    [
        (Budget(0.1, 1e-6), 500, 2, 500),
        (Budget(1.0, 1e-5), 500, 1, 100),
        (Budget(8.0, 1e-9), 1000, 100, 20),
        (Budget(1.0, 1e-6), 3, 2, 5),
    ],
)
def test_calibration_spends_the_budget_and_a_second_opinion_catches_less_noise(budget, population, sample, count):
    mechanism = calibrated(budget, Bound(0.7, "Lemma 1"), count=count, sampling=sampling(population, sample))
    spent = total_epsilon([mechanism], budget.delta)
    assert spent <= budget.epsilon
    assert spent == pytest.approx(budget.epsilon, rel=1e-6 if sample < population / 2 else 1e-2)
    assert second_opinion([mechanism], budget.delta) == spent
    confirm(budget.epsilon, [mechanism], budget.delta)
    for factor in (0.97, 0.5):
        with pytest.raises(PrivacyError, match="accountant must confirm"):
            confirm(budget.epsilon, [replace(mechanism, sigma=factor * mechanism.sigma)], budget.delta)
    with pytest.raises(PrivacyError, match="accountant must confirm"):
        confirm(budget.epsilon, [replace(mechanism, count=2 * count)], budget.delta)


def test_sampling_pays_and_never_costs():
    budget = Budget(1.0, 1e-6)
    plain = calibrated(budget, Bound(0.7, "Lemma 1"), count=500)
    assert calibrated(budget, Bound(0.7, "Lemma 1"), count=500, sampling=sampling(500, 2)).sigma < plain.sigma / 30
    everything = calibrated(budget, Bound(0.7, "Lemma 1"), count=500, sampling=sampling(500, 500))
    assert everything.sigma == pytest.approx(plain.sigma, rel=1e-6)
    # No order reaches so small an epsilon; composition without the sampling does.
    assert price(1e5, 100, sampling(10_000, 1), 1e-8) == epsilon_of(10.0 / 1e5, 1e-8)


def test_a_bound_below_the_exact_curve_of_one_release_is_no_bound(monkeypatch):
    mechanism = sampled(1.0, 100, 2)
    exact = one_release_epsilon(1.0, 0.02, 1e-6)
    monkeypatch.setattr(accounting, "renyi_epsilon", lambda mechanisms, delta: 0.9 * exact)
    accounting._with_samples.cache_clear()
    try:
        with pytest.raises(PrivacyError, match="Renyi bound of one release"):
            confirm(10.0, [mechanism], 1e-6)
        assert second_opinion([mechanism], 1e-6) == exact
    finally:
        accounting._with_samples.cache_clear()


def test_samples_beside_other_mechanisms():
    one = sampled(2.0, 100, 2, count=50)
    gaussian = stated_mechanism("gaussian", 0.1, "Lemma 2", sigma=0.5)
    pure = stated_mechanism("l2-laplace", 0.1, "Lemma 3", scale=0.5)
    accountant = RdpAccountant(None, dp_accounting.NeighboringRelation.REPLACE_ONE)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(100, 2, dp_accounting.GaussianDpEvent(2.0)), 50)
    accountant.compose(dp_accounting.GaussianDpEvent(5.0))
    both = total_epsilon([one, gaussian], 1e-6)
    assert both == pytest.approx(accountant.get_epsilon(1e-6), rel=0.01)
    assert total_epsilon([one, pure], 1e-6) == pytest.approx(total_epsilon([one], 1e-6) + 0.2, rel=1e-12)
    phases = [replace(one, scope="disjoint phase 1"), replace(gaussian, scope="disjoint phase 2")]
    assert total_epsilon(phases, 1e-6) == max(total_epsilon([one], 1e-6), total_epsilon([gaussian], 1e-6))
    assert total_epsilon([one], 0.0) == math.inf
    assert "Renyi" in account_name([one])
    assert account_name([gaussian]) == "Gaussian DP, exact"


@pytest.mark.parametrize(
    "wrong",
    [
        {"scheme": "poisson", "population": 100, "sample": 2},
        {"scheme": "without-replacement", "population": 100, "sample": 0},
        {"scheme": "without-replacement", "population": 100, "sample": 101},
        {"scheme": "without-replacement", "population": 100.0, "sample": 2},
        {"scheme": "without-replacement", "population": 100, "sample": True},
        {"scheme": "without-replacement", "population": 100},
        {"scheme": "without-replacement", "population": 100, "sample": 2, "seed": 1},
        None,
    ],
)
def test_sampling_must_be_stated_in_full(wrong):
    with pytest.raises(PrivacyError):
        stated_mechanism("sampled-gaussian", 0.1, "Lemma 1", sigma=1.0, sampling=wrong)


def test_sampling_belongs_to_its_kind_and_survives_text():
    stated = {"scheme": "without-replacement", "population": 100, "sample": 2}
    for kind, noise in (("gaussian", "sigma"), ("l2-laplace", "scale")):
        with pytest.raises(PrivacyError):
            stated_mechanism(kind, 0.1, "Lemma 1", sampling=stated, **{noise: 1.0})
    mechanism = sampled(2.0, 100, 2)
    assert mechanism.to_dict()["sampling"] == stated
    assert mechanism_from(mechanism.to_dict()) == mechanism
    assert hash(mechanism_from(mechanism.to_dict())) == hash(mechanism)
