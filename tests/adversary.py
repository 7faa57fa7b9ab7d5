"""An adversary for whole plans: tables that differ in one record, and what the plan's noise covers on each of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import singledispatch
from typing import Any

import numpy as np
from oracles import random_rows
from scipy.special import expit

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.phases.calibrate import Calibrate
from entrenous.engine.phases.capped_descent import CappedDescent, class_weights
from entrenous.engine.phases.descent import Descent
from entrenous.engine.phases.event_share import EventShare
from entrenous.engine.phases.labelled_moments import LabelledMomentRelease
from entrenous.engine.phases.moment_release import MomentRelease
from entrenous.engine.phases.phase import Phase, Released
from entrenous.engine.phases.residual_descent import ResidualDescent
from entrenous.engine.phases.sampled_descent import SampledDescent
from entrenous.engine.phases.standardise import Standardise
from entrenous.engine.phases.streaming import Streaming
from entrenous.engine.phases.target_centre import TargetCentre
from entrenous.engine.phases.whiten import Whiten
from entrenous.engine.rows.error_slopes import ErrorSlopes
from entrenous.engine.rows.registry import rows_of
from entrenous.privacy.mechanisms.mechanism import Mechanism
from entrenous.privacy.noise import SeededNoise
from entrenous.problem.features.cut_box import CutBox
from entrenous.problem.features.ramps import normal_ramps
from entrenous.problem.features.shaped_box import ShapedBox
from entrenous.problem.parameter_domains import WholeSpace
from entrenous.problem.tasks.task import task_named

# --- requests ---------------------------------------------------------------------------------------------------------

SURROGATES = (
    None,
    "logistic",
    "hinge",
    "smoothed-hinge",
    "smoothed-hinge(width=0.05)",
    "squared-hinge",
    "square",
    "q-norm-hinge(q=1.2)",
    "q-norm-loss(q=1.5)",
    "q-norm-loss(q=2.0)",
    "welsch(bandwidth=0.7)",
    "sigmoid(width=0.5)",
    "moreau-envelope(q-norm-loss(q=1.5), width=0.2)",
)
STRAIGHT = ("hinge", "smoothed-hinge(width=0.2)")
"""Straight lines on the margins that a small ball can reach: there the lemmas on streams are attained."""

OPTIONS: dict[str, tuple[Any, ...]] = {
    "form": (None, "indicator", "label-difference"),
    "max_iter": (None, 1, 3, 10, 30),
    "step_size": (None, 0.01, 0.3, 3.0),
    "buffer": (1, 2, 5),
    "order": ("with-replacement", "arrival"),
    "replacement": (True, False),
    "warmup": (None, 1, 2, 4, 7),
    "batch": (None, 3),
    "low_noise": (False, True),
    "weights": ((1.0, 1.0, 0.7), (1.0, 1.0, 3.0), (3.0, 0.5, 0.5)),
    "shrinkage": (0.0, 0.5),
    "bound": ("expectation", "high-probability"),
    "constants": ("true", "printed"),
    # A list of pairs is another kind of data: test_listed_pairs.py and test_metric_moments.py attack it.
    "listed_pairs": (None,),
    "zoom": (0.05, 0.0, 0.3),
    "standardise": (0.1, 0.0, 0.5),
    "whiten": (0.0, 0.1, 0.3),
    "calibrate": (0.0, 0.02, 0.3),
    "ramps": (None, 1, 5),
    "shape": ("linear", "additive", "auto"),
    "targets": (0.05, 0.0, 0.4),
}
"""What the adversary asks of every option; an option that is missing here fails the tests."""

MOST_STEPS = 500
"""Longer runs are left out: ten tables each, and they show nothing that shorter ones do not."""

_OWN_ARGUMENTS = (
    *("max_iter", "calibration", "index_seed", "features", "shape", "classes", "n_components", "asked_surrogate"),
)


def request(record: en.Algorithm, rng: np.random.Generator) -> dict[str, Any]:
    """Random public settings of an algorithm; not every combination is one that its planner takes."""

    def one_of(choices: Any) -> Any:
        return choices[int(rng.integers(len(choices)))]

    task = one_of(record.tasks)
    straight = not task_named(task).has_targets and rng.random() < 0.3
    options = {name: one_of(OPTIONS[name]) for name in record.options if name not in _OWN_ARGUMENTS}
    if straight and "step_size" in options:
        options["step_size"] = 0.01
    calibration = one_of(record.calibrations)
    # The noise of sampled releases takes a second to find, so they are of a few shapes, which are remembered.
    # At so few records the printed one has its side conditions met by a large epsilon only.
    sampled = "batch" in record.options
    pure = "pure" in record.privacy and rng.random() < 0.3
    allowed = record.surrogates or (None,)
    wanted = {
        "task": task,
        "n": one_of((2, 8)) if sampled else int(rng.integers(2, 13)),
        "n_features": int(rng.integers(1, 4)),
        "epsilon": 30.0 if sampled and calibration == "paper" else 1.0 if sampled else one_of((0.3, 1.0, 4.0)),
        "delta": 0.0 if pure else 1e-3 if sampled else 1e-5,
        "surrogate": one_of((STRAIGHT if straight else SURROGATES) if record.surrogates is None else allowed),
        "radius": 0.15 if straight else one_of((None, 0.35, 1.0, 4.0)),
        "ridge": one_of((0.0, 10.0) if straight else (0.0, 0.1, 2.0)),
        "bounds": en.FeatureBall(1.0),
        "calibration": calibration,
        "options": options,
        "index_seed": int(rng.integers(2**31)),
    }
    if "max_iter" in record.options:
        wanted["max_iter"] = 2 if sampled else one_of(OPTIONS["max_iter"])
    if "shape" in record.options:
        wanted["shape"] = one_of(OPTIONS["shape"])
    if task == "metric":
        wanted["domain"] = one_of(("frobenius", "nuclear"))
    elif wanted["radius"] is None and rng.random() < 0.5:
        wanted["domain"] = "whole-space"
    if task_named(task).has_targets:
        wanted["target_bounds"] = (-1.0, 1.0)
    return wanted


def plans(record: en.Algorithm, rng: np.random.Generator, count: int) -> Iterator[en.Plan]:
    """So many private plans of an algorithm, from settings that it takes."""
    made, refused = 0, 0
    while made < count:
        try:
            plan = en.plan(record.name, **request(record, rng))
        except (en.AssumptionError, en.InputError):
            refused += 1
            assert refused < 100 * count, f"{record.name} refuses nearly everything that the adversary asks for"
            continue
        if plan.steps > MOST_STEPS:
            continue
        made += 1
        yield plan


# --- what noise is added to -------------------------------------------------------------------------------------------


def mechanism_of(phase: Phase) -> tuple[str, Mechanism]:
    """The mechanism of a phase and the name of its field; a private phase has exactly one."""
    found = [(f.name, getattr(phase, f.name)) for f in fields(phase)]
    ((name, mechanism),) = ((name, value) for name, value in found if isinstance(value, Mechanism))
    return name, mechanism


@singledispatch
def perturbed(phase: Phase, problem: en.Problem, X: Any, y: Any, w: Any) -> Any:
    """What the phase adds noise to, on these records and from this parameter, by the phase's own code."""
    raise NotImplementedError(f"say here what {type(phase).__name__} adds noise to")


