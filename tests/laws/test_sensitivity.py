"""Attacks on the sensitivity lemmas: an adversary picks rows, labels, the replaced record and the parameter.

Each law is a function that returns the largest ratio of a real change to the lemma's bound that the adversary found,
and raises `Violation` when it is above 1. Where a lemma says that its bound is attained, the adversary must come within
five per cent; with the bound halved, the same law must fail.
"""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import oracles
import pytest
from oracles import NAMED_SURROGATES, problem_name, problems, random_labels, random_rows, stated_mechanism

from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.phases.descent import Descent
from entrenous.engine.phases.intercept import InterceptRelease
from entrenous.engine.phases.phase import Released
from entrenous.engine.phases.sampled_descent import SampledDescent
from entrenous.engine.rows.registry import rows_of
from entrenous.errors import AssumptionError
from entrenous.planners.wang2024 import dpsgd_pairwise, dpsgd_pointwise
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.lemmas.descent import convex_descent_sensitivity, strongly_convex_descent_sensitivity
from entrenous.privacy.lemmas.gradients import (
    all_pairs_gradient_sensitivity,
    pair_gradient_sensitivity,
    pointwise_gradient_sensitivity,
)
from entrenous.privacy.lemmas.statistics import class_moments_sensitivity, clipped_mean_sensitivity
from entrenous.privacy.noise import SeededNoise
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, L2Ball, WholeSpace
from entrenous.problem.point_scores import Residual, SignedScore
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.bounded import Welsch
from entrenous.problem.surrogates.convex import (
    Hinge,
    Logistic,
    QNormHinge,
    QNormLoss,
    SmoothedHinge,
    Square,
    SquaredHinge,
)
from entrenous.problem.tasks.task import task_named

pytestmark = pytest.mark.attack

ROUNDING = 1e-9
CLOSE = 0.95


class Violation(AssertionError):  # noqa: N818
    """A replacement moved something farther than a lemma allows."""


@dataclass(frozen=True)
class Neighbours:
    """Two data sets that differ in record 0, a parameter, and a second one for gradients across iterates."""

    X: np.ndarray
    y: np.ndarray
    x_new: np.ndarray
    y_new: float
    w: np.ndarray
    w_new: np.ndarray

    @property
    def replaced(self):
        X, y = self.X.copy(), self.y.copy()
        X[0], y[0] = self.x_new, self.y_new
        return X, y


class Adversary:
    """Structured and random starts, then hill climbing; rows stay in the unit ball, parameters in the domain."""

    def __init__(self, problem, n, *, seed, across_iterates=False, moves_parameter=True):
        self.problem, self.n, self.rng = problem, n, np.random.default_rng(seed)
        self.across, self.moves_parameter = across_iterates, moves_parameter

    def labels(self):
        if isinstance(self.problem.score, ErrorDifference):
            half = self.problem.score.target_width / 2.0
            return (-half, half)
        return (0, 1)

    def middling_labels(self):
        """Both classes in turn, or the middle of the targets' range."""
        turns = np.arange(self.n) % 2
        return 0.0 * turns if isinstance(self.problem.score, ErrorDifference) else turns

    def structured(self):
        """Everyone else at one pole, record 0 at the other, moving or turning its label; extreme parameters."""
        d = self.problem.n_features
        axis = np.eye(d)[0]
        for y0, y0_new in itertools.product(self.labels(), repeat=2):
            for rest in (*self.labels(), None):
                y = self.middling_labels() if rest is None else np.full(self.n, rest)
                y[0] = y0
                X = np.tile(-axis, (self.n, 1))
                X[0] = axis
                for x_new in (axis, -axis, np.eye(d)[-1]):
                    for w in self.extreme_parameters(axis):
                        for w_new in self.extreme_parameters(axis) if self.across else (w,):
                            yield Neighbours(X, y, x_new, y0_new, w, w_new)

    def extreme_parameters(self, axis):
        if not self.moves_parameter:
            return [self.problem.start()]
        radius = min(self.problem.domain.radius, 4.0)
        if self.problem.task == "metric":
            return [size * np.outer(axis, axis) for size in (0.0, 1e-3 * radius, radius)]
        sizes = [0.0, radius, -radius]
        if isinstance(self.problem.surrogate, Welsch):
            # It is steepest one bandwidth from zero, between two records that are a diameter apart.
            inner = 2.0 if self.problem.form == "label-difference" else 1.0
            steepest = self.problem.surrogate.bandwidth / (inner * self.problem.diameter)
            sizes += [sign * steepest for sign in (-1.0, 1.0) if steepest < radius]
        return [size * axis for size in sizes]

    def random(self):
        problem, rng = self.problem, self.rng
        X = random_rows(rng, self.n + 1, problem.n_features)
        y = random_labels(rng, problem.score, self.n + 1)
        w, w_new = (self.parameter(problem.start()) for _ in range(2))
        return Neighbours(X[1:], y[1:], X[0], y[0], w, w_new if self.across else w)

    def parameter(self, w, step=2.0):
        if not self.moves_parameter:
            return w
        return self.problem.domain.project(
            w + self.rng.normal(size=w.shape) * step * min(self.problem.domain.radius, 4.0)
        )

    def row(self, x, step):
        x = x + self.rng.normal(size=x.shape) * step
        return x / max(1.0, np.linalg.norm(x))

    def mutate(self, now, step):
        """Change one thing at a time."""
        choice = self.rng.integers(6 if self.moves_parameter else 4)
        X, y = now.X.copy(), now.y.copy()
        if choice <= 1:
            i = self.rng.integers(self.n)
            X[i] = self.row(X[i], step)
            return replace(now, X=X)
        if choice == 2:
            return replace(now, x_new=self.row(now.x_new, step))
        if choice == 3:
            i = self.rng.integers(self.n + 1)
            label = random_labels(self.rng, self.problem.score, 1)[0]
            if i == self.n:
                return replace(now, y_new=label)
            y[i] = label
            return replace(now, y=y)
        w = self.parameter(now.w, step)
        if not self.across:
            return replace(now, w=w, w_new=w)
        return replace(now, w=w) if choice == 4 else replace(now, w_new=self.parameter(now.w_new, step))

    def largest(self, change, *, steps=80):
        """The largest change found, climbing from the best starts of each kind: label kept, label changed, random."""
        starts = [*self.structured(), *(self.random() for _ in range(20))]
        ranked = sorted(((change(s), i) for i, s in enumerate(starts)), reverse=True)
        best = ranked[0][0]
        kinds = {True: [], False: [], None: []}
        for value, i in ranked:
            kinds[None if i >= len(starts) - 20 else bool(starts[i].y[0] == starts[i].y_new)].append((value, i))
        for value, i in kinds[True][:1] + kinds[False][:1] + kinds[None][:1]:
            now, step = starts[i], 0.5
            for _ in range(steps):
                candidate = self.mutate(now, step)
                reached = change(candidate)
                if reached > value:
                    now, value, step = candidate, reached, min(1.5 * step, 0.5)
                else:
                    step = max(0.9 * step, 1e-3)
            best = max(best, value)
        return best


