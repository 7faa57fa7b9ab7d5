"""Influence: what leaving out a record does, predicted, against fitting again without it."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris, make_classification, make_regression

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_gradient
from entrenous.engine.pairs.weighted_sums import curvature_sums, slope_sums
from entrenous.engine.rows.dense import DenseRows
from entrenous.engine.solvers.influence import predicted_changes
from entrenous.errors import AssumptionError, InputError, PrivacyError
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import FrobeniusPSD, WholeSpace
from entrenous.problem.problem import Problem
from entrenous.problem.surrogates.base import Reparametrised
from entrenous.problem.surrogates.bounded import Sigmoid, Welsch
from entrenous.problem.surrogates.convex import Logistic, SmoothedHinge, Square, SquaredHinge

N = 100
RANKING = make_classification(N, 4, random_state=0)
REGRESSION = make_regression(N, 3, noise=10.0, random_state=0)
IRIS = tuple(part[np.random.default_rng(0).permutation(150)[:N]] for part in load_iris(return_X_y=True))


def ranking(**changed):
    return en.AUCClassifier(None, **{"ridge": 0.05, "algorithm": "noisy-gd", "radius": 100.0, **changed})


def regression(**changed):
    return en.ErrorEntropyRegressor(
        None, **{"bandwidth": 60.0, "ridge": 0.01, "target_bounds": (-300, 300), "bounds": (-4, 4), **changed}
    )


def metric(**changed):
    usual = {"algorithm": "noisy-gd", "surrogate": "logistic", "ridge": 0.02, "bounds": (0, 8), "radius": 100.0}
    return en.MahalanobisLearner(None, **{**usual, **changed})


def parameter(model):
    return model.get_mahalanobis_matrix() if hasattr(model, "components_") else np.ravel(model.coef_)


def loss_of_pairs(model, X, y):
    """The loss of every ordered pair, in the internal units of the fit, by the definition."""
    problem, bounds = model.plan_.problem, model.bounds_
    rows = X if bounds is None else bounds.to_internal(X)
    i, j = np.nonzero(~np.eye(len(X), dtype=bool))
    w = parameter(model)
    if isinstance(problem.score, Mahalanobis):
        w = w / np.outer(bounds.scale, bounds.scale)
    elif bounds is not None:
        w = w * bounds.unit
    if isinstance(problem.score, ErrorDifference):
        low, high = model.plan_.target_bounds
        y, w = (y - (high + low) / 2.0) / ((high - low) / 2.0), w / ((high - low) / 2.0)
    pair = (rows[i], rows[j], y[i], y[j])
    return problem.score.counts(y[i], y[j]) * problem.loss.value(problem.score.margin(w, *pair))


CASES = {
    "ranking": (ranking, RANKING),
    "ranking in a box": (lambda: ranking(bounds=(-5, 5)), RANKING),
    "ranking, square": (lambda: ranking(surrogate="square"), RANKING),
    "ranking, smoothed hinge": (lambda: ranking(surrogate="smoothed-hinge(width=0.5)"), RANKING),
    "ranking, sigmoid": (lambda: ranking(surrogate="sigmoid"), RANKING),
    "ranking by default": (lambda: en.AUCClassifier(None, ridge=0.05), RANKING),
    "error entropy": (regression, REGRESSION),
    "error entropy without bounds": (lambda: regression(bounds=None), REGRESSION),
    "metric": (metric, IRIS),
}


@pytest.mark.parametrize("name", CASES)
def test_influence_is_what_fitting_again_without_the_record_does(name):
    make, (X, y) = CASES[name]
    model = make().fit(X, y)
    found = en.influence(model, X, y)
    before = loss_of_pairs(model, X, y)
    change, stability = [], []
    for i in range(N):
        again = make().fit(np.delete(X, i, axis=0), np.delete(y, i))
        change.append(parameter(again) - parameter(model))
        stability.append(np.abs(loss_of_pairs(again, X, y) - before).mean())
    change = np.array(change)
    assert found.change.shape == change.shape
    assert np.corrcoef(found.change.ravel(), change.ravel())[0, 1] >= 0.998
    # First order: what is left is of the order 1/n.
    assert np.linalg.norm(found.change - change) <= 0.08 * np.linalg.norm(change)
    assert np.corrcoef(found.elastic_stability, stability)[0, 1] >= 0.998
    np.testing.assert_allclose(found.elastic_stability.max(), np.max(stability), rtol=0.15)
    assert found.pairs >= np.count_nonzero(before)


def test_the_error_of_the_prediction_falls_with_the_number_of_records():
    left = {}
    for n in (50, 400):
        X, y = make_classification(n, 3, n_redundant=0, random_state=1)
        model = ranking().fit(X, y)
        some = range(0, n, n // 25)
        refits = [ranking().fit(np.delete(X, i, axis=0), np.delete(y, i)) for i in some]
        change = np.array([parameter(again) - parameter(model) for again in refits])
        found = en.influence(model, X, y).change[list(some)]
        left[n] = np.linalg.norm(found - change) / np.linalg.norm(change)
    assert left[400] < left[50] / 4.0
    assert left[400] < 0.02


LOSSES = [Logistic(), Sigmoid(0.3), SmoothedHinge(0.5), SquaredHinge(), Square(), Reparametrised(Logistic(), 2.0, 2.0)]


def stationary(score, loss, domain, y, d=3, start=0.0):
    """A problem, its rows and a parameter that is the minimiser on them: Newton's steps on the definition."""
    X = np.random.default_rng(5).normal(size=(40, d)) * 0.4 + 0.2 * np.asarray(y, dtype=float)[:, None]
    problem = Problem(score, loss, domain, d, ridge=0.3)
    w = np.eye(d) * start if isinstance(score, Mahalanobis) else np.zeros(d)
    for _ in range(30):
        step = np.linalg.solve(hessian(problem, w, X, y), coordinates(problem, all_pairs(problem, w, X, y)))
        w = w - (problem.score.from_coordinates(step, d))
    return problem, w, X


