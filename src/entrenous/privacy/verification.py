"""Checking a certificate from its own public numbers: the sensitivities again, then epsilon again, twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from entrenous.errors import EntrenousError, PrivacyError
from entrenous.parts.feature_domains import INTERNAL_DIAMETER
from entrenous.parts.parameter_domains import FrobeniusPSD, L2Ball, ParameterDomain, WholeSpace
from entrenous.parts.pointwise import score_of
from entrenous.parts.problem import Problem
from entrenous.parts.surrogates import surrogate_from
from entrenous.privacy import sensitivity
from entrenous.privacy.accounting import confirm, total_epsilon
from entrenous.privacy.budget import ADJACENCY
from entrenous.privacy.certificate import PrivacyCertificate, Verification
from entrenous.privacy.certificate_fields import check_fields
from entrenous.privacy.mechanisms import Mechanism

_RELATIVE = 1e-9
"""Rounding allowed between what is written and what is recomputed."""

Recomputation = Callable[[Problem, int, Mapping[str, Any]], float]


def _lemma_1(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    if n < 2:
        raise ValueError("a pair is a sample of two records")
    return problem.order_share * sensitivity.pair_gradient_sensitivity(problem, same_iterate=True)


def _lemma_2(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    return sensitivity.all_pairs_gradient_sensitivity(problem, n)


def _lemma_3(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    return sensitivity.strongly_convex_descent_sensitivity(
        sensitivity.all_pairs_gradient_sensitivity(problem, n),
        strong_convexity=problem.strong_convexity,
        smoothness=problem.full_smoothness(n) + problem.ridge,
        step_size=public["step_size"],
        steps=public["steps"],
    )


def _lemma_8(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    a, b, c = public["weights"]
    return sensitivity.class_moments_sensitivity(problem.diameter / 2.0, (a, b, c))


def _lemma_9(problem: Problem, n: int, public: Mapping[str, Any]) -> float:
    return sensitivity.pointwise_gradient_sensitivity(problem, n)


RECOMPUTATIONS: dict[str, Recomputation] = {
    "Lemma 1": _lemma_1,
    "Lemma 2": _lemma_2,
    "Lemma 3": _lemma_3,
    "Lemma 8": _lemma_8,
    "Lemma 9": _lemma_9,
}
"""Lemmas whose sensitivity follows in closed form from a certificate's numbers; n is what a release sees of them."""

_PER_STEP = ("Lemma 1", "Lemma 2", "Lemma 9")
"""Lemmas of one gradient: every step releases one."""


def verify(certificate: PrivacyCertificate) -> Verification:
    """Raise `PrivacyError` when a recomputed sensitivity or epsilon is worse than written."""
    check_fields(certificate.to_dict(), certificate.schema)
    if certificate.adjacency != ADJACENCY:
        raise _false("adjacency", ADJACENCY, certificate.adjacency)
    checks = [f"adjacency {ADJACENCY}, n = {certificate.n}"]
    problem = problem_of(certificate)
    if problem.diameter < INTERNAL_DIAMETER:
        raise _false("R", f">= {INTERNAL_DIAMETER}", str(problem.diameter))
    for name, true in (("c1", problem.c1), ("c2", problem.c2)):
        written = certificate.problem[name]
        if written is not None and true > written * (1.0 + _RELATIVE) + _RELATIVE:
            raise _false(f"slope {name}", f">= {true:.9g}", f"{written:.9g}")
    checks.append(f"slopes of {certificate.problem['surrogate']} on the reachable margins")
    on_trust: list[str] = []
    for mechanism in certificate.mechanisms:
        recompute = RECOMPUTATIONS.get(mechanism.lemma)
        if recompute is None:
            on_trust.append(f"sensitivity {mechanism.l2_sensitivity:.6g} ({mechanism.lemma})")
            continue
        true = _recomputed(recompute, problem, certificate, mechanism)
        checks.append(f"sensitivity {true:.6g} ({mechanism.lemma}) <= {mechanism.l2_sensitivity:.6g}")
    epsilon = total_epsilon(certificate.mechanisms, certificate.delta)
    if epsilon > certificate.epsilon * (1.0 + _RELATIVE):
        raise _false("epsilon", f">= {epsilon:.9g}", f"{certificate.epsilon:.9g}")
    confirm(certificate.epsilon, certificate.mechanisms, certificate.delta)
    checks.append(f"epsilon {epsilon:.6g} at delta {certificate.delta:.3g}, confirmed by dp-accounting")
    return Verification(epsilon, tuple(checks), tuple(on_trust))


def _recomputed(
    recompute: Recomputation, problem: Problem, certificate: PrivacyCertificate, mechanism: Mechanism
) -> float:
    """The lemma's sensitivity; raise when it is larger than what the mechanism was calibrated to."""
    try:
        true = recompute(problem, _records_seen(certificate, mechanism), certificate.public)
    except (KeyError, TypeError, ValueError) as error:
        raise PrivacyError(
            f"{mechanism.lemma} needs its public numbers in the certificate", str(error), "Do not rely on it."
        ) from error
    if true > mechanism.l2_sensitivity * (1.0 + _RELATIVE):
        raise _false(f"sensitivity ({mechanism.lemma})", f">= {true:.9g}", f"{mechanism.l2_sensitivity:.9g}")
    if mechanism.lemma in _PER_STEP and mechanism.count < certificate.public.get("steps", 1):
        raise _false("count", f">= {certificate.public['steps']}, one noisy gradient per step", str(mechanism.count))
    if mechanism.l1_sensitivity is not None:
        # ||z||_1 <= sqrt(p) ||z||_2
        true_l1 = true * problem.dimension**0.5
        if true_l1 > mechanism.l1_sensitivity * (1.0 + _RELATIVE):
            raise _false("l1 sensitivity", f">= {true_l1:.9g}", f"{mechanism.l1_sensitivity:.9g}")
    return true


def _records_seen(certificate: PrivacyCertificate, mechanism: Mechanism) -> int:
    """How many records enter one release; raise when the sampling is not what the certificate's own numbers allow."""
    if mechanism.sampling is None:
        return certificate.n
    if mechanism.sampling.population > certificate.n:
        raise _false("population", f"<= {certificate.n}", str(mechanism.sampling.population))
    batch = certificate.public.get("batch")
    if batch is not None and batch != mechanism.sampling.sample:
        raise _false("sample", f"the batch of {batch}", str(mechanism.sampling.sample))
    return mechanism.sampling.sample


def problem_of(certificate: PrivacyCertificate) -> Problem:
    """The problem that the certificate describes, rebuilt from its text."""
    stated = certificate.problem
    try:
        score = score_of(stated["task"])
        domain: ParameterDomain
        if stated["radius"] is None:
            domain = WholeSpace()
        else:
            domain = (FrobeniusPSD if stated["task"] == "metric" else L2Ball)(stated["radius"])
        return Problem(
            score,
            surrogate_from(stated["surrogate"]),
            domain,
            n_features=certificate.public["n_features"],
            diameter=stated["R"],
            ridge=stated["ridge"],
            form=stated["form"],
        )
    except (KeyError, TypeError, EntrenousError) as error:
        raise PrivacyError(
            "a certificate needs a problem that can be rebuilt", str(error), "Do not rely on it."
        ) from error


def _false(what: str, true: str, written: str) -> PrivacyError:
    return PrivacyError(
        f"the certificate's {what} must be {true}", written, "The certificate is false: do not rely on it."
    )
