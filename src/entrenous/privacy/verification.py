"""Checking a certificate from its own public numbers: every bound, then epsilon by two accountants.

This proves the arithmetic of a description (`docs/verify.md`). `PrivacyError` says that a recomputed number is worse
than the written one, or that a release is missing. What has to be taken on trust comes back as reservations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from entrenous.errors import EntrenousError, PrivacyError
from entrenous.privacy.accounting import confirm, total_epsilon
from entrenous.privacy.budget import ADJACENCY
from entrenous.privacy.certificate import (
    COMPOSITION,
    DOMAIN_FOUND_BY_PART,
    NO_PROBLEM,
    PrivacyCertificate,
    Verification,
    paid_elsewhere,
)
from entrenous.privacy.certificate_fields import check_fields
from entrenous.privacy.composition import mechanisms_of
from entrenous.privacy.lemmas.bound import Bound, lemma_named, requirement_of
from entrenous.privacy.lemmas.pointwise import LEMMA_14, LEMMA_15, LEMMA_16, LEMMA_18, LEMMA_23
from entrenous.privacy.lemmas.statistics import LEMMA_11, LEMMA_13, LEMMA_19, searched_features
from entrenous.privacy.mechanisms.mechanism import EVERYWHERE, Mechanism, disjoint
from entrenous.problem.features.domain import INTERNAL_DIAMETER
from entrenous.problem.parameter_domains import PARAMETER_DOMAINS, ParameterDomain, WholeSpace
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.spelling import surrogate_from
from entrenous.problem.tasks.task import task_named
from entrenous.registry import is_own

_RELATIVE = 1e-9
"""Rounding allowed between what is written and what is recomputed."""

STANDARDIZER = "private-standardizer"
"""The one algorithm without an objective: it releases centre and scale only."""

_OF_BOUNDS = (LEMMA_11, LEMMA_14, LEMMA_15, LEMMA_18)
_BESIDE = (*_OF_BOUNDS, LEMMA_13, LEMMA_16, LEMMA_19)
"""Lemmas of bounds, intercept, share of events, calibration and targets, released beside an algorithm: a model needs
another as well."""


class Findings(NamedTuple):
    """What was recomputed, and what has to be taken on trust."""

    checks: list[str]
    reservations: list[str]


_DEEPEST = 8
"""Compositions inside compositions; a deeper file is refused."""


def verify(certificate: PrivacyCertificate, depth: int = 0) -> Verification:
    """Recompute a certificate; `PrivacyError` where a sensitivity or epsilon is worse than written."""
    if depth > _DEEPEST:
        raise _false("depth", f"at most {_DEEPEST} compositions inside one another", "more")
    check_fields(certificate.to_dict(), certificate.schema)
    if certificate.adjacency != ADJACENCY:
        raise _false("adjacency", ADJACENCY, certificate.adjacency)
    found = Findings([f"adjacency {ADJACENCY}, n = {certificate.n}"], _general_reservations(certificate))
    if certificate.algorithm == COMPOSITION:
        _verify_parts(certificate, found, depth)
    else:
        _verify_releases(certificate, found)
    epsilon = total_epsilon(certificate.mechanisms, certificate.delta)
    if not epsilon <= certificate.epsilon * (1.0 + _RELATIVE):
        raise _false("epsilon", f">= {epsilon:.9g}", f"{certificate.epsilon:.9g}")
    confirm(certificate.epsilon, certificate.mechanisms, certificate.delta)
    found.checks.append(f"epsilon {epsilon:.6g} at delta {certificate.delta:.3g}, confirmed by dp-accounting")
    return Verification(epsilon, tuple(found.checks), tuple(dict.fromkeys(found.reservations)))


def _general_reservations(certificate: PrivacyCertificate) -> list[str]:
    """Reservations that do not depend on what is recomputed."""
    reservations = [f"warning: {warning}" for warning in certificate.warnings]
    if certificate.seeded and not any("seeded" in warning for warning in certificate.warnings):
        reservations.append("the noise is seeded: whoever knows the seed can remove it")
    if certificate.delta >= 1.0 / certificate.n and not any("1/n" in warning for warning in certificate.warnings):
        reservations.append(f"delta = {certificate.delta:.3g} is not below 1/n = {1.0 / certificate.n:.3g}")
    weights = certificate.public.get("weights")
    if weights is not None and weights[1] != 1.0:
        reservations.append(f"class moments are stated in a unit of their own (weight {weights[1]:g} for class sums)")
    if "assumed" in certificate.public:
        reservations.append(f"assumed: {certificate.public['assumed']}")
    if DOMAIN_FOUND_BY_PART in certificate.public:
        reservations.append(_domain_reservation(certificate))
    reservations += [_on_trust(name) for name in certificate.public.get("own_parts", ())]
    return reservations


def _verify_releases(certificate: PrivacyCertificate, found: Findings) -> None:
    """Every mechanism of one algorithm: its lemma, its numbers, its records."""
    _need_known_algorithm(certificate, found)
    problem = _checked_problem(certificate, found)
    _check_phases(certificate, found)
    for mechanism in certificate.mechanisms:
        true = _recomputed(problem, certificate, mechanism)
        found.checks.append(f"sensitivity {true.value:.6g} ({mechanism.lemma}) <= {mechanism.l2_sensitivity:.6g}")
        if lemma_named(mechanism.lemma).is_own:
            found.reservations.append(_on_trust(f"lemma {mechanism.lemma}"))
        if is_own(type(mechanism)):
            found.reservations.append(_on_trust(f"mechanism {type(mechanism).__name__}"))
    _check_other_releases(certificate)


def _need_known_algorithm(certificate: PrivacyCertificate, found: Findings) -> None:
    """Raise unless the mechanisms rest on the lemmas of this algorithm, and on no others."""
    name = certificate.algorithm
    lemmas = {mechanism.lemma for mechanism in certificate.mechanisms}
    if name == STANDARDIZER:
        if certificate.problem != NO_PROBLEM or lemmas != {LEMMA_11}:
            raise _false("list of releases", f"histograms ({LEMMA_11}) alone", ", ".join(sorted(lemmas)))
        return
    requirement = requirement_of(name, certificate.problem["task"])
    if requirement is None:
        found.reservations.append(f"the algorithm {name!r} is not one of this library: what it needs is not known here")
        if lemmas <= set(_BESIDE):
            raise _false("list of releases", "one that makes a model", ", ".join(sorted(lemmas)))
        return
    if requirement.is_own:
        found.reservations.append(_on_trust(f"algorithm {name}"))
    if not lemmas & set(requirement.lemmas):
        needed = " or ".join(requirement.lemmas) or "none: it has no private version"
        raise _false(f"list of releases of {name}", f"bounded by {needed}", ", ".join(sorted(lemmas)))
    strange = lemmas - {*requirement.lemmas, *_BESIDE}
    if strange:
        raise _false(f"list of releases of {name}", f"free of {', '.join(sorted(strange))}", "there")


def _checked_problem(certificate: PrivacyCertificate, found: Findings) -> Problem | None:
    if certificate.problem["task"] == NO_PROBLEM["task"]:
        if certificate.algorithm != STANDARDIZER:
            raise _false("problem", "the one it minimises", "none")
        return None
    problem = problem_of(certificate)
    if problem.diameter < INTERNAL_DIAMETER:
        raise _false("R", f">= {INTERNAL_DIAMETER}", str(problem.diameter))
    for name, true in (("c1", problem.c1), ("c2", problem.c2)):
        written = certificate.problem[name]
        if written is not None and true > written * (1.0 + _RELATIVE) + _RELATIVE:
            raise _false(f"slope {name}", f">= {true:.9g}", f"{written:.9g}")
    found.checks.append(f"slopes of {certificate.problem['surrogate']} on the reachable margins")
    parts = {"score": problem.score, "surrogate": problem.surrogate, "parameter domain": problem.domain}
    for kind, part in parts.items():
        caveat = getattr(part, "caveat", None)
        if caveat:
            found.reservations.append(str(caveat))
        elif is_own(type(part)):
            found.reservations.append(_on_trust(f"{kind} {type(part).__name__}"))
    return problem


def _verify_parts(certificate: PrivacyCertificate, found: Findings, depth: int) -> None:
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
    for number, part in enumerate(parts, start=1):
        verified, said = verify(part, depth + 1), f"part {number} ({part.algorithm}): "
        found.checks.extend(said + check for check in verified.checks)
        others = verified.reservations
        if DOMAIN_FOUND_BY_PART in part.public:
            found.checks.append(said + _domain_of_other_part(part, parts))
            others = tuple(text for text in others if text != _domain_reservation(part))
        found.reservations.extend(said + text for text in others)
    # As they are written: two mechanisms count as equal however their noise was drawn.
    if [m.to_dict() for m in mechanisms_of(parts)] != [m.to_dict() for m in certificate.mechanisms]:
        raise _false("list of mechanisms", "that of its parts", "another")


def _domain_reservation(certificate: PrivacyCertificate) -> str:
    return f"the domain was {paid_elsewhere(certificate.public[DOMAIN_FOUND_BY_PART])}"


def _domain_of_other_part(part: PrivacyCertificate, parts: Sequence[PrivacyCertificate]) -> str:
    """What was checked; raise unless the part that is named found this very domain."""
    named = part.public[DOMAIN_FOUND_BY_PART]
    found = parts[named - 1].public.get("found_bounds") if named <= len(parts) else None
    if found is None or found != part.public.get("domain"):
        raise _false("domain of a part", f"the one that part {named} found", "another")
    return f"its domain is the one that part {named} found and pays for"


def _check_phases(certificate: PrivacyCertificate, found: Findings) -> None:
    """Raise unless the stated phases are disjoint and each of them, and nothing else, is priced as one."""
    phases = tuple(certificate.public.get("phases", ()))
    records = sum(phase["records"] for phase in phases)
    if records > certificate.n:
        raise _false("number of records in disjoint phases", f"<= {certificate.n}", str(records))
    priced = {m.scope for m in certificate.mechanisms} - {EVERYWHERE}
    expected = {disjoint(k) for k in range(1, len(phases) + 1)}
    if priced != expected:
        raise _false(
            "list of priced phases", ", ".join(sorted(expected)) or "empty", ", ".join(sorted(priced)) or "none"
        )
    if phases:
        found.checks.append(f"{len(phases)} disjoint phases of {records} records in all")


def _check_other_releases(certificate: PrivacyCertificate) -> None:
    """Raise unless bounds and intercept that come from the rows are priced, every round and over all records."""
    public, everywhere = certificate.public, [m for m in certificate.mechanisms if m.scope == EVERYWHERE]
    if ("intercept" in public or "level" in public) and not any(m.lemma == LEMMA_13 for m in everywhere):
        raise _false("intercept", "priced", "free")
    try:
        moved, whitened = _ranges_moved_unsearched(public), _was_whitened(public)
    except (LookupError, TypeError, ValueError) as error:
        raise PrivacyError("found bounds need a range per feature", str(error), "Do not rely on it.") from error
    stated = public.get("private_bounds")
    releases = {
        LEMMA_11: (0 if stated is None else stated["rounds"]) + ("zoom" in public),
        LEMMA_14: int("centre" in public),
        LEMMA_15: int("standardise" in public),
        LEMMA_16: int("event_share" in public or "found_event_share" in public),
        LEMMA_18: int("whiten" in public or whitened),
        LEMMA_19: int("calibrate" in public or "found_log_odds_map" in public)
        + int("target_histogram" in public or "found_targets" in public),
        LEMMA_23: int("found_error_cap" in public),
    }
    for lemma, needed in releases.items():
        priced = sum(m.count for m in everywhere if m.lemma == lemma)
        if priced < needed:
            raise _false(f"list of releases under {lemma}", f"of {needed} over all records", f"{priced}")
    if "found_bounds" in public and not any(releases[lemma] for lemma in _OF_BOUNDS):
        raise _false("search for bounds", "stated and priced", "neither")
    if moved:
        raise _false("list of columns that were searched", f"with {', '.join(map(str, moved))}", "without")


def _was_whitened(public: Mapping[str, Any]) -> bool:
    """Whether the found domain has a matrix that the declared one has not."""
    domain, found = public.get("domain") or {}, public.get("found_bounds") or {}
    return "whitening" in found and list(found["whitening"]) != list(domain.get("whitening", ()))


def _ranges_moved_unsearched(public: Mapping[str, Any]) -> list[int]:
    """Numbers of the columns whose range was found, although no stated search looked at them."""
    domain, found = public.get("domain"), public.get("found_bounds")
    # A released centre moves the ranges of all columns.
    if domain is None or found is None or "centre" in public or not ("low" in domain and "low" in found):
        return []
    declared = zip(domain["low"], domain["high"], strict=True)
    kept = zip(declared, zip(found["low"], found["high"], strict=True), strict=True)
    moved = {j for j, (before, after) in enumerate(kept) if before != after}
    searched = searched_features(public) if "private_bounds" in public or "zoom" in public else frozenset()
    return sorted(moved - searched)


def _recomputed(problem: Problem | None, certificate: PrivacyCertificate, mechanism: Mechanism) -> Bound:
    """The lemma's bound; raise when it is larger than what the mechanism was calibrated to."""
    lemma = lemma_named(mechanism.lemma)
    try:
        records, numbers = _on_its_records(problem, certificate, mechanism)
        true = lemma.recompute(problem, records, numbers)
        steps = int(numbers["steps"]) if lemma.per_step else 1
    except PrivacyError:
        raise
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        reason = str(error) if isinstance(error, EntrenousError) else f"{type(error).__name__}: {error}"
        raise PrivacyError(
            f"{mechanism.lemma} needs its public numbers in the certificate", reason, "Do not rely on it."
        ) from error
    if not true.value <= mechanism.l2_sensitivity * (1.0 + _RELATIVE):
        raise _false(f"sensitivity ({mechanism.lemma})", f">= {true.value:.9g}", f"{mechanism.l2_sensitivity:.9g}")
    if mechanism.grid is not None and not _covers_rounding(mechanism.bound, true):
        raise _false(f"rounding error ({mechanism.lemma})", f">= {true.error:.9g}", f"{mechanism.bound.error:.9g}")
    if mechanism.count < steps:
        raise _false("count", f">= {steps}, one noisy gradient per step", str(mechanism.count))
    if mechanism.l1_sensitivity is not None:
        true_l1 = true.l1 if problem is None or true.l1 is not None else true.with_l1(problem.dimension).l1
        if true_l1 is None or true_l1 > mechanism.l1_sensitivity * (1.0 + _RELATIVE):
            raise _false("l1 sensitivity", f">= {true_l1:.9g}", f"{mechanism.l1_sensitivity:.9g}")
    return true


