"""What `why_it_works.py` measures: private fits step by step, noise beside signal, where rows lie, loss over pairs.

Noise is seeded, so that a second run gives the same figures. Nothing here is for private data: signals, means and
distances are read from the rows of public sets, as no private fit may.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from frontier.sets import Table
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from why_it_works_variants import Gradients, Variant, descend, pair_signal, signal

import entrenous as en
from entrenous.arrays import AnyArray, Array
from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.phases.capped_descent import class_weights
from entrenous.engine.phases.descent import Descent
from entrenous.engine.phases.event_share import EventShare
from entrenous.engine.phases.phase import Released
from entrenous.engine.plan import Plan
from entrenous.engine.rows.registry import rows_of
from entrenous.privacy.gaussian_dp import mu_for
from entrenous.privacy.noise import noise_from

EPSILON = 1.0
NO_GEOMETRY = {"zoom": 0.0, "standardise": 0.0}
STEPS: dict[str, dict[str, Any]] = {
    "dpgdsc, printed noise": {"algorithm": "dpgdsc", "ridge": 1e-3, "calibration": "paper"},
    "dpgdsc, tight noise": {"algorithm": "dpgdsc", "ridge": 1e-3},
    "dpgdsc, tight noise, ridge 0.1": {"algorithm": "dpgdsc", "ridge": 0.1},
    "dpgdc2, printed noise": {"algorithm": "dpgdc2", "calibration": "paper"},
    "dpgdc2, tight noise": {"algorithm": "dpgdc2"},
    "noisy-gd: all pairs": {"algorithm": "noisy-gd"},
    "single records": {"options": NO_GEOMETRY},
    "single records, zoom": {"options": {"standardise": 0.0}},
    "single records, standardise": {"options": {"zoom": 0.0}},
    "the default": {},
}
"""The way from the papers' noise to ours, each a fit of the library in the declared ranges."""
WITHOUT_PRIVACY = "without privacy"
MANY_GRADIENTS = 5000
"""Fits with more of them are repeated on each split once only."""

BASE = "the default, in NumPy"
PARTS: dict[str, Variant] = {
    BASE: Variant(),
    "no class weights": Variant(weights=False),
    "no cap on slopes": Variant(cap=False),
    "no constant column": Variant(constant=False),
    "last iterate, no average": Variant(average=False),
}
"""The default with one part left out."""
UNITS: dict[str, Variant] = {
    "single": Variant(weights=False),
    "single, class weights": Variant(),
    "pairs": Variant(pairs=True),
    "pairs, steps half as long": Variant(pairs=True, stride=0.5),
    "pairs, steps twice as long": Variant(pairs=True, stride=2.0),
}
"""Pairs and single records with the same slopes, steps and budget; single ones also with the default's weights."""


def auc_of(fits: Iterable[float]) -> dict[str, Any]:
    """Mean, standard error and number of fits."""
    values = np.array(list(fits))
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    return {"auc": float(values.mean()), "se": error, "fits": len(values)}


def classifier(table: Table, settings: dict[str, Any], seed: int | None = None) -> en.AUCClassifier:
    """One of the steps, not yet fitted."""
    return en.AUCClassifier(**{"epsilon": EPSILON, "bounds": table.bounds} | settings, random_state=seed)


def planned(table: Table, settings: dict[str, Any], n: int, epsilon: float = EPSILON) -> Plan:
    """The same from public numbers, without rows."""
    given = {"algorithm": "auto"} | settings
    return en.plan(n=n, n_features=table.rows.shape[1], epsilon=epsilon, bounds=table.bounds, **given)


