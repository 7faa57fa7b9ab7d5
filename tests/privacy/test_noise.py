"""Where randomness comes from: the operating system unless somebody asks for a repeatable run."""

import math
import os

import numpy as np
import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import ciphers
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from scipy.stats import norm

import entrenous as en
from entrenous.errors import InputError, PrivacyWarning
from entrenous.privacy.noise import NoiseSource, SecureNoise, SeededNoise, fresh_index_seed, noise_from, secret_words


class Spy:
    """Counts bytes taken from the operating system."""

    def __init__(self):
        self.taken = 0
        self.real = os.urandom

    def __call__(self, size):
        self.taken += size
        return self.real(size)


@pytest.fixture
def spy(monkeypatch):
    watcher = Spy()
    monkeypatch.setattr(os, "urandom", watcher)
    return watcher


@pytest.mark.parametrize(("draw", "values_per_draw"), [("normal", 1), ("exponential", 1), ("laplace", 2)])
def test_unseeded_draws_come_from_the_operating_system(spy, draw, values_per_draw):
    noise = noise_from(None)
    assert isinstance(noise, SecureNoise)
    assert not noise.seeded
    first = getattr(noise, draw)(50)
    assert spy.taken == 50 * 8 * values_per_draw
    second = getattr(noise, draw)(50)
    assert spy.taken == 2 * 50 * 8 * values_per_draw
    assert not np.isin(first, second).any()
    assert len(set(first.tolist())) == 50
    assert not np.isin(getattr(noise_from(None), draw)(50), first).any()


def test_seeded_draws_leave_the_operating_system_alone(spy):
    noise = noise_from(3)
    noise.normal(10), noise.exponential(10), noise.laplace(10)
    assert spy.taken == 0


def test_a_private_fit_draws_all_of_its_noise_from_the_operating_system(spy):
    X, y = np.random.default_rng(0).uniform(size=(40, 3)), np.arange(40) % 2
    plan = en.plan("noisy-gd", n=40, n_features=3, epsilon=1.0, bounds=(0, 1), max_iter=6)
    plan.run(X, y)  # compiles; naming a file of the compiler's cache takes random bytes too
    before = spy.taken
    first = plan.run(X, y)
    assert spy.taken - before >= 6 * 3 * 8
    assert not first.certificate.seeded
    assert (plan.run(X, y).w != first.w).all()
    before = spy.taken
    with pytest.warns(PrivacyWarning, match="seeded"):
        seeded = plan.run(X, y, random_state=0)
    assert spy.taken == before
    assert seeded.certificate.seeded


@pytest.mark.parametrize(
    "make",
    [
        lambda: 0,
        lambda: 12345678901234567890,
        lambda: np.int32(5),
        lambda: np.random.default_rng(5),
        lambda: np.random.RandomState(5),
    ],
)
@pytest.mark.parametrize("draw", ["normal", "exponential", "laplace", "integers"])
def test_seeded_draws_repeat(make, draw):
    first, second = noise_from(make()), noise_from(make())
    assert isinstance(first, SeededNoise)
    assert first.seeded
    arguments = ([2**40], 20) if draw == "integers" else (20,)
    once = getattr(first, draw)(*arguments)
    np.testing.assert_array_equal(once, getattr(second, draw)(*arguments))
    assert (getattr(first, draw)(*arguments) != once).all()


def test_different_seeds_differ_and_a_shared_generator_moves_on():
    assert (noise_from(0).normal(20) != noise_from(1).normal(20)).all()
    rng = np.random.default_rng(5)
    assert (noise_from(rng).normal(20) != noise_from(rng).normal(20)).all()
    state = np.random.RandomState(5)
    assert (noise_from(state).normal(20) != noise_from(state).normal(20)).all()


@pytest.mark.parametrize(
    "bad", [-1, 1.0, 1.5, "0", True, False, np.bool_(True), math.nan, [0], (1, 2), np.int64(-3), np.array(1), object]
)
def test_bad_random_states_are_refused(bad):
    with pytest.raises(InputError, match="random_state"):
        noise_from(bad)