def _covers_rounding(stated: Bound, true: Bound) -> bool:
    """Whether noise for the stated numbers is enough: for the error alone, or for bound and error together."""
    alone = true.error <= stated.error * (1.0 + _RELATIVE)
    return alone or true.value + 2.0 * true.error <= stated.value + 2.0 * stated.error


def _on_its_records(
    problem: Problem | None, certificate: PrivacyCertificate, mechanism: Mechanism
) -> tuple[int, Mapping[str, Any]]:
    """How many records enter one release, and the public numbers of its phase; raise where the two disagree."""
    numbers, records = certificate.public, certificate.n
    if "level" in numbers:
        # What version 0.1.0 called the intercept.
        numbers = {"intercept": numbers["level"], **numbers}
    if mechanism.scope != EVERYWHERE:
        phase = certificate.public["phases"][int(mechanism.scope.rsplit(" ", 1)[1]) - 1]
        numbers, records = {**numbers, **phase}, phase["records"]
    sampling = mechanism.secret_sample
    if sampling is None:
        if numbers.get("batch") is not None:
            raise _false("sampling", f"stated for batches of {numbers['batch']}", "none")
        return records, numbers
    if sampling.population > records:
        raise _false("population", f"<= {records}", str(sampling.population))
    batch = numbers["batch"]
    if batch is None:
        batch = 2 if problem is None or problem.score.pairwise else 1
    if batch != sampling.sample:
        raise _false("sample", f"{batch}, which is what a step looks at", str(sampling.sample))
    return sampling.sample, numbers


