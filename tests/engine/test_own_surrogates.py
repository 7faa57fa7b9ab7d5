"""Surrogates of the user's own: compiled into every loop, or run in Python with a warning, and never taken on trust."""

import math
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import entrenous as en
from entrenous.engine.pairs.surrogate_kernels import surrogate_code
from entrenous.problem.surrogates.base import Interval
from entrenous.problem.surrogates.convex import Hinge, Logistic, SmoothedHinge
from entrenous.problem.surrogates.own import compiled, own_surrogate

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (60, 4))
Y = (X[:, 0] + 0.3 * RNG.normal(size=60) > 0).astype(int)


def softplus(t):
    return math.log1p(math.exp(-t)) if t > 0.0 else math.log1p(math.exp(t)) - t


def softplus_slope(t):
    return -1.0 / (1.0 + math.exp(t))


def kinked(t):
    return max(0.0, 1.0 - t)


def kinked_slope(t):
    return -1.0 if t < 1.0 else 0.0


def python_only(t):
    """What no compiler takes: a mapping of functions, chosen by text."""
    return {"slope": softplus_slope}["slope"](float(repr(t)))


SOFTPLUS = own_surrogate("softplus", softplus, softplus_slope, smoothness=0.25)
KINKED = own_surrogate("kinked", kinked, kinked_slope)


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
@pytest.mark.parametrize(("own", "library"), [(SOFTPLUS, "logistic"), (KINKED, "hinge")])
@pytest.mark.parametrize(
    "algorithm", ["noisy-gd", "sgd-previous", "dp-localized-sgd", "dpsgd-pairwise", "onpairstrc", "dpgdc"]
)
def test_every_loop_takes_it(algorithm, own, library):
    if algorithm in ("dpgdc", "onpairstrc", "dp-localized-sgd") and library == "hinge":
        pytest.skip("it needs smoothness")
    options = {"onpairstrc": {"ridge": 0.1}, "dp-localized-sgd": {}}.get(algorithm, {"max_iter": 40})
    fits = [
        en.AUCClassifier(1.0, algorithm=algorithm, surrogate=s, bounds=(-1, 1), random_state=0, **options).fit(X, Y)
        for s in (own, library)
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-9, atol=1e-12)
    ours, theirs = (fit.certificate_.mechanisms for fit in fits)
    assert [m.noise_multiplier for m in ours] == pytest.approx([m.noise_multiplier for m in theirs], rel=1e-9)
    # Smoothness as declared is never less than what the library knows of the reachable margins.
    assert all(a.l2_sensitivity >= b.l2_sensitivity * (1 - 1e-9) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
@pytest.mark.parametrize("algorithm", ["noisy-gd", "sgd-previous", "dpsgd-pairwise"])
def test_metrics_take_it_too(algorithm):
    fits = [
        en.MahalanobisLearner(
            1.0, algorithm=algorithm, surrogate=s, bounds=(-1, 1), classes=[0, 1], random_state=0, max_iter=20
        ).fit(X, Y)
        for s in (SOFTPLUS, "logistic")
    ]
    np.testing.assert_allclose(fits[0].components_, fits[1].components_, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
@pytest.mark.parametrize("algorithm", ["noisy-gd", "sgd-previous", "dpsgd-pairwise"])
def test_what_does_not_compile_runs_in_python_with_a_warning(algorithm):
    compiled.cache_clear()
    slow = own_surrogate("slow", softplus, python_only, smoothness=0.25)
    settings = {"algorithm": algorithm, "bounds": (-1, 1), "random_state": 0, "max_iter": 30}
    with pytest.warns(RuntimeWarning, match="python_only of your own surrogate cannot be compiled"):
        fit = en.AUCClassifier(1.0, surrogate=slow, **settings).fit(X, Y)
    np.testing.assert_allclose(
        fit.coef_, en.AUCClassifier(1.0, surrogate="logistic", **settings).fit(X, Y).coef_, rtol=1e-9, atol=1e-12
    )


def test_the_certificate_says_whose_word_it_is():
    with pytest.warns(en.PrivacyWarning, match="seeded"):
        fit = en.AUCClassifier(1.0, algorithm="noisy-gd", surrogate=SOFTPLUS, bounds=(-1, 1), random_state=0).fit(X, Y)
    certificate = fit.certificate_
    assert certificate.problem["surrogate"] == "own(softplus)"
    assert any("softplus" in warning and "not proved" in warning for warning in certificate.warnings)
    found = certificate.verify()
    assert found.outcome == "reservations"
    assert any("softplus" in said for said in found.reservations)
    elsewhere = replace(certificate, problem={**certificate.problem, "surrogate": "own(unheard of)"})
    with pytest.raises(en.PrivacyError, match=r"own\(unheard of\)"):
        elsewhere.verify()


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (own_surrogate("concave", lambda t: -t * t, lambda t: -2.0 * t, smoothness=2.0), "convex"),
        (own_surrogate("steeper", lambda t: t * t, lambda t: 2.0 * t, smoothness=1.0), "as smooth as declared"),
        (own_surrogate("kink", kinked, kinked_slope, smoothness=5.0), "as smooth as declared"),
        (own_surrogate("other", kinked, softplus_slope), "integral"),
        (own_surrogate("turned", softplus, lambda t: 1.0 / (1.0 + math.exp(-t)), smoothness=0.25), "integral"),
        (own_surrogate("infinite", lambda t: math.nan, softplus_slope), "finite"),
    ],
    ids=lambda bad: getattr(bad, "title", ""),
)
def test_a_false_word_is_found_before_a_row_is_read(bad, match):
    with pytest.raises(en.AssumptionError, match=match):
        en.plan("noisy-gd", n=100, n_features=2, epsilon=1.0, bounds=(-1, 1), surrogate=bad)


