"""Certificates that verified once and are false, and files that would have kept a verifier busy for hours."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest

import entrenous as en
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.privacy.noise import grid_of

ASK = {"n": 5000, "n_features": 4, "epsilon": 1.0, "delta": 1e-7, "bounds": (0, 1), "index_seed": 0}


def certificate(algorithm="noisy-gd", **changes):
    return en.plan(algorithm, **ASK | changes).certificate()


def forged(honest, change):
    content = json.loads(honest.to_json())
    change(content)
    for mechanism in content["mechanisms"]:
        # A forger gets the grid right.
        size = mechanism.get("sigma") or mechanism.get("scale")
        if mechanism.get("noise") == "grid-exact" and isinstance(size, float):
            mechanism["grid"] = grid_of(size)
    return json.dumps(content)


def refused(honest, change, match="got"):
    text = forged(honest, change)
    before = time.perf_counter()
    with pytest.raises(en.PrivacyError, match=match):
        PrivacyCertificate.from_json(text).verify()
    return time.perf_counter() - before


# --- false, and verified once -----------------------------------------------------------------------------------------


def test_the_steps_cannot_be_left_out():
    """Without them one cheap release would stand for all the noisy steps."""

    def change(content):
        del content["public"]["steps"]
        content["mechanisms"][0]["sigma"] /= content["mechanisms"][0]["count"] ** 0.5
        content["mechanisms"][0]["count"] = 1

    refused(certificate(), change, "Lemma 2 needs its public numbers")
    refused(certificate("dpsgd-pairwise", max_iter=50), lambda content: content["public"].pop("steps"))


def test_a_sample_inside_a_phase_is_of_the_phases_records():
    honest = certificate("dpsgd-pairwise", max_iter=50)

    def change(content):
        mechanism = content["mechanisms"][0]
        content["public"]["phases"] = [{"records": 100, "steps": 50, "batch": None}]
        mechanism["scope"] = "disjoint phase 1"
        mechanism["sampling"]["population"] = 10**9
        mechanism["sigma"] /= 10.0

    refused(honest, change, "population must be <= 100")


@pytest.mark.parametrize("algorithm", ["noisy-gd", "dpgdsc", "moments", "dpgdc2", "kang-gp"])
def test_a_model_needs_a_release_that_makes_one(algorithm):
    """An intercept, a histogram or moments of another algorithm are no noisy gradient."""
    honest = certificate(algorithm, ridge=0.1)
    intercept = {"lemma": "Lemma 13", "l2_sensitivity": 2.0 / 5000, "sigma": 0.01}
    histogram = {"lemma": "Lemma 11", "l2_sensitivity": 8.0**0.5, "sigma": 100.0}
    tiny_moments = {"lemma": "Lemma 8", "l2_sensitivity": 1e-9, "sigma": 1e-8}
    for stated in (intercept, histogram, tiny_moments):

        def change(content, stated=stated):
            content["mechanisms"] = [{**content["mechanisms"][0], "count": 1, **stated}]
            content["public"] |= {"intercept": {"clip": 1.0}, "weights": [1e-9, 1e-9, 1e-9]}
            content["public"]["domain"] = {"low": [0.0] * 4, "high": [1.0] * 4}

        if algorithm != "moments" or stated is not tiny_moments:
            refused(honest, change, "list of releases")


def test_tiny_weights_are_said():
    """All three weights times a number is the same release in another unit: true, and worth a word."""
    honest = certificate("moments")

    def change(content):
        content["public"]["weights"] = [1e-9 * w for w in content["public"]["weights"]]
        for name in ("l2_sensitivity", "sigma"):
            content["mechanisms"][0][name] *= 1e-9

    found = PrivacyCertificate.from_json(forged(honest, change)).verify()
    assert found.outcome == "reservations"
    assert "unit of their own" in found.reservations[0]


def test_a_made_up_algorithm_does_not_verify_without_reservation():
    honest = certificate()
    found = PrivacyCertificate.from_json(forged(honest, lambda c: c.__setitem__("algorithm", "magic"))).verify()
    assert found.outcome == "reservations"
    assert any("magic" in said for said in found.reservations)

    def nothing_but_an_intercept(content):
        stated = {"lemma": "Lemma 13", "l2_sensitivity": 1.0, "sigma": 100.0, "count": 1}
        content["algorithm"], content["public"]["intercept"] = "magic", {"clip": 1.0}
        content["mechanisms"] = [{**content["mechanisms"][0], **stated}]

    refused(honest, nothing_but_an_intercept, "one that makes a model")


def test_algorithms_without_a_private_version_have_no_certificate():
    refused(certificate(), lambda content: content.__setitem__("algorithm", "oam"), "no private version")


def test_a_batch_is_what_the_sample_says():
    one = certificate("dpsgd-pairwise", max_iter=50)
    refused(one, lambda content: content["mechanisms"][0]["sampling"].__setitem__("sample", 500), "sample must be 2")
    many = certificate("dpsgd-pairwise", max_iter=50, options={"batch": 500})
    refused(many, lambda content: content["public"].__setitem__("batch", None), "sample must be 2")
    refused(many, lambda content: content["public"].pop("batch"), "needs its public numbers")


@pytest.mark.parametrize("lemma", ["Lemma 2 ", " Lemma 2", "lemma 2", "Lemma 02", "Lemma 99", "", "own"])
def test_only_known_lemmas_are_lemmas(lemma):
    refused(certificate(), lambda content: content["mechanisms"][0].__setitem__("lemma", lemma))


def test_convexity_is_asked_of_the_problem():
    refused(
        certificate("dpgdsc", ridge=0.1),
        lambda content: content["problem"].__setitem__("surrogate", "sigmoid"),
    )


# --- work is bounded before it is done --------------------------------------------------------------------------------


def set_count(value):
    return lambda content: content["mechanisms"][0].__setitem__("count", value)


def set_stream(**changes):
    return lambda content: content["public"]["stream"].update(changes)


@pytest.mark.parametrize(
    ("algorithm", "change"),
    [
        ("noisy-gd", set_count(10**15)),
        ("noisy-gd", set_count(10**400)),
        ("noisy-gd", lambda content: content["public"].__setitem__("steps", 10**400)),
        ("noisy-gd", lambda content: content.__setitem__("n", 10**400)),
        ("noisy-gd", lambda content: content.__setitem__("epsilon", 10**400)),
        ("dpgdsc", lambda content: content["public"].__setitem__("steps", 10**400)),
        ("sgd-previous", set_stream(steps=10**9)),
        ("sgd-previous", set_stream(steps=10**15)),
        ("sgd-previous", set_stream(steps=10**9, order="random-pairs")),
        ("sgd-previous", set_stream(buffer=10**9)),
        ("olp", set_stream(steps=10**9)),
        ("olp", set_stream(buffer=10**12)),
        ("sgd-all-previous", set_stream(steps=10**9)),
        ("dpsgd-pairwise", set_count(10**15)),
        ("dpsgd-pairwise", lambda content: content["mechanisms"][0]["sampling"].__setitem__("population", 10**400)),
    ],
)
def test_a_verifier_is_not_kept_busy(algorithm, change):
    ridge = 0.1 if algorithm == "dpgdsc" else 0.0
    changes = {"max_iter": 50} if algorithm == "dpsgd-pairwise" else {"n": 500}
    assert refused(certificate(algorithm, ridge=ridge, **changes), change) < 1.0


@pytest.mark.parametrize("text", ["[" * 10**6, '{"a":' * 10**5, "1" * 10**6, '{"schema": ' + "9" * 10**5 + "}"])
def test_deep_json_and_long_numbers(text):
    before = time.perf_counter()
    with pytest.raises(en.PrivacyError, match="certificate"):
        PrivacyCertificate.from_json(text)
    assert time.perf_counter() - before < 1.0


def test_compositions_inside_compositions_end():
    both = en.compose_certificates([certificate(), certificate()])
    for _ in range(12):
        both = en.compose_certificates([both, certificate()])
    with pytest.raises(en.PrivacyError, match="inside one another"):
        both.verify()


# --- three outcomes ---------------------------------------------------------------------------------------------------


def test_verified():
    found = certificate().verify()
    assert (found.outcome, found.reservations) == ("verified", ())


def test_a_seeded_run_is_verified_with_a_reservation():
    plan = en.plan("moments", n=50, n_features=2, epsilon=1.0, bounds=(0, 1))
    with pytest.warns(en.PrivacyWarning):
        fitted = plan.run(np.zeros((50, 2)), np.arange(50) % 2, random_state=1)
    found = fitted.certificate.verify()
    assert found.outcome == "reservations"
    assert ["seeded" in said for said in found.reservations] == [True]
    # The word cannot be taken out of the list of warnings: the flag says it too.
    quiet = replace(fitted.certificate, warnings=()).verify()
    assert ["seeded" in said for said in quiet.reservations] == [True]


def test_a_large_delta_is_a_reservation_even_if_nobody_warns():
    with pytest.warns(en.PrivacyWarning, match="1/n"):
        honest = en.plan("moments", n=50, n_features=2, epsilon=1.0, delta=0.1, bounds=(0, 1)).certificate()
    assert any("1/n" in warning for warning in honest.warnings)
    for one in (honest, replace(honest, warnings=())):
        assert sum("1/n" in said for said in one.verify().reservations) == 1


def test_listed_pairs_rest_on_an_assumption():
    plan = en.plan("noisy-gd", task="metric", **ASK, options={"listed_pairs": (500, 4)})
    assert plan.certificate().verify().outcome == "reservations"
