"""Streams: the compiled loop against the papers' boxes, and Lemmas 5 and 6 against adversaries."""

import math
from dataclasses import replace

import numpy as np
import pytest
from oracles import random_labels, random_parameter, random_rows

import entrenous as en
from entrenous.engine.streams.stream_kernel import run_stream
from entrenous.errors import AssumptionError
from entrenous.privacy.lemmas.contraction import Contraction
from entrenous.privacy.lemmas.followed import largest_followed
from entrenous.privacy.lemmas.realised_path import contracting_exposure, nonsmooth_exposure, smooth_exposure
from entrenous.privacy.lemmas.stream_bounds import stream_sensitivity
from entrenous.privacy.lemmas.streams import smooth_stream_sensitivity
from entrenous.privacy.lemmas.window_path import nonsmooth_window_exposure, second_is_worst, smooth_window_exposure
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, L2Ball, NuclearPSD
from entrenous.problem.problem import Problem
from entrenous.problem.streams.buffers import ClassReservoirs, Reservoir, Window
from entrenous.problem.streams.indices import uniform, with_replacement
from entrenous.problem.streams.pairing import Pairing, random_pairs, with_previous
from entrenous.problem.streams.stream import Stream
from entrenous.problem.surrogates.convex import Hinge, Logistic, QNormLoss, SmoothedHinge, Square

PROBLEMS = [
    Problem(LinearDifference(), Logistic(), L2Ball(1.0), 3),
    Problem(LinearDifference(), Hinge(), L2Ball(2.0), 3),
    Problem(LinearDifference(), Square(), L2Ball(0.7), 3, ridge=0.05),
    Problem(LinearDifference(), SmoothedHinge(0.3), L2Ball(1.0), 2, form="label-difference"),
    Problem(LinearDifference(), QNormLoss(1.5), L2Ball(1.0), 2),
    Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 2),
    Problem(Mahalanobis(), Logistic(), NuclearPSD(1.0), 2, ridge=0.01),
    Problem(ErrorDifference(), Square(), L2Ball(1.0), 2),
]
STREAMS = [
    Stream(12, 0.3),
    Stream(12, 0.2, buffer=3, decay=0.5, average="last"),
    Stream(9, 0.2, buffer=None, average="before"),
    Stream(5, 0.4, order="arrival"),
    Stream(5, 0.3, order="arrival", buffer=3, average="before", decay=0.5),
    Stream(10, 0.3, order="random-pairs", average="before"),
    Stream(5, 0.3, order="arrival", buffer=3, average="before", decay=0.5, keep="reservoir"),
    Stream(5, 0.3, order="arrival", buffer=2, average="all", keep="reservoir without replacement"),
]
STRONG = [
    Stream(5, 4.0, order="arrival", buffer=None, average="all", schedule="huai", warmup=1),
    Stream(4, 4.0, order="arrival", buffer=None, average="last", schedule="huai", warmup=2, release="every iterate"),
    Stream(12, 4.0, schedule="inverse", average="before"),
    Stream(12, 4.0, order="random-pairs", schedule="inverse", average="last"),
]
RIDGED = [
    Problem(LinearDifference(), Logistic(), L2Ball(1.0), 2, ridge=0.5),
    Problem(LinearDifference(), Hinge(), L2Ball(1.0), 2, ridge=0.5),
    Problem(LinearDifference(), SmoothedHinge(0.1), L2Ball(1.0), 2, ridge=0.5, form="label-difference"),
    Problem(Mahalanobis(), Logistic(), FrobeniusPSD(1.0), 2, ridge=0.5),
]


def named(problem):
    return f"{problem.task}-{problem.surrogate}-{problem.domain.name}-{problem.form}"


