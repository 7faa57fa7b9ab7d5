"""A certificate can be read back, recomputed, and not be bent."""

import json
import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import entrenous
from entrenous import PrivacyCertificate
from entrenous.errors import PrivacyError, PrivacyWarning
from entrenous.planners.xue2021 import dpgdc2
from entrenous.privacy.accounting import TOLERANCE
from entrenous.privacy.budget import Budget
from entrenous.privacy.noise import grid_of
from entrenous.problem.pair_scores import Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.convex import Hinge, QNormHinge, SmoothedHinge
from entrenous.problem.tasks.task import task_named

N = 5000
"""Large enough for the side conditions of every printed noise."""
FIELDS = [
    "schema",
    "library",
    "algorithm",
    "citation",
    "calibration",
    "epsilon",
    "delta",
    "claimed_epsilon",
    "adjacency",
    "n",
    "problem",
    "mechanisms",
    "accountant",
    "public",
    "seeded",
    "unit",
    "warnings",
]
PROBLEM_FIELDS = ["task", "surrogate", "form", "R", "radius", "ridge", "c1", "c2"]
MECHANISM_FIELDS = [
    "kind",
    "l2_sensitivity",
    "l1_sensitivity",
    "sigma",
    "scale",
    "count",
    "lemma",
    "sampling",
    "scope",
    "noise",
    "grid",
    "error",
]


def plans():
    """Every algorithm, calibration and kind of privacy that the registry promises."""
    for record in entrenous.algorithms():
        for calibration in record.calibrations:
            for privacy in record.privacy:
                if privacy != "none":
                    # Of two algorithms of one name the task tells which is meant.
                    name = f"{record.name}:{record.tasks[0]}" if record.joins else record.name
                    yield name, calibration, privacy


PLANS = list(plans())
over_plans = pytest.mark.parametrize(("name", "calibration", "privacy"), PLANS)


def certificate_of(name, calibration="tight", privacy="approximate", **changes):
    """As printed, planning may warn, and tests look for it; tight ones are made once."""
    if calibration == "tight" and not changes:
        return _usual(name, privacy)
    return _certificate(name, calibration, privacy, **changes)


@cache
def _usual(name, privacy):
    return _certificate(name, "tight", privacy)


def _certificate(name, calibration, privacy, **changes):
    ridge = 0.05 if "strongly convex" in _needs(name) else 0.0
    delta = 0.0 if privacy == "pure" else 1e-6
    request = {"n": N, "n_features": 4, "epsilon": 1.0, "delta": delta, "ridge": ridge, "bounds": (0, 1)}
    name, _, task = name.partition(":")
    request["task"] = task or next(r.tasks[0] for r in entrenous.algorithms() if r.name == name and not r.joins)
    if task_named(request["task"]).has_targets:
        request["target_bounds"] = (0, 1)
    if calibration == "paper" and name.startswith(("offpair", "onpair")):
        # As printed these use no record at all unless their warm-up is capped.
        request["options"] = {"warmup": 7}
    return entrenous.plan(name, calibration=calibration, **{**request, **changes}).certificate()


def _needs(name):
    return next(a.needs for a in entrenous.algorithms() if a.name == name.partition(":")[0])


def bent(certificate, path, value):
    """The certificate's JSON with one entry replaced; a callable maps the old entry."""
    content = json.loads(certificate.to_json())
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value(place[path[-1]]) if callable(value) else value
    return json.dumps(with_right_grid(content))


def with_right_grid(content):
    """A forger who changes the noise changes the grid with it."""
    for mechanism in content["mechanisms"] if isinstance(content.get("mechanisms"), list) else ():
        size = (mechanism.get("sigma") or mechanism.get("scale")) if isinstance(mechanism, dict) else None
        if isinstance(size, float) and 0.0 < size < math.inf and mechanism.get("noise") == "grid-exact":
            mechanism["grid"] = grid_of(size)
    return content


def check(text):
    return PrivacyCertificate.from_json(text).verify()