def judged(change, bound):
    """The ratio, or `Violation` above 1."""
    ratio = change / bound
    if not ratio <= 1.0 + ROUNDING:
        raise Violation(f"changed by {change!r}, the bound is {bound!r}: ratio {ratio!r}")
    return ratio


# --- the laws ---------------------------------------------------------------------------------------------------------


def counted_pair_gradient(problem, w, x, x2, y, y2):
    """Gradient of `problem.loss` of one unordered pair in the order that is counted (the first one if both are)."""
    rows, labels = np.array([x, x2]), np.array([y, y2])
    for a, b in ((0, 1), (1, 0)):
        pair = (rows[a : a + 1], rows[b : b + 1], labels[a : a + 1], labels[b : b + 1])
        if problem.score.counts(*pair[2:])[0]:
            slope = problem.loss.derivative(problem.score.margin(w, *pair))[0]
            return slope * problem.score.feature(*pair)[0]
    return np.zeros_like(w)


def lemma_1(problem, *, same_iterate, share=1.0, bound=None, steps=40):
    def change(c):
        before = counted_pair_gradient(problem, c.w, c.X[0], c.X[1], c.y[0], c.y[1])
        after = counted_pair_gradient(problem, c.w_new, c.x_new, c.X[1], c.y_new, c.y[1])
        return float(np.linalg.norm(before - after))

    adversary = Adversary(problem, 2, seed=41, across_iterates=not same_iterate)
    bound = pair_gradient_sensitivity(problem, same_iterate=same_iterate).value if bound is None else bound
    return judged(adversary.largest(change, steps=steps), share * bound)


def lemma_2(problem, n, *, share=1.0, steps=40):
    def change(c):
        before = all_pairs_gradient(problem, c.w, rows_of(c.X), c.y)
        return float(np.linalg.norm(before - all_pairs_gradient(problem, c.w, rows_of(c.replaced[0]), c.replaced[1])))

    bound = all_pairs_gradient_sensitivity(problem, n).value
    return judged(Adversary(problem, n, seed=42).largest(change, steps=steps), share * bound)


