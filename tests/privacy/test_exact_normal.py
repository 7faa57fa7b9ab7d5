"""Normal noise that is drawn exactly: its law, its undecided draws, and the attack on bits that it stops."""

import math

import numpy as np
import pytest
from adversary import perturbed
from bit_attack import FloatNoise, accusations, two_tables
from noise_laws import LEAST_P, FewBits, normal_cdf, p_of_counts, p_of_low_bits, p_value, seeded_words
from scipy.stats import norm

import entrenous as en
from entrenous.privacy.exact_normal import one_rounded_normal, rounded_normals
from entrenous.privacy.exact_normal_kernel import fill_rounded_normals
from entrenous.privacy.exact_uniforms import Digits
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.mechanisms.mechanism import mechanism_from
from entrenous.privacy.noise import SecureNoise, grid_of

LAST = 2**64 - 1


@pytest.mark.parametrize(("scale", "edges"), [(1, range(-3, 5)), (3, range(-12, 13)), (100, range(-350, 351))])
def test_the_law_is_that_of_a_rounded_normal(scale, edges):
    assert p_value(rounded_normals(scale, 1_000_000, seeded_words(scale)), normal_cdf, scale, edges) > LEAST_P


def test_a_scale_that_is_one_per_cent_off_is_caught():
    draws = rounded_normals(101, 1_000_000, seeded_words(0))
    assert p_value(draws, normal_cdf, 101, range(-300, 301, 20)) > LEAST_P
    assert p_value(draws, normal_cdf, 100, range(-300, 301, 20)) < LEAST_P


def test_at_full_scale_it_is_normal_down_to_the_last_digits():
    draws = rounded_normals(2**30, 400_000, seeded_words(1))
    places = np.floor(norm.cdf(draws / 2.0**30) * 64).astype(int)
    assert p_of_counts(np.bincount(places, minlength=64), np.full(64, 6250.0)) > LEAST_P
    assert p_of_low_bits(draws) > LEAST_P


@pytest.mark.parametrize("scale", [1, 3, 1000, 2**30, 2**31 - 1])
def test_the_compiled_walk_is_the_one_with_as_many_digits_as_it_takes(scale):
    words = seeded_words(2)(20_000)
    values = np.empty(500, dtype=np.int64)
    assert fill_rounded_normals(words, scale, values)[0] == 500
    digits = Digits(words, seeded_words(3))
    assert [one_rounded_normal(scale, digits) for _ in range(500)] == values.tolist()


def test_undecided_draws_have_the_same_law():
    digits = FewBits(4)
    draws = np.array([one_rounded_normal(5, digits, width=2) for _ in range(60_000)])
    assert p_value(draws, normal_cdf, 5, range(-15, 16)) > LEAST_P


ACCEPTED = [1, 5]
"""A first uniform below 1/2 and a second above it: k = 0."""


def drawn(words, scale, further):
    given, later = np.array(words, dtype=np.uint64), iter(further)

    def source(size):
        # What the driver asks for at the start are the words above, then what one draw needs.
        return np.array([next(later)], dtype=np.uint64)

    return one_rounded_normal(scale, Digits(given, source))


def test_a_rounding_that_hangs_on_further_digits_waits_for_them():
    x = (2**63 - 2) // 3  # 3 x is below one half by less than the digits show
    words = [*ACCEPTED, x, LAST, 0]
    values = np.empty(1, dtype=np.int64)
    assert fill_rounded_normals(np.array([*words, 7, 7, 7], dtype=np.uint64), 3, values) == (0, 0, True)
    assert drawn(words, 3, [0, 0]) == 0
    assert drawn(words, 3, [LAST]) == 1
    assert drawn([*words[:-1], 1], 3, [LAST]) == -1