@pytest.mark.parametrize(
    "arguments",
    [("", softplus, softplus_slope), (3, softplus, softplus_slope), ("x", 3.0, softplus_slope), ("x", softplus, None)],
)
def test_parts_that_are_none(arguments):
    with pytest.raises(en.InputError, match="of your own"):
        own_surrogate(*arguments)


@pytest.mark.parametrize("smoothness", [-1.0, math.nan, "1", True, None])
def test_smoothness_is_a_number(smoothness):
    with pytest.raises(en.InputError, match="smoothness"):
        own_surrogate("x", softplus, softplus_slope, smoothness=smoothness)


def test_it_goes_through_clone_and_pickle():
    model = en.AUCClassifier(None, algorithm="noisy-gd", surrogate=SOFTPLUS, bounds=(-1, 1)).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_allclose(clone(model).fit(X, Y).coef_, model.coef_, rtol=1e-12)
    with pytest.raises(en.InputError, match="OwnSurrogate"):
        model.plan_.to_json()


def test_its_values_are_the_functions():
    t = np.linspace(-3.0, 3.0, 50)
    np.testing.assert_allclose(SOFTPLUS.value(t), Logistic().value(t), rtol=1e-12)
    np.testing.assert_allclose(SOFTPLUS.derivative(t), Logistic().derivative(t), rtol=1e-12)
    np.testing.assert_array_equal(KINKED.derivative(t), Hinge().derivative(t))
    assert SOFTPLUS.slopes(Interval(-2.0, 2.0)) == pytest.approx(Logistic().slopes(Interval(-2.0, 2.0)))


class Doubled(Hinge):
    """A subclass that is another function."""

    def value(self, t):
        return 2.0 * super().value(t)

    def derivative(self, t):
        return 2.0 * super().derivative(t)


def test_a_subclass_is_not_mistaken_for_its_parent():
    assert surrogate_code(Doubled())[0] == surrogate_code(SOFTPLUS)[0]
    with pytest.raises(en.PrivacyError, match="registered"):
        en.plan("noisy-gd", n=100, n_features=2, epsilon=1.0, bounds=(-1, 1), surrogate=Doubled())
    assert surrogate_code(SmoothedHinge(0.3))[1] == 0.3


def test_nothing_is_compiled_for_the_librarys_own():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        en.plan("noisy-gd", n=100, n_features=2, epsilon=1.0, bounds=(-1, 1), surrogate="hinge")