def refused(certificate, *path_and_value):
    *path, value = path_and_value
    with pytest.raises(PrivacyError, match="got"):
        check(bent(certificate, path, value))


# --- honest certificates ----------------------------------------------------------------------------------------------


def test_pure_and_paper_are_among_the_cases():
    assert ("dpgdsc", "paper", "pure") in PLANS
    assert ("dpgdc2", "paper", "approximate") in PLANS
    assert {calibration for _, calibration, _ in PLANS} == {"tight", "paper"}


@over_plans
def test_every_certificate_verifies_and_survives_json(name, calibration, privacy):
    certificate = certificate_of(name, calibration, privacy)
    again = PrivacyCertificate.from_json(certificate.to_json())
    assert again == certificate
    assert again.to_json() == certificate.to_json()
    for held in (certificate, again):
        verification = held.verify()
        assert verification.epsilon <= held.epsilon * (1.0 + 1e-9)
        assert verification.epsilon == pytest.approx(held.epsilon, rel=1e-8)
        assert verification.reservations == ()
        assert any("sensitivity" in line for line in verification.checks)
        assert "ok" in str(verification)
    assert certificate.claimed_epsilon == 1.0
    assert certificate.delta == (0.0 if privacy == "pure" else 1e-6)
    assert (calibration == "tight") == (certificate.epsilon == 1.0)


@over_plans
def test_schema_fields(name, calibration, privacy):
    content = json.loads(certificate_of(name, calibration, privacy).to_json())
    assert list(content) == FIELDS
    assert list(content["problem"]) == PROBLEM_FIELDS
    assert set(content["accountant"]) == {"name", "version", "tolerance"}
    assert content["unit"] == {"records_per_person": 1}
    for mechanism in content["mechanisms"]:
        assert set(mechanism) == set(MECHANISM_FIELDS)
        assert re.fullmatch(r"all|disjoint phase \d+", mechanism["scope"])
        if mechanism["kind"] == "sampled-gaussian":
            sampling = mechanism["sampling"]
            assert list(sampling) == ["scheme", "population", "sample"]
            assert sampling["scheme"] == "without-replacement"
            assert sampling["population"] == N
        else:
            assert mechanism["sampling"] is None
    assert content["schema"] == "entrenous-certificate/1"
    assert content["adjacency"] == "replace-one"
    assert content["library"] == f"entrenous {entrenous.__version__}"
    assert content["accountant"]["tolerance"] == TOLERANCE
    assert content["n"] == N
    assert content["seeded"] is False
    assert content["warnings"] == []


@pytest.mark.parametrize("surrogate", [SmoothedHinge(width=1.0 / 3.0), QNormHinge(q=1.23456789), "square", "hinge"])
@pytest.mark.parametrize("name", ["noisy-gd", "dpgdc2"])
def test_certificates_of_every_surrogate_verify(name, surrogate):
    certificate_of(name, surrogate=surrogate).verify()


def test_the_metrics_certificate_verifies():
    problem = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 3)
    certificate = dpgdc2(problem, Budget(1.0, 1e-6), N).certificate()
    assert certificate.problem["task"] == "metric"
    assert check(certificate.to_json()).epsilon == pytest.approx(1.0, rel=1e-8)


def test_a_certificate_on_disk(tmp_path):
    certificate = certificate_of("noisy-gd")
    path = tmp_path / "certificate.json"
    path.write_text(certificate.to_json(), encoding="utf-8")
    assert PrivacyCertificate.from_file(path) == certificate


def test_a_seeded_run_says_so():
    X, y = np.random.default_rng(0).uniform(size=(N, 4)), np.arange(N) % 2
    plan = entrenous.plan("moments", n=N, n_features=4, epsilon=1.0, bounds=(0, 1))
    with pytest.warns(PrivacyWarning, match="seeded"):
        certificate = plan.run(X, y, random_state=0).certificate
    assert certificate.seeded
    assert "seed" in certificate.warnings[-1]
    assert "SEEDED" in str(certificate)
    assert PrivacyCertificate.from_json(certificate.to_json()) == certificate
    check(certificate.to_json())