def all_pairs(problem, w, X, y):
    return all_pairs_gradient(problem, w, DenseRows(X), y)


def coordinates(problem, w):
    return problem.score.to_coordinates(w)


def hessian(problem, w, X, y, step=1e-5):
    columns = []
    for direction in np.eye(len(coordinates(problem, w))):
        moved = step * problem.score.from_coordinates(direction, X.shape[1])
        ahead, behind = (coordinates(problem, all_pairs(problem, w + sign * moved, X, y)) for sign in (1, -1))
        columns.append((ahead - behind) / (2.0 * step))
    return np.array(columns)


LABELS = np.arange(40) % 2
EXACT = [
    *((LinearDifference(), loss, WholeSpace(), LABELS, 0.0) for loss in LOSSES),
    (ErrorDifference(), Welsch(1.5), WholeSpace(), np.sin(np.arange(40.0)), 0.0),
    (Mahalanobis(), Logistic(), FrobeniusPSD(50.0), np.arange(40) % 3, 0.3),
]


@pytest.mark.parametrize(("score", "loss", "domain", "y", "start"), EXACT, ids=lambda part: str(part)[:24])
def test_the_prediction_is_one_newton_step_on_the_other_records(score, loss, domain, y, start):
    """``H change_i`` is minus the gradient of the objective without record i, its own pairs and divisor counted."""
    problem, w, X = stationary(score, loss, domain, y, start=start)
    found = predicted_changes(problem, w, X, y).change
    without = [coordinates(problem, all_pairs(problem, w, np.delete(X, i, 0), np.delete(y, i))) for i in range(40)]
    loose = isinstance(loss, SmoothedHinge | SquaredHinge)  # pairs that cross a kink in the difference quotient
    expected = -np.linalg.solve(hessian(problem, w, X, y), np.array(without).T).T
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=(1e-3 if loose else 1e-7) * np.abs(expected).max())
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("loss", [*LOSSES, Welsch(0.4)], ids=str)
@pytest.mark.parametrize("spread", [0.0, 1.0, 30.0])
def test_sums_over_pairs_are_those_of_the_definition(loss, spread):
    rng = np.random.default_rng(3)
    places, sources, rows = (
        spread * rng.normal(size=1500),
        1.0 + spread * rng.normal(size=1400),
        rng.normal(size=(1400, 2)),
    )
    margins = places[:, None] - sources[None, :]
    slopes, curvatures = loss.derivative(margins) @ rows, loss.curvature(margins) @ rows
    np.testing.assert_allclose(slope_sums(loss, places, sources, rows), slopes, atol=1e-10 * np.abs(margins).max())
    np.testing.assert_allclose(curvature_sums(loss, places, sources, rows), curvatures, atol=1e-9)


def test_many_records_take_some_pairs_and_find_the_same_stability():
    X, y = make_classification(3000, 3, n_redundant=0, random_state=2)
    model = ranking().fit(X, y)
    found = en.influence(model, X, y)
    assert found.pairs < 1500**2
    np.testing.assert_allclose(found.change.sum(axis=0), 0.0, atol=1e-10)
    w, events, others = parameter(model), X[y == 1], X[y == 0]
    slopes = Logistic().derivative((events @ w)[:, None] - (others @ w)[None, :])
    for i in np.argsort(found.elastic_stability)[[0, 1500, -1]]:
        moved = (events @ found.change[i])[:, None] - (others @ found.change[i])[None, :]
        exact = np.abs(slopes * moved).sum() / (3000 * 2999)
        assert found.elastic_stability[i] == pytest.approx(exact, rel=0.05)