def steps_of(table: Table, repeats: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """AUC of every step, what its noise really promises, and its noise beside its signal."""
    results: dict[str, Any] = {}
    for name, settings in STEPS.items():
        n = len(table.split(0)[0])
        plan = planned(table, settings, n)
        aucs, ratios = [], []
        for split in range(table.n_splits):
            train, test = table.split(split)
            for repeat in range(1 if plan.steps > MANY_GRADIENTS else repeats):
                clf = classifier(table, settings, 1000 * repeat + split).fit(table.rows[train], table.labels[train])
                aucs.append(clf.score(table.rows[test], table.labels[test]))
                if repeat == 0 and (split == 0 or plan.steps <= MANY_GRADIENTS):
                    ratios.append(beside_signal(clf, table.rows[train], table.labels[train]))
        results[name] = auc_of(aucs) | {
            "epsilon": plan.epsilon,
            "gradients": plan.steps,
            "stages": [type(phase).__name__ for phase in plan.phases],
            "noise_to_signal": float(np.mean(ratios)),
            "noise_in_needed": _in_needed(plan),
        }
        tell(f"{table.name}, {name}: {results[name]}")
    splits = [table.split(k) for k in range(table.n_splits)]
    free = [en.AUCClassifier(epsilon=None).fit(table.rows[a], table.labels[a]) for a, _ in splits]
    pairs = zip(free, splits, strict=True)
    results[WITHOUT_PRIVACY] = auc_of(clf.score(table.rows[b], table.labels[b]) for clf, (_, b) in pairs)
    return results


def _in_needed(plan: Plan) -> float:
    """The noise of an algorithm's gradients or result, in what the proof asks of it at the epsilon that was claimed."""
    noise = plan.mechanisms[-1]
    whole = mu_for(plan.budget.epsilon, plan.budget.delta)
    spent = sum(mechanism.gdp or 0.0 for mechanism in plan.mechanisms[:-1])
    return noise.noise_multiplier / math.sqrt(noise.count) * math.sqrt(whole**2 - spent)


def beside_signal(clf: en.AUCClassifier, X: Array, y: AnyArray) -> float:
    """Length of the noise, had it one release, in the length of what it is added to.

    That is the result before noise (dpgdsc), or else the gradient at no coefficients.
    """
    plan, domain = clf.plan_, clf.bounds_
    assert domain is not None
    phase, d = plan.phases[-1], X.shape[1]
    mechanism = phase.mechanism
    assert mechanism is not None
    noise = mechanism.rms(d) / math.sqrt(mechanism.count) * math.sqrt(d)
    rows = domain.to_internal(X)
    if isinstance(phase, Descent) and phase.output_noise is not None:
        exact = replace(phase, output_noise=None)
        result = exact.run(plan.problem, rows_of(rows), y, Released(np.zeros(d)), noise_from(0), lambda *_: None)
        return noise / float(np.linalg.norm(result.w))
    if plan.algorithm == "logistic-gd":
        slopes = class_weights(event_share(plan, y, 0))
        return noise * 2.0 * slopes.cap / len(y) / (signal(rows, y, slopes) / math.hypot(1.0, 0.3))
    return noise / float(np.linalg.norm(all_pairs_gradient(plan.problem, np.zeros(d), rows_of(rows), y)))


def event_share(plan: Plan, y: AnyArray, seed: int) -> float | None:
    """The share of events as the plan's own phase releases it, with noise of this seed."""
    first = plan.phases[0]
    return first.shrunk(first.release(y, noise_from(seed))) if isinstance(first, EventShare) else None


def with_and_without_zoom(table: Table, wider: float, repeats: int) -> dict[str, Any]:
    """AUC with and without zooming, where numeric ranges are so many times as wide on both sides of their middle."""
    stretch = np.where(table.binary, 1.0, wider)
    middle, half = (table.high + table.low) / 2.0, (table.high - table.low) / 2.0 * stretch
    wide = replace(table, low=middle - half, high=middle + half)
    found: dict[str, list[float]] = defaultdict(list)
    for name, settings in (("zoom", {}), ("no zoom", {"options": {"zoom": 0.0}})):
        for split in range(table.n_splits):
            train, test = table.split(split)
            for repeat in range(repeats):
                clf = classifier(wide, settings, 1000 * repeat + split).fit(table.rows[train], table.labels[train])
                found[name].append(clf.score(table.rows[test], table.labels[test]))
    return {name: auc_of(values) for name, values in found.items()}


def along_the_way(table: Table) -> dict[str, Any]:
    """How long noisy-gd's exact gradients are together, the noise on each of them, and how the first one ranks."""
    plan = planned(table, STEPS["noisy-gd: all pairs"], len(table.split(0)[0]))
    phase, problem = plan.phases[0], plan.problem
    assert isinstance(phase, Descent)
    mechanism = phase.mechanism
    assert mechanism is not None
    sums, ranks = [], []
    for split in range(table.n_splits):
        train, test = table.split(split)
        inside, new = (table.bounds.to_internal(table.rows[part]) for part in (train, test))
        w, total, lengths = np.zeros(inside.shape[1]), np.zeros(inside.shape[1]), []
        for step in range(phase.steps):
            gradient = all_pairs_gradient(problem, w, rows_of(inside), table.labels[train])
            if step == 0:
                ranks.append(roc_auc_score(table.labels[test], new @ -gradient))
            total += gradient
            lengths.append(float(np.linalg.norm(total)))
            w = problem.domain.project(w - phase.step_size * gradient)
        sums.append(lengths)
    noise = mechanism.rms(w.size) * math.sqrt(w.size)
    return {"sums_of_gradients": np.mean(sums, axis=0).tolist(), "noise": noise, "first_gradient": auc_of(ranks)}


def promises(table: Table) -> dict[str, Any]:
    """The epsilon that the printed noise really gives, for some that are claimed."""
    n = len(table.split(0)[0])
    claimed = [0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0]
    printed = {"dpgdsc": STEPS["dpgdsc, printed noise"], "dpgdc2": STEPS["dpgdc2, printed noise"]}
    others = ("kang-gp", "dpegd", "dp-localized-sgd")
    # Some of them deal out records by a public seed, and what one record can do depends on it a little.
    printed |= {name: {"algorithm": name, "calibration": "paper", "index_seed": 0} for name in others}
    real = {name: [planned(table, one, n, epsilon).epsilon for epsilon in claimed] for name, one in printed.items()}
    return {"claimed": claimed, "real": real}


def parts_of(table: Table, repeats: int) -> dict[str, Any]:
    """Parts left out, and pairs against single records: in the units that the library found, and in declared ranges."""
    aucs: dict[str, list[float]] = defaultdict(list)
    ratios: dict[str, list[float]] = defaultdict(list)
    for split in range(table.n_splits):
        train, test = table.split(split)
        X, y = table.rows[train], table.labels[train]
        for repeat in range(repeats):
            seed = 1000 * repeat + split
            for place, options in (("found", {}), ("declared", NO_GEOMETRY)):
                clf = classifier(table, {"options": options}, seed).fit(X, y)
                rows, new = (clf.bounds_.to_internal(part) for part in (X, table.rows[test]))
                last = clf.plan_.phases[-1]
                gradients = Gradients.of(last)
                share = event_share(clf.plan_, y, seed)
                variants = (PARTS if place == "found" else {}) | {f"{name}, {place}": v for name, v in UNITS.items()}
                for name, variant in variants.items():
                    w = descend(variant, rows, y, share, gradients, seed)
                    aucs[name].append(roc_auc_score(table.labels[test], new @ w))
                # Slopes of at most 1/2 on either side: both gradients move by 1/n.
                noise = math.sqrt(rows.shape[1]) / (gradients.mu * len(y))
                single = signal(rows, y, class_weights(None)) / math.hypot(1.0, 0.3)
                ratios[f"single, {place}"].append(noise / single)
                ratios[f"pairs, {place}"].append(noise / pair_signal(rows, y))
    found = {name: auc_of(values) for name, values in aucs.items()}
    for name, values in ratios.items():
        found[name]["noise_to_signal"] = float(np.mean(values))
    return found


def where_rows_lie(table: Table, bins: int = 50) -> dict[str, Any]:
    """Distances of rows from the centre of their ranges and from their own mean, the corner being at 1."""
    at = table.scaled
    lengths = {"centre": at, "mean": at - at.mean(axis=0)}
    spread = float(np.sqrt(at.var(axis=0).mean()))
    found: dict[str, Any] = {"spread": spread}
    for name, rows in lengths.items():
        far = np.linalg.norm(rows, axis=1) / math.sqrt(at.shape[1])
        shares = np.histogram(far, bins=bins, range=(0.0, 1.25))[0] / len(far)
        found[name] = {"median": float(np.median(far)), "shares": np.round(shares, 5).tolist()}
    return found


def two_columns(table: Table, columns: tuple[int, int], most: int = 250) -> dict[str, Any]:
    """Some rows in two columns, their declared ranges, and the ellipse that one default fit found."""
    train, _ = table.split(0)
    clf = classifier(table, {}, 0).fit(table.rows[train], table.labels[train])
    pair = list(columns)
    domain = clf.bounds_
    return {
        "rows": np.round(table.rows[train][:most, pair], 2).ravel().tolist(),
        "low": table.low[pair].tolist(),
        "high": table.high[pair].tolist(),
        "corner_axes": table.bounds.unit[pair].tolist(),
        "center": domain.origin[pair].tolist(),
        "axes": domain.unit[pair].tolist(),
    }


def without_privacy(table: Table) -> dict[str, Any]:
    """Logistic loss over all pairs and over single records, columns standardised by the training rows."""
    found: dict[str, list[float]] = defaultdict(list)
    for split in range(table.n_splits):
        train, test = table.split(split)
        rows, new, y = *standardised(table.rows[train], table.rows[test]), table.labels[train]
        scores = {
            "pairs": en.AUCClassifier(epsilon=None, surrogate="logistic").fit(rows, y).decision_function(new),
            "single": plain_logistic(rows, y).decision_function(new),
            "weighted": plain_logistic(rows, y, "balanced").decision_function(new),
        }
        for name, score in scores.items():
            found[name].append(roc_auc_score(table.labels[test], score))
    aucs = {name: auc_of(values) for name, values in found.items()}
    for name in ("single", "weighted"):
        aucs[name]["less_pairs"] = auc_of(np.subtract(found[name], found["pairs"]))
    return aucs


def plain_logistic(rows: Array, y: AnyArray, class_weight: str | None = None) -> LogisticRegression:
    """Logistic regression on single records, next to no ridge."""
    return LogisticRegression(C=1e4, solver="newton-cholesky", class_weight=class_weight).fit(rows, y)


def standardised(train: Array, test: Array) -> tuple[Array, Array]:
    """Both parts by the mean and the spread of the first."""
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0.0] = 1.0
    return (train - mean) / spread, (test - mean) / spread