def test_it_reads_well():
    text = str(certificate_of("dpgdsc"))
    for part in ("epsilon = 1", "replace-one", "n = 500", "dpgdsc", "Lemma 3", "secure"):
        assert part in text


# --- bent certificates ------------------------------------------------------------------------------------------------


@over_plans
def test_less_noise_a_smaller_epsilon_or_sensitivity_is_refused(name, calibration, privacy):
    certificate = certificate_of(name, calibration, privacy)
    # Of disjoint phases the dearest one sets the price.
    dearest = min(range(len(certificate.mechanisms)), key=lambda i: certificate.mechanisms[i].noise_multiplier)
    noise = certificate.mechanisms[0].noise_field
    refused(certificate, "epsilon", lambda epsilon: 0.999 * epsilon)
    refused(certificate, "mechanisms", dearest, noise, lambda size: 0.999 * size)
    refused(certificate, "mechanisms", dearest, "count", lambda count: count + 1)
    for i in range(len(certificate.mechanisms)):
        refused(certificate, "mechanisms", i, "l2_sensitivity", lambda size: 0.999 * size)
    # Both lowered together keep epsilon, but not the lemma.
    content = json.loads(certificate.to_json())
    content["mechanisms"][dearest]["l2_sensitivity"] *= 0.5
    content["mechanisms"][dearest][noise] *= 0.5
    with pytest.raises(PrivacyError, match="sensitivity"):
        check(json.dumps(with_right_grid(content)))


@over_plans
def test_the_setting_cannot_be_changed(name, calibration, privacy):
    certificate = certificate_of(name, calibration, privacy)
    for adjacency in ("add-remove", "feature-only", "", None, 1):
        refused(certificate, "adjacency", adjacency)
    refused(certificate, "problem", "R", 1.999)
    refused(certificate, "problem", "R", -2.0)
    if privacy == "approximate":
        refused(certificate, "delta", lambda delta: delta / 2.0)
        refused(certificate, "delta", 0.0)


