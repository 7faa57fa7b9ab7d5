"""Steps on single pairs: streams against NumPy, noisy steps against their noise, what pricing a stream costs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from figures import FEATURES, Figure, best_times, ranking

from entrenous.arrays import AnyArray, Array
from entrenous.engine.phases.phase import Released
from entrenous.engine.phases.sampled_descent import BLOCK, SampledDescent
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.streams.stream_kernel import run_stream
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.lemmas.realised_path import nonsmooth_exposure, smooth_exposure
from entrenous.privacy.mechanisms.gaussian import SampledGaussian
from entrenous.privacy.mechanisms.sampling import without_replacement
from entrenous.privacy.noise import SecureNoise
from entrenous.problem.problem import Problem
from entrenous.problem.streams.indices import with_replacement
from entrenous.problem.streams.pairing import Pairing, with_previous
from entrenous.problem.surrogates.convex import Hinge, Logistic


def numpy_stream(problem: Problem, X: Array, y: AnyArray, pairing: Pairing, eta: Array, weights: Array) -> Array:
    """The steps of `run_stream` for the ranking task with one partner each, in plain NumPy."""
    w = np.zeros(X.shape[1])
    total = weights[0] * w
    averaged = bool(weights[1:-1].any())
    for t in range(pairing.steps):
        i, j = pairing.current[t], pairing.stream[pairing.low[t]]
        if y[i] != y[j]:
            gap = X[i] - X[j] if y[i] == 1 else X[j] - X[i]
            if gap @ w < 1.0:
                w = w + eta[t] * gap
                norm = np.sqrt(w @ w)
                if norm > problem.domain.radius:
                    w = w * (problem.domain.radius / norm)
        if averaged:
            total = total + weights[t + 1] * w
    return total if averaged else w


def streams() -> Iterator[Figure]:
    """Streaming descent against the same steps in NumPy, rows in the order of memory and not, averaged and not."""
    n = 100_000
    problem, _, X, y = ranking(Hinge(), n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    steps = n - 1
    eta = np.full(steps, 0.05)
    last, mean = np.zeros(n), np.full(n, 1.0 / n)
    last[-1] = 1.0
    for order, rows in (("in order", np.arange(n)), ("shuffled", np.random.default_rng(1).permutation(n))):
        pairing = with_previous(rows, 1)
        for average, weights in (("last iterate", last), ("averaged", mean)):

            def compiled(pairing: Pairing = pairing, weights: Array = weights) -> Array:
                return run_stream(problem, X, y, pairing, eta, weights, np.zeros(FEATURES))[1]

            def plain(pairing: Pairing = pairing, weights: Array = weights) -> Array:
                return numpy_stream(problem, X, y, pairing, eta, weights)

            np.testing.assert_allclose(compiled(), plain(), rtol=1e-6, atol=1e-9)
            fast, slow = best_times(compiled, plain, repeats=5)
            case = f"stream, {order}, {average} ({steps / fast:.2g} steps/s against {steps / slow:.2g})"
            yield Figure(case, slow / fast, "times faster than NumPy", 30 if weights is mean else 40, True, fast, slow)


def noisy_steps() -> Iterator[Figure]:
    """One random pair and fresh noise a step, against drawing that noise alone; secure noise against the fastest."""
    n, steps = 100_000, 200_000
    bound = Bound(1.0, "a benchmark")
    noise = SampledGaussian(bound, 1.0, count=steps, sampling=without_replacement(n, 2))
    source, block = SecureNoise(), BLOCK // FEATURES * FEATURES

    def generate() -> None:
        for start in range(0, steps * FEATURES, block):
            source.normal(min(block, steps * FEATURES - start))

    for surrogate in (Hinge(), Logistic()):
        problem, _, X, y = ranking(surrogate, n)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        phase = SampledDescent(True, steps, 1e-3, None, noise)

        def run(phase: SampledDescent = phase, problem: Problem = problem, X: Array = X, y: AnyArray = y) -> object:
            return phase.run(problem, rows_of(X), y, Released(problem.start()), source, lambda done, total: None)

        taken, alone = best_times(run, generate, repeats=5)
        case = f"noisy steps, {surrogate.name} ({steps / taken:.2g} steps/s)"
        yield Figure(case, taken / alone, "time of their normals alone", 1.3, False, taken, alone)
    fast = np.random.Generator(np.random.SFC64(0))
    size = 1_000_000
    secure, quick = best_times(lambda: source.normal(size), lambda: fast.standard_normal(size))
    case = f"secure normals ({size / secure:.2g}/s against {size / quick:.2g}/s)"
    yield Figure(case, secure / quick, "time of NumPy's fastest generator", None, False, secure, quick)


def stream_prices() -> Iterator[Figure]:
    """The sensitivity of the pairs that were drawn, against the steps on them."""
    for lemma, surrogate, n, passes, buffer, goal in (
        (5, Logistic(), 100_000, 1, 1, 0.15),
        (6, Hinge(), 100_000, 1, 1, 0.15),
        (6, Hinge(), 100_000, 1, 4, 0.15),
        (6, Hinge(), 100_000, 10, 1, None),
        (6, Hinge(), 1000, 1000, 1, None),
    ):
        problem, _, X, y = ranking(surrogate, n)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        drawn = with_previous(with_replacement(0, 1, n, passes * n), buffer)
        eta, weights = np.full(drawn.steps, 0.05), np.full(drawn.steps + 1, 1.0 / (drawn.steps + 1))
        listed = drawn, n, eta, weights
        price = partial(smooth_exposure, *listed) if lemma == 5 else partial(nonsmooth_exposure, *listed, 2.0, 2.0)
        steps = partial(run_stream, problem, X, y, drawn, eta, weights, np.zeros(FEATURES))
        taken, against = best_times(price, steps)
        stream = f"n = {n:,}, {passes} pass{'es' * (passes > 1)}, {buffer} partner{'s' * (buffer > 1)}"
        case = f"Lemma {lemma} for the drawn pairs, {stream} ({1e9 * taken / drawn.steps:.2g} ns a step)"
        yield Figure(case, taken / against, f"time of the {surrogate.name}'s steps", goal, False, taken, against)
