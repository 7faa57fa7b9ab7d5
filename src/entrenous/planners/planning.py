"""From a request in plain words to a checked plan: the one way in for estimators, command line and `entrenous.plan`."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError, InputError
from entrenous.parts.feature_domains import FeatureDomain, feature_domain_from
from entrenous.parts.own_surrogate import OwnSurrogate
from entrenous.parts.parameter_domains import PARAMETER_DOMAINS, ParameterDomain, WholeSpace
from entrenous.parts.pointwise import PointScore, score_of
from entrenous.parts.private_bounds import PrivateBounds
from entrenous.parts.problem import Problem
from entrenous.parts.surrogates import Square, Surrogate, surrogate_from
from entrenous.parts.targets import TARGET_TASKS, checked_target_bounds, missing_target_bounds
from entrenous.planners import Algorithm, algorithm_named, algorithms
from entrenous.planners.bounds_share import bounds_release, level_release, rest_of, sharing
from entrenous.planners.registry import planner_options, unit_radius
from entrenous.privacy.budget import Budget, budget_for
from entrenous.privacy.noise import fresh_index_seed


def plan(
    algorithm: str | Callable[..., Plan] = "auto",
    *,
    task: str | None = None,
    n: int,
    n_features: int,
    epsilon: float | None,
    delta: float | None = None,
    surrogate: str | Surrogate | None = None,
    bounds: Any = None,
    feature_names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    target_bounds: tuple[float, float] | None = None,
    domain: str | None = None,
    radius: float | None = None,
    ridge: float = 0.0,
    max_iter: int | None = None,
    calibration: str = "tight",
    options: Mapping[str, Any] | None = None,
    level_share: float = 0.0,
    index_seed: int | None = None,
) -> Plan:
    """Decide everything about a fit from public numbers; no data.

    `task` is ``"auc"``, ``"metric"`` (records of two or more `classes`; `domain` ``"frobenius"`` or ``"nuclear"``),
    ``"error-entropy"``, ``"pointwise-classification"`` or ``"pointwise-regression"``; ``None`` is the first that the
    algorithm covers, ``"auc"`` for ``"auto"``. `target_bounds` is the public range of a regression's targets. The
    linear tasks take `domain` ``"l2-ball"`` or ``"whole-space"``; `radius` is the domain's, in internal units.
    `level_share` is the share of the budget that releases the intercept of an error-entropy regression, which pairs
    cannot see. With ``bounds=PrivateBounds(...)`` a first release finds the bounds, and the algorithm has the rest of
    the budget.

    >>> print(plan("moments", n=1000, n_features=3, epsilon=1.0, bounds=(0, 1)).mechanisms[0].kind)
    gaussian
    """
    _positive_int("n", n, at_least=2)
    _positive_int("n_features", n_features, at_least=1)
    task = _task_of(algorithm) if task is None else task
    if task not in _tasks():
        raise InputError("task must be one of " + ", ".join(_tasks()), repr(task), 'Use task="auc".')
    if calibration not in ("tight", "paper"):
        raise InputError("calibration must be 'tight' or 'paper'", repr(calibration), "'tight' is the private default.")
    if radius is not None:
        _number("radius", radius, positive=True)
    _number("ridge", ridge, positive=False)
    wanted = None if surrogate is None else surrogate_from(surrogate)
    budget = budget_for(epsilon, delta, n)
    features = _features(bounds, n_features, feature_names, calibration)
    share = bounds.share if isinstance(bounds, PrivateBounds) else None
    _check_level(level_share, share or 0.0, task, calibration)
    algorithm_budget = rest_of(budget, (share or 0.0) + level_share)
    public_classes = _public_classes(task, classes)
    public_range = _target_range(task, target_bounds, budget)
    if algorithm == "auto":
        algorithm = choose(budget, wanted, ridge, task)
    record = algorithm_named(algorithm) if isinstance(algorithm, str) else None
    if record is not None:
        _check_fit(record, task, wanted, calibration)
    elif not callable(algorithm):
        raise InputError("algorithm must be a name or a planner", repr(algorithm), "See entrenous.algorithms().")
    planner: Callable[..., Plan] = algorithm if record is None else record.planner  # type: ignore[assignment]
    score = score_of(task)
    rule = unit_radius if record is None or task == "metric" else record.default_radius
    usual = "logistic" if record is None else record.default_surrogate
    if isinstance(score, PointScore):
        usual = _surrogate_of(score, wanted)
    problem = Problem(
        score,
        wanted or surrogate_from("welsch" if task == "error-entropy" else usual),
        _parameter_domain(task, domain, radius, rule(algorithm_budget, n, score.dimension(n_features))),
        n_features=n_features,
        ridge=float(ridge),
    )
    arguments = _planner_arguments(planner, max_iter, calibration, options)
    if "index_seed" in planner_options(planner):
        arguments["index_seed"] = fresh_index_seed() if index_seed is None else index_seed
    search = level = None
    if share is not None:
        assert features is not None
        search = bounds_release(share, budget, int(np.count_nonzero(features.unit)))
    if level_share > 0.0 and budget.is_private:
        level = level_release(level_share, budget, n)
    others = [part.mechanism for part in (search, level) if part is not None and part.mechanism is not None]
    taken = (share or 0.0) + level_share
    made = sharing(others, taken, budget, lambda rest: planner(problem, rest, n, **arguments))
    if level is not None:
        public = {**made.public, "level": level.public()}
        made = replace(made, phases=(*made.phases, level), public=public)
    if isinstance(wanted, OwnSurrogate) and budget.is_private:
        made = replace(made, warnings=(*made.warnings, wanted.caveat))
    return replace(
        made, features=features, bounds_release=search, classes=public_classes, target_bounds=public_range
    ).checked()


def choose(budget: Budget, surrogate: Surrogate | None, ridge: float, task: str = "auc") -> str:
    """The rule of ``algorithm="auto"``: a function of public numbers, never of rows."""
    if task == "error-entropy":
        return "kang-gp"
    if budget.is_pure and (surrogate is None or surrogate.convex):
        if ridge <= 0.0:
            raise AssumptionError(
                "algorithm='auto' takes dpgdsc for pure privacy (delta=0), which needs ridge > 0",
                "ridge=0",
                "Set ridge=0.01, or use delta=None (1/n**2).",
            )
        return "dpgdsc"
    return "moments" if task == "auc" and (surrogate is None or isinstance(surrogate, Square)) else "noisy-gd"


def _features(bounds: Any, n_features: int, names: Sequence[str] | None, calibration: str) -> FeatureDomain | None:
    """The declared domain; for `PrivateBounds` the loose one to search in."""
    if bounds is None:
        return None
    if not isinstance(bounds, PrivateBounds):
        return feature_domain_from(bounds, n_features, names)
    if calibration != "tight":
        raise AssumptionError(
            'PrivateBounds needs calibration="tight": no paper prints noise for a part of the budget',
            f"calibration={calibration!r}",
            "Declare bounds=(low, high) to reproduce a paper.",
        )
    return bounds.for_features(n_features, names)


def _check_level(level_share: float, bounds_share: float, task: str, calibration: str) -> None:
    """Errors about the share of the budget that is to release an intercept."""
    _number("level_share", level_share, positive=False)
    if level_share + bounds_share >= 1.0:
        raise InputError(
            "the algorithm needs a share of the budget of its own",
            f"{level_share + bounds_share:g} of it taken by intercept and bounds",
            "0.1 each is enough.",
        )
    if level_share > 0.0 and (task != "error-entropy" or calibration != "tight"):
        raise AssumptionError(
            'an intercept is released for task="error-entropy" with calibration="tight"',
            f"task={task!r}, calibration={calibration!r}",
            "Leave level_share=0.",
        )


def _task_of(algorithm: str | Callable[..., Plan]) -> str:
    known = isinstance(algorithm, str) and algorithm != "auto"
    return algorithm_named(str(algorithm)).tasks[0] if known else "auc"


def _surrogate_of(score: PointScore, wanted: Surrogate | None) -> str:
    """The score's own surrogate; an error if another is wanted that says nothing there."""
    if wanted is not None and score.surrogates is not None and wanted.name not in score.surrogates:
        raise AssumptionError(
            f"{score.task} needs the {' or '.join(score.surrogates)} surrogate",
            f"surrogate={wanted}",
            "Leave surrogate=None.",
        )
    return score.default_surrogate