def test_a_noise_source_is_abstract():
    with pytest.raises(TypeError):
        NoiseSource()


def bits(monkeypatch, *words):
    """Secure noise whose 64 random bits per value are given."""
    monkeypatch.setattr(os, "urandom", lambda size: np.array(words, dtype=np.uint64).tobytes())


def test_extreme_bits_give_finite_noise_with_deep_tails(monkeypatch):
    last = 2**64 - 1
    bits(monkeypatch, 0, 1, last - 1, last)
    values = SecureNoise().normal(4)
    assert np.isfinite(values).all()
    # The rarest value has probability 2^-65 on either side; the commonest is next to zero.
    deepest = norm.isf(2.0**-65)
    assert deepest > 9.0
    np.testing.assert_allclose(values, [-deepest, deepest, 0.0, 0.0], atol=1e-12)
    bits(monkeypatch, 0, last)
    np.testing.assert_allclose(SecureNoise().exponential(2), [65.0 * math.log(2.0), 0.0], atol=1e-12)


def test_bits_are_the_inverse_of_the_distribution(monkeypatch):
    """The tail probability is the upper 63 bits, the sign the lowest one."""
    words = [(int(p * 2**64) << 1 | sign) % 2**64 for p in (1e-15, 1e-6, 0.1, 0.4999) for sign in (0, 1)]
    bits(monkeypatch, *words)
    values = SecureNoise().normal(len(words))
    np.testing.assert_allclose(norm.sf(values[1::2]), [1e-15, 1e-6, 0.1, 0.4999], rtol=1e-4)
    np.testing.assert_array_equal(values[::2], -values[1::2])
    bits(monkeypatch, *(int(p * 2**64) for p in (1e-15, 0.5, 0.999)))
    np.testing.assert_allclose(np.exp(-SecureNoise().exponential(3)), [1e-15, 0.5, 0.999], rtol=1e-4)


def test_secret_integers_come_from_the_operating_system(spy):
    values = noise_from(None).integers([2**40], 50)
    assert spy.taken == 50 * 8
    assert values.dtype == np.int64
    assert len(set(values.ravel().tolist())) == 50


@pytest.mark.parametrize("source", [None, 0])
@pytest.mark.parametrize("high", [1, 2, 7, 1000])
def test_integers_are_uniform(source, high):
    counts = np.bincount(noise_from(source).integers([high], 200_000)[:, 0], minlength=high)
    assert len(counts) == high
    expected = 200_000 / high
    # Five deviations of a chi-square with high - 1 degrees of freedom.
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert statistic <= (high - 1) + 5.0 * math.sqrt(2.0 * max(high - 1, 1))


def test_the_incomplete_run_of_words_is_drawn_again(monkeypatch):
    """2^64 = 3 * k + 1: the last word would make 0 more likely than 1 and 2."""
    stream = iter([[0, 2**64 - 1, 2**64 - 2, 5], [2**64 - 1], [4]])
    monkeypatch.setattr(os, "urandom", lambda size: np.array(next(stream), dtype=np.uint64).tobytes())
    assert SecureNoise().integers([3, 3], 2).ravel().tolist() == [0, 1, 2, 2]
    assert next(stream, None) is None
    # For a power of two every word is welcome.
    monkeypatch.setattr(os, "urandom", lambda size: np.array([2**64 - 1], dtype=np.uint64).tobytes())
    assert SecureNoise().integers([8], 1).tolist() == [[7]]


