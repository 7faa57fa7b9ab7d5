"""What a data scientist would use instead of the default: three libraries and plain noisy descent, with their settings.

Libraries are imported by the method that needs them; they live in an environment of their own
(``benchmarks/frontier/requirements.txt``). Rows come mapped to [-1, 1] by the public ranges. Every setting of a grid is
listed here, before any run. One of them is committed per peer: the best mean AUC at epsilon = 1 over the five design
sets, at the peer's own adjacency (`cells.committed`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit

from entrenous.arrays import AnyArray, Array
from entrenous.privacy.gaussian_dp import mu_for

Scorer = Callable[[Array], Array]
Settings = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """A method that is not ours, and what a reader has to know about it."""

    title: str
    fit: Callable[[Array, AnyArray, float, float, Settings], Scorer]
    grid: tuple[Settings, ...]
    adjacency: str
    """``"replace one"``, or ``"add or remove"``, which promises less at the same epsilon."""
    linear: bool = True
    pure: bool = False


def opacus(X: Array, y: AnyArray, epsilon: float, delta: float, settings: Settings) -> Scorer:
    """Logistic regression by DP-SGD: Poisson samples, clipped gradients, its tightest accountant."""
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    torch.set_num_threads(1)
    n, d = X.shape
    rate, steps = settings["rate"], settings["steps"]
    rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    plain = torch.nn.Linear(d, 1)
    torch.nn.init.zeros_(plain.weight)
    torch.nn.init.zeros_(plain.bias)
    model = GradSampleModule(plain)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=settings["learning_rate"]),
        noise_multiplier=_opacus_noise(epsilon, delta, rate, steps),
        max_grad_norm=1.0,
        expected_batch_size=max(1, round(rate * n)),
        loss_reduction="mean",
    )
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(steps):
        taken = torch.rand(n) < rate
        optimizer.zero_grad()
        loss(model(rows[taken])[:, 0], labels[taken]).backward()
        optimizer.step()
    weights = plain.weight.detach().numpy()[0].astype(float)
    return lambda new: new @ weights


@cache
def _opacus_noise(epsilon: float, delta: float, rate: float, steps: int) -> float:
    from opacus.accountants.utils import get_noise_multiplier

    # The accountant adds its own error to epsilon: a hundredth of it, so that small ones do not suffer.
    return float(
        get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=delta,
            sample_rate=rate,
            steps=steps,
            accountant="prv",
            epsilon_tolerance=epsilon / 100.0,
            eps_error=min(0.01, epsilon / 50.0),
        )
    )


def diffprivlib(X: Array, y: AnyArray, epsilon: float, delta: float, settings: Settings) -> Scorer:
    """Logistic regression with a perturbed objective; pure, so delta is not used."""
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(epsilon=epsilon, data_norm=math.sqrt(X.shape[1]), C=settings["C"])
    model.fit(X, y)
    return lambda new: np.asarray(model.decision_function(new))


def dp_ebm(X: Array, y: AnyArray, epsilon: float, delta: float, settings: Settings) -> Scorer:
    """An additive model of small trees, boosted with noise: not linear."""
    from interpret.privacy import DPExplainableBoostingClassifier

    names = [f"x{j}" for j in range(X.shape[1])]
    model = DPExplainableBoostingClassifier(
        feature_names=names,
        feature_types=["continuous"] * len(names),
        privacy_bounds=dict.fromkeys(names, (-1.0, 1.0)),
        epsilon=epsilon,
        delta=delta,
        n_jobs=1,
        **settings,
    )
    model.fit(X, y)
    return lambda new: np.asarray(model.decision_function(new))


def noisy_descent(X: Array, y: AnyArray, epsilon: float, delta: float, settings: Settings) -> Scorer:
    """Full-batch logistic descent, a record's gradient clipped to norm 1, noise on every step; replace-one."""
    n, d = X.shape
    steps = settings["steps"]
    rows, signs = np.column_stack([X, np.ones(n)]), np.where(y == 1, 1.0, -1.0)
    norms = np.linalg.norm(rows, axis=1)
    noise = 2.0 / n * math.sqrt(steps) / mu_for(epsilon, delta)
    w, source = np.zeros(d + 1), np.random.default_rng()
    for _ in range(steps):
        slopes = np.minimum(expit(-signs * (rows @ w)), 1.0 / norms)
        w += settings["learning_rate"] * (rows.T @ (signs * slopes) / n + noise * source.normal(size=d + 1))
    return lambda new: new @ w[:-1]


def _grid(**choices: tuple[Any, ...]) -> tuple[Settings, ...]:
    settings: list[Settings] = [{}]
    for name, values in choices.items():
        settings = [{**one, name: value} for one in settings for value in values]
    return tuple(settings)


PEERS: dict[str, Peer] = {
    "opacus": Peer(
        "Opacus, logistic regression",
        opacus,
        tuple(
            {**schedule, "learning_rate": rate}
            for schedule in ({"rate": 0.05, "steps": 200}, {"rate": 0.1, "steps": 100})
            for rate in (0.5, 2.0, 8.0)
        ),
        "add or remove",
    ),
    "diffprivlib": Peer(
        "diffprivlib, logistic regression",
        diffprivlib,
        _grid(C=(0.001, 0.01, 0.1, 1.0)),
        "replace one",
        pure=True,
    ),
    "noisy-descent": Peer(
        "plain noisy logistic descent",
        noisy_descent,
        _grid(steps=(16, 64), learning_rate=(0.5, 2.0, 8.0)),
        "replace one",
    ),
    "dp-ebm": Peer(
        "DP-EBM (additive, not linear)",
        dp_ebm,
        (
            {"max_rounds": 300, "learning_rate": 0.01},
            {"max_rounds": 100, "learning_rate": 0.01},
            {"max_rounds": 30, "learning_rate": 0.1},
        ),
        "add or remove",
        linear=False,
    ),
}


def same_adjacency(epsilon: float, delta: float) -> tuple[float, float]:
    """What add-or-remove has to be run at to promise replace-one at (epsilon, delta): two steps of half of it."""
    half = epsilon / 2.0
    return half, delta / (1.0 + math.exp(half))