def test_uniforms_that_agree_in_a_whole_word_are_told_apart_by_the_next():
    x = 2**62
    values = np.empty(1, dtype=np.int64)
    larger = [*ACCEPTED, x, x, 0]
    assert fill_rounded_normals(np.array([*larger, 7, 7, 7], dtype=np.uint64), 5, values) == (0, 0, True)
    # The second uniform turns out larger: accepted at once, and x is a quarter and a little.
    assert drawn(larger, 5, [2, 1]) == 1
    # It turns out smaller, coin and third uniform let the fall count, the next rises: an odd number, so try again.
    smaller = [*ACCEPTED, x, x, 1, 0, LAST, *ACCEPTED, 3 * 2**62, LAST, 0]
    assert drawn(smaller, 5, [1, 2]) == 4


def test_draws_that_stop_at_the_end_of_the_words_go_on_with_new_ones(monkeypatch):
    words, asked = seeded_words(5)(400_000), [0]

    def source(size):
        begin, asked[0] = asked[0], asked[0] + size
        return words[begin : begin + size]

    values = np.empty(10_000, dtype=np.int64)
    assert fill_rounded_normals(words, 1000, values)[0] == 10_000
    monkeypatch.setattr("entrenous.privacy.exact_normal._WORDS_PER_DRAW", 1)
    np.testing.assert_array_equal(rounded_normals(1000, 10_000, source), values)


def test_scales_beyond_a_half_word_are_drawn_too():
    draws = rounded_normals(2**40, 3000, seeded_words(6)) / 2.0**40
    assert abs(draws.mean()) < 5.0 / math.sqrt(3000)
    assert draws.std() == pytest.approx(1.0, abs=0.1)


# --- releases ---------------------------------------------------------------------------------------------------------


def gaussian(sigma=0.3, sensitivity=0.1):
    return Gaussian(Bound(sensitivity, "Lemma 8"), sigma)


@pytest.mark.parametrize("sigma", [1e-12, 0.3, 1.0, 7e9])
def test_a_release_lies_on_the_grid_and_has_the_noise_that_is_stated(sigma):
    mechanism = gaussian(sigma, sigma / 3.0)
    value = np.full(20_000, 5.0 * sigma)
    released = mechanism.release(value, SecureNoise())
    steps = released / mechanism.grid
    assert (steps == np.rint(steps)).all()
    assert math.log2(mechanism.grid).is_integer()
    assert 2.0**29 <= sigma / mechanism.grid < 2.0**30
    assert (released - value).std() == pytest.approx(sigma, rel=0.04)
    assert abs((released - value).mean()) < 5.0 * sigma / math.sqrt(len(value))


def test_rounding_is_paid_for():
    """The noise is longer by what rounding can move two values apart: sqrt(p) grid, beside the sensitivity."""
    asked = []

    class Spy(SecureNoise):
        pass

    import entrenous.privacy.noise as module

    real = module.rounded_normals
    try:
        module.rounded_normals = lambda scale, size, words: asked.append(scale) or real(scale, size, words)
        for p in (1, 100, 10_000):
            mechanism = gaussian(1.0, 1e-3)
            mechanism.release(np.zeros(p), Spy())
            ratio = asked[-1] * mechanism.grid / mechanism.sigma
            needed = 1.0 + math.sqrt(p) * mechanism.grid / 1e-3
            assert needed <= ratio <= needed + 1e-8
    finally:
        module.rounded_normals = real


def test_what_is_no_number_leaves_as_noise_alone():
    released = gaussian(1.0).release(np.array([np.nan, 0.0]), SecureNoise())
    assert np.abs(released).max() < 20.0


def test_noise_for_a_compiled_loop_is_not_called_exact():
    with pytest.raises(en.PrivacyError, match="floating point"):
        gaussian().noise_of_steps(SecureNoise(), 3, 2)
    plain = Gaussian(Bound(0.1, "Lemma 8"), 0.3, noise="float")
    assert plain.noise_of_steps(SecureNoise(), 3, 2).shape == (3, 2)


def test_enormous_values_are_cut_and_shapes_kept():
    released = gaussian().release(np.array([[1e300, -1e300], [0.0, 1.0]]), SecureNoise())
    assert released.shape == (2, 2)
    assert np.isfinite(released).all()
    np.testing.assert_allclose(released[0], 2.0**60 * grid_of(0.3) * np.array([1.0, -1.0]), rtol=1e-6)