def problem_of(certificate: PrivacyCertificate) -> Problem:
    """The problem that the certificate describes, rebuilt from its text."""
    stated = certificate.problem
    try:
        return Problem(
            task_named(stated["task"]).score,
            surrogate_from(stated["surrogate"]),
            _domain_of(certificate),
            n_features=certificate.public["n_features"],
            diameter=stated["R"],
            ridge=stated["ridge"],
            form=stated["form"],
        )
    except PrivacyError:
        raise
    except (KeyError, TypeError, EntrenousError) as error:
        raise PrivacyError(
            "a certificate needs a problem that can be rebuilt here, from parts that are known or registered",
            str(error),
            "Import the module that registers them, or do not rely on it.",
        ) from error


def _domain_of(certificate: PrivacyCertificate) -> ParameterDomain:
    """By its name, or where a certificate names none, the usual one of its task."""
    radius = certificate.problem["radius"]
    usual = task_named(certificate.problem["task"]).parameter_domains[0]
    name = certificate.public.get("parameter_domain", "whole-space" if radius is None else usual)
    if (name == "whole-space") != (radius is None):
        raise _false("radius", "null for the whole space and a number for any other domain", f"{radius} for {name}")
    return WholeSpace() if radius is None else PARAMETER_DOMAINS[name](radius)


def _on_trust(part: str) -> str:
    return f"taken on trust, the user's own: {part}"


def _false(what: str, true: str, written: str) -> PrivacyError:
    return PrivacyError(
        f"the certificate's {what} must be {true}", written, "The certificate is false: do not rely on it."
    )