def descent_law(problem, n, phase, bound, *, share, steps, pathwise):
    """Runs the real phase on both data sets; `bound` maps a gradient sensitivity to the lemma's bound.

    `pathwise` replaces the worst case of Lemma 2 by the largest change of the gradient at the iterates of the second
    run: nothing is left to hide a wrong contraction.
    """

    def released(phase, X, y, start):
        return phase.run(problem, rows_of(X), y, Released(start), SeededNoise(np.random.default_rng(0)), _silent).w

    def on_the_path(c):
        one_step = Descent(1, phase.step_size, average_from=1)
        X, y = c.replaced
        w, largest = problem.domain.project(problem.start()), 0.0
        for _ in range(phase.total_steps):
            gap = all_pairs_gradient(problem, w, rows_of(c.X), c.y) - all_pairs_gradient(problem, w, rows_of(X), y)
            largest = max(largest, float(np.linalg.norm(gap)))
            w = released(one_step, X, y, w)
        return largest

    def ratio(c):
        change = float(
            np.linalg.norm(released(phase, c.X, c.y, problem.start()) - released(phase, *c.replaced, problem.start()))
        )
        if not pathwise:
            return change / bound(all_pairs_gradient_sensitivity(problem, n).value)
        # A billionth of the worst case stands for rounding where the two data sets have the same gradients.
        return change / bound(on_the_path(c) + 1e-9 * all_pairs_gradient_sensitivity(problem, n).value)

    adversary = Adversary(problem, n, seed=43, moves_parameter=False)
    return judged(adversary.largest(ratio, steps=steps), share)


def _silent(done, total):
    """No progress."""


def lemma_3(problem, n, *, share=1.0, descent_steps=3, relative_step=1.0, steps=16, pathwise=False):
    smoothness = problem.full_smoothness(n) + problem.ridge
    step_size = relative_step * 2.0 / (smoothness + problem.strong_convexity)

    def bound(gradient_sensitivity):
        return strongly_convex_descent_sensitivity(
            Bound(gradient_sensitivity, "Lemma 2"),
            strong_convexity=problem.strong_convexity,
            smoothness=smoothness,
            step_size=step_size,
            steps=descent_steps,
        ).value

    phase = Descent(descent_steps, step_size, average_from=descent_steps)
    return descent_law(problem, n, phase, bound, share=share, steps=steps, pathwise=pathwise)


def lemma_4(problem, n, *, average_from, share=1.0, descent_steps=3, step_size=None, steps=16, pathwise=False):
    smoothness = problem.full_smoothness(n) + problem.ridge
    if step_size is None:
        step_size = 2.0 / smoothness if smoothness > 0.0 else 0.1

    def bound(gradient_sensitivity):
        return convex_descent_sensitivity(
            Bound(gradient_sensitivity, "Lemma 2"),
            smoothness=smoothness,
            step_size=step_size,
            steps=descent_steps,
            average_from=average_from,
        ).value

    phase = Descent(descent_steps, step_size, average_from=average_from)
    return descent_law(problem, n, phase, bound, share=share, steps=steps, pathwise=pathwise)


def lemma_8(weights, radius, n_features, *, share=1.0, steps=250):
    problem = Problem(LinearDifference(), Square(), WholeSpace(), n_features)

    def change(c):
        before = rows_of(radius * c.X).class_moments(c.y).weighted(weights)
        X, y = c.replaced
        return float(np.linalg.norm(before - rows_of(radius * X).class_moments(y).weighted(weights)))

    adversary = Adversary(problem, 2, seed=44, moves_parameter=False)
    return judged(adversary.largest(change, steps=steps), share * class_moments_sensitivity(radius, weights).value)


# --- Lemma 1: one pair ------------------------------------------------------------------------------------------------

UNIT = Bound(1.0, "Lemma 2")
"""A gradient that moves by 1."""

SCORES_ATTACKED = [LinearDifference(), Mahalanobis(), ErrorDifference()]
PROBLEMS = [p for r in (0.3, 1.5) for p in problems(radius=r, scores=SCORES_ATTACKED) if p.domain.name != "nuclear"]
RANKING = [p for p in PROBLEMS if p.task == "auc"]


def attained_at_one_iterate(problem):
    """Ranking: one slope c1 at distance R against nothing (a label flip) is the bound, unless it has to add c2."""
    return problem.task == "auc" and (isinstance(problem.surrogate, Square) or problem.c2 == 0.0)


@pytest.mark.parametrize("problem", PROBLEMS, ids=problem_name)
def test_lemma_1_at_one_iterate(problem):
    ratio = lemma_1(problem, same_iterate=True)
    if attained_at_one_iterate(problem):
        assert ratio >= CLOSE
        with pytest.raises(Violation):
            lemma_1(problem, same_iterate=True, share=0.5, steps=0)


@pytest.mark.parametrize("problem", RANKING, ids=problem_name)
def test_lemma_1_across_iterates(problem):
    # (c1 + c2) R, also when both slopes are free: every ranking surrogate comes close, monotone or not.
    assert lemma_1(problem, same_iterate=False, steps=20) >= CLOSE
    with pytest.raises(Violation):
        lemma_1(problem, same_iterate=False, share=0.5, steps=0)


@pytest.mark.parametrize("problem", [p for p in PROBLEMS if p.task != "auc"], ids=problem_name)
def test_lemma_1_across_iterates_when_labels_count(problem):
    lemma_1(problem, same_iterate=False, steps=20)


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
def test_the_squares_bound_at_one_iterate_fails_across_iterates(form):
    problem = Problem(LinearDifference(), Square(), L2Ball(1.5), 2, form=form)
    one = pair_gradient_sensitivity(problem, same_iterate=True).value
    assert one == problem.c1 * problem.diameter
    assert pair_gradient_sensitivity(problem, same_iterate=False).value == one + problem.c2 * problem.diameter > one
    with pytest.raises(Violation):
        lemma_1(problem, same_iterate=False, bound=one, steps=0)