@pytest.mark.parametrize("name", ["noisy-gd", "dpgdc2", "dpgdsc"])
def test_n_can_only_be_understated(name):
    certificate = certificate_of(name)
    # More records with the same noise need less of it, so the certificate stays true.
    check(bent(certificate, ["n"], N + 1))
    for fewer in (N - 1, N // 2, 2, 1, 0, -1, -N):
        refused(certificate, "n", fewer)
    for odd in (N + 0.5, math.inf, True, None):
        refused(certificate, "n", odd)


@pytest.mark.parametrize("name", ["noisy-gd", "dpgdc2", "dpgdsc"])
def test_slopes_cannot_be_lowered(name):
    certificate = certificate_of(name)
    refused(certificate, "problem", "c1", lambda c1: 0.999 * c1)
    refused(certificate, "problem", "c1", 0.0)
    refused(certificate, "problem", "c1", -1.0)
    square = certificate_of(name, surrogate="square", radius=2.0)
    assert square.problem["c2"] > 0.0
    refused(square, "problem", "c2", lambda c2: 0.999 * c2)
    refused(square, "problem", "c2", 0.0)


@pytest.mark.parametrize("name", ["noisy-gd", "dpgdc2", "dpgdsc"])
def test_the_problem_cannot_be_swapped_for_a_steeper_one(name):
    certificate = certificate_of(name)
    refused(certificate, "problem", "surrogate", "square")
    refused(certificate, "problem", "surrogate", "hinge")
    refused(certificate, "problem", "form", "label-difference")
    refused(certificate, "problem", "radius", lambda radius: 2.0 * radius)
    refused(certificate, "problem", "task", "metric")


def test_lemma_8_follows_the_weights():
    certificate = certificate_of("moments", options={"weights": (1.0, 1.0, 0.5)})
    assert certificate.public["weights"] == [1.0, 1.0, 0.5]
    for place, value in ((0, 3.0), (1, 1.01), (2, 1.5), (0, math.inf)):
        refused(certificate, "public", "weights", place, value)
    refused(certificate, "public", "weights", [1.0, 1.0])
    refused(certificate, "public", "weights", None)
    refused(certificate, "public", "weights", "abc")


def test_lemma_3_follows_the_steps():
    certificate = certificate_of("dpgdsc", max_iter=5)
    assert certificate.public["steps"] == 5
    refused(certificate, "public", "steps", 6)
    refused(certificate, "public", "steps", 10**9)
    refused(certificate, "public", "steps", 0)
    refused(certificate, "public", "steps", -3)
    refused(certificate, "public", "steps", "5")
    refused(certificate, "public", "step_size", lambda eta: 1.001 * eta)
    refused(certificate, "public", "step_size", -1.0)
    refused(certificate, "problem", "ridge", lambda ridge: 0.9 * ridge)
    refused(certificate, "problem", "ridge", 0.0)
    content = json.loads(certificate.to_json())
    del content["public"]["steps"]
    with pytest.raises(PrivacyError, match="Lemma 3"):
        check(json.dumps(content))


def test_lemma_4_follows_the_steps_and_the_average():
    certificate = certificate_of("dpgdc", max_iter=5)
    assert certificate.public["average_from"] == 1
    for place, value in (("steps", 6), ("average_from", 2), ("average_from", -1), ("average_from", 1.0)):
        refused(certificate, "public", place, value)
    refused(certificate, "public", "step_size", lambda eta: 1.001 * eta)
    content = json.loads(certificate.to_json())
    del content["public"]["average_from"]
    with pytest.raises(PrivacyError, match="Lemma 4"):
        check(json.dumps(content))


def test_disjoint_phases_are_disjoint_and_all_of_them_are_priced():
    certificate = certificate_of("dpegd")
    phases = certificate.public["phases"]
    assert sum(phase["records"] for phase in phases) == N
    assert f"{len(phases)} disjoint phases of {N} records" in str(check(certificate.to_json()))
    refused(certificate, "n", N - 1)
    for k in range(len(phases)):
        # More records would mean a smaller sensitivity, and overlapping phases.
        refused(certificate, "public", "phases", k, "records", lambda records: records + 1)
        refused(certificate, "public", "phases", k, "steps", lambda steps: steps + 1)
        refused(certificate, "public", "phases", k, "step_size", lambda eta: 1.001 * eta)
        refused(certificate, "public", "phases", k, "average_from", 2)
    for wrong in ([], None, "abc", [1], [{}], phases[:-1], [*phases, phases[-1]]):
        refused(certificate, "public", "phases", wrong)
    refused(certificate, "mechanisms", lambda mechanisms: mechanisms[1:])
    refused(certificate, "mechanisms", 7, "scope", "disjoint phase 1")
    refused(certificate, "mechanisms", 7, "scope", "disjoint phase 9")
    refused(certificate, "mechanisms", 7, "scope", "all")
    refused(certificate, "public", lambda public: {k: v for k, v in public.items() if k != "phases"})


@pytest.mark.parametrize("name", ["noisy-gd", "dpgdc2"])
def test_a_release_cannot_be_dropped_from_the_count(name):
    """The noise of T steps, counted once: the price falls, the steps that the certificate itself states do not."""
    certificate = certificate_of(name, max_iter=6)
    assert certificate.public["steps"] == certificate.mechanisms[0].count == 6
    refused(certificate, "mechanisms", 0, "count", 1)
    refused(certificate, "mechanisms", 0, "count", 5)


def test_coordinate_wise_noise_needs_its_l1_sensitivity():
    certificate = certificate_of("dpgdsc", "paper", "pure")
    assert certificate.mechanisms[0].kind == "laplace"
    refused(certificate, "mechanisms", 0, "l1_sensitivity", lambda size: 0.999 * size)
    refused(certificate, "public", "n_features", lambda d: d + 1)
    # The l1 price is what counts: more noise multiplier in l2 does not help.
    refused(certificate, "mechanisms", 0, "scale", lambda scale: 0.99 * scale)


NUMBERS = [
    ("noisy-gd", ["epsilon"]),
    ("noisy-gd", ["delta"]),
    ("noisy-gd", ["claimed_epsilon"]),
    ("noisy-gd", ["n"]),
    ("noisy-gd", ["problem", "R"]),
    ("noisy-gd", ["problem", "radius"]),
    ("noisy-gd", ["problem", "ridge"]),
    ("noisy-gd", ["problem", "c1"]),
    ("noisy-gd", ["problem", "c2"]),
    ("noisy-gd", ["mechanisms", 0, "sigma"]),
    ("noisy-gd", ["mechanisms", 0, "l2_sensitivity"]),
    ("noisy-gd", ["mechanisms", 0, "count"]),
    ("dpgdsc", ["public", "steps"]),
    ("dpgdsc", ["public", "step_size"]),
    ("dpgdc", ["public", "average_from"]),
    ("dpegd", ["public", "phases", 0, "records"]),
    ("dpegd", ["public", "phases", 0, "steps"]),
    ("moments", ["public", "weights", 0]),
    ("moments", ["public", "weights", 1]),
    ("moments", ["public", "weights", 2]),
    ("dpgdsc-laplace", ["mechanisms", 0, "scale"]),
    ("dpgdsc-laplace", ["mechanisms", 0, "l1_sensitivity"]),
    ("dpgdsc-laplace", ["public", "n_features"]),
]


@pytest.mark.parametrize(("name", "path"), NUMBERS, ids=str)
@pytest.mark.parametrize("value", [math.nan, -math.inf, -1.0, "1.0", "abc", [1.0], {}], ids=repr)
def test_what_is_no_number_of_its_kind_is_refused(name, path, value):
    laplace = name == "dpgdsc-laplace"
    certificate = certificate_of(name.removesuffix("-laplace"), *(("paper", "pure") if laplace else ()))
    refused(certificate, *path, value)


@pytest.mark.parametrize("delta", [1.0, 2.0, -1e-6])
def test_delta_is_a_probability(delta):
    refused(certificate_of("noisy-gd"), "delta", delta)


@pytest.mark.parametrize("field", FIELDS)
def test_missing_fields_are_refused(field):
    content = json.loads(certificate_of("noisy-gd").to_json())
    del content[field]
    with pytest.raises(PrivacyError, match="certificate"):
        PrivacyCertificate.from_json(json.dumps(content))


@pytest.mark.parametrize("field", PROBLEM_FIELDS)
def test_missing_problem_fields_are_refused(field):
    content = json.loads(certificate_of("noisy-gd").to_json())
    del content["problem"][field]
    with pytest.raises(PrivacyError, match="certificate"):
        check(json.dumps(content))


@pytest.mark.parametrize("field", ["kind", "l2_sensitivity", "sigma", "lemma"])
def test_missing_mechanism_fields_are_refused(field):
    content = json.loads(certificate_of("noisy-gd").to_json())
    del content["mechanisms"][0][field]
    with pytest.raises(PrivacyError):
        check(json.dumps(content))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["schema"], "entrenous-certificate/2"),
        (["note"], "trust me"),
        (["mechanisms", 0, "note"], "trust me"),
        (["mechanisms", 0, "kind"], "none"),
        (["mechanisms", 0, "count"], 0),
        (["mechanisms", 0, "count"], -1),
        (["mechanisms", 0, "count"], 1.5),
        (["mechanisms", 0, "sampling"], {"scheme": "without replacement", "population": 500, "sample": 10}),
        (["mechanisms", 0, "lemma"], ["Lemma 2"]),
        (["mechanisms", 0, "lemma"], None),
        (["mechanisms", 0, "scope"], "somewhere"),
        (["mechanisms"], []),
        (["mechanisms"], None),
        (["mechanisms"], [1]),
        (["problem"], None),
        (["problem"], []),
        (["public"], None),
        (["public", "n_features"], 0),
        (["problem", "task"], "regression"),
        (["problem", "surrogate"], "cosine"),
        (["problem", "surrogate"], 3),
        (["problem", "form"], "other"),
        (["warnings"], None),
    ],
)
def test_what_is_no_certificate_is_refused(path, value):
    certificate = certificate_of("noisy-gd")
    content = json.loads(certificate.to_json())
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(PrivacyError, match="got"):
        check(json.dumps(content))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '"certificate"', "{}"])