def literal_pairs(stream, n, seed):
    """Step by step, the pairs of indices, from the papers' words."""
    if stream.keep == "reservoir without replacement":
        chances = uniform(seed, 1, (stream.steps + 1, 1))[:, 0]
        places, pairs = [0], []
        for t in range(1, stream.steps + 1):
            pairs.append([(t, place) for place in places])
            place = int(chances[t] * (t + 1))
            if t < stream.buffer:
                places = [*places, t]
            elif place < stream.buffer:
                places = [*places[:place], t, *places[place + 1 :]]
        return pairs
    if stream.keep == "reservoir":
        chances = uniform(seed, 1, (stream.steps + 1, stream.buffer))
        places, pairs = [0] * stream.buffer, []
        for t in range(1, stream.steps + 1):
            pairs.append([(t, place) for place in places])
            places = [t if chance < 1 / (t + 1) else p for p, chance in zip(places, chances[t], strict=True)]
        return pairs
    if stream.order == "random-pairs":
        drawn = with_replacement(seed, 1, n, 2 * stream.steps)
        return [[(drawn[t], drawn[stream.steps + t])] for t in range(stream.steps)]
    first = max(1, stream.warmup)
    order = range(n) if stream.order == "arrival" else with_replacement(seed, 1, n, stream.steps + first)
    return [
        [(order[t], order[s]) for s in range(t) if stream.buffer is None or t - s <= stream.buffer]
        for t in range(first, stream.steps + first)
    ]


def literal_step(stream, k):
    """Length of the k-th step, from 1."""
    t = k + stream.warmup
    if stream.schedule == "huai":
        return stream.step_size * (t - 1) / (t * max(1, t - 2))
    return stream.step_size / (t + 1) if stream.schedule == "inverse" else stream.step_size * t**-stream.decay


def literal_iterates(problem, stream, X, y, seed):
    """The loop as printed: a mean of pair gradients, a step, a projection."""
    w = problem.domain.project(np.zeros(problem.score.shape(problem.n_features)))
    iterates = [w]
    for t, pairs in enumerate(literal_pairs(stream, len(X), seed), start=1):
        gradient = np.zeros_like(w)
        for i, j in pairs:
            if i == j:
                continue
            if problem.task == "auc":
                if y[i] == y[j]:
                    continue
                i, j = (i, j) if y[i] == 1 else (j, i)
            one = (X[[i]], X[[j]], y[[i]], y[[j]])
            slope = problem.pair_loss.derivative(problem.score.margin(w, *one))
            gradient += slope[0] * problem.score.feature(*one)[0]
        gradient = gradient / len(pairs) + problem.ridge * w
        w = problem.domain.project(w - literal_step(stream, t) * gradient)
        iterates.append(w)
    return iterates


def literal_output(stream, iterates):
    T = stream.steps
    if stream.average == "last":
        return iterates[-1]
    if stream.average == "before":
        return np.mean(iterates[:-1], axis=0)
    if stream.average == "all":
        return np.sum(iterates, axis=0) / (T + max(1, stream.warmup))
    eta = [stream.step_size * t**-stream.decay for t in range(1, T + 1)]
    return sum(eta[t - 1] * iterates[max(0, t - 2)] for t in range(1, T + 1)) / sum(eta)


def data(rng, problem, n=6):
    return random_rows(rng, n, problem.n_features), np.asarray(random_labels(rng, problem.score, n))


def output(problem, stream, X, y, seed):
    """What is released: the average, or the whole sequence ``t w_t``."""
    start = problem.domain.project(np.zeros(problem.score.shape(problem.n_features)))
    pairing, eta = stream.pairing(len(X), seed, 1), stream.step_sizes()
    if stream.release == "average":
        return run_stream(problem, X, y, pairing, eta, stream.weights(), start)[1]
    sequence = []
    for t in range(1, stream.steps + 1):
        part = Pairing(pairing.current[:t], pairing.stream, pairing.low[:t], pairing.high[:t])
        last, _ = run_stream(problem, X, y, part, eta[:t], np.zeros(t + 1), start)
        sequence.append((t + stream.warmup) * last)
    return np.array(sequence)


CASES = [(p, s) for p in PROBLEMS for s in STREAMS] + [(p, s) for p in RIDGED for s in STRONG]
IDS = [f"{named(p)}-{s.order}-{s.buffer}-{s.average}-{s.schedule}" for p, s in CASES]