# --- the attack on bits -----------------------------------------------------------------------------------------------


def output(d):
    """What output perturbation releases of two tables that differ in one record, in a wide ball."""
    setting = {"ridge": 1e-4, "radius": 1e6, "surrogate": "logistic"}
    plan = en.plan("dpgdsc", n=50, n_features=d, epsilon=1.0, delta=1e-6, **setting)
    start = plan.problem.start()
    return plan.mechanisms[0], [perturbed(plan.phases[0], plan.problem, X, y, start) for X, y in two_tables(d)]


def moments(d):
    plan = en.plan("moments", n=50, n_features=d, epsilon=1.0, delta=1e-6)
    return plan.mechanisms[0], [perturbed(plan.phases[0], plan.problem, X, y, None) for X, y in two_tables(d)]


def counts():
    return Gaussian(Bound(math.sqrt(2.0), "Lemma 11"), 8.0), [np.array([20.0, 0.0, 7.0]), np.array([19.0, 1.0, 7.0])]


ATTACKED = {f"{what.__name__} of {d}": lambda what=what, d=d: what(d) for what in (output, moments) for d in (1, 5)}


@pytest.mark.parametrize("name", [*ATTACKED, "counts"])
def test_bits_gave_a_record_away_and_do_not_any_more(name):
    mechanism, values = counts() if name == "counts" else ATTACKED[name]()
    guilty, innocent = accusations(mechanism, values, FloatNoise())
    # An honest mechanism makes an attacker certain with probability delta = 1e-6.
    assert innocent == 0.0
    assert guilty > 0.03
    guilty, innocent = accusations(mechanism, values, SecureNoise())
    assert abs(guilty - innocent) < 6.0 * math.sqrt(0.5 / 400)


# --- certificates -----------------------------------------------------------------------------------------------------


def fitted(**settings):
    rng = np.random.default_rng(0)
    return en.AUCClassifier(1.0, bounds=(0, 1), **settings).fit(rng.uniform(size=(100, 2)), np.arange(100) % 2)


def test_a_certificate_says_how_the_noise_was_drawn():
    certificate = fitted().certificate_
    stated = certificate.to_dict()["mechanisms"]
    assert {entry["noise"] for entry in stated} == {"grid-exact"}
    assert all(entry["grid"] == grid_of(entry["sigma"]) for entry in stated)
    again = en.PrivacyCertificate.from_json(certificate.to_json())
    assert again.to_dict() == certificate.to_dict()
    assert certificate.verify().outcome == "verified"
    assert "secure, drawn exactly on a grid" in str(certificate)
    with pytest.warns(en.PrivacyWarning):
        seeded = fitted(random_state=0).certificate_.to_dict()["mechanisms"]
    assert {(entry["noise"], entry["grid"]) for entry in seeded} == {("seeded", None)}
    pure = fitted(delta=0.0, ridge=0.1).certificate_
    assert "secure, in floating point" in str(pure)
    pure = pure.to_dict()["mechanisms"]
    assert {(entry["noise"], entry["grid"]) for entry in pure} == {("float", None)}
    steps = en.plan("dpsgd-pairwise", n=100, n_features=2, epsilon=1.0).certificate().to_dict()["mechanisms"]
    assert {entry["noise"] for entry in steps} == {"float"}


@pytest.mark.parametrize(
    "change",
    [{"grid": 1.0}, {"grid": None}, {"noise": "float"}, {"noise": "quantum"}, {"noise": None}, {"grid": -1.0}],
)
def test_a_false_statement_about_the_grid_is_refused(change):
    content = fitted().certificate_.to_dict()
    content["mechanisms"][0] |= change
    with pytest.raises(en.PrivacyError):
        en.PrivacyCertificate.from_dict(content).verify()


def test_older_certificates_do_not_say_it():
    entry = fitted().certificate_.to_dict()["mechanisms"][0]
    del entry["noise"], entry["grid"], entry["error"]
    old = mechanism_from(entry)
    assert old.noise is None
    assert old.to_dict() == entry
