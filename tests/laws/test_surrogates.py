"""Laws of every surrogate: what it says about its own derivative is true, and no looser than it has to be."""

import math

import numpy as np
import pytest
from oracles import ALL_SURROGATES, ENVELOPES, NAMED_SURROGATES, name_of

from entrenous.errors import InputError
from entrenous.problem.surrogates.base import Interval, Reparametrised
from entrenous.problem.surrogates.bounded import Sigmoid, Welsch
from entrenous.problem.surrogates.convex import Hinge, QNormHinge, SmoothedHinge
from entrenous.problem.surrogates.envelope import MoreauEnvelope
from entrenous.problem.surrogates.spelling import SURROGATES, surrogate_from

CASES = [*ALL_SURROGATES, *ENVELOPES, Reparametrised(ENVELOPES[1], inner=2.0, outer=2.0)]
over_surrogates = pytest.mark.parametrize("surrogate", CASES, ids=name_of)
INTERVALS = [(-2.0, 2.0), (-5.0, 0.3), (0.2, 0.9), (1.2, 3.0), (-1.0, 1.0), (-0.4, 0.4), (-3.0, -2.0), (0.0, 8.0)]


def special_points(surrogate):
    """Where a derivative bends or jumps: the ends of the parabola, the kink, the steepest point of the logistic."""
    inner = surrogate.inner if isinstance(surrogate, Reparametrised) else 1.0
    base = surrogate.base if isinstance(surrogate, Reparametrised) else surrogate
    points = [0.0, 1.0]
    if isinstance(base, SmoothedHinge) or (isinstance(base, MoreauEnvelope) and isinstance(base.base, Hinge)):
        points += [1.0 - base.width, 1.0 - base.width / 2.0]
    if isinstance(base, Welsch):
        points += [sign * size * base.bandwidth for sign in (-1, 1) for size in (1.0, math.sqrt(3.0))]
    if isinstance(base, Sigmoid):
        points += [sign * base.width * math.log(2.0 + math.sqrt(3.0)) for sign in (-1, 1)]
    return np.array(points) / inner


def close_pairs(surrogate, low, high):
    """Pairs of margins of the interval: a grid, and steps of all sizes at its ends and at the special points."""
    grid = np.linspace(low, high, 801)
    pairs = [np.column_stack([grid[:-1], grid[1:]])]
    for centre in [low, high, *special_points(surrogate)]:
        step = np.array([1e-6, 1e-4, 1e-2, 0.3, 1.0])
        at = np.full(5, centre)
        pairs += [np.column_stack(ends) for ends in ((at - step, at + step), (at - step, at), (at, at + step))]
    found = np.concatenate(pairs)
    return found[(found[:, 0] >= low) & (found[:, 1] <= high)]


def slope_changes(surrogate, low, high):
    pairs = close_pairs(surrogate, low, high)
    gaps = pairs[:, 1] - pairs[:, 0]
    return gaps, np.abs(surrogate.derivative(pairs[:, 1]) - surrogate.derivative(pairs[:, 0]))


def test_every_registered_surrogate_is_a_case():
    assert {s.name for s in NAMED_SURROGATES} == set(SURROGATES)
    assert all(SURROGATES[name].name == name for name in SURROGATES)


@over_surrogates
def test_derivative_is_the_difference_quotient(surrogate):
    t = np.random.default_rng(1).uniform(-4.0, 4.0, size=400)
    t = t[np.min(np.abs(t[:, None] - special_points(surrogate)), axis=1) > 0.02]
    step = 1e-6
    quotient = (surrogate.value(t + step) - surrogate.value(t - step)) / (2.0 * step)
    np.testing.assert_allclose(surrogate.derivative(t), quotient, rtol=1e-6, atol=1e-7)