def test_the_square_needs_no_ball_only_a_diameter():
    # A set of diameter 2 that lies in no unit ball: an equilateral triangle of side 2.
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, math.sqrt(3.0)]])
    for radius, form in itertools.product((0.2, 1.0, 3.0), ("indicator", "label-difference")):
        problem = Problem(LinearDifference(), Square(), L2Ball(radius), 2, form=form)
        bound, largest = pair_gradient_sensitivity(problem, same_iterate=True).value, 0.0
        rng = np.random.default_rng(45)
        for _ in range(300):
            x, x_new, other = rng.dirichlet([0.3] * 3, size=3) @ corners
            w = problem.domain.project(rng.normal(size=2) * 10.0)
            change = [counted_pair_gradient(problem, w, at, other, 1, 0) for at in (x, x_new)]
            largest = max(largest, judged(float(np.linalg.norm(change[0] - change[1])), bound))
        assert largest > 0.5


def test_lemma_1_in_numbers():
    def pair(score, surrogate, domain, **kwargs):
        return Problem(score, surrogate, domain, 2, **kwargs)

    ranking, metric = LinearDifference(), Mahalanobis()
    ball, cone = L2Ball(1.0), FrobeniusPSD(1.0)
    for problem, same, across in [
        (pair(ranking, Hinge(), ball), 2.0, 2.0),
        (pair(ranking, Hinge(), ball, form="label-difference"), 8.0, 8.0),
        (pair(ranking, Logistic(), ball), 2.0 / (1.0 + math.exp(-2.0)), 2.0 / (1.0 + math.exp(-2.0))),
        (pair(ranking, Square(), ball), 12.0, 16.0),
        (pair(metric, Hinge(), cone), 8.0, 8.0),
        (pair(ErrorDifference(), Square(), ball), 40.0, 40.0),
    ]:
        assert pair_gradient_sensitivity(problem, same_iterate=True).value == pytest.approx(same, rel=1e-14)
        assert pair_gradient_sensitivity(problem, same_iterate=False).value == pytest.approx(across, rel=1e-14)


# --- Lemma 2: all pairs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS, ids=problem_name)
def test_lemma_2(problem):
    ratio = lemma_2(problem, 4, steps=25)
    if attained_at_one_iterate(problem):
        assert ratio >= CLOSE
        with pytest.raises(Violation):
            lemma_2(problem, 4, share=0.5, steps=0)


@pytest.mark.parametrize("n", [2, 3, 6])
@pytest.mark.parametrize(
    "problem",
    [
        Problem(LinearDifference(), Hinge(), L2Ball(1.0), 1),
        Problem(LinearDifference(), Hinge(), L2Ball(1.0), 3),
        Problem(LinearDifference(), Hinge(), L2Ball(1.0), 2, form="label-difference"),
        Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 1),
        Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 3),
    ],
    ids=problem_name,
)
def test_lemma_2_is_attained_by_the_hinge(problem, n):
    assert lemma_2(problem, n, steps=20) >= CLOSE
    with pytest.raises(Violation):
        lemma_2(problem, n, share=0.5, steps=0)
    with pytest.raises(Violation):
        lemma_2(problem, n, share=0.99, steps=0)


def test_lemma_2_in_numbers():
    R, n = 2.0, 10
    ranking = Problem(LinearDifference(), Hinge(), L2Ball(1.0), 2)
    assert all_pairs_gradient_sensitivity(ranking, n).value == R / n
    assert all_pairs_gradient_sensitivity(ranking.in_form("label-difference"), n).value == 4.0 * R / n
    metric = Problem(Mahalanobis(), Hinge(), FrobeniusPSD(1.0), 2)
    assert all_pairs_gradient_sensitivity(metric, n).value == 4.0 * R**2 / n


@pytest.mark.parametrize("events", [1, 2, 3, 4, 5])
def test_the_hinge_attains_lemma_2_at_any_class_balance(events):
    """A label flip against a balanced rest: what the flipped record loses on one side it gains on the other."""
    problem = Problem(LinearDifference(), Hinge(), L2Ball(1.0), 1)
    X, y = np.full((6, 1), -1.0), np.array([1] * events + [0] * (6 - events))
    X[0] = 1.0
    y_new = y.copy()
    y_new[0] = 0
    w = np.zeros(1)
    change = all_pairs_gradient(problem, w, rows_of(X), y) - all_pairs_gradient(problem, w, rows_of(X), y_new)
    assert np.linalg.norm(change) == pytest.approx(all_pairs_gradient_sensitivity(problem, 6).value, rel=1e-14)