def test_other_text_is_refused(text):
    with pytest.raises(PrivacyError, match="certificate"):
        PrivacyCertificate.from_json(text)


@pytest.mark.parametrize("lemma", ["Lemma 99", "Lemma 2 ", "lemma 2", "Lemma", "", "Lemma 2\n"])
def test_an_unknown_lemma_is_refused(lemma):
    refused(certificate_of("noisy-gd"), "mechanisms", 0, "lemma", lemma)


def test_two_mechanisms_are_paid_for_twice():
    certificate = certificate_of("noisy-gd")
    twice = replace(certificate, mechanisms=certificate.mechanisms * 2)
    with pytest.raises(PrivacyError, match="epsilon"):
        twice.verify()


# --- secret samples ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "batch"), [("dpsgd-pairwise", None), ("dpsgd-pairwise", 10), ("dpsgd-pointwise", 7)])
def test_sampling_cannot_be_bent(name, batch):
    certificate = certificate_of(name, options={"batch": batch}, max_iter=300)
    certificate.verify()
    sample = certificate.mechanisms[0].secret_sample.sample
    place = ("mechanisms", 0, "sampling")
    # More records to hide among, or fewer looked at, would make the price smaller than it is.
    refused(certificate, *place, "population", N + 1)
    refused(certificate, *place, "sample", sample - 1)
    refused(certificate, *place, "sample", sample + 1)
    refused(certificate, *place, "sample", 0)
    refused(certificate, *place, "scheme", "poisson")
    refused(certificate, *place, "scheme", None)
    refused(certificate, *place, None)
    refused(certificate, "mechanisms", 0, "count", 299)
    refused(certificate, "public", "batch", -1)
    refused(certificate, "n", N - 1)
    if batch is not None:
        refused(certificate, "public", "batch", batch + 1)


