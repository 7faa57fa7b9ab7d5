"""What makes pricing a stream fast: bounds that leave records out, chunks, and a refusal of what takes too long."""

import math
import time
import tracemalloc

import numpy as np
import pytest

import entrenous as en
from entrenous.errors import AssumptionError
from entrenous.privacy.lemmas import all_previous, reservoir_path, stream_bounds
from entrenous.privacy.lemmas.all_previous import largest_recursion_all_previous, upper_bounds
from entrenous.privacy.lemmas.arrival_path import arrival_exposure
from entrenous.privacy.lemmas.contraction import Contraction, nonsmooth_step
from entrenous.privacy.lemmas.realised_path import contracting_exposure, nonsmooth_exposure, smooth_exposure
from entrenous.privacy.lemmas.stream_bounds import MOST_STEPS, stream_sensitivity
from entrenous.problem.pair_scores import LinearDifference
from entrenous.problem.parameter_domains import L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.streams.stream import Stream
from entrenous.problem.surrogates.convex import Hinge


def literal_recursions(order, n, eta, weights, drift, jump):
    """Lemma 6 for every record and step by step, from its words: what each comes to, and the largest r of each step."""
    unpaired, found, top = len(order) - len(eta), [], np.zeros(len(eta))
    for i in range(n):
        r = moved = 0.0
        for s, step in enumerate(eta):
            t = unpaired + s
            f = sum(i in (order[t], other) and order[t] != other for other in order[:t]) / t
            if f > 0 or r > 0:
                r = math.sqrt(r**2 + (step * (1 - f) * drift) ** 2) + step * f * jump
            moved += weights[s + 1] * r
            top[s] = max(top[s], r)
        found.append(moved)
    return np.array(found), top


@pytest.mark.parametrize("steps", ["constant", "shrinking", "growing", "any"])
def test_bounds_of_all_previous_hold_and_are_caught_when_halved(steps):
    rng = np.random.default_rng(3)
    halved = missed = 0
    for trial in range(60):
        n, T, unpaired = int(rng.integers(1, 15)), int(rng.integers(1, 40)), int(rng.integers(1, 5))
        order = rng.integers(n, size=T + unpaired)
        at = np.arange(1, T + 1)
        eta = {"constant": at**0.0, "shrinking": at**-0.7, "growing": at**0.5, "any": rng.exponential(size=T)}[steps]
        weights = np.eye(T + 1)[T] if trial % 3 == 0 else rng.dirichlet(np.full(T + 1, rng.choice([0.1, 1.0, 10.0])))
        numbers = order, n, eta, weights, *10.0 ** rng.uniform(-1.5, 1.5, 2)
        expected, top = literal_recursions(*numbers)
        bounds = upper_bounds(*numbers)
        assert (expected <= bounds * (1 + 1e-12)).all()
        assert (top <= all_previous._envelope(order, unpaired, n, eta, *numbers[4:]) * (1 + 1e-12)).all()
        assert largest_recursion_all_previous(*numbers) == pytest.approx(expected.max(), rel=1e-12, abs=0.0)
        assert largest_recursion_all_previous(*numbers, most_followed=0) >= expected.max() * (1 - 1e-12)
        halved += (bounds / 2.0 < expected).any()
        missed += expected.max() > 0.0
    assert halved >= 0.9 * missed, "a halved bound must be caught"


@pytest.mark.parametrize(("n", "T"), [(1000, 1000), (50, 2000)])
def test_bounds_of_all_previous_are_close_and_few_records_are_followed(n, T, monkeypatch):
    followed, follow = [], all_previous._followed
    monkeypatch.setattr(all_previous, "_followed", lambda *a: followed.append(a[2]) or follow(*a))
    for seed in range(5):
        stream = Stream(T, T**-0.75, buffer=None, average="before")
        order, eta, weights = stream.pairing(n, seed, 1).stream, stream.step_sizes(), stream.weights()
        followed.clear()
        exact = largest_recursion_all_previous(order, n, eta, weights, 1.0, 1.0)
        assert len(followed) <= 20
        each = (follow(order, 1, i, eta, weights[1:], 1.0, 1.0)[0] for i in range(n))
        assert exact == max(each)
        assert largest_recursion_all_previous(order, n, eta, weights, 1.0, 1.0, most_followed=0) <= 1.12 * exact


STEPS = {
    "huai": lambda T, rng: Stream(T, 4.0, schedule="huai", warmup=7).step_sizes(),
    "inverse": lambda T, rng: Stream(T, 4.0, schedule="inverse").step_sizes(),
    "any": lambda T, rng: rng.uniform(0.01, 2.5, T),
}


