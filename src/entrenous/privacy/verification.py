"""Checking a certificate from its own public numbers: the sensitivities again, then epsilon again, twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from entrenous.errors import AssumptionError, EntrenousError, PrivacyError
from entrenous.parts.feature_domains import INTERNAL_DIAMETER
from entrenous.parts.pair_list import PairList
from entrenous.parts.parameter_domains import PARAMETER_DOMAINS, ParameterDomain, WholeSpace
from entrenous.parts.pointwise import score_of
from entrenous.parts.problem import Problem
from entrenous.parts.streams import Stream
from entrenous.parts.surrogates import surrogate_from
from entrenous.privacy import sensitivity
from entrenous.privacy.accounting import confirm, total_epsilon
from entrenous.privacy.budget import ADJACENCY
from entrenous.privacy.certificate import COMPOSITION, NO_PROBLEM, PrivacyCertificate, Verification
from entrenous.privacy.certificate_fields import check_fields
from entrenous.privacy.composition import mechanisms_of
from entrenous.privacy.mechanisms import Mechanism
from entrenous.privacy.stream_bounds import stream_sensitivity

_RELATIVE = 1e-9
"""Rounding allowed between what is written and what is recomputed."""

BOUNDS_LEMMA, LEVEL_LEMMA = "Lemma 11", "Lemma 13"

Recomputation = Callable[[Any, int, Mapping[str, Any]], float]


def _need_convex(problem: Problem) -> None:
    if not problem.surrogate.convex:
        raise AssumptionError("output noise needs a convex surrogate", str(problem.surrogate), "Do not rely on it.")


def _lemma_1(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    if n < 2:
        raise ValueError("a pair is a sample of two records")
    return problem.order_share * sensitivity.pair_gradient_sensitivity(problem, same_iterate=True)


def _lemma_2(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    return sensitivity.all_pairs_gradient_sensitivity(problem, n)


def _lemma_3(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    _need_convex(problem)
    return sensitivity.strongly_convex_descent_sensitivity(
        sensitivity.all_pairs_gradient_sensitivity(problem, n),
        strong_convexity=problem.strong_convexity,
        smoothness=problem.full_smoothness(n) + problem.ridge,
        step_size=public["step_size"],
        steps=public["steps"],
    )


def _lemma_4(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    _need_convex(problem)
    return sensitivity.convex_descent_sensitivity(
        sensitivity.all_pairs_gradient_sensitivity(problem, n),
        smoothness=problem.full_smoothness(n) + problem.ridge,
        step_size=public["step_size"],
        steps=public["steps"],
        average_from=public["average_from"],
    )


def _lemma_8(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    a, b, c = public["weights"]
    return sensitivity.class_moments_sensitivity(problem.diameter / 2.0, (a, b, c))


def _streams(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    _need_convex(problem)
    problem = replace(problem, ridge=problem.ridge + float(public.get("anchor_ridge", 0.0)))
    return stream_sensitivity(Stream(**public["stream"]), problem, n, public["index_seed"], public["phase"])[0]


def _lemma_9(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    return sensitivity.pointwise_gradient_sensitivity(problem, n)


def _histograms(problem: Problem | None, n: int, public: Mapping[str, Any]) -> float:
    return sensitivity.feature_histograms_sensitivity(_varying_features(public), norm=2)


def _varying_features(public: Mapping[str, Any]) -> int:
    """How many features the stated domain does not hold constant."""
    low, high = public["domain"]["low"], public["domain"]["high"]
    if len(low) != public["n_features"]:
        raise ValueError("the loose ranges of all features")
    return sum(a < b for a, b in zip(low, high, strict=True))


def _lemma_12(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    return sensitivity.listed_pairs_gradient_sensitivity(problem, PairList(**public["pair_list"]).checked_for(n))


def _lemma_13(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    return sensitivity.clipped_mean_sensitivity(n, float(public["level"]["clip"]))


RECOMPUTATIONS: dict[str, Recomputation] = {
    "Lemma 1": _lemma_1,
    "Lemma 2": _lemma_2,
    "Lemma 3": _lemma_3,
    "Lemma 4": _lemma_4,
    "Lemma 5": _streams,
    "Lemma 6": _streams,
    "Lemma 8": _lemma_8,
    "Lemma 9": _lemma_9,
    "Lemma 10": _streams,
    BOUNDS_LEMMA: _histograms,
    "Lemma 12": _lemma_12,
    LEVEL_LEMMA: _lemma_13,
}
"""Lemmas whose sensitivity follows from a certificate's numbers, the seed of the index stream included; n is what a
release sees of the records."""

_PER_STEP = ("Lemma 1", "Lemma 2", "Lemma 9", "Lemma 12")
"""Lemmas of one gradient: every step releases one."""


def verify(certificate: PrivacyCertificate) -> Verification:
    """Raise `PrivacyError` when a recomputed sensitivity or epsilon is worse than written."""
    check_fields(certificate.to_dict(), certificate.schema)
    if certificate.adjacency != ADJACENCY:
        raise _false("adjacency", ADJACENCY, certificate.adjacency)
    checks = [f"adjacency {ADJACENCY}, n = {certificate.n}"]
    if certificate.algorithm == COMPOSITION:
        return _with_epsilon(certificate, *_verified_parts(certificate, checks))
    if certificate.problem["task"] == NO_PROBLEM["task"]:
        return _with_epsilon(certificate, *_without_problem(certificate, checks))
    problem = problem_of(certificate)
    if problem.diameter < INTERNAL_DIAMETER:
        raise _false("R", f">= {INTERNAL_DIAMETER}", str(problem.diameter))
    for name, true in (("c1", problem.c1), ("c2", problem.c2)):
        written = certificate.problem[name]
        if written is not None and true > written * (1.0 + _RELATIVE) + _RELATIVE:
            raise _false(f"slope {name}", f">= {true:.9g}", f"{written:.9g}")
    checks.append(f"slopes of {certificate.problem['surrogate']} on the reachable margins")
    phases = _disjoint_phases(certificate)
    if phases:
        checks.append(f"{len(phases)} disjoint phases of {sum(p['records'] for p in phases)} records in all")
    on_trust: list[str] = []
    for mechanism in certificate.mechanisms:
        recompute = RECOMPUTATIONS.get(mechanism.lemma)
        if recompute is None:
            on_trust.append(f"sensitivity {mechanism.l2_sensitivity:.6g} ({mechanism.lemma})")
            continue
        true = _recomputed(recompute, problem, certificate, mechanism)
        checks.append(f"sensitivity {true:.6g} ({mechanism.lemma}) <= {mechanism.l2_sensitivity:.6g}")
    _check_other_releases(certificate)
    return _with_epsilon(certificate, checks, on_trust)


def _with_epsilon(certificate: PrivacyCertificate, checks: list[str], on_trust: list[str]) -> Verification:
    """The mechanisms hold what they say; now what they cost together."""
    epsilon = total_epsilon(certificate.mechanisms, certificate.delta)
    if epsilon > certificate.epsilon * (1.0 + _RELATIVE):
        raise _false("epsilon", f">= {epsilon:.9g}", f"{certificate.epsilon:.9g}")
    confirm(certificate.epsilon, certificate.mechanisms, certificate.delta)
    checks.append(f"epsilon {epsilon:.6g} at delta {certificate.delta:.3g}, confirmed by dp-accounting")
    return Verification(epsilon, tuple(checks), tuple(on_trust))


def _without_problem(certificate: PrivacyCertificate, checks: list[str]) -> tuple[list[str], list[str]]:
    """Releases that minimise nothing: only the search for bounds is known to be one."""
    if certificate.problem != NO_PROBLEM or any(m.lemma != BOUNDS_LEMMA for m in certificate.mechanisms):
        raise _false("problem", "the one it minimises", "none")
    for mechanism in certificate.mechanisms:
        true = _recomputed(_histograms, None, certificate, mechanism)
        checks.append(f"sensitivity {true:.6g} ({mechanism.lemma}) <= {mechanism.l2_sensitivity:.6g}")
    _check_other_releases(certificate)
    return checks, []


def _verified_parts(certificate: PrivacyCertificate, checks: list[str]) -> tuple[list[str], list[str]]:
    """Every part of a composition verified; raise unless its mechanisms are theirs."""
    try:
        parts = [PrivacyCertificate.from_dict(stated) for stated in certificate.public["parts"]]
    except (KeyError, TypeError) as error:
        raise PrivacyError(
            "a composition needs the certificates it is made of", str(error), "Do not rely on it."
        ) from error
    if not parts or max(part.n for part in parts) != certificate.n:
        raise _false("n", "that of its largest part", str(certificate.n))
    if any(part.seeded for part in parts) and not certificate.seeded:
        raise _false("noise", "seeded, as that of a part is", "secure")
    on_trust: list[str] = []
    for number, part in enumerate(parts, start=1):
        found = verify(part)
        checks += [f"part {number} ({part.algorithm}): {check}" for check in found.checks]
        on_trust += [f"part {number} ({part.algorithm}): {claim}" for claim in found.on_trust]
    if mechanisms_of(parts) != certificate.mechanisms:
        raise _false("list of mechanisms", "that of its parts", "another")
    return checks, on_trust


def _disjoint_phases(certificate: PrivacyCertificate) -> tuple[Mapping[str, Any], ...]:
    """The phases that the certificate states; raise unless they are disjoint and each of them is priced.

    A scope without stated phases is an error only for a lemma that has to be recomputed on it.
    """
    phases = tuple(certificate.public.get("phases", ()))
    records = sum(phase["records"] for phase in phases)
    if records > certificate.n:
        raise _false("number of records in disjoint phases", f"<= {certificate.n}", str(records))
    priced = {m.scope for m in certificate.mechanisms} - {"all"}
    expected = {f"disjoint phase {k}" for k in range(1, len(phases) + 1)}
    if phases and priced != expected:
        raise _false("list of priced phases", ", ".join(sorted(expected)), ", ".join(sorted(priced)) or "none")
    return phases


def _check_other_releases(certificate: PrivacyCertificate) -> None:
    """Raise unless bounds and intercept that come from the rows are priced, every round and over all records."""
    stated = certificate.public.get("private_bounds")
    priced = sum(m.count for m in certificate.mechanisms if m.lemma == BOUNDS_LEMMA and m.scope == "all")
    if "level" in certificate.public and not any(m.lemma == LEVEL_LEMMA for m in certificate.mechanisms):
        raise _false("intercept", "priced", "free")
    rounds = 0 if stated is None else stated["rounds"]
    if priced < rounds or ("found_bounds" in certificate.public and stated is None):
        raise _false("search for bounds", f"priced in {max(rounds, 1)} rounds over all records", f"{priced} rounds")


def _on_its_records(certificate: PrivacyCertificate, mechanism: Mechanism) -> tuple[int, Mapping[str, Any]]:
    """How many records enter one release, and the public numbers of its phase; raise when they contradict."""
    sampling = mechanism.sampling
    if mechanism.scope != "all":
        phase = certificate.public["phases"][int(mechanism.scope.rsplit(" ", 1)[1]) - 1]
        return phase["records"], phase
    if sampling is None:
        return certificate.n, certificate.public
    if sampling.population > certificate.n:
        raise _false("population", f"<= {certificate.n}", str(sampling.population))
    batch = certificate.public.get("batch")
    if batch is not None and batch != sampling.sample:
        raise _false("sample", f"the batch of {batch}", str(sampling.sample))
    return sampling.sample, certificate.public


def _recomputed(
    recompute: Recomputation, problem: Problem | None, certificate: PrivacyCertificate, mechanism: Mechanism
) -> float:
    """The lemma's sensitivity; raise when it is larger than what the mechanism was calibrated to."""
    try:
        n, public = _on_its_records(certificate, mechanism)
        true = recompute(problem, n, public)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise PrivacyError(
            f"{mechanism.lemma} needs its public numbers in the certificate", str(error), "Do not rely on it."
        ) from error
    if true > mechanism.l2_sensitivity * (1.0 + _RELATIVE):
        raise _false(f"sensitivity ({mechanism.lemma})", f">= {true:.9g}", f"{mechanism.l2_sensitivity:.9g}")
    if mechanism.lemma in _PER_STEP and mechanism.count < public.get("steps", 1):
        raise _false("count", f">= {public['steps']}, one noisy gradient per step", str(mechanism.count))
    if mechanism.l1_sensitivity is not None:
        if mechanism.lemma == BOUNDS_LEMMA:
            true_l1 = sensitivity.feature_histograms_sensitivity(_varying_features(public), norm=1)
        else:
            assert problem is not None
            # ||z||_1 <= sqrt(p) ||z||_2
            true_l1 = true * problem.dimension**0.5
        if true_l1 > mechanism.l1_sensitivity * (1.0 + _RELATIVE):
            raise _false("l1 sensitivity", f">= {true_l1:.9g}", f"{mechanism.l1_sensitivity:.9g}")
    return true


