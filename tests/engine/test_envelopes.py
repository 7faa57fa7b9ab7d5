"""Moreau envelopes: the minimum that defines them, their bounds, and their way through fits, files and certificates."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from oracles import ENVELOPES, all_pairs, name_of, random_rows

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_objective
from entrenous.engine.plan import Plan
from entrenous.engine.rows.registry import rows_of
from entrenous.errors import InputError
from entrenous.privacy.verification import verify
from entrenous.problem.pair_scores import LinearDifference
from entrenous.problem.parameter_domains import L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Hoelder, Interval, Reparametrised, Surrogate
from entrenous.problem.surrogates.convex import Hinge, Logistic, QNormHinge, QNormLoss, SmoothedHinge
from entrenous.problem.surrogates.envelope import MoreauEnvelope, smoothed
from entrenous.registry import part

TEXT = "moreau-envelope(q-norm-hinge(q=1.5), width=0.2)"
MARGINS = np.linspace(-4.0, 4.0, 97)


@pytest.mark.parametrize("surrogate", ENVELOPES, ids=name_of)
def test_it_is_the_minimum_that_defines_it(surrogate):
    for t, found in zip(MARGINS, surrogate.value(MARGINS), strict=True):
        middle, reach = t, 9.0
        for _ in range(4):  # ever finer grids around the least of the last one
            grid = middle + reach * np.linspace(-1.0, 1.0, 2001)
            losses = surrogate.base.value(grid) + np.square(grid - t) / (2.0 * surrogate.width)
            middle, reach = grid[losses.argmin()], reach / 500.0
        assert found == pytest.approx(losses.min(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("surrogate", ENVELOPES, ids=name_of)
def test_it_lies_below_by_half_the_width_times_the_squared_slope(surrogate):
    gap = surrogate.base.value(MARGINS) - surrogate.value(MARGINS)
    assert (gap >= 0.0).all()
    assert (gap <= surrogate.width / 2.0 * np.square(surrogate.base.derivative(MARGINS)) + 1e-15).all()
    assert (np.abs(surrogate.derivative(MARGINS)) <= np.abs(surrogate.base.derivative(MARGINS))).all()


@pytest.mark.parametrize("width", [1e-6, 0.05, 0.5, 3.0])
def test_of_the_hinge_it_is_the_smoothed_hinge(width):
    halved, closed = MoreauEnvelope(Hinge(), width), SmoothedHinge(width)
    t = np.concatenate([MARGINS, 1.0 - width * np.linspace(-0.5, 1.5, 41)])
    np.testing.assert_allclose(halved.value(t), closed.value(t), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(halved.derivative(t), closed.derivative(t), rtol=0.0, atol=1e-15 + 1e-15 / width)
    for margins in (Interval(-2.0, 2.0), Interval(1.5, 3.0), Interval(-9.0, -5.0), Interval(0.99, 0.995)):
        assert halved.smoothness(margins) == pytest.approx(closed.smoothness(margins))
        assert halved.slopes(margins) == pytest.approx(closed.slopes(margins))
    assert smoothed(Hinge(), width) == closed


@pytest.mark.parametrize("surrogate", ENVELOPES, ids=name_of)
def test_slopes_never_fall_not_even_by_rounding(surrogate):
    t = np.sort(np.random.default_rng(0).uniform(-3.0, 3.0, 20000))
    assert (np.diff(surrogate.derivative(t)) >= 0.0).all()


@pytest.mark.parametrize("surrogate", ENVELOPES, ids=name_of)
def test_sums_over_all_pairs_are_the_double_loop(surrogate):
    rng = np.random.default_rng(1)
    problem = Problem(LinearDifference(), surrogate, L2Ball(3.0), 3, ridge=0.1)
    X, y, w = random_rows(rng, 30, 3), rng.integers(0, 2, 30), rng.normal(size=3)
    value, gradient = all_pairs_objective(problem, w, rows_of(X), y)
    expected = all_pairs(problem, w, X, y)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-13)


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(2).normal(size=(300, 3))
    return X, (X[:, 0] + 0.3 * np.random.default_rng(3).normal(size=300) > 0).astype(int)


@pytest.mark.parametrize("algorithm", ["noisy-gd", "dpgdsc", "dp-localized-sgd"])
def test_where_a_smooth_surrogate_is_needed(algorithm, rows):
    ask = {"n": 300, "n_features": 3, "epsilon": 2.0, "bounds": (-4, 4), "ridge": 0.5 if algorithm == "dpgdsc" else 0.0}
    if algorithm != "noisy-gd":
        with pytest.raises(en.AssumptionError):
            en.plan(algorithm, **ask, surrogate="q-norm-loss(q=1.5)")
    plan = en.plan(algorithm, **ask, surrogate=TEXT)
    assert Plan.from_json(plan.to_json()) == plan
    fitted = plan.run(*rows)
    assert np.isfinite(fitted.coef).all()
    assert verify(fitted.certificate).outcome == "verified"
    assert fitted.certificate.problem["surrogate"] == TEXT


def test_compiled_loops_take_it_without_a_warning(rows):
    model = en.AUCClassifier(None, algorithm="dp-localized-sgd", surrogate=TEXT).fit(*rows)
    assert model.score(*rows) > 0.9


def test_influence_of_a_smoothed_fit(rows):
    X, y = rows[0][:60], rows[1][:60]
    ask = {"algorithm": "noisy-gd", "surrogate": TEXT, "ridge": 0.1, "radius": 50.0}
    model = en.AUCClassifier(None, **ask).fit(X, y)
    again = [en.AUCClassifier(None, **ask).fit(np.delete(X, i, 0), np.delete(y, i)).coef_ for i in range(60)]
    real = np.array(again)[:, 0] - model.coef_
    assert np.corrcoef(en.influence(model, X, y).change.ravel(), real.ravel())[0, 1] > 0.99


def test_one_of_the_users_own(rows):
    pinball = en.own_surrogate("pinball", lambda t: max(-t, -0.1 * t), lambda t: -1.0 if t < 0.0 else -0.1)
    made = en.smoothed(pinball, width=0.3)
    # In closed form: two lines and a parabola that joins their slopes.
    expected = np.clip(MARGINS / 0.3, -1.0, -0.1)
    np.testing.assert_allclose(made.derivative(MARGINS), expected, atol=1e-15)
    plan = en.plan("dpgdsc", n=300, n_features=3, epsilon=2.0, bounds=(-4, 4), ridge=0.5, surrogate=made)
    certificate = plan.run(*rows).certificate
    assert "pinball" in " ".join(verify(certificate).reservations)
    assert verify(certificate).outcome == "reservations"
    concave = en.own_surrogate("concave", lambda t: -abs(t), lambda t: 1.0 if t < 0.0 else -1.0)
    with pytest.raises(en.AssumptionError, match="convex"):
        en.plan("dpgdsc", n=300, n_features=3, epsilon=2.0, bounds=(-4, 4), ridge=0.5, surrogate=en.smoothed(concave))


@part
@dataclass(frozen=True)
class Absolute(Surrogate):
    name: ClassVar[str] = "absolute"

    def value(self, t):
        return np.abs(1.0 - t)

    def derivative(self, t):
        return np.where(t < 1.0, -1.0, 1.0)

    @property
    def scalar_functions(self):
        return lambda t: abs(1.0 - t), lambda t: -1.0 if t < 1.0 else 1.0

    def smoothness(self, margins):
        return math.inf if margins.low < 1.0 <= margins.high else 0.0

    @property
    def hoelder(self):
        return Hoelder(0.0, 2.0)


def test_a_registered_class_stays_on_trust(rows):
    made = smoothed(Absolute(), width=0.4)
    np.testing.assert_allclose(made.derivative(MARGINS), np.clip((MARGINS - 1.0) / 0.4, -1.0, 1.0), atol=1e-15)
    plan = en.plan("noisy-gd", n=300, n_features=3, epsilon=2.0, bounds=(-4, 4), surrogate=made)
    found = verify(plan.run(*rows).certificate)
    assert any("absolute" in words for words in found.reservations)


@pytest.mark.parametrize(
    "base", [Logistic(), QNormLoss(q=2.0), Reparametrised(QNormHinge(), 2.0, 2.0), "hinge"], ids=str
)
def test_what_has_no_use_for_it_is_refused(base):
    with pytest.raises(InputError, match="Moreau envelope"):
        smoothed(base, 0.5)