def outliers(table: Table, share: float = 0.02, factor: float = 10.0) -> dict[str, Any]:
    """AUC with some training rows moved far out and given the other label; test rows stay as they are."""
    found: dict[str, list[float]] = defaultdict(list)
    for split in range(table.n_splits):
        train, test = table.split(split)
        rows, new = standardised(table.rows[train], table.rows[test])
        y = table.labels[train].copy()
        for state in ("clean", "spoilt"):
            if state == "spoilt":
                bad = np.random.default_rng(split).choice(len(y), round(share * len(y)), replace=False)
                rows[bad], y[bad] = factor * rows[bad], 1 - y[bad]
            for name, score in _robust(rows, y, new).items():
                found[f"{name}, {state}"].append(roc_auc_score(table.labels[test], score))
    return {name: auc_of(values) for name, values in found.items()} | {"share": share, "factor": factor}


def _robust(rows: Array, y: AnyArray, new: Array) -> dict[str, Array]:
    plain = plain_logistic(rows, y)
    clipped = [np.clip(part, -3.0, 3.0) for part in (rows, new)]
    return {
        "logistic over pairs": en.AUCClassifier(epsilon=None, surrogate="logistic").fit(rows, y).decision_function(new),
        "sigmoid over pairs": en.AUCClassifier(epsilon=None, surrogate="sigmoid").fit(rows, y).decision_function(new),
        "logistic, single records": plain.decision_function(new),
        "sigmoid, single records": new @ bounded_single(rows, y, np.append(plain.coef_[0], plain.intercept_)),
        "logistic, single records, clipped": plain_logistic(clipped[0], y).decision_function(clipped[1]),
    }


def bounded_single(rows: Array, y: AnyArray, start: Array) -> Array:
    """Minimise the mean of ``sigma(-s score)`` over single records from a start, next to no ridge: it is not convex."""
    Z, sign = np.column_stack([rows, np.ones(len(y))]), np.where(y == 1, 1.0, -1.0)

    def loss(w: Array) -> tuple[float, Array]:
        wrong = expit(-sign * (Z @ w))
        slope = -sign * wrong * (1.0 - wrong)
        return float(wrong.mean()) + 5e-7 * float(w @ w), slope @ Z / len(y) + 1e-6 * w

    best: Array = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
    return best[:-1]