@singledispatch
def releases(phase: Phase) -> int:
    """How often it adds noise."""
    return 1


@singledispatch
def records_seen(phase: Phase, n: int) -> int:
    """How many records one release looks at."""
    return n if phase.records is None else phase.records[1] - phase.records[0]


def _silent(phase: Any, problem: en.Problem, X: Any, y: Any, w: Any, **changes: Any) -> Any:
    """The result of the phase without its noise."""
    quiet = replace(phase, **{mechanism_of(phase)[0]: None}, **changes)
    return quiet.run(
        problem, rows_of(X), y, Released(w), SeededNoise(np.random.default_rng(0)), lambda done, total: None
    )


@perturbed.register
def _(phase: Descent, problem, X, y, w):
    if phase.gradient_noise is not None:
        return all_pairs_gradient(problem, w, rows_of(X), y)
    return _silent(phase, problem, X, y, w).w


@releases.register
def _(phase: Descent):
    return 1 if phase.gradient_noise is None else phase.steps


@perturbed.register
def _(phase: Streaming, problem, X, y, w):
    if phase.stream.release == "average":
        return _silent(phase, problem, X, y, w).w
    # In order of arrival the first steps of a stream are a shorter stream.
    assert phase.stream.order == "arrival"
    streams = [replace(phase.stream, steps=t) for t in range(1, phase.steps + 1)]
    iterates = [s.turns()[-1] * _silent(phase, problem, X, y, w, stream=s).w for s in streams]
    return np.array(iterates or [np.zeros_like(w)])