def test_what_it_says_names_no_record_and_warns():
    X, y = RANKING
    found = en.influence(ranking().fit(X, y), X, y)
    assert "Not private" in repr(found)
    assert "do not release" in str(found)
    assert not any(f"{number:.3g}" in repr(found) for number in np.abs(found.change).ravel())
    with pytest.raises(AttributeError):
        found.change = None


def test_private_estimators_are_refused():
    X, y = RANKING
    private = en.AUCClassifier(1.0, bounds=(-5, 5)).fit(X, y)
    for model in (private, en.AUCClassifier(1.0)):
        with pytest.raises(PrivacyError, match="epsilon=None"):
            en.influence(model, X, y)
    private.set_params(epsilon=None)
    with pytest.raises(PrivacyError, match="a private estimator"):
        en.influence(private, X, y)
    public = ranking().fit(X, y).set_params(epsilon=2.0)
    with pytest.raises(PrivacyError):
        en.influence(public, X, y)


@pytest.mark.parametrize(
    ("make", "data", "reason"),
    [
        (lambda: ranking(ridge=0.0), RANKING, "ridge > 0"),
        (lambda: ranking(radius=0.1), RANKING, "edge of the l2-ball"),
        (lambda: ranking(surrogate="hinge"), RANKING, "surrogate=hinge"),
        (lambda: ranking(surrogate="q-norm-loss(q=1.5)"), RANKING, "second derivative"),
        (lambda: ranking(algorithm="moments"), RANKING, "algorithm moments"),
        (lambda: metric(radius=0.01), IRIS, "edge of the frobenius"),
        (lambda: metric(algorithm="moments", surrogate=None), IRIS, "algorithm moments"),
        (lambda: ranking(radius=None), IRIS, "each of 3 classes"),
        (lambda: regression(bandwidth=None), REGRESSION, "bandwidth=number"),
        (lambda: en.PointwiseClassifier(None, ridge=0.1), RANKING, "pairs of records"),
    ],
)
def test_what_the_formula_does_not_cover_is_refused(make, data, reason):
    with pytest.raises(AssumptionError, match=reason):
        en.influence(make().fit(*data), *data)


def test_other_rows_than_those_of_the_fit_are_refused():
    X, y = RANKING
    model = ranking().fit(X, y)
    with pytest.raises(InputError, match="100 rows"):
        en.influence(model, X[:50], y[:50])
    with pytest.raises(InputError, match="rows of the fit"):
        en.influence(model, X[::-1], y)
    with pytest.raises(InputError, match="rows of the fit"):
        en.influence(ranking(max_iter=1).fit(X, y), X, y)
    with pytest.raises(InputError, match="of this library"):
        en.influence(object(), X, y)
    few = np.append(np.zeros(99, int), 1)
    with pytest.raises(InputError, match="single record"):
        en.influence(ranking().fit(X, few), X, few)


def test_tables_and_labels_of_other_kinds():
    X, y = RANKING
    plain = en.influence(ranking().fit(X, y), X, y).change
    frame, names = pd.DataFrame(X, columns=list("abcd")), np.where(y == 1, "yes", "no")
    found = en.influence(ranking().fit(frame, names), frame, names).change
    # The table's layout in memory changes the order of sums, so the two fits agree to the solver's tolerance only.
    np.testing.assert_allclose(found, plain, rtol=0.0, atol=1e-6 * np.abs(plain).max())
    sparse = csr_matrix(X)
    with pytest.raises(InputError, match="one by one"):
        en.influence(ranking().fit(sparse, y), sparse, y)


def test_changes_follow_the_units_of_the_columns():
    X, y = RANKING
    scale = np.array([1e3, 1.0, 1e-3, 5.0])
    ends = np.full(4, 5.0)
    plain = en.influence(ranking(bounds=(-ends, ends)).fit(X, y), X, y)
    scaled = en.influence(ranking(bounds=(-ends * scale, ends * scale)).fit(X * scale, y), X * scale, y)
    np.testing.assert_allclose(scaled.change * scale, plain.change, rtol=1e-5, atol=1e-7 * np.abs(plain.change).max())
    np.testing.assert_allclose(scaled.elastic_stability, plain.elastic_stability, rtol=1e-5)