def problem_of(certificate: PrivacyCertificate) -> Problem:
    """The problem that the certificate describes, rebuilt from its text."""
    stated = certificate.problem
    if str(stated.get("surrogate", "")).startswith("own("):
        raise PrivacyError(
            "a certificate can be checked where its surrogate is one that every reader has",
            f"{stated['surrogate']}, a function of the user's own",
            "Ask whoever made it for a fit with a surrogate of the library, or check value and derivative by hand.",
        )
    try:
        score = score_of(stated["task"])
        return Problem(
            score,
            surrogate_from(stated["surrogate"]),
            _domain_of(certificate),
            n_features=certificate.public["n_features"],
            diameter=stated["R"],
            ridge=stated["ridge"],
            form=stated["form"],
        )
    except (KeyError, TypeError, EntrenousError) as error:
        raise PrivacyError(
            "a certificate needs a problem that can be rebuilt", str(error), "Do not rely on it."
        ) from error


def _domain_of(certificate: PrivacyCertificate) -> ParameterDomain:
    """By its name, or where a certificate names none, the usual one of its task."""
    radius = certificate.problem["radius"]
    usual = "frobenius" if certificate.problem["task"] == "metric" else "l2-ball"
    name = certificate.public.get("parameter_domain", "whole-space" if radius is None else usual)
    if (name == "whole-space") != (radius is None):
        raise _false("radius", "null for the whole space and a number for any other domain", f"{radius} for {name}")
    return WholeSpace() if radius is None else PARAMETER_DOMAINS[name](radius)


def _false(what: str, true: str, written: str) -> PrivacyError:
    return PrivacyError(
        f"the certificate's {what} must be {true}", written, "The certificate is false: do not rely on it."
    )