@perturbed.register
def _(phase: SampledDescent, problem, X, y, w):
    if problem.task == "metric":
        # The cone would hide what leaves it. The loop's gradient is this one, step by step (test_sampled.py).
        return all_pairs_gradient(problem, w, rows_of(X), y)
    # All records are the sample. Steps of length 1 in the whole space: the average of w and w - gradient tells it.
    free = replace(problem, domain=WholeSpace())
    released = _silent(phase, free, X, y, w, total_steps=2, step_size=1.0)
    average = released.w if phase.pairwise else np.append(released.w, released.intercept)
    return 2.0 * (w - average)


@releases.register
def _(phase: SampledDescent):
    return phase.steps


@records_seen.register
def _(phase: SampledDescent, n):
    return phase.sample


@perturbed.register
def _(phase: MomentRelease, problem, X, y, w):
    return rows_of(X).class_moments(y).weighted(phase.weights)


@perturbed.register
def _(phase: LabelledMomentRelease, problem, X, y, w):
    return phase.exact(rows_of(X), y)


@perturbed.register
def _(phase: EventShare, problem, X, y, w):
    return phase.exact(y)


@perturbed.register
def _(phase: Standardise, problem, X, y, w):
    # A box around 0 whose entries are as large as the phase is priced for; it stands for whatever was found.
    ends = (phase.reach,) * X.shape[1]
    box = CutBox(tuple(-end for end in ends), ends, (0.0,) * len(ends), (1.0,) * len(ends))
    phase.check(box)
    return phase.exact(rows_of(X).inside_on_grid(box))


@perturbed.register
def _(phase: Whiten, problem, X, y, w):
    return phase.exact(rows_of(X))


@perturbed.register
def _(phase: CappedDescent, problem, X, y, w):
    # Weights and parameter are whatever was released before.
    slopes = class_weights(0.03 + 0.94 * float(expit(w[0])))
    rows, w = rows_of(X), np.append(w[: problem.n_features], 10.0 * w[-1])
    if phase.added_entries:
        rows = rows.inside_on_grid(_shaped(X.shape[1], phase.added_entries))
        w = np.insert(w, -1, np.resize(w, phase.added_entries))
    return phase.exact(rows, y, w, slopes)