def test_dividing_by_the_class_counts_breaks_the_bound():
    problem, n = Problem(LinearDifference(), Hinge(), L2Ball(1.0), 2), 6
    X = np.array([[1.0, 0.0]] + [[-1.0, 0.0]] * (n - 1))
    X_new = X.copy()
    X_new[0] = -X[0]
    y = np.array([1] + [0] * (n - 1))
    moved = (
        n
        * (n - 1)
        * (
            all_pairs_gradient(problem, np.zeros(2), rows_of(X), y)
            - all_pairs_gradient(problem, np.zeros(2), rows_of(X_new), y)
        )
    )
    bound = all_pairs_gradient_sensitivity(problem, n).value
    assert judged(float(np.linalg.norm(moved)) / (n * (n - 1)), bound) >= CLOSE
    with pytest.raises(Violation):
        judged(float(np.linalg.norm(moved)) / (1 * (n - 1)), bound)
    assert float(np.linalg.norm(moved)) / (n - 1) == pytest.approx(problem.diameter)


# --- Lemmas 3 and 4: what descent returns -----------------------------------------------------------------------------

SMOOTH = [
    replace(p, ridge=ridge)
    for radius, ridge in ((0.3, 1.0), (1.5, 0.2))
    for p in problems(radius=radius, scores=[LinearDifference(), Mahalanobis(), ErrorDifference()])
    if p.surrogate.convex and math.isfinite(p.pair_smoothness) and p.domain.name != "nuclear"
]
LINEAR = Problem(LinearDifference(), SmoothedHinge(width=0.5), L2Ball(0.2), 2)
"""All margins are below 0.4, so the loss is a straight line there and the descent is a straight walk."""


@pytest.mark.parametrize("problem", SMOOTH, ids=problem_name)
def test_lemma_3(problem):
    # The pathwise law is the harder one: no gradient on the path changes more than Lemma 2's worst case.
    assert lemma_3(problem, 3, pathwise=True) >= 0.6


@pytest.mark.parametrize("problem", SMOOTH, ids=problem_name)
def test_lemma_4(problem):
    average_from = {"logistic": 0, "square": 2}.get(problem.surrogate.name, 3)
    assert lemma_4(replace(problem, ridge=0.0), 3, average_from=average_from, pathwise=True) >= 0.4


@pytest.mark.parametrize("problem", [p for p in SMOOTH if p.surrogate in (Logistic(), Square())], ids=problem_name)
def test_lemmas_3_and_4_with_the_worst_case_gradient(problem):
    lemma_3(problem, 3)
    lemma_4(replace(problem, ridge=0.0), 3, average_from=2)
    with pytest.raises(Violation):
        lemma_3(problem, 3, share=0.5, pathwise=True)
    with pytest.raises(Violation):
        lemma_4(replace(problem, ridge=0.0), 3, average_from=2, share=0.5, pathwise=True)


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
@pytest.mark.parametrize("n", [2, 4, 6])
@pytest.mark.parametrize("descent_steps", [1, 5, 12])
def test_lemma_3_is_attained_where_the_loss_is_linear(form, n, descent_steps):
    radius = 0.2 if form == "indicator" else 0.1
    c1 = 1.0 if form == "indicator" else 4.0
    # A ridge that keeps the minimiser inside the ball, so that no projection hides the change.
    ridge = 1.1 * c1 * 2.0 / (n * radius)
    problem = replace(LINEAR, form=form, domain=L2Ball(radius), ridge=ridge)
    assert problem.full_smoothness(n) == 0.0
    law = {"n": n, "descent_steps": descent_steps, "relative_step": 0.3}
    assert lemma_3(problem, **law) >= CLOSE
    with pytest.raises(Violation):
        lemma_3(problem, **law, share=0.5, steps=0)


@pytest.mark.parametrize("n", [2, 4, 6])
@pytest.mark.parametrize(("descent_steps", "average_from"), [(1, 1), (5, 0), (5, 1), (5, 3), (5, 5), (8, 4)])
def test_lemma_4_is_attained_where_the_loss_is_linear(n, descent_steps, average_from):
    step_size = 0.19 * n / (2.0 * descent_steps)
    law = {"n": n, "descent_steps": descent_steps, "average_from": average_from, "step_size": step_size}
    assert lemma_4(LINEAR, **law) >= CLOSE
    with pytest.raises(Violation):
        lemma_4(LINEAR, **law, share=0.5, steps=0)


def test_lemma_3_grows_to_the_minimisers_sensitivity():
    numbers = {"strong_convexity": 0.5, "smoothness": 2.0, "step_size": 0.8}
    moves = [strongly_convex_descent_sensitivity(UNIT, **numbers, steps=t).value for t in (1, 2, 10, 1000)]
    assert moves == sorted(moves)
    assert moves[0] == pytest.approx(0.8)
    assert moves[1] == pytest.approx(0.8 + 0.6 * 0.8)
    assert moves[-1] == pytest.approx(2.0)
    # A step of exactly 1/alpha forgets the start at once.
    assert (
        strongly_convex_descent_sensitivity(UNIT, strong_convexity=0.5, smoothness=0.5, step_size=2.0, steps=3).value
        == 2.0
    )