def _tasks() -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for a in algorithms() for task in a.tasks))


def _check_fit(record: Algorithm, task: str, surrogate: Surrogate | None, calibration: str) -> None:
    if task not in record.tasks:
        raise AssumptionError(
            f"{record.name} covers {', '.join(record.tasks)}",
            f"task={task!r}",
            f"Use one of: {', '.join(a.name for a in algorithms() if task in a.tasks)}.",
        )
    if surrogate is not None and record.surrogates is not None and surrogate.name not in record.surrogates:
        others = ", ".join(a.name for a in algorithms() if a.surrogates is None or surrogate.name in a.surrogates)
        raise AssumptionError(
            f"{record.name} needs the {' or '.join(record.surrogates)} surrogate",
            f"surrogate={surrogate}",
            f"Leave surrogate=None, or use one of: {others}.",
        )
    if calibration not in record.calibrations:
        printed = ", ".join(a.name for a in algorithms() if calibration in a.calibrations)
        raise AssumptionError(
            f"{record.name} has no {calibration} calibration: no paper prints its noise",
            f"calibration={calibration!r}",
            f'Use calibration="tight", or one of: {printed}.',
        )


def _planner_arguments(
    planner: Callable[..., Plan], max_iter: int | None, calibration: str, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    known = planner_options(planner)
    reserved = ("max_iter", "calibration", "index_seed")
    given = dict(options or {})
    unknown = [key for key in given if key not in known or key in reserved]
    if unknown:
        raise InputError(
            "options must be among " + (", ".join(k for k in known if k not in reserved) or "none at all"),
            ", ".join(map(repr, unknown)),
            "max_iter and calibration are arguments of their own.",
        )
    if "max_iter" in known:
        given["max_iter"] = max_iter
    elif max_iter is not None:
        raise InputError("this planner takes no steps", f"max_iter={max_iter}", "Leave max_iter=None.")
    if "calibration" in known:
        given["calibration"] = calibration
    return given


def _public_classes(task: str, classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
    if classes is None:
        return None
    found = [c.item() if hasattr(c, "item") else c for c in classes]
    if task in TARGET_TASKS:
        raise InputError(f"{task} has targets, not classes", f"classes={found!r}", "Use target_bounds.")
    different = all(a != b for a, b in itertools.combinations(found, 2))
    if task == "metric" and (len(found) < 2 or not different):
        raise InputError("classes must be two or more different labels", repr(found), "List each of them once.")
    if task != "metric" and (len(found) != 2 or not different):
        raise InputError("classes must be two different labels", repr(found), "The second one is the event: (0, 1).")
    return tuple(found)


def _target_range(task: str, bounds: Any, budget: Budget) -> tuple[float, float] | None:
    if task not in TARGET_TASKS:
        if bounds is not None:
            raise InputError(
                f"target_bounds belong to {' and '.join(TARGET_TASKS)}", f"task={task!r}", "Leave them out."
            )
        return None
    if bounds is not None:
        return checked_target_bounds(bounds)
    if budget.is_private:
        raise missing_target_bounds()
    return None


def _parameter_domain(task: str, name: str | None, radius: float | None, usual: float | None) -> ParameterDomain:
    """The domain asked for; the algorithm's own radius, ``None`` for the whole space, where none is asked for."""
    known = ("frobenius", "nuclear") if task == "metric" else ("l2-ball", "whole-space")
    if name is not None and name not in known:
        raise InputError(f"domain must be one of {', '.join(known)} for task={task!r}", repr(name), "Leave it out.")
    if name == "whole-space" and radius is not None:
        raise InputError("the whole space has no radius", f"radius={radius}", "Leave one of the two out.")
    radius = usual if radius is None else radius
    if name == "l2-ball" and radius is None:
        raise InputError("domain='l2-ball' needs a radius here", "radius=None", "Set radius=1.0.")
    if radius is None or name == "whole-space":
        return WholeSpace()
    return PARAMETER_DOMAINS[name or known[0]](float(radius))


def _positive_int(name: str, value: Any, *, at_least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        raise InputError(f"{name} must be an int >= {at_least}", repr(value), "Pairs need at least two records.")


def _number(name: str, value: Any, *, positive: bool) -> None:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    number = float(value) if real else math.nan
    if not (0.0 <= number < math.inf) or (positive and number == 0.0):
        rule = "> 0" if positive else ">= 0"
        raise InputError(
            f"{name} must be a finite number {rule}", f"{name}={value!r}", "In internal units: rows have norm <= 1."
        )