def test_index_seeds_are_fresh_or_say_nothing_about_the_noise():
    assert len({fresh_index_seed() for _ in range(20)}) == 20
    generators = [np.random.default_rng(7), np.random.RandomState(7)]
    assert len({fresh_index_seed(state) for state in (0, 5, 6, *generators)}) == 1
    assert [fresh_index_seed(5, number) for number in range(3)] == [fresh_index_seed(6, number) for number in range(3)]
    assert len({fresh_index_seed(5, number) for number in range(20)}) == 20
    # No number is drawn for it: whoever saw one would know the generator's next.
    assert generators[0].integers(2**63) == np.random.default_rng(7).integers(2**63)


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_what_a_seeded_run_publishes_beside_its_release_is_the_same_for_all_seeds(classes):
    """By trying small seeds one found the noise's seed from the index seed in the certificate."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (60, 2)), rng.integers(0, len(classes), 60)
    ask = {"algorithm": "sgd-previous", "bounds": (-1, 1), "classes": classes}
    fits = [en.AUCClassifier(random_state=seed, **ask).fit(X, y) for seed in (3, 3, 4)]
    assert len({fit.certificate_.to_json() for fit in fits}) == 1
    assert [fit.plans_ for fit in fits] == [fits[0].plans_] * 3
    assert len({plan.index_seed for plan in fits[0].plans_}) == len(fits[0].plans_)
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert not np.allclose(fits[0].coef_, fits[2].coef_)
    other = en.AUCClassifier(random_state=3, options={"index_seed": 11}, **ask).fit(X, y)
    assert {plan.index_seed for plan in other.plans_} == {11}
    assert not np.allclose(fits[0].coef_, other.coef_)
    assert en.AUCClassifier(**ask).fit(X, y).plan_.index_seed != en.AUCClassifier(**ask).fit(X, y).plan_.index_seed


def test_large_draws_come_from_a_cipher_whose_key_is_the_operating_systems(monkeypatch):
    """The words are the key stream of ChaCha20 (RFC 8439) under a new key."""
    keys = [bytes(range(32)), bytes(32)]
    monkeypatch.setattr(os, "urandom", lambda size: {32: keys[0]}[size])
    words = secret_words(40_000)
    stream = Cipher(algorithms.ChaCha20(keys[0], nonce=bytes(16)), mode=None).encryptor()
    assert words.tobytes() == stream.update(bytes(8 * 40_000))
    monkeypatch.setattr(os, "urandom", lambda size: {32: keys[1]}[size])
    # The first words under the key of zeros, as RFC 8439 prints them (appendix A.1, first vector).
    assert secret_words(1000).tobytes()[:16].hex() == "76b8e0ada0f13d90405d6ae55386bd28"


@pytest.mark.parametrize("size", [255, 256, 40_000])
def test_a_draw_leaves_no_state_that_a_fork_could_share(size):
    """A parent and the child that it forks draw from the same object; sharing a stream would show as equal noise."""
    noise = noise_from(None)
    noise.normal(size)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, noise.normal(size)[:8].tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 64) != noise.normal(size)[:8].tobytes()


@pytest.mark.parametrize("size", [1, 255, 256, 16_384, 16_385, 100_000])
def test_every_value_of_a_large_draw_is_a_fresh_one(size):
    for values in (noise_from(None).normal(size), noise_from(None).exponential(size), secret_words(size)):
        assert len(values) == len(np.unique(values)) == size


@pytest.mark.parametrize("source", [None, 0])
def test_every_column_has_its_own_range(source):
    values = noise_from(source).integers([5, 2, 1], 4000)
    assert values.shape == (4000, 3)
    assert values.min(axis=0).tolist() == [0, 0, 0]
    assert values.max(axis=0).tolist() == [4, 1, 0]


def test_a_machine_without_the_cipher_takes_all_words_from_the_operating_system(monkeypatch, spy):
    """As where only approved ciphers are allowed; there the cipher itself raises this error."""

    def refused(*arguments, **keywords):
        raise UnsupportedAlgorithm("not on this machine")

    monkeypatch.setattr(ciphers, "Cipher", refused)
    values = noise_from(None).normal(5000)
    assert spy.taken >= 8 * 5000
    assert len(np.unique(values)) == 5000