def test_lemma_4_in_numbers():
    moved = {
        m: convex_descent_sensitivity(UNIT.times(0.1), smoothness=2.0, step_size=0.5, steps=6, average_from=m).value
        for m in (0, 1, 6)
    }
    assert moved == pytest.approx({0: 0.5 * 0.1 * 3.0, 1: 0.5 * 0.1 * 3.5, 6: 0.5 * 0.1 * 6.0})


@pytest.mark.parametrize("excess", [1.0 + 1e-6, 1.5, 100.0, math.inf, math.nan])
def test_long_steps_are_refused(excess):
    with pytest.raises(AssumptionError, match=r"2/L_full = 0\.5"):
        convex_descent_sensitivity(UNIT, smoothness=4.0, step_size=0.5 * excess, steps=3, average_from=3)
    with pytest.raises(AssumptionError, match=r"2/\(L \+ alpha\) = 0\.4"):
        strongly_convex_descent_sensitivity(UNIT, strong_convexity=1.0, smoothness=4.0, step_size=0.4 * excess, steps=3)


def test_the_longest_allowed_step_is_accepted():
    assert convex_descent_sensitivity(UNIT, smoothness=4.0, step_size=0.5, steps=3, average_from=3).value == 1.5
    assert convex_descent_sensitivity(UNIT, smoothness=0.0, step_size=1e6, steps=1, average_from=1).value == 1e6
    strongly_convex_descent_sensitivity(UNIT, strong_convexity=1.0, smoothness=4.0, step_size=0.4, steps=3)


@pytest.mark.parametrize("strong_convexity", [0.0, -1.0])
def test_lemma_3_needs_strong_convexity(strong_convexity):
    with pytest.raises(AssumptionError, match="strong convexity > 0"):
        strongly_convex_descent_sensitivity(
            UNIT, strong_convexity=strong_convexity, smoothness=1.0, step_size=0.1, steps=3
        )


def test_long_steps_really_break_the_bound():
    """Twice the allowed step on the square: the two runs drive each other apart faster than the formula says."""
    n, steps = 4, 8
    problem = Problem(LinearDifference(), Square(), L2Ball(1e4), 1)
    X = np.array([[1.0], [-1.0], [1.0], [-1.0]])
    y = np.array([1, 0, 1, 0])
    X_new = X.copy()
    X_new[0] = 0.9
    step_size = 2.0 * 2.0 / problem.full_smoothness(n)
    ends = [oracles.descent(problem, rows, y, steps=steps, step_size=step_size)[-1] for rows in (X, X_new)]
    # The true change of the gradient on the way, instead of the worst case over the whole ball.
    runs = oracles.descent(problem, X_new, y, steps=steps, step_size=step_size)
    change = max(
        np.linalg.norm(
            all_pairs_gradient(problem, w, rows_of(X), y) - all_pairs_gradient(problem, w, rows_of(X_new), y)
        )
        for w in runs[:-1]
    )
    with pytest.raises(Violation):
        judged(float(np.linalg.norm(ends[0] - ends[1])), steps * step_size * change)


# --- Lemma 8: class moments -------------------------------------------------------------------------------------------

REGIMES = {
    "classes differ": (3.0, 1.0, 0.5),
    "class kept, opposite rows": (0.1, 1.0, 0.5),
    "class kept, rows at an angle": (0.1, 1.0, 1.0),
}


def same_class_terms(weights, k):
    a, b, c = weights
    return math.sqrt(a**2 + 2 * b**2 * k**2 + 2 * c**2 * k**4), b**2 >= 2 * c**2 * k**2


def test_the_three_regimes_are_three():
    differ, kept, angle = (same_class_terms(w, 1.0) for w in REGIMES.values())
    assert class_moments_sensitivity(1.0, REGIMES["classes differ"]).value == differ[0]
    assert class_moments_sensitivity(1.0, REGIMES["class kept, opposite rows"]).value == 2.0 > kept[0]
    assert kept[1]
    assert class_moments_sensitivity(1.0, REGIMES["class kept, rows at an angle"]).value == math.sqrt(4.5) > angle[0]
    assert not angle[1]


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("n_features", [2, 3])
def test_lemma_8_is_attained_in_each_regime(regime, n_features):
    weights = REGIMES[regime]
    assert lemma_8(weights, 1.0, n_features) >= CLOSE
    with pytest.raises(Violation):
        lemma_8(weights, 1.0, n_features, share=0.5)
    with pytest.raises(Violation):
        lemma_8(weights, 1.0, n_features, share=CLOSE)


@pytest.mark.parametrize("seed", range(12))
def test_lemma_8_for_random_weights_and_radii(seed):
    rng = np.random.default_rng(seed)
    weights = tuple(np.exp(rng.normal(size=3)))
    radius = float(np.exp(rng.normal()))
    assert lemma_8(weights, radius, 2, steps=150) >= CLOSE
    lemma_8(weights, radius, 1, steps=50)