def test_a_pointwise_lemma_is_not_for_pairs():
    certificate = certificate_of("dpsgd-pairwise", max_iter=300)
    refused(certificate, "mechanisms", 0, "lemma", "Lemma 9")
    refused(certificate_of("dpsgd-pointwise", max_iter=300), "problem", "task", "auc")


def test_certificates_of_a_regression_verify():
    certificate = certificate_of(
        "dpsgd-pointwise", task="pointwise-regression", target_bounds=(0, 50), surrogate="q-norm-loss(q=1.5)"
    )
    assert certificate.verify().reservations == ()
    assert certificate.public["target_bounds"] == [0.0, 50.0]
    assert PrivacyCertificate.from_json(certificate.to_json()) == certificate
    assert f"1 of {N} records" in str(certificate)


@pytest.mark.parametrize(
    "bent",
    [
        {"steps": 5000},
        {"steps": 5000, "keep": "reservoir", "buffer": 2},
        {"steps": 5000, "keep": "reservoir without replacement", "buffer": 2},
        {"steps": 5000, "buffer": None},
        {"buffer": 0},
        {"buffer": 10**30},
        {"decay": -1.0},
    ],
    ids=str,
)
def test_a_stream_cannot_be_bent(bent):
    """Also not into indices beyond the records: compiled loops would write past their arrays."""
    options = {"order": "arrival"}
    content = json.loads(
        entrenous.plan("sgd-previous", n=40, n_features=2, epsilon=1.0, options=options).certificate().to_json()
    )
    # Noise for a sensitivity that nothing exceeds, so that only the stream can be at fault.
    for name in ("l2_sensitivity", "sigma"):
        content["mechanisms"][0][name] *= 1e6
    with_right_grid(content)
    PrivacyCertificate.from_dict(content).verify()
    content["public"]["stream"] |= bent
    with pytest.raises(PrivacyError, match="Lemma"):
        PrivacyCertificate.from_dict(content).verify()