def _shaped(d: int, entries: int) -> ShapedBox:
    """A box that stands for whatever was found: as many columns as can have equally many ramps."""
    columns = max(k for k in range(1, d + 1) if entries % k == 0)
    ramps = normal_ramps(entries // columns)
    sides = (tuple(ramps.edges / 2.0), tuple(ramps.middles), tuple(ramps.heights))
    return ShapedBox((-1.0,) * d, (1.0,) * d, (0.0,) * d, (1.0,) * d, None, (), tuple(range(columns)), *sides)


@releases.register
def _(phase: CappedDescent):
    return phase.steps


@perturbed.register
def _(phase: ResidualDescent, problem, X, y, w):
    # Cap and parameter are whatever was released before.
    slopes = ErrorSlopes(float(np.exp(2.0 * w[0])), phase.fades)
    return phase.exact(rows_of(X), y, np.append(w[: problem.n_features], 2.0 * w[-1]), slopes)


@releases.register
def _(phase: ResidualDescent):
    return phase.steps


@perturbed.register
def _(phase: TargetCentre, problem, X, y, w):
    return phase.exact(y)


@perturbed.register
def _(phase: Calibrate, problem, X, y, w):
    # Parameter, threshold and share of events are whatever was released before.
    return phase.exact(
        rows_of(X), y, Released(w[: problem.n_features], float(w[0]), event_share=0.03 + 0.94 * float(expit(w[-1])))
    )


def l1_norm(problem: en.Problem, change: Any) -> float:
    """The l1 norm in the coordinates that noise is drawn in: an off-diagonal pair of entries is one of them."""
    size = np.abs(change)
    if problem.task != "metric":
        return float(size.sum())
    return float(np.trace(size) + (size.sum() - np.trace(size)) / np.sqrt(2.0))


# --- tables -----------------------------------------------------------------------------------------------------------


def family(rng: np.random.Generator, problem: en.Problem, size: int, replaced: int) -> tuple[Any, list[Any]]:
    """A direction, and five tables that differ in one record only: any two of them are adjacent.

    The record stands at either pole of the direction with either label, or anywhere. The others stand anywhere, all at
    one pole in one class (or with one target) or with classes in turn, at both poles, or next to the origin.
    """
    pole = random_rows(rng, 1, problem.n_features)[0]
    pole /= np.linalg.norm(pole)
    targets = task_named(problem.task).has_targets
    low, high = (-1.0, 1.0) if targets else (0.0, 1.0)

    def any_labels(count: int) -> Any:
        return rng.uniform(low, high, count) if targets else rng.integers(2, size=count) * 1.0

    X, y = random_rows(rng, size, problem.n_features), any_labels(size)
    kind = rng.choice(["anywhere", "one class", "one class", "in turn", "both poles", "tiny"])
    if kind in ("one class", "in turn"):
        X = np.tile(-pole, (size, 1))
        one = 0.0 if targets else rng.choice([low, high])
        y = np.full(size, one) if kind == "one class" else np.where(np.arange(size) % 2, low, high)
    elif kind == "both poles":
        X = rng.choice([-1.0, 1.0], (size, 1)) * pole
    elif kind == "tiny":
        X = 1e-6 * X
    tables = []
    for x, label in (
        *itertools.product((pole, -pole), (low, high)),
        (random_rows(rng, 1, problem.n_features)[0], any_labels(1)[0]),
    ):
        rows, labels = X.copy(), y.copy()
        rows[replaced], labels[replaced] = x, label
        tables.append((rows, labels))
    return pole, tables


def parameter(rng: np.random.Generator, problem: en.Problem, pole: Any) -> Any:
    """A parameter of the domain: anywhere, at its centre, or as far as it goes along the pole, forth or back."""
    radius = min(problem.domain.radius, 10.0)
    axis = np.outer(pole, pole) if problem.task == "metric" else np.append(pole, 1.0)[: problem.dimension]
    far = axis * (radius / np.linalg.norm(axis))
    anywhere = problem.score.from_coordinates(rng.normal(size=problem.dimension) * radius, problem.n_features)
    return problem.domain.project((anywhere, 0.0 * far, far, -far)[int(rng.integers(4))])


def most_touched(phase: Phase, size: int) -> int:
    """The record that a stream's pairs hold most often; of others any is as good."""
    if not isinstance(phase, Streaming):
        return 0
    pairing = phase.stream.pairing(size, phase.seed, phase.number)
    used = [pairing.stream[low:high] for low, high in zip(pairing.low, pairing.high, strict=True)]
    return int(np.bincount(np.concatenate([pairing.current, *used]), minlength=size).argmax())


# --- the attack -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Attack:
    """One family of adjacent tables on one phase of a plan: the largest share of the sensitivity that it reached."""

    plan: en.Plan
    phase: int
    cases: int
    reached: float


def attack(plan: en.Plan, rng: np.random.Generator) -> Attack:
    """A random phase of the plan on a random family: every two of its tables against the phase's mechanism."""
    problem = plan.problem
    k = int(rng.integers(len(plan.phases)))
    phase = plan.phases[k]
    _, mechanism = mechanism_of(phase)
    size = records_seen(phase, plan.n)
    replaced = most_touched(phase, size) if rng.random() < 0.5 else int(rng.integers(size))
    pole, tables = family(rng, problem, size, replaced)
    # Whatever was released before can be anything in the domain; what starts a run is public.
    w = problem.start() if k == 0 and releases(phase) == 1 else parameter(rng, problem, pole)
    values = [perturbed(phase, problem, X, y, w) for X, y in tables]
    assert all(np.isfinite(value).all() for value in values), plan
    reached = 0.0
    pairs = list(itertools.combinations(values, 2))
    for one, other in pairs:
        change = one - other
        reached = max(reached, float(np.linalg.norm(change)) / mechanism.l2_sensitivity)
        if mechanism.l1_sensitivity is not None:
            reached = max(reached, l1_norm(problem, change) / mechanism.l1_sensitivity)
    return Attack(plan, k, len(pairs), reached)