def test_lemma_8_is_continuous_where_its_regimes_meet():
    c = 1.0
    b = math.sqrt(2.0) * c
    at, below = (class_moments_sensitivity(1.0, (0.0, x, c)).value for x in (b, b * (1.0 - 1e-12)))
    assert at == pytest.approx(below, rel=1e-9)
    assert class_moments_sensitivity(1.0, (0.0, 1.0, 0.0)).value == 2.0
    assert class_moments_sensitivity(2.0, (0.0, 0.0, 1.0)).value == pytest.approx(math.sqrt(2.0) * 4.0)


def test_the_weighted_release_is_the_literal_one():
    """The engine's isometric triangle moves exactly as far as full matrices do."""
    rng = np.random.default_rng(46)
    weights = (0.7, 1.3, 0.4)
    for _ in range(20):
        X, y = random_rows(rng, 5, 3), rng.integers(0, 2, size=5)
        X_new, y_new = X.copy(), y.copy()
        X_new[0], y_new[0] = random_rows(rng, 1, 3)[0], rng.integers(0, 2)
        fast = rows_of(X).class_moments(y).weighted(weights) - rows_of(X_new).class_moments(y_new).weighted(weights)
        literal = oracles.class_moments(X, y, weights) - oracles.class_moments(X_new, y_new, weights)
        assert np.linalg.norm(fast) == pytest.approx(np.linalg.norm(literal), rel=1e-12, abs=1e-14)
        assert fast.size == 1 + 2 * 3 + 2 * 6


# --- the adversary itself ---------------------------------------------------------------------------------------------


def test_climbing_alone_finds_the_worst_case():
    """Without the structured starts: the search is no lookup of known answers."""
    problem, n = Problem(LinearDifference(), Logistic(), L2Ball(1.0), 2), 3
    adversary = Adversary(problem, n, seed=47)
    adversary.structured = lambda: iter(())

    def change(c):
        before = all_pairs_gradient(problem, c.w, rows_of(c.X), c.y)
        return float(np.linalg.norm(before - all_pairs_gradient(problem, c.w, rows_of(c.replaced[0]), c.replaced[1])))

    assert judged(adversary.largest(change, steps=400), all_pairs_gradient_sensitivity(problem, n).value) >= CLOSE


def test_every_surrogate_is_attacked():
    assert {p.surrogate for p in PROBLEMS} == set(NAMED_SURROGATES)
    smooth = {Logistic(), SmoothedHinge(), SquaredHinge(), Square(), QNormHinge(2.0), QNormLoss(2.0), QNormHinge(1.2)}
    assert smooth <= {p.surrogate for p in SMOOTH}


def test_unbounded_slopes_have_no_sensitivity():
    problem = Problem(LinearDifference(), Square(), WholeSpace(), 2)
    assert all_pairs_gradient_sensitivity(problem, 10).value == math.inf
    assert all_pairs_gradient_sensitivity(replace(problem, surrogate=Logistic()), 10).value == pytest.approx(0.2)


# --- Lemma 9 ----------------------------------------------------------------------------------------------------------


POINTWISE = [
    Problem(score, surrogate, L2Ball(radius), 2)
    for score in (SignedScore(), Residual())
    for surrogate in NAMED_SURROGATES
    if surrogate.name in (task_named(score.task).surrogates or [surrogate.name])
    for radius in (0.4, 1.5)
]


def point_gradient(problem, w, x, y):
    """Gradient of one record's loss, from the definitions."""
    rows, labels = x[None, :], np.array([y])
    slope = problem.loss.derivative(problem.score.margin(w, rows, labels))
    return slope[0] * problem.score.feature(rows, labels)[0]


def lemma_9(problem, *, records=3, share=1.0, tries=400):
    """Mean gradient of a batch before and after; rows on the sphere, mirrored rows and flipped labels among them."""
    rng = np.random.default_rng(0)
    bound = share * pointwise_gradient_sensitivity(problem, records).value
    worst = 0.0
    regression = isinstance(problem.score, Residual)
    for _ in range(tries):
        w = rng.normal(size=3)
        w *= problem.domain.radius * rng.choice([0.0, 0.3, 1.0]) / np.linalg.norm(w)
        x, x_new = random_rows(rng, 2, 2)
        kind = rng.integers(3)
        x, x_new = (x / np.linalg.norm(x), x_new) if kind else (x, x_new)
        x_new = x if kind == 1 else -x if kind == 2 else x_new
        y, y_new = rng.choice([-1.0, 1.0], 2) if regression else rng.integers(0, 2, 2)
        rest = sum(point_gradient(problem, w, row, 1.0) for row in random_rows(rng, records - 1, 2))
        before = (rest + point_gradient(problem, w, x, y)) / records
        after = (rest + point_gradient(problem, w, x_new, y_new)) / records
        ratio = float(np.linalg.norm(before - after)) / bound
        if ratio > 1.0 + ROUNDING:
            raise Violation(ratio)
        worst = max(worst, ratio)
    return worst


