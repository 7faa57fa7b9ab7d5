"""Certificates of several releases as one: not above the sum, not below the truth, and checked part by part."""

import copy
import math

import pytest

import entrenous as en
from entrenous.privacy.gaussian_dp import epsilon_of, mu_for

ASK = {"n": 500, "n_features": 3, "delta": 1e-6, "bounds": (0, 1), "index_seed": 3}


def certificate(name="moments", epsilon=1.0, **more):
    return en.plan(name, **{**ASK, "epsilon": epsilon, **more}).certificate()


def test_gaussians_add_their_squares():
    both = en.compose_certificates([certificate(), certificate("noisy-gd", 2.0)])
    expected = epsilon_of(math.hypot(mu_for(1.0, 1e-6), mu_for(2.0, 1e-6)), 1e-6)
    assert both.epsilon == pytest.approx(expected, rel=1e-9)
    assert 2.0 < both.epsilon < 3.0
    assert both.verify().epsilon == pytest.approx(both.epsilon)
    assert en.compose_certificates([certificate(), certificate()], delta=1e-3).epsilon < both.epsilon


def test_pure_ones_add():
    pure = {"delta": 0, "ridge": 0.1}
    both = en.compose_certificates([certificate("dpgdsc", 1.0, **pure), certificate("dpgdsc", 0.5, **pure)])
    assert (both.epsilon, both.delta) == (pytest.approx(1.5), 0.0)
    mixed = en.compose_certificates([certificate("dpgdsc", 1.0, **pure), certificate()])
    assert 1.0 < mixed.epsilon < 2.0 + 1e-3
    assert mixed.accountant["name"] == "privacy loss distribution"
    mixed.verify()


def test_phases_of_two_fits_are_not_disjoint_from_each_other():
    one = certificate("dp-localized-sgd")
    both = en.compose_certificates([one, certificate("dp-localized-sgd", index_seed=4)])
    expected = epsilon_of(math.sqrt(2.0) * mu_for(1.0, 1e-6), 1e-6)
    assert both.epsilon == pytest.approx(expected, rel=1e-6)
    assert {m.scope for m in both.mechanisms} == {"all"}
    both.verify()


def test_secret_samples_compose():
    one = certificate("dpsgd-pairwise", max_iter=50)
    both = en.compose_certificates([one, certificate()])
    assert 1.0 < both.epsilon <= 2.0
    both.verify()


def test_a_composition_can_be_stored_and_composed_again():
    both = en.compose_certificates([certificate(), certificate("noisy-gd")])
    again = en.PrivacyCertificate.from_json(both.to_json())
    assert again.to_dict() == both.to_dict()
    three = en.compose_certificates([again, certificate()])
    direct = en.compose_certificates([certificate(), certificate("noisy-gd"), certificate()])
    assert three.epsilon == pytest.approx(direct.epsilon, rel=1e-9)
    assert "part 1 (composition): part 2 (noisy-gd)" in str(three.verify())


def tampered(change):
    content = copy.deepcopy(en.compose_certificates([certificate(), certificate("noisy-gd")]).to_dict())
    change(content)
    return en.PrivacyCertificate.from_dict(content)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(epsilon=1.0),
        lambda c: c["mechanisms"].pop(),
        lambda c: c["public"]["parts"].pop(),
        lambda c: c["public"].pop("parts"),
        lambda c: c["public"]["parts"][0]["mechanisms"][0].update(sigma=1e-3),
        lambda c: c["public"]["parts"][0].update(seeded=True),
        lambda c: c["public"]["parts"][0].update(n=10**6),
        lambda c: c["public"].update(parts=[]),
        lambda c: c.update(algorithm="moments"),
    ],
)
def test_a_false_composition_is_refused(change):
    with pytest.raises(en.PrivacyError):
        tampered(change).verify()


@pytest.mark.parametrize("parts", [[], ["x", "y"], [None, None]])
def test_what_cannot_be_composed(parts):
    with pytest.raises(en.InputError, match="two certificates"):
        en.compose_certificates(parts)


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
def test_warnings_stay():
    printed = certificate("dpgdc2", 4.0, calibration="paper", task="metric", surrogate="hinge", classes=(0, 1))
    both = en.compose_certificates([printed, certificate()])
    assert both.warnings == printed.warnings
    assert both.calibration == "paper"


@pytest.mark.parametrize("delta", [1e-30, -0.1, 1.0, True, "small"])
def test_a_delta_that_the_noise_cannot_honour_is_refused(delta):
    one = certificate()
    with pytest.raises(en.InputError, match="delta"):
        en.compose_certificates([one, one], delta=delta)


def test_a_certificate_with_such_a_delta_is_refused():
    text = certificate().to_dict()
    with pytest.raises(en.PrivacyError, match="delta"):
        en.PrivacyCertificate.from_dict({**text, "delta": 1e-30})
