"""Slow literal definitions to test fast code against, and the cases that every law runs on."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from entrenous.privacy.mechanisms.mechanism import mechanism_from
from entrenous.privacy.mechanisms.sampling import Sampling
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, L2Ball, NuclearPSD
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Reparametrised
from entrenous.problem.surrogates.bounded import Sigmoid, Welsch
from entrenous.problem.surrogates.convex import Hinge, QNormHinge, QNormLoss, SmoothedHinge
from entrenous.problem.surrogates.envelope import MoreauEnvelope
from entrenous.problem.surrogates.spelling import SURROGATES

NAMED_SURROGATES = [
    *(kind() for kind in SURROGATES.values()),
    SmoothedHinge(width=0.05),
    SmoothedHinge(width=2.0),
    QNormHinge(q=1.2),
    QNormHinge(q=2.0),
    QNormLoss(q=1.25),
    QNormLoss(q=2.0),
    Welsch(bandwidth=0.3),
    Welsch(bandwidth=2.5),
    Sigmoid(width=0.2),
    Sigmoid(width=3.0),
]
"""Every registered surrogate with its own settings, and some more: the ones that have a text."""

REPARAMETRISED = [Reparametrised(surrogate, inner=2.0, outer=2.0) for surrogate in NAMED_SURROGATES] + [
    Reparametrised(SURROGATES["logistic"](), inner=0.5, outer=3.0)
]

ALL_SURROGATES = NAMED_SURROGATES + REPARAMETRISED

ENVELOPES = [
    MoreauEnvelope(Hinge(), width=0.5),
    MoreauEnvelope(QNormHinge(q=1.5), width=0.3),
    MoreauEnvelope(QNormHinge(q=1.2), width=2.0),
    MoreauEnvelope(QNormLoss(q=1.25), width=0.5),
]
"""Smoothed surrogates: like reparametrised ones they wrap another, and kernels have no code for them."""

ALL_SCORES = [LinearDifference(), Mahalanobis(), ErrorDifference()]


def name_of(thing) -> str:
    """A readable test id."""
    return str(thing)


def problems(*, radius: float = 1.0, n_features: int = 2, scores=None, surrogates=None, ridge: float = 0.0):
    """Every score x surrogate x form, over the domains that suit the score."""
    for score in ALL_SCORES if scores is None else scores:
        domains = (FrobeniusPSD, NuclearPSD) if isinstance(score, Mahalanobis) else (L2Ball,)
        forms = ("indicator", "label-difference") if isinstance(score, LinearDifference) else ("indicator",)
        for surrogate in NAMED_SURROGATES if surrogates is None else surrogates:
            for domain in domains:
                for form in forms:
                    yield Problem(score, surrogate, domain(radius), n_features, ridge=ridge, form=form)


def problem_name(problem: Problem) -> str:
    form = "" if problem.form == "indicator" else "-label-difference"
    score = "-".join([problem.task, *(f"{value:g}" for value in vars(problem.score).values())])
    return f"{score}-{problem.surrogate}-{problem.domain.name}{form}-r{problem.domain.radius:g}"


def random_rows(rng, n: int, n_features: int):
    """Rows of the unit ball, many of them on its surface."""
    rows = rng.normal(size=(n, n_features))
    length = np.minimum(1.0, rng.uniform(0.2, 1.6, size=(n, 1)))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * length


def random_labels(rng, score, n: int):
    """Codes 0 and 1, or targets that fill the public range."""
    if isinstance(score, ErrorDifference):
        half = score.target_width / 2.0
        return np.clip(rng.uniform(-1.5 * half, 1.5 * half, size=n), -half, half)
    return rng.integers(0, 2, size=n)


def random_parameter(rng, problem: Problem):
    """A parameter of the domain, often on its boundary."""
    w = rng.normal(size=problem.score.shape(problem.n_features)) * problem.domain.radius
    return problem.domain.project(w)


def ordered_pair_loss(problem: Problem, w, x, x2, y, y2):
    """Loss and gradient of one ordered pair of records, from the definition."""
    if problem.form == "label-difference":
        # phi((y - y')<w, x - x'>) with labels -1 and 1. A pair of like labels pays the constant phi(0), which no
        # parameter changes; it is left out.
        gap = (2.0 * y - 1.0) - (2.0 * y2 - 1.0)
        if gap == 0.0:
            return 0.0, np.zeros_like(w)
        margin = np.array([gap * float((x - x2) @ w)])
        slope = float(problem.surrogate.derivative(margin)[0])
        return float(problem.surrogate.value(margin)[0]), slope * gap * (x - x2)
    rows = (x[None, :], x2[None, :])
    labels = (np.array([y]), np.array([y2]))
    counted = float(problem.score.counts(*labels)[0])
    margin = problem.score.margin(w, *rows, *labels)
    value = float(problem.surrogate.value(margin)[0])
    slope = float(problem.surrogate.derivative(margin)[0])
    return counted * value, counted * slope * problem.score.feature(*rows, *labels)[0]


def all_pairs(problem: Problem, w, X, y):
    """Objective and gradient: two loops over the records, every ordered pair of different records, then the ridge."""
    n = len(X)
    total, gradient = 0.0, np.zeros_like(w)
    for i in range(n):
        for j in range(n):
            if i != j:
                loss, slope = ordered_pair_loss(problem, w, X[i], X[j], y[i], y[j])
                total += loss
                gradient = gradient + slope
    pairs = n * (n - 1)
    return total / pairs + problem.ridge / 2.0 * float((w * w).sum()), gradient / pairs + problem.ridge * w


def descent(problem: Problem, X, y, *, steps: int, step_size: float):
    """All iterates ``w_0..w_T`` of projected gradient descent from zero."""
    w = problem.domain.project(np.zeros(problem.score.shape(problem.n_features)))
    iterates = [w]
    for _ in range(steps):
        w = problem.domain.project(w - step_size * all_pairs(problem, w, X, y)[1])
        iterates.append(w)
    return iterates


def class_moments(X, y, weights):
    """Lemma 8's release: event count, class sums, full second-moment matrices, each times its weight."""
    a, b, c = weights
    events = sum(1.0 for label in y if label == 1)
    flat = [a * events]
    for code in (0, 1):
        flat.extend(b * sum((x for x, label in zip(X, y, strict=True) if label == code), np.zeros(X.shape[1])))
    for code in (0, 1):
        matrix = sum(
            (np.outer(x, x) for x, label in zip(X, y, strict=True) if label == code), np.zeros((X.shape[1],) * 2)
        )
        flat.extend(c * matrix.ravel())
    return np.array(flat)


def stated_mechanism(kind, l2_sensitivity, lemma, **rest):
    """A mechanism from the fields of a certificate; those that are left out are null."""
    if isinstance(rest.get("sampling"), Sampling):
        rest["sampling"] = asdict(rest["sampling"])
    usual = {"l1_sensitivity": None, "sigma": None, "scale": None, "count": 1, "sampling": None, "scope": "all"}
    return mechanism_from({"kind": kind, "l2_sensitivity": l2_sensitivity, "lemma": lemma, **usual, **rest})
