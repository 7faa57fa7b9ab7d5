"""Laplace noise that is drawn exactly: its law, undecided draws, its price, and the attack on bits that it stops."""

import math

import numpy as np
import pytest
from adversary import perturbed
from bit_attack import FloatNoise, accusations, two_tables
from noise_laws import LEAST_P, FewBits, laplace_cdf, p_of_counts, p_of_low_bits, p_value, seeded_words
from scipy.stats import laplace as standard_laplace

import entrenous as en
from entrenous.privacy import noise as noise_module
from entrenous.privacy.exact_laplace import one_rounded_laplace, rounded_laplaces
from entrenous.privacy.exact_laplace_kernel import fill_rounded_laplaces
from entrenous.privacy.exact_uniforms import Digits
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.laplace import L2Laplace, Laplace
from entrenous.privacy.noise import SecureNoise, SeededNoise, grid_of

LAST = 2**64 - 1
ATTACKS = 4000
"""Releases of each table, from secure noise: enough that chance does not decide."""


@pytest.mark.parametrize(("scale", "edges"), [(1, range(-8, 10)), (3, range(-25, 27)), (100, range(-700, 701, 2))])
def test_the_law_is_that_of_a_rounded_laplace(scale, edges):
    assert p_value(rounded_laplaces(scale, 1_000_000, seeded_words(scale)), laplace_cdf, scale, edges) > LEAST_P


def test_a_scale_that_is_one_per_cent_off_is_caught():
    draws = rounded_laplaces(101, 1_000_000, seeded_words(0))
    assert p_value(draws, laplace_cdf, 101, range(-500, 501, 100)) > LEAST_P
    assert p_value(draws, laplace_cdf, 100, range(-500, 501, 100)) < LEAST_P


def test_at_full_scale_it_is_laplace_down_to_the_last_digits():
    draws = rounded_laplaces(2**30, 400_000, seeded_words(1))
    places = np.floor(standard_laplace.cdf(draws / 2.0**30) * 64).astype(int)
    assert p_of_counts(np.bincount(places, minlength=64), np.full(64, 6250.0)) > LEAST_P
    assert p_of_low_bits(draws) > LEAST_P


@pytest.mark.parametrize("scale", [1, 3, 1000, 2**30, 2**31 - 1])
def test_the_compiled_walk_is_the_one_with_as_many_digits_as_it_takes(scale):
    words = seeded_words(2)(10_000)
    values = np.empty(500, dtype=np.int64)
    assert fill_rounded_laplaces(words, scale, values)[0] == 500
    digits = Digits(words, seeded_words(3))
    assert [one_rounded_laplace(scale, digits) for _ in range(500)] == values.tolist()


def test_undecided_draws_have_the_same_law():
    digits = FewBits(4)
    draws = np.array([one_rounded_laplace(5, digits, width=2) for _ in range(60_000)])
    assert p_value(draws, laplace_cdf, 5, range(-30, 31)) > LEAST_P


def drawn(words, scale, further):
    later = iter(further)
    return one_rounded_laplace(
        scale, Digits(np.array(words, dtype=np.uint64), lambda size: np.array([next(later)], dtype=np.uint64))
    )


def undecided(words, scale):
    values = np.empty(1, dtype=np.int64)
    found = fill_rounded_laplaces(np.array([*words, 7, 7, 7], dtype=np.uint64), scale, values)
    return found == (0, 0, True)


def test_every_uniform_that_is_not_kept_adds_one():
    # A half, and a rise at once: kept. The last word is the sign.
    assert drawn([2**63, LAST, 0], 10, []) == 5
    # A half, one fall, a rise: an odd number, not kept. Then a quarter.
    assert drawn([2**63, 2**62, LAST, 2**62, LAST, 0], 100, []) == 125
    # Two falls are kept.
    assert drawn([2**63, 2**62, 2**61, LAST, 1], 10, []) == -5


def test_a_rounding_that_hangs_on_further_digits_waits_for_them():
    x = (2**63 - 2) // 3  # 3 x is below one half by less than the digits show
    assert undecided([x, LAST, 0], 3)
    assert drawn([x, LAST, 0], 3, [0, 0]) == 0
    assert drawn([x, LAST, 0], 3, [LAST]) == 1
    assert drawn([x, LAST, 1], 3, [LAST]) == -1