@pytest.mark.parametrize("problem", POINTWISE, ids=problem_name)
def test_lemma_9(problem):
    assert lemma_9(problem) > 0.3


@pytest.mark.parametrize("records", [1, 5])
def test_lemma_9_is_attained_by_the_hinge(records):
    problem = Problem(SignedScore(), Hinge(), L2Ball(0.4), 2)
    assert lemma_9(problem, records=records) >= 1.0 - 1e-6
    with pytest.raises(Violation):
        lemma_9(problem, records=records, share=0.5)


def test_lemma_9_is_for_records_only():
    with pytest.raises(AssumptionError, match="pointwise"):
        pointwise_gradient_sensitivity(Problem(LinearDifference(), Hinge(), L2Ball(1.0), 2), 1)


# --- one step on a secret sample --------------------------------------------------------------------------------------


def one_step(problem, pairwise, batch, X, y, w):
    """The parameter after one step of the real loop from w, the whole table being the sample: no noise, step 1."""
    phase = SampledDescent(pairwise, 2, 1e-3, batch)
    released = phase.run(
        problem, rows_of(X), y, Released(w), SeededNoise(np.random.default_rng(0)), lambda done, total: None
    )
    average = released.w if pairwise else np.append(released.w, released.intercept)
    # The average of w_1 and w_2 tells w_2.
    return (2.0 * average - 2.0 * w) / 1e-3


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
@pytest.mark.parametrize("surrogate", [Hinge(), Logistic(), Square(), QNormHinge(q=1.4)], ids=str)
@pytest.mark.parametrize("batch", [None, 2, 6])
def test_one_step_on_a_sample_of_pairs_moves_no_farther_than_its_noise_is_scaled_to(surrogate, batch, form):
    problem = Problem(LinearDifference(), surrogate, L2Ball(1.0), 2, form=form)
    budget, n = Budget(1.0, 1e-6), 300
    plan = dpsgd_pairwise(problem, budget, n, max_iter=5, batch=batch)
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(150):
        m = plan.mechanisms[0].secret_sample.sample
        X, y = random_rows(rng, m, 2), rng.integers(0, 2, m)
        axis = random_rows(rng, 1, 2)[0]
        axis /= np.linalg.norm(axis)
        if rng.random() < 0.7:
            # All others on one side, the replaced record on the other, its label flipped.
            X[1:], X[0], y[1:], y[0] = -axis, axis, 0, 1
        other, labels = X.copy(), y.copy()
        labels[0] = 1 - y[0]
        if rng.random() < 0.3:
            other[0] = random_rows(rng, 1, 2)[0]
        w = -axis * rng.choice([0.2, 0.9])
        change = one_step(problem, True, batch, X, y, w) - one_step(problem, True, batch, other, labels, w)
        worst = max(worst, float(np.linalg.norm(change)) / plan.mechanisms[0].l2_sensitivity)
    assert worst <= 1.0 + 1e-6
    assert worst > 0.9


@pytest.mark.parametrize("batch", [None, 4])
def test_one_step_on_a_sample_of_records_moves_no_farther_than_its_noise_is_scaled_to(batch):
    problem = Problem(SignedScore(), Hinge(), L2Ball(0.5), 2)
    plan = dpsgd_pointwise(problem, Budget(1.0, 1e-6), 300, max_iter=5, batch=batch)
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(60):
        m = plan.mechanisms[0].secret_sample.sample
        X, y = random_rows(rng, m, 2), rng.integers(0, 2, m)
        X[0] /= np.linalg.norm(X[0])
        other, labels = X.copy(), y.copy()
        labels[0] = 1 - y[0]
        w = rng.normal(size=3) * 0.1
        change = one_step(problem, False, batch, X, y, w) - one_step(problem, False, batch, other, labels, w)
        worst = max(worst, float(np.linalg.norm(change)) / plan.mechanisms[0].l2_sensitivity)
    assert worst <= 1.0 + 1e-6
    assert worst > 0.95


@pytest.mark.parametrize("clip", [1.0, 0.3])
def test_lemma_13(clip):
    """The intercept's mean error never moves farther, is moved that far by outliers, and a halved bound is caught."""
    rng = np.random.default_rng(13)
    phase = InterceptRelease(0.1, stated_mechanism("gaussian", 1.0, "Lemma 13", sigma=1.0), clip=clip)
    reached = 0.0
    for n in (2, 3, 10):
        bound = clipped_mean_sensitivity(n, clip).value
        for _ in range(300):
            X, y, w = random_rows(rng, n, 2), rng.uniform(-1, 1, n), 3.0 * rng.normal(size=2)
            i = int(rng.integers(n))
            X2, y2 = X.copy(), y.copy()
            X2[i], y2[i] = -X[i], -y[i]
            reached = max(reached, abs(phase.exact(rows_of(X), y, w) - phase.exact(rows_of(X2), y2, w)) / bound)
    assert 1.0 - 1e-9 <= reached <= 1.0 + 1e-9