@pytest.mark.parametrize("lemma", [6, 5, 10])
@pytest.mark.parametrize("steps", STEPS)
def test_all_previous_in_order_of_arrival_is_the_slow_one(steps, lemma):
    """Followed are all records on the list of pairs, and on the other side those that can be the worst."""
    rng = np.random.default_rng(4)
    halved = 0
    for trial in range(40):
        T, warmup = int(rng.integers(1, 60)), int(rng.integers(0, 9))
        stream = Stream(T, 1.0, "arrival", None, warmup=warmup)
        n = T + stream.unpaired
        eta, linear, quadratic = STEPS[steps](T, rng), rng.dirichlet(np.ones(T + 1)), np.zeros(T + 1)
        drift, same, more = 10.0 ** rng.uniform(-1.0, 1.0, 3)
        step = {6: nonsmooth_step(drift, same), 5: nonsmooth_step(0.0, same)}.get(
            lemma, Contraction(rng.uniform(0.1, 1.0), rng.uniform(0.0, 1.5), drift, same, same + more, 20.0)
        )
        if lemma == 10 and trial % 2:
            linear, quadratic = quadratic, rng.uniform(0.0, 1.0, T + 1)
        pairing = stream.pairing(n, 0, 1)
        found = arrival_exposure(stream.unpaired, eta, linear, quadratic, step)
        bound = arrival_exposure(stream.unpaired, eta, linear, quadratic, step, most_followed=0)
        if T > 1:
            assert found == pytest.approx(contracting_exposure(pairing, n, eta, linear, quadratic, step), rel=1e-12)
        if lemma == 5:
            assert found == pytest.approx(same * smooth_exposure(pairing, n, eta, linear), rel=1e-12)
        if lemma == 6 and T > 1:
            assert found == pytest.approx(nonsmooth_exposure(pairing, n, eta, linear, drift, same), rel=1e-12)
        assert found <= bound * (1 + 1e-12)
        halved += bound / 2.0 < found
    assert halved > 30, "a halved bound must be caught"


@pytest.mark.parametrize("release", ["average", "every iterate"])
def test_huais_streams_are_bounded_by_one_path(release):
    """The record that is first in line is the worst, so that the bound of all of them is no more than it."""
    stream = Stream(3000, 20.0, "arrival", None, average="all", schedule="huai", warmup=7)
    eta, weights, none = stream.step_sizes(), stream.weights(), np.zeros(3001)
    linear, quadratic = (weights, none) if release == "average" else (none, np.arange(3001) + 7.0)
    for smooth_step in (0.0, 1.0):
        step = Contraction(0.1, smooth_step, 1.0, 1.0, 1.0, 2.0)
        exact = arrival_exposure(7, eta, linear, quadratic, step)
        bound = arrival_exposure(7, eta, linear, quadratic, step, most_followed=0)
        assert bound == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("at_once", [1, 64, 1 << 20])
@pytest.mark.parametrize("keep", ["reservoir", "reservoir without replacement"])
@pytest.mark.parametrize(("buffer", "steps"), [(3, 1), (3, 20), (7, 300), (50, 200)])
def test_reservoirs_are_priced_in_chunks(keep, buffer, steps, at_once, monkeypatch):
    monkeypatch.setattr(reservoir_path, "_AT_ONCE", at_once)
    for decay, average, jump in ((0.5, "before", 1.5), (0.0, "last", 0.3), (20.0, "delayed", 1.0)):
        stream = Stream(steps, 0.3, "arrival", buffer, decay, average, keep=keep)
        listed = stream.pairing(steps + 1, 4, 1), steps + 1, stream.step_sizes(), stream.weights()
        smooth = reservoir_path.smooth_reservoir_exposure(stream, 4, 1)
        assert smooth == pytest.approx(smooth_exposure(*listed), rel=1e-12, abs=0.0)
        nonsmooth = reservoir_path.nonsmooth_reservoir_exposure(stream, 4, 1, 1.0, jump)
        assert nonsmooth == pytest.approx(nonsmooth_exposure(*listed, 1.0, jump), rel=1e-12, abs=0.0)


ASK = {"n_features": 5, "epsilon": 1.0, "bounds": (-1, 1), "index_seed": 1}
TOO_LONG = {
    "sgd-previous": {"n": 1000, "max_iter": 10**9},
    "sgd-pair": {"n": 1000, "max_iter": 10**9},
    "sgd-all-previous": {"n": 1000, "max_iter": 10**9},
    "ogd-previous": {"n": 10**9},
    "olp": {"n": 10**8},
    "offpairc": {"n": 10**9},
}


def peak_of(work):
    """The most memory that Python and NumPy hold at once, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", TOO_LONG)
def test_what_would_take_too_long_is_refused_at_once(name):
    en.plan(name, **ASK, n=100)  # imports and compiles

    def refused():
        with pytest.raises(AssumptionError, match="100,000,000 steps and 2,000,000,000 pairs"):
            en.plan(name, **ASK | TOO_LONG[name])

    start = time.perf_counter()
    assert peak_of(refused) < 1e6
    assert time.perf_counter() - start < 1.0


def test_lemma_10_alone_is_refused_where_it_cannot_walk():
    """Steps that are too long for the other two, on pairs that are drawn."""
    problem = Problem(LinearDifference(), Hinge(), L2Ball(1.0), 2, ridge=1.0)
    stream = Stream(10**5, 1.5)
    with pytest.raises(AssumptionError, match="only Lemma 10"):
        stream_sensitivity(stream, problem, 10**5, 0, 1)


def test_the_planners_own_streams_can_be_priced():
    assert en.plan("sgd-previous", n=10**6, n_features=2, epsilon=None, surrogate="hinge").steps <= MOST_STEPS
    plan = en.plan("dp-sgd-output", **ASK, n=100_000, surrogate="hinge")
    assert plan.mechanisms[0].lemma == "Lemma 6"
    assert en.plan("offpairstrc", **ASK, n=20_000, ridge=0.1).mechanisms[0].lemma == "Lemma 10"


def test_a_reservoirs_memory_does_not_grow_with_the_records():
    stream_bounds.stream_sensitivity.cache_clear()
    en.plan("olp", **ASK, n=100)
    peaks = [peak_of(lambda n=n: en.plan("olp", **ASK, n=n)) for n in (20_000, 80_000)]
    assert peaks[1] < 1.2 * peaks[0] < 50e6