def test_uniforms_that_agree_in_a_whole_word_are_told_apart_by_the_next():
    x = 2**62
    assert undecided([x, x, 0], 10)
    # The second uniform turns out larger: kept, and x is a quarter and a little.
    assert drawn([x, x, 0], 10, [2, 1]) == 3
    # It turns out smaller, and the next rises: an odd number, so 1 is added and the next x counts.
    assert drawn([x, x, LAST, x, LAST, 0], 10, [1, 2, 0]) == 13


def test_draws_that_stop_at_the_end_of_the_words_go_on_with_new_ones(monkeypatch):
    words, asked = seeded_words(5)(100_000), [0]

    def source(size):
        begin, asked[0] = asked[0], asked[0] + size
        return words[begin : begin + size]

    values = np.empty(10_000, dtype=np.int64)
    assert fill_rounded_laplaces(words, 1000, values)[0] == 10_000
    monkeypatch.setattr("entrenous.privacy.exact_laplace._WORDS_PER_DRAW", 1)
    np.testing.assert_array_equal(rounded_laplaces(1000, 10_000, source), values)


def test_scales_beyond_a_half_word_are_drawn_too():
    draws = np.abs(rounded_laplaces(2**40, 3000, seeded_words(6)) / 2.0**40)
    assert draws.mean() == pytest.approx(1.0, abs=5.0 / math.sqrt(3000))


# --- releases ---------------------------------------------------------------------------------------------------------


def laplace(scale=0.3, l1=0.1, **more):
    return Laplace(Bound(l1, "Lemma 11", l1), scale, **more)


@pytest.mark.parametrize("scale", [1e-12, 0.3, 1.0, 7e9])
def test_a_release_lies_on_the_grid_and_has_the_noise_that_is_stated(scale):
    mechanism = laplace(scale, scale / 3.0)
    value = np.full(20_000, 5.0 * scale)
    released = mechanism.release(value, SecureNoise())
    steps = released / mechanism.grid
    assert (steps == np.rint(steps)).all()
    assert math.log2(mechanism.grid).is_integer()
    assert 2.0**29 <= scale / mechanism.grid < 2.0**30
    # Two millionths of the length are for rounding 20,000 coordinates.
    assert np.abs(released - value).mean() == pytest.approx(scale, rel=0.05)
    assert abs((released - value).mean()) < 6.0 * math.sqrt(2.0) * scale / math.sqrt(len(value))


@pytest.mark.parametrize("error", [0.0, 1e-4])
def test_rounding_and_errors_are_paid_for(monkeypatch, error):
    """The noise is longer by what rounding can move two values apart in l1, p grid, and by twice the error."""
    asked = []
    monkeypatch.setattr(
        noise_module,
        "rounded_laplaces",
        lambda scale, size, words: asked.append(scale) or rounded_laplaces(scale, size, words),
    )
    grid = grid_of(1.0)
    for p in (1, 100, 10_000):
        SecureNoise().plus_laplace(np.zeros(p), 1.0, 1e-3, error)
        needed = 1.0 + (p * grid + 2.0 * error) / 1e-3
        assert needed <= asked[-1] * grid <= needed + 1e-8
    mechanism = laplace(1.0, 1e-3)
    mechanism.release(np.zeros(100), SecureNoise())
    assert asked[-1] * grid == pytest.approx(1.0 + 100 * grid / 1e-3, rel=1e-8)


@pytest.mark.parametrize("l1", [2.0, 0.7])
def test_no_step_of_the_grid_is_likelier_than_the_price_allows(monkeypatch, l1):
    """The worst ratio of two tables, whole numbers and their exact probabilities: it is within epsilon."""
    scales = []
    monkeypatch.setattr(
        noise_module,
        "rounded_laplaces",
        lambda scale, size, words: scales.append(scale) or rounded_laplaces(scale, size, words),
    )
    monkeypatch.setattr(noise_module, "_FINER", 5)  # a coarse grid, where rounding weighs something
    mechanism = laplace(1.3, l1)
    grid = mechanism.grid
    mechanism.release(np.zeros(1), SecureNoise())
    far = math.ceil(l1 / grid)  # what rounding makes of l1 at worst
    cells = np.arange(-200, 201)

    def chance(k, scale):
        upper, lower = np.abs(k) + 0.5, np.abs(k) - 0.5
        tail = 0.5 * (np.exp(-lower / scale) - np.exp(-upper / scale))
        return np.where(k == 0, 1.0 - np.exp(-0.5 / scale), tail)

    def worst(scale):
        return float(np.log(chance(cells, scale) / chance(cells - far, scale)).max())

    assert worst(scales[-1]) <= mechanism.pure
    # Noise that is not longer would not do.
    assert far * grid == l1 or worst(mechanism.scale / grid) > mechanism.pure


