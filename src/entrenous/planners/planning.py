"""From a request in plain words to a checked plan: the one way in for estimators, command line and `entrenous.plan`."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from entrenous.engine.phases.phase import Phase
from entrenous.engine.plan import Plan
from entrenous.errors import AssumptionError, InputError
from entrenous.planners.auto import choose
from entrenous.planners.budget_split import find_bounds, intercept_release, on_the_rest, rest_of
from entrenous.planners.registry import Algorithm, algorithm_named, algorithms, planner_options, unit_radius
from entrenous.privacy.budget import budget_for
from entrenous.privacy.noise import fresh_index_seed
from entrenous.problem.features.declared import feature_domain_from
from entrenous.problem.features.domain import FeatureDomain
from entrenous.problem.features.private_bounds import PrivateBounds
from entrenous.problem.parameter_domains import PARAMETER_DOMAINS, ParameterDomain, WholeSpace
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Surrogate
from entrenous.problem.surrogates.spelling import surrogate_from
from entrenous.problem.tasks.task import Task, task_named

_INTERCEPT = 0.1
"""Share of the budget for an intercept that needs a release of its own."""


def plan(
    algorithm: str | Callable[..., Plan] = "auto",
    *,
    task: str | None = None,
    n: int,
    n_features: int,
    epsilon: float | None,
    delta: float | None = None,
    surrogate: str | Surrogate | None = None,
    shape: str = "linear",
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
    intercept_share: float | None = 0.0,
    index_seed: int | None = None,
    n_components: int | None = None,
) -> Plan:
    """Decide everything about a fit from public numbers; no data.

    `task` is ``"auc"``, ``"metric"`` (records of two or more `classes`; `domain` ``"frobenius"`` or ``"nuclear"``),
    ``"error-entropy"``, ``"pointwise-classification"`` or ``"pointwise-regression"``; ``None`` is the first that the
    algorithm covers, ``"auc"`` for ``"auto"``. `target_bounds` is the public range of a regression's targets. The
    linear tasks take `domain` ``"l2-ball"`` or ``"whole-space"``; `radius` is the domain's, in internal units.
    `intercept_share` is the share of the budget that releases the intercept of an error-entropy regression, which pairs
    cannot see; ``None`` is 0.1 where the algorithm does not find it with the rest, as ``residual-gd`` does. `shape`
    ``"additive"`` lets a ranking bend in every numeric feature, ``"auto"`` where that pays (``logistic-gd``).
    `n_components` is how many directions a metric may have, ``None`` for all; ``moments`` keeps those that tell classes
    apart. With ``bounds=PrivateBounds(...)`` a first release finds the bounds, and the algorithm has the rest of the
    budget.

    >>> print(plan("moments", n=1000, n_features=3, epsilon=1.0, bounds=(0, 1)).mechanisms[0].kind)
    gaussian
    """
    _positive_int("n", n, at_least=2)
    _positive_int("n_features", n_features, at_least=1)
    kind = task_named(_task_of(algorithm) if task is None else task)
    if calibration not in ("tight", "paper"):
        raise InputError("calibration must be 'tight' or 'paper'", repr(calibration), "'tight' is the private default.")
    if radius is not None:
        _number("radius", radius, positive=True)
    _number("ridge", ridge, positive=False)
    wanted = None if surrogate is None else surrogate_from(surrogate)
    budget = budget_for(epsilon, delta, n)
    asked = _asked_bounds(bounds, n_features, feature_names, calibration)
    features = asked.within if isinstance(asked, PrivateBounds) else asked
    share = asked.share if isinstance(asked, PrivateBounds) else 0.0
    _check_components(n_components, n_features, kind)
    public_classes = kind.public_classes(classes)
    public_targets = kind.public_targets(target_bounds, is_private=budget.is_private)
    if algorithm == "auto":
        algorithm = choose(budget, wanted, ridge, kind)
    record = algorithm_named(algorithm, kind) if isinstance(algorithm, str) else None
    if record is not None:
        _check_fit(record, kind, wanted, calibration)
    elif not callable(algorithm):
        raise InputError("algorithm must be a name or a planner", repr(algorithm), "See entrenous.algorithms().")
    intercept_share = _intercept_share(intercept_share, share, kind, calibration, record, budget.is_private)
    planner: Callable[..., Plan] = algorithm if record is None else record.planner  # type: ignore[assignment]
    rule = unit_radius if record is None or kind.unit_radius else record.default_radius
    usual_radius = rule(rest_of(budget, share + intercept_share), n, kind.score.dimension(n_features))
    problem = Problem(
        kind.score,
        _surrogate(kind, wanted, None if record is None else record.default_surrogate),
        _parameter_domain(kind, domain, radius, usual_radius),
        n_features=n_features,
        ridge=float(ridge),
    )
    known = planner_options(planner)
    arguments = _planner_arguments(known, max_iter, calibration, options)
    if "features" in known:
        arguments["features"] = asked
        if isinstance(asked, PrivateBounds) and budget.is_private:
            # It plans the search itself.
            arguments.setdefault("zoom", share)
            share = 0.0
    if "classes" in known:
        arguments["classes"] = None if public_classes is None else len(public_classes)
    if "n_components" in known:
        arguments["n_components"] = n_components
    if "asked_surrogate" in known:
        arguments["asked_surrogate"] = wanted
    if "shape" in known:
        arguments["shape"] = shape
    else:
        _need_straight(shape, features, algorithm)
    if "index_seed" in known:
        # The user's own word in `options` goes before what an estimator passes.
        arguments["index_seed"] = _index_seed(arguments.get("index_seed", index_seed))
    before: tuple[Phase, ...] = ()
    after: tuple[Phase, ...] = ()
    if isinstance(asked, PrivateBounds) and share > 0.0:
        before = (find_bounds(share, budget, asked),)
    if intercept_share > 0.0 and budget.is_private:
        after = (intercept_release(intercept_share, budget, n),)
    others = [phase.mechanism for phase in (*before, *after) if phase.mechanism is not None]
    made = on_the_rest(others, share + intercept_share, budget, lambda rest: planner(problem, rest, n, **arguments))
    caveat = (problem.surrogate.caveat,) if problem.surrogate.caveat and budget.is_private else ()
    return replace(
        made,
        budget=budget,
        phases=(*before, *made.phases, *after),
        warnings=(*made.warnings, *caveat),
        features=features,
        classes=public_classes,
        target_bounds=public_targets,
    ).checked()


def _asked_bounds(
    bounds: Any, n_features: int, names: Sequence[str] | None, calibration: str
) -> FeatureDomain | PrivateBounds | None:
    """The declared domain, or the request to search in one, with a range per feature."""
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


def _intercept_share(
    asked: float | None, bounds_share: float, task: Task, calibration: str, record: Algorithm | None, is_private: bool
) -> float:
    """The share of the budget that is to release an intercept, checked."""
    found_anyway = record is not None and record.finds_intercept
    if asked is None:
        needed = task.has_hidden_intercept and is_private and not found_anyway
        asked = _INTERCEPT if needed else 0.0
    _number("intercept_share", asked, positive=False)
    if asked > 0.0 and found_anyway and is_private:
        assert record is not None
        raise AssumptionError(
            f"{record.name} finds the intercept together with the coefficients",
            f"intercept_share={asked:g}",
            "Leave intercept_share out.",
        )
    if asked + bounds_share >= 1.0:
        raise InputError(
            "the algorithm needs a share of the budget of its own",
            f"{asked + bounds_share:g} of it taken by intercept and bounds",
            "0.1 each is enough.",
        )
    if asked > 0.0 and not (task.has_hidden_intercept and calibration == "tight"):
        raise AssumptionError(
            'an intercept is released for task="error-entropy" with calibration="tight"',
            f"task={task.name!r}, calibration={calibration!r}",
            "Leave intercept_share=0.",
        )
    return asked


def _check_components(n_components: int | None, n_features: int, task: Task) -> None:
    if n_components is None:
        return
    if not task.score.positive:
        raise InputError(
            "n_components is how many directions a metric has", f"task={task.name!r}", "Leave n_components=None."
        )
    whole = isinstance(n_components, numbers.Integral) and not isinstance(n_components, bool)
    if not whole or not 1 <= n_components <= n_features:
        raise InputError(
            f"n_components must be an int from 1 to the number of features, {n_features}",
            repr(n_components),
            "None keeps all directions.",
        )


def _task_of(algorithm: str | Callable[..., Plan]) -> str:
    known = isinstance(algorithm, str) and algorithm != "auto"
    return algorithm_named(str(algorithm)).tasks[0] if known else "auc"


def _surrogate(task: Task, wanted: Surrogate | None, algorithms_own: str | None) -> Surrogate:
    """The surrogate asked for, else the task's own, else the algorithm's; an error if it says nothing there."""
    if wanted is None:
        return surrogate_from(task.surrogate or algorithms_own or "logistic")
    if task.surrogates is not None and wanted.name not in task.surrogates:
        raise AssumptionError(
            f"{task.name} needs the {' or '.join(task.surrogates)} surrogate",
            f"surrogate={wanted}",
            "Leave surrogate=None.",
        )
    return wanted


def _check_fit(record: Algorithm, task: Task, surrogate: Surrogate | None, calibration: str) -> None:
    if not record.covers(task):
        raise AssumptionError(
            f"{record.name} covers {', '.join(record.tasks)}",
            f"task={task.name!r}",
            f"Use one of: {', '.join(a.name for a in algorithms() if a.covers(task))}.",
        )
    if not record.takes(surrogate):
        others = ", ".join(a.name for a in algorithms() if a.covers(task) and a.takes(surrogate))
        raise AssumptionError(
            f"{record.name} needs the {' or '.join(record.surrogates)} surrogate"
            if record.surrogates
            else f"{record.name} has no surrogate for task={task.name!r}",
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


def _need_straight(shape: str, features: FeatureDomain | None, algorithm: str | Callable[..., Plan]) -> None:
    """Errors where scores would bend with an algorithm that knows no shapes."""
    bending = ", ".join(a.name for a in algorithms() if "shape" in a.options)
    named = algorithm if isinstance(algorithm, str) else "this planner"
    if shape not in ("linear", "auto"):
        raise AssumptionError(
            f"{named} learns linear scores", f"shape={shape!r}", f'Use shape="linear", or algorithm="{bending}".'
        )
    if features is not None and features.added_entries:
        raise AssumptionError(
            f"{named} takes bounds without shapes",
            "those of a fit with shapes",
            f'Declare ranges, or use algorithm="{bending}".',
        )


def _planner_arguments(
    known: Sequence[str], max_iter: int | None, calibration: str, options: Mapping[str, Any] | None
) -> dict[str, Any]:
    reserved = ("max_iter", "calibration", "features", "shape", "classes", "n_components", "asked_surrogate")
    given = dict(options or {})
    unknown = [key for key in given if key not in known or key in reserved]
    if unknown:
        raise InputError(
            "options must be among " + (", ".join(k for k in known if k not in reserved) or "none at all"),
            ", ".join(map(repr, unknown)),
            "max_iter, calibration and shape are arguments of their own.",
        )
    if "max_iter" in known:
        given["max_iter"] = max_iter
    elif max_iter is not None:
        raise InputError(
            "this planner takes no steps",
            f"max_iter={max_iter}",
            "Leave max_iter=None, or name one that does: noisy-gd.",
        )
    if "calibration" in known:
        given["calibration"] = calibration
    return given


def _index_seed(given: Any) -> int:
    if given is None:
        return fresh_index_seed()
    whole = isinstance(given, numbers.Integral) and not isinstance(given, bool)
    if not whole or not 0 <= int(given) < 2**63:
        raise InputError(
            "index_seed must be an int from 0 to 2**63 - 1",
            repr(given),
            "It is public; leave it out for an order from the operating system.",
        )
    return int(given)


def _parameter_domain(task: Task, name: str | None, radius: float | None, usual: float | None) -> ParameterDomain:
    """The domain asked for; the algorithm's own radius, ``None`` for the whole space, where none is asked for."""
    known = task.parameter_domains
    if name is not None and name not in known:
        raise InputError(
            f"domain must be one of {', '.join(known)} for task={task.name!r}", repr(name), "Leave it out."
        )
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