@pytest.mark.parametrize(("problem", "stream"), CASES, ids=IDS)
def test_the_compiled_loop_is_the_printed_one(problem, stream):
    rng = np.random.default_rng(3)
    for seed in range(5):
        X, y = data(rng, problem)
        iterates = literal_iterates(problem, stream, X, y, seed)
        if stream.release == "average":
            expected = literal_output(stream, iterates)
        else:
            expected = np.array([(t + stream.warmup) * iterates[t] for t in range(1, stream.steps + 1)])
        np.testing.assert_allclose(output(problem, stream, X, y, seed), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("stream", STREAMS, ids=repr)
def test_weights_are_shares(stream):
    assert stream.weights().sum() == pytest.approx(1.0)
    assert (stream.weights() >= 0).all()
    assert Stream(1, 0.1).weights().tolist() == [1.0, 0.0]


def slow_bounds(pairing, n, eta, weights, drift, jump):
    """Lemmas 5 and 6 record by record and step by step."""
    remaining = [weights[t:].sum() for t in range(len(weights))]
    smooth, nonsmooth = [], []
    for i in range(n):
        exposure = r = moved = 0.0
        for t in range(1, pairing.steps + 1):
            here = pairing.current[t - 1]
            others = pairing.stream[pairing.low[t - 1] : pairing.high[t - 1]]
            f = sum(other != here and i in (here, other) for other in others) / len(others)
            exposure += eta[t - 1] * f * remaining[t]
            if f > 0 or r > 0:
                r = math.sqrt(r**2 + (eta[t - 1] * (1 - f) * drift) ** 2) + eta[t - 1] * f * jump
            moved += weights[t] * r
        smooth.append(exposure)
        nonsmooth.append(moved)
    return max(smooth), max(nonsmooth)


@pytest.mark.parametrize("buffer", [1, 2, 5, None, "pairs"])
def test_the_fast_recursion_is_the_slow_one(buffer):
    rng = np.random.default_rng(0)
    for n, steps in ((2, 5), (4, 30), (9, 20), (40, 15), (2, 1), (7, 6), (12, 11), (3, 120)):
        draw = rng.integers(n, size=(2, steps + 1))
        if n > steps:
            # One pass, in which no record comes twice.
            draw[0] = rng.permutation(n)[: steps + 1]
        pairing: Pairing = random_pairs(*draw[:, :-1]) if buffer == "pairs" else with_previous(draw[0], buffer)
        eta, weights = rng.uniform(0.1, 1.0, steps), rng.dirichlet(np.ones(steps + 1))
        drift, jump = rng.uniform(0.5, 2.0, 2)
        smooth, nonsmooth = slow_bounds(pairing, n, eta, weights, drift, jump)
        assert smooth_exposure(pairing, n, eta, weights) == pytest.approx(smooth, rel=1e-12)
        fast = nonsmooth_exposure(pairing, n, eta, weights, drift, jump)
        # Averages over stretches without a touch are bounded by concavity: never below, hardly above.
        assert nonsmooth * (1 - 1e-12) <= fast <= nonsmooth * 1.1


def test_a_record_of_little_weight_is_not_lost_in_rounding():
    """Nearly all weight is on the first step: what is left for later ones is as small as the sums' rounding."""
    T, late, drift, jump = 20_000, 18_000, 1.0, 1e-4
    first, second = np.zeros(T, dtype=np.int64), np.ones(T, dtype=np.int64)
    second[late] = 2
    eta, weights = np.ones(T), np.zeros(T + 1)
    eta[[0, late]] = 1e-8
    weights[1], weights[late + 1 :] = 1.0, 8 * T * 2.0**-52 / (T - late)
    numbers = random_pairs(first, second), T, eta, weights, drift, jump
    assert nonsmooth_exposure(*numbers) >= followed([2], *numbers) * (1.0 - 1e-9) > 0.0


def touched_records(pairing):
    """In order of their first touch."""
    found = {}
    for here, low, high in zip(pairing.current, pairing.low, pairing.high, strict=True):
        found |= {int(i): None for other in pairing.stream[low:high] if other != here for i in (here, other)}
    return list(found)


def followed(records, pairing, n, eta, weights, drift, jump):
    """Lemma 6 for these records, none of them left out."""
    places = np.zeros(n, np.uint32)
    places[records] = np.arange(1, len(records) + 1)
    single = bool((pairing.high - pairing.low == 1).all())
    return largest_followed(pairing.unsigned(), places, len(records), (eta, weights[1:], drift, jump), single)


@pytest.mark.parametrize("buffer", [1, 3, "pairs"])
@pytest.mark.parametrize("steps", ["constant", "shrinking", "growing", "any"])
def test_only_records_that_cannot_be_the_worst_are_left_out(buffer, steps):
    """Among many streams, some have their worst record late: often touched, by long steps, or where drift is small."""
    rng = np.random.default_rng(17)
    late = 0
    for trial in range(200):
        n, T = int(rng.integers(7, 60)), int(rng.integers(1, 200))
        favoured = (rng.random(T + 1) < rng.choice([0.0, 0.1, 0.5])) & (np.arange(T + 1) > rng.random() * T)
        draw = rng.integers(n, size=(2, T + 1))
        draw[0][favoured] = n - 1
        pairing = random_pairs(*draw[:, :-1]) if buffer == "pairs" else with_previous(draw[0], buffer)
        at = np.arange(1, T + 1)
        eta = {"constant": at**0.0, "shrinking": at**-0.7, "growing": at**0.5, "any": rng.exponential(size=T)}[steps]
        weights = np.eye(T + 1)[T] if trial % 3 == 0 else rng.dirichlet(np.full(T + 1, rng.choice([0.1, 1.0, 10.0])))
        numbers = pairing, n, eta, weights, *10.0 ** rng.uniform(-1.5, 1.5, 2)
        records, found = touched_records(pairing), nonsmooth_exposure(*numbers)
        assert found == pytest.approx(followed(records, *numbers), rel=1e-9, abs=0.0)
        late += found > 1.01 * followed(records[:2], *numbers)
    assert late > 10, "the worst record must not always be one of the first"


@pytest.mark.parametrize("buffer", [1, 2, 3, 7])
@pytest.mark.parametrize("average", ["delayed", "before", "last", "all"])
def test_the_second_record_is_the_worst_in_order_of_arrival(buffer, average):
    for steps in (1, 2, 3, 5, 20):
        for decay, schedule, drift, jump in ((0, "power", 1, 1), (0.5, "power", 0.5, 2), (0, "inverse", 2, 2)):
            stream = Stream(steps, 0.3, "arrival", buffer, decay, average, schedule)
            assert second_is_worst(stream, drift, jump)
            numbers = stream.pairing(steps + 1, 0, 1), steps + 1, stream.step_sizes(), stream.weights()
            smooth, nonsmooth = slow_bounds(*numbers, drift, jump)
            assert smooth_window_exposure(stream) == pytest.approx(smooth, rel=1e-12, abs=1e-15)
            found = nonsmooth_window_exposure(stream, drift, jump)
            assert nonsmooth * (1 - 1e-12) <= found <= nonsmooth * 1.02 + 1e-15


@pytest.mark.parametrize("buffer", [1, 3, 30])
def test_a_small_rest_of_the_weights_keeps_its_digits(buffer):
    """Steps that shrink fast leave nearly all of the average to the start."""
    stream = Stream(20, 0.3, "arrival", buffer, decay=20.0)
    numbers = stream.pairing(21, 0, 1), 21, stream.step_sizes(), stream.weights()
    assert smooth_window_exposure(stream) == pytest.approx(slow_bounds(*numbers, 1.0, 1.0)[0], rel=1e-12, abs=0.0)


def test_long_windows_are_priced_in_blocks():
    """Beyond one block the sums are those of the whole list."""
    for decay in (0.0, 0.5):
        stream = Stream(200_000, 0.01, "arrival", 2, decay)
        numbers = stream.pairing(200_001, 0, 1), 200_001, stream.step_sizes(), stream.weights()
        assert smooth_window_exposure(stream) == pytest.approx(smooth_exposure(*numbers), rel=1e-12)
        # The list joins a record's last touch to the stretch behind it, which is a hair more.
        listed = nonsmooth_exposure(*numbers, 1.0, 1.5)
        assert nonsmooth_window_exposure(stream, 1.0, 1.5) <= listed * (1 + 1e-9)
        assert nonsmooth_window_exposure(stream, 1.0, 1.5) == pytest.approx(listed, rel=1e-4)
        np.testing.assert_array_equal(stream.weights(70_000, 140_000), stream.weights()[70_000:140_001])


@pytest.mark.parametrize(
    "other",
    [
        {"order": "with-replacement"},
        {"keep": "reservoir"},
        {"buffer": None},
        {"warmup": 2, "schedule": "huai"},
    ],
    ids=str,
)
def test_other_streams_list_their_pairs(other):
    assert not second_is_worst(Stream(**{"steps": 5, "step_size": 0.1, "order": "arrival"} | other), 1.0, 1.0)
    assert not second_is_worst(Stream(5, 0.1, "arrival"), 2.0, 1.0)


@pytest.mark.parametrize("warmup", [0, 1, 4])
@pytest.mark.parametrize("buffer", [1, 3, 30, None])
def test_pairs_are_counted_as_they_are_drawn(buffer, warmup):
    stream = Stream(12, 0.1, "arrival", buffer, warmup=warmup)
    pairing = stream.pairing(12 + max(1, warmup), 0, 1)
    assert stream.pair_gradients() == int((pairing.high - pairing.low).sum())


def adversary(problem, stream, rng, bound_of, tries):
    """The largest distance over bound that random adjacent data sets and streams reach."""
    worst = 0.0
    for trial in range(tries):
        n = int(rng.integers(stream.steps + max(1, stream.warmup) if stream.order == "arrival" else 2, 9))
        X, y = data(rng, problem, n)
        if trial % 2:
            # Everybody else at one pole and of one class; the replaced record at the other, its label flipped.
            pole = np.eye(problem.n_features)[0]
            X, y = np.tile(-pole, (n, 1)), np.zeros(n) if problem.task != "error-entropy" else y
        seed = int(rng.integers(2**31))
        bound = bound_of(problem, stream, n, seed)
        first = output(problem, stream, X, y, seed)
        # Which record is worst depends on when it is touched, not only on how often.
        for i in range(n) if trial % 2 else [int(rng.integers(n))]:
            X2, y2 = X.copy(), y.copy()
            fresh_X, fresh_y = data(rng, problem, 2)
            X2[i], y2[i] = (np.eye(problem.n_features)[0], 1.0) if trial % 2 else (fresh_X[0], fresh_y[0])
            moved = np.linalg.norm(output(problem, stream, X2, y2, seed) - first)
            worst = max(worst, moved / bound if bound > 0 else float(moved > 1e-12) * math.inf)
    return worst


def true_bound(problem, stream, n, seed):
    return stream_sensitivity(stream, problem, n, seed, 1)[0]


@pytest.mark.parametrize(("problem", "stream"), CASES, ids=IDS)
def test_streams_keep_their_sensitivity(problem, stream):
    assert adversary(problem, stream, np.random.default_rng(5), true_bound, 60) <= 1.0 + 1e-9


LINEAR = Problem(LinearDifference(), SmoothedHinge(0.2), L2Ball(0.35), 2)
"""All margins stay below 0.7, where this surrogate is a straight line."""


@pytest.mark.parametrize("stream", [replace(s, step_size=0.01) for s in STREAMS], ids=repr)
def test_lemma_5_is_attained_where_the_loss_is_linear(stream):
    rng = np.random.default_rng(7)
    assert adversary(LINEAR, stream, rng, true_bound, 150) >= 0.95
    halved = adversary(LINEAR, stream, rng, lambda *a: true_bound(*a) / 2.0, 40)
    assert halved > 1.0, "a halved bound must be caught"


def test_a_table_that_is_sorted_again_is_not_adjacent():
    """The bound is for a record in the same place: sorting moves others too, and a stream of places feels them all."""
    problem, stream, n = replace(LINEAR, n_features=1), Stream(11, 0.01), 12
    rng, in_place, sorted_again = np.random.default_rng(0), 0.0, 0.0
    for seed in range(500):
        x, y = np.sort(rng.uniform(-1.0, 1.0, n)), rng.integers(2, size=n).astype(float)
        i, value = int(rng.integers(n)), rng.uniform(-1.0, 1.0)
        x2, y2 = x.copy(), y.copy()
        x2[i], y2[i] = value, 1.0 - y[i]
        order = np.argsort(x2)
        first, bound = output(problem, stream, x[:, None], y, seed), true_bound(problem, stream, n, seed)
        in_place = max(in_place, np.linalg.norm(output(problem, stream, x2[:, None], y2, seed) - first) / bound)
        again = output(problem, stream, x2[order, None], y2[order], seed)
        sorted_again = max(sorted_again, np.linalg.norm(again - first) / bound)
    assert in_place <= 1.0 + 1e-9
    assert sorted_again > 1.0


@pytest.mark.parametrize("stream", STREAMS, ids=repr)
def test_lemma_6_is_caught_when_halved(stream):
    """The hinge on a few records: the best case found reaches more than half of the bound."""
    problem = Problem(LinearDifference(), Hinge(), L2Ball(5.0), 2)
    assert stream_sensitivity(stream, problem, 6, 0, 1)[1] == "Lemma 6"
    rng = np.random.default_rng(11)
    assert adversary(problem, stream, rng, lambda *a: true_bound(*a) / 2.0, 200) > 1.0


@pytest.mark.parametrize("stream", STRONG, ids=repr)
def test_lemma_10_is_caught_when_halved(stream):
    """A straight-line loss and a ridge that keeps the iterates inside the ball."""
    problem = replace(LINEAR, ridge=4.0)
    stream = replace(stream, step_size=0.5)
    rng = np.random.default_rng(13)
    assert true_bound(problem, stream, 8, 0) > 0
    assert adversary(problem, stream, rng, true_bound, 60) <= 1.0 + 1e-9
    assert adversary(problem, stream, rng, lambda *a: true_bound(*a) / 2.0, 100) > 1.0


def slow_contraction(pairing, n, eta, average, sequence, step):
    """Lemma 10 record by record and step by step."""
    found = []
    for i in range(n):
        r, moved, energy = 0.0, 0.0, 0.0
        for t in range(1, pairing.steps + 1):
            here = pairing.current[t - 1]
            others = pairing.stream[pairing.low[t - 1] : pairing.high[t - 1]]
            f = sum(other != here and i in (here, other) for other in others) / len(others)
            if f > 0 or r > 0:
                e = eta[t - 1]
                keep = 1 - e * step.strong_convexity
                rules = [abs(keep) * r + e * (1 - f) * step.drift + e * f * step.jump_across]
                if keep >= 0:
                    rules = [math.hypot(keep * r, e * (1 - f) * step.drift) + e * f * step.jump_across]
                if e <= step.smooth_step:
                    rules.append(keep * r + e * f * step.jump_same)
                r = min(*rules, step.diameter) if len(rules) > 1 else min(rules[0], step.diameter)
            moved += average[t] * r
            energy += (sequence[t] * r) ** 2
        found.append(moved + math.sqrt(energy))
    return max(found)


@pytest.mark.parametrize("buffer", [1, 3, None, "pairs", "warm"])
def test_the_contracting_recursion_is_the_slow_one(buffer):
    rng = np.random.default_rng(1)
    for n, steps in ((3, 6), (5, 25), (30, 20)):
        if buffer == "pairs":
            pairing = random_pairs(*rng.integers(n, size=(2, steps)))
        elif buffer == "warm":
            pairing = Stream(steps, 1.0, buffer=None, warmup=4).pairing(n, 3, 1)
        else:
            pairing = with_previous(rng.integers(n, size=steps + 1), buffer)
        eta = rng.uniform(0.05, 2.5, steps)
        average, sequence = rng.uniform(0, 1, (2, steps + 1))
        step = Contraction(1.0, 0.7, *rng.uniform(0.5, 2.0, 3), diameter=3.0)
        expected = slow_contraction(pairing, n, eta, average, sequence, step)
        assert contracting_exposure(pairing, n, eta, average, sequence, step) == pytest.approx(expected, rel=1e-12)


def test_steps_of_the_all_pairs_smoothness_break_lemma_5():
    """2/L_full is four times too long for a single pair: one touch, then pairs that are the same in both runs.

    The touch puts the runs q = eta R apart along the first axis. Each later pair lies almost across that axis, so that
    one run stands at the foot of the surrogate's parabola and the other at its top: only one of them moves, by q.
    """
    width, later = 0.05, 6
    n, d = 2 + 2 * later, 1 + later
    problem = Problem(LinearDifference(), SmoothedHinge(width), L2Ball(50.0), d)
    eta = 2.0 / problem.full_smoothness(n)
    assert eta > 2.0 / problem.pair_smoothness
    q = 2.0 * eta
    X, y, start = np.zeros((n, d)), np.tile([1.0, 0.0], n // 2), np.zeros(d)
    X[0, 0], X[1, 0] = 1.0, -1.0
    gap, reached = q, 0.0
    for k in range(1, later + 1):
        lean = width / (2.0 * gap)
        X[2 * k, 0], X[2 * k, k] = lean, math.sqrt(1.0 - lean**2)
        X[2 * k + 1] = -X[2 * k]
        start[k] = ((1.0 - width) / 2.0 - lean * reached) / X[2 * k, k]
        gap, reached = gap - q * lean, reached + q * lean
    pairing = random_pairs(np.arange(0, n, 2), np.arange(1, n, 2))
    eta_t, last = np.full(pairing.steps, eta), np.eye(pairing.steps + 1)[-1]
    flipped = y.copy()
    flipped[0] = 0.0
    runs = [run_stream(problem, X, labels, pairing, eta_t, last, start)[0] for labels in (y, flipped)]
    naive = 2.0 * smooth_exposure(pairing, n, eta_t, last)
    assert np.linalg.norm(runs[0] - runs[1]) > 2.0 * naive
    with pytest.raises(AssumptionError, match="2/L_pair"):
        smooth_stream_sensitivity(
            2.0, smoothness=problem.pair_smoothness, pairing=pairing, n=n, step_sizes=eta_t, weights=last
        )


@pytest.mark.parametrize("name", ["sgd-previous", "ogd-previous", "sgd-all-previous", "dp-sgd-output", "sgd-pair"])
def test_pairs_are_drawn_without_looking(name):
    """The same seed gives the same pairs whatever the rows are, and another seed others."""
    ask = {"n": 50, "n_features": 2, "epsilon": 1.0, "surrogate": "hinge", "max_iter": 49}
    first, second, third = (en.plan(name, **ask, index_seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert (first == third) == (name == "ogd-previous") or first.index_seed != third.index_seed
    draw = [plan.phases[0].stream.pairing(50, plan.index_seed, 1).current.tolist() for plan in (first, third)]
    assert (draw[0] == draw[1]) == (name == "ogd-previous")


def test_random_parameters_fit_the_oracles():
    rng = np.random.default_rng(0)
    for problem in PROBLEMS:
        w = random_parameter(rng, problem)
        np.testing.assert_allclose(problem.domain.project(w), w, atol=1e-12)


def partners(pairing, step):
    return pairing.stream[pairing.low[step] : pairing.high[step]]


def test_a_reservoir_is_a_uniform_sample_of_all_before():
    n, size = 12, 20_000
    pairing, _ = Reservoir(size, np.random.default_rng(0), replacement=True).meet(np.zeros(n))
    for t in range(1, n):
        held = np.bincount(partners(pairing, t - 1), minlength=n)
        assert held[t:].sum() == 0
        # Each place is binomial: six standard deviations.
        assert np.abs(held[:t] - size / t).max() <= 6.0 * math.sqrt(size / t)


def test_a_reservoir_without_replacement_holds_different_records_equally_often():
    counts = np.zeros(20)
    rng = np.random.default_rng(0)
    for _ in range(4000):
        pairing, kept = Reservoir(4, rng, replacement=False).meet(np.zeros(20))
        for t in range(1, 20):
            found = partners(pairing, t - 1)
            assert len(set(found.tolist())) == len(found) == min(4, t)
            assert (found < t).all()
        counts[kept] += 1
    assert np.abs(counts - 800).max() < 6.0 * math.sqrt(800)


def test_reservoirs_per_class_hold_the_other_class_only():
    rng = np.random.default_rng(1)
    counts = np.zeros(40)
    y = np.arange(40) % 2
    for _ in range(4000):
        pairing, _ = ClassReservoirs(4, rng).meet(y)
        for t in range(1, 40):
            found = partners(pairing, t - 1)
            assert len(set(found.tolist())) == len(found) == min(4, (t + 1) // 2)
            assert (found < t).all()
            assert (y[found] != y[t]).all()
        counts[found] += 1
    # The last record, an odd one, meets 4 of the 20 even ones, each equally often.
    assert np.abs(counts[::2] - 800).max() < 6.0 * math.sqrt(800)
    lonely, _ = ClassReservoirs(4, rng).meet(np.zeros(5))
    np.testing.assert_array_equal(lonely.stream[lonely.low], lonely.current)


BUFFERS = {
    "latest": lambda: Window(3),
    "all": lambda: Window(None, 4),
    "with replacement": lambda: Reservoir(3, np.random.default_rng(5), replacement=True),
    "without replacement": lambda: Reservoir(3, np.random.default_rng(5), replacement=False),
    "per class": lambda: ClassReservoirs(3, np.random.default_rng(5)),
}


@pytest.mark.parametrize("name", BUFFERS)
@pytest.mark.parametrize("chunks", [(40,), (1,) * 40, (7, 1, 1, 20, 11), (2, 38)])
def test_a_buffer_finds_the_same_records_in_chunks(name, chunks):
    y = np.random.default_rng(2).integers(2, size=40)
    whole, _ = BUFFERS[name]().meet(y)
    expected = [(int(i), partners(whole, t).tolist()) for t, i in enumerate(whole.current)]
    buffer, kept, found, start = BUFFERS[name](), np.empty(0, dtype=int), [], 0
    for size in chunks:
        numbers = np.concatenate([kept, np.arange(start, start + size)])
        pairing, positions = buffer.meet(y[start : start + size])
        found += [(int(numbers[i]), numbers[partners(pairing, t)].tolist()) for t, i in enumerate(pairing.current)]
        kept, start = numbers[positions], start + size
    assert found == expected


def test_pairs_by_label_are_refused_with_privacy():
    with pytest.raises(AssumptionError, match="olp"):
        en.plan("oam", n=100, n_features=2, epsilon=1.0)
    stream = en.plan("oam", n=100, n_features=2, epsilon=None).phases[0].stream
    with pytest.raises(en.InputError, match="labels"):
        stream_sensitivity(stream, PROBLEMS[0], 100, 0, 1)
    with pytest.raises(en.InputError, match="buffer"):
        en.plan("olp", n=100, n_features=2, epsilon=1.0, options={"buffer": 0})


def test_oam_step_by_step():
    rng = np.random.default_rng(2)
    X, y = random_rows(rng, 30, 3), rng.integers(2, size=30)
    plan = en.plan("oam", n=30, n_features=3, epsilon=None, bounds=en.FeatureBall(1.0), options={"buffer": 2})
    chances = uniform(plan.index_seed, 1, (30, 1))[:, 0]
    held, seen, w, iterates = {0: [], 1: []}, {0: 0, 1: 0}, np.zeros(3), []
    for t in range(30):
        own = int(y[t])
        if t > 0:
            iterates.append(w)
            others = held[1 - own]
            gaps = [(X[t] - X[j]) * (1 if own else -1) for j in others]
            gradient = sum((-gap * (gap @ w < 1) for gap in gaps), np.zeros(3)) / max(1, len(gaps))
            step = w - 0.5 / math.sqrt(t) * gradient
            w = step / max(1.0, np.linalg.norm(step))
        seen[own] += 1
        if len(held[own]) < 2:
            held[own].append(t)
        elif int(chances[t] * seen[own]) < 2:
            held[own][int(chances[t] * seen[own])] = t
    np.testing.assert_allclose(plan.run(X, y).w, np.mean(iterates, axis=0), rtol=1e-10, atol=1e-12)