def test_what_is_no_number_or_too_large_is_cut_and_shapes_are_kept():
    released = laplace().release(np.array([[1e300, -1e300], [np.nan, 1.0]]), SecureNoise())
    assert released.shape == (2, 2)
    assert np.isfinite(released).all()
    np.testing.assert_allclose(released[0], 2.0**60 * grid_of(0.3) * np.array([1.0, -1.0]), rtol=1e-6)
    assert np.abs(released[1]).max() < 20.0


def test_noise_for_a_compiled_loop_is_not_called_exact():
    with pytest.raises(en.PrivacyError, match="floating point"):
        laplace().noise_of_steps(SecureNoise(), 3, 2)
    assert laplace(noise="float").noise_of_steps(SecureNoise(), 3, 2).shape == (3, 2)


def test_seeded_noise_stays_repeatable_and_off_the_grid():
    value = np.arange(5.0)
    one, again = (laplace().release(value, SeededNoise(np.random.default_rng(0))) for _ in range(2))
    np.testing.assert_array_equal(one, again)
    assert (one / grid_of(0.3) != np.rint(one / grid_of(0.3))).any()


def test_the_l2_mechanism_says_that_it_is_not_exact():
    mechanism = L2Laplace(Bound(0.1, "Lemma 3"), 0.3)
    assert (mechanism.noise, mechanism.grid) == ("float", None)
    with pytest.raises(en.PrivacyError, match="float or seeded"):
        L2Laplace(Bound(0.1, "Lemma 3"), 0.3, noise="grid-exact")


# --- the attack on bits -----------------------------------------------------------------------------------------------


def output(d):
    """What a paper's output perturbation releases of two tables that differ in one record, in a wide ball."""
    setting = {"ridge": 1e-4, "radius": 1e6, "surrogate": "logistic", "calibration": "paper"}
    plan = en.plan("dpgdsc", n=50, n_features=d, epsilon=1.0, delta=0.0, **setting)
    start = plan.problem.start()
    return plan.mechanisms[0], [perturbed(plan.phases[0], plan.problem, X, y, start) for X, y in two_tables(d)]


def counts():
    mechanism = Laplace(Bound(math.sqrt(2.0), "Lemma 11", 2.0), 8.0)
    return mechanism, [np.array([20.0, 0.0, 7.0]), np.array([19.0, 1.0, 7.0])]


@pytest.mark.parametrize("attacked", [lambda: output(1), lambda: output(5), counts], ids=["one", "five", "counts"])
def test_bits_gave_a_record_away_and_do_not_any_more(attacked):
    mechanism, values = attacked()
    assert mechanism.kind == "laplace"
    guilty, innocent = accusations(mechanism, values, FloatNoise(), ATTACKS)
    # Pure privacy never makes an attacker certain. Of 20,000 releases 14 %, 36 % and 4 % did.
    assert innocent == 0.0
    assert guilty > 0.02
    guilty, innocent = accusations(mechanism, values, SecureNoise(), ATTACKS)
    assert abs(guilty - innocent) < 6.0 * math.sqrt(0.5 / ATTACKS)


# --- certificates -----------------------------------------------------------------------------------------------------


def test_a_certificate_states_the_grid_of_laplace_noise():
    bounds = en.PrivateBounds((-100, 100))
    certificate = en.plan("dpgdsc", n=500, n_features=2, epsilon=1.0, delta=0.0, ridge=0.1, bounds=bounds).certificate()
    search, descent = certificate.to_dict()["mechanisms"]
    assert (search["kind"], search["noise"], search["grid"]) == ("laplace", "grid-exact", grid_of(search["scale"]))
    assert (descent["kind"], descent["noise"], descent["grid"]) == ("l2-laplace", "float", None)
    assert "secure, in part in floating point" in str(certificate)
    assert en.PrivacyCertificate.from_json(certificate.to_json()).verify().outcome == "verified"
    content = certificate.to_dict()
    content["mechanisms"][0]["grid"] *= 2.0
    with pytest.raises(en.PrivacyError, match="grid"):
        en.PrivacyCertificate.from_dict(content).verify()