@over_surrogates
def test_curvature_is_the_difference_quotient_of_the_derivative(surrogate):
    t = np.random.default_rng(6).uniform(-4.0, 4.0, size=400)
    t = t[np.min(np.abs(t[:, None] - special_points(surrogate)), axis=1) > 0.02]
    step = 1e-5
    quotient = (surrogate.derivative(t + step) - surrogate.derivative(t - step)) / (2.0 * step)
    np.testing.assert_allclose(surrogate.curvature(t), quotient, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("surrogate", [s for s in CASES if s.convex], ids=name_of)
def test_convex(surrogate):
    s, t = np.random.default_rng(2).uniform(-4.0, 4.0, size=(2, 500))
    share = np.random.default_rng(3).uniform(size=500)
    between = surrogate.value(share * s + (1.0 - share) * t)
    chord = share * surrogate.value(s) + (1.0 - share) * surrogate.value(t)
    assert (between <= chord + 1e-12 * (1.0 + chord)).all()
    # The derivative is a subgradient everywhere, kinks included.
    points = np.concatenate([s, special_points(surrogate)])
    tangents = surrogate.value(points)[:, None] + surrogate.derivative(points)[:, None] * (t - points[:, None])
    assert (tangents <= surrogate.value(t) + 1e-12 * (1.0 + np.abs(tangents))).all()


@pytest.mark.parametrize("surrogate", [s for s in ALL_SURROGATES if not s.convex], ids=name_of)
def test_what_says_it_is_not_convex_is_not(surrogate):
    t = np.linspace(-4.0, 4.0, 801) * max(1.0, *np.abs(special_points(surrogate)))
    slopes = surrogate.derivative(t)
    assert (np.diff(slopes) < 0.0).any()
    assert {s.name for s in NAMED_SURROGATES if not s.convex} == {"welsch", "sigmoid"}


@over_surrogates
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_slopes_bound_the_derivative_and_are_attained(surrogate, low, high):
    c1, c2 = surrogate.slopes(Interval(low, high))
    special = special_points(surrogate)
    special = special[(special >= low) & (special <= high)]
    derivatives = surrogate.derivative(np.concatenate([np.linspace(low, high, 2001), special]))
    assert (derivatives >= -c1).all()
    assert (derivatives <= c2).all()
    assert c1 == max(0.0, -derivatives.min())
    assert c2 == max(0.0, derivatives.max())


@over_surrogates
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_smoothness_bounds_slope_changes_and_is_attained(surrogate, low, high):
    smoothness = surrogate.smoothness(Interval(low, high))
    gaps, changes = slope_changes(surrogate, low, high)
    rounding = 1e-15 * (1.0 + np.abs(surrogate.derivative(np.array([low, high]))).max())
    if math.isinf(smoothness):
        kink = special_points(surrogate)[1]
        jump = np.abs(np.diff(surrogate.derivative(kink + np.array([-1e-12, 0.0]))))
        assert jump[0] / 1e-12 > 1e3
        return
    assert (changes <= smoothness * gaps + 10.0 * rounding).all()
    assert (changes / gaps).max() >= 0.99 * smoothness - 1e-8


@over_surrogates
def test_hoelder_holds_on_the_line_and_is_attained(surrogate):
    exponent, constant = surrogate.hoelder
    gaps, changes = slope_changes(surrogate, -8.0, 8.0)
    assert (changes <= constant * gaps**exponent * (1.0 + 1e-9) + 1e-14).all()
    assert (changes / gaps**exponent).max() >= 0.99 * constant
    s, t = np.random.default_rng(4).uniform(-50.0, 50.0, size=(2, 4000))
    change = np.abs(surrogate.derivative(s) - surrogate.derivative(t))
    assert (change <= constant * np.abs(s - t) ** exponent * (1.0 + 1e-9)).all()


@over_surrogates
def test_the_same_rule_at_the_kink_every_time(surrogate):
    kink = special_points(surrogate)[1]
    at_the_kink = surrogate.derivative(np.full(5, kink))
    assert len(set(at_the_kink.tolist())) == 1
    ahead = surrogate.derivative(np.array([np.nextafter(kink, 2.0)]))
    base = surrogate.base if isinstance(surrogate, Reparametrised) else surrogate
    if isinstance(base, Hinge):
        assert at_the_kink[0] == ahead[0] == 0.0


UNBOUNDED = {
    "logistic": (1.0, 0.0, 0.25),
    "hinge": (1.0, 0.0, math.inf),
    "smoothed-hinge": (1.0, 0.0, 2.0),
    "squared-hinge": (math.inf, 0.0, 2.0),
    "square": (math.inf, math.inf, 2.0),
    "q-norm-hinge": (math.inf, 0.0, math.inf),
    "q-norm-loss": (math.inf, math.inf, math.inf),
    "welsch": (math.exp(-0.5), math.exp(-0.5), 1.0),
    "sigmoid": (0.25, 0.0, 1.0 / (6.0 * math.sqrt(3.0))),
}


@pytest.mark.parametrize("name", SURROGATES)
def test_unbounded_intervals(name):
    line = Interval(-math.inf, math.inf)
    c1, c2, smoothness = UNBOUNDED[name]
    surrogate = SURROGATES[name]()
    assert surrogate.slopes(line) == (c1, c2)
    assert surrogate.smoothness(line) == smoothness
    doubled = Reparametrised(surrogate, inner=2.0, outer=2.0)
    assert doubled.slopes(line) == (4.0 * c1, 4.0 * c2)
    assert doubled.smoothness(line) == 8.0 * smoothness


@over_surrogates
def test_half_lines(surrogate):
    for line in (Interval(-math.inf, 0.0), Interval(0.0, math.inf), Interval(3.0, math.inf)):
        c1, c2 = surrogate.slopes(line)
        inside = surrogate.derivative(np.linspace(max(line.low, -30.0), min(line.high, 30.0), 200))
        assert not math.isnan(c1 + c2)
        assert -c1 <= inside.min() <= inside.max() <= c2
        assert not math.isnan(surrogate.smoothness(line))


@pytest.mark.parametrize("width", [1.0, 1e3, 1e9, 1e20])
def test_the_sigmoids_smoothness_keeps_its_digits_where_it_is_nearly_straight(width):
    """Near 0 the second derivative is ``t / (8 width^3)`` up to sign."""
    for end in (1e-3, 1e-9):
        found = Sigmoid(width).smoothness(Interval(-end, end))
        assert found == pytest.approx(end / (8.0 * width**3), rel=1e-5, abs=0.0)


def test_welsch_is_flat_for_enormous_errors():
    surrogate = Welsch(0.5)
    t = np.array([-1e200, -1e9, 1e9, 1e200])
    np.testing.assert_array_equal(surrogate.value(t), 1.0)
    np.testing.assert_array_equal(surrogate.derivative(t), 0.0)
    assert surrogate.slopes(Interval(1e9, 1e200)) == (0.0, 0.0)


def test_the_papers_form_is_two_orders_of_the_doubled_margin():
    t = np.linspace(-2.0, 2.0, 41)
    for base in NAMED_SURROGATES:
        np.testing.assert_allclose(Reparametrised(base, 2.0, 2.0).value(t), base.value(2 * t) + base.value(2 * t))


@pytest.mark.parametrize("surrogate", NAMED_SURROGATES + ENVELOPES, ids=name_of)
def test_text_round_trip(surrogate):
    assert surrogate_from(str(surrogate)) == surrogate
    assert surrogate_from(f"  {surrogate} ") == surrogate
    assert surrogate_from(surrogate) is surrogate


@pytest.mark.parametrize("width", [1.0 / 3.0, 0.123456789, 1e-7, 12345678.9])
def test_text_keeps_every_digit(width):
    assert surrogate_from(str(SmoothedHinge(width))) == SmoothedHinge(width)
    assert surrogate_from(str(QNormHinge(1.0 + 1.0 / (1.0 + width)))) == QNormHinge(1.0 + 1.0 / (1.0 + width))


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "cosine",
        "Logistic",
        "logistic(1)",
        "logistic(width=1)",
        "smoothed-hinge(width=0)",
        "smoothed-hinge(width=-1)",
        "smoothed-hinge(width=nan)",
        "smoothed-hinge(width=inf)",
        "smoothed-hinge(width=wide)",
        "smoothed-hinge(width)",
        "smoothed-hinge(width=1=2)",
        "smoothed-hinge(width=1,width=2)",
        "smoothed-hinge(=1)",
        "smoothed-hinge(width=0.1",
        "smoothed-hinge(width=0.1) and more",
        "welsch(bandwidth=0)",
        "welsch(bandwidth=inf)",
        "welsch(width=1)",
        "sigmoid(width=0)",
        "sigmoid(width=inf)",
        "q-norm-hinge(q=1)",
        "q-norm-hinge(q=2.5)",
        "q-norm-loss(q=nan)",
        "moreau-envelope",
        "moreau-envelope(hinge)",
        "moreau-envelope(width=0.5)",
        "moreau-envelope(cosine, width=0.5)",
        "moreau-envelope(hinge, width=0)",
        "moreau-envelope(hinge, width=wide)",
        "moreau-envelope(logistic, width=0.5)",
        "moreau-envelope(q-norm-loss(q=2.0), width=0.5)",
        "moreau-envelope(welsch, width=0.5)",
        "moreau-envelope(moreau-envelope(hinge, width=0.5), width=0.5)",
        "__import__('os')",
        "2*logistic(2t)",
        None,
        3,
        ("logistic",),
    ],
)
def test_bad_specs_are_refused(spec):
    with pytest.raises(InputError, match="got"):
        surrogate_from(spec)
