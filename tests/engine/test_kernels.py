"""The compiled values and slopes are the NumPy ones, for every surrogate."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from oracles import ALL_SURROGATES, name_of

from entrenous.engine.pairs.surrogate_kernels import OWN, decay, log1p_of_share, slope, surrogate_code, value
from entrenous.problem.surrogates.base import Reparametrised
from entrenous.problem.surrogates.convex import Logistic, SmoothedHinge
from entrenous.problem.surrogates.spelling import SURROGATES

KINKS = [0.0, 0.5, 1.0, 2.0, 0.95, 1.0 - 0.025, 0.25, 1.0 / 3.0]
MARGINS = np.array([*np.linspace(-7.0, 7.0, 281), *KINKS, 1e3, -1e3, 1e-300, -1e-300, 50.0, -50.0])


@pytest.mark.parametrize("surrogate", ALL_SURROGATES, ids=name_of)
def test_slopes_are_the_derivatives(surrogate):
    found = [slope(*surrogate_code(surrogate), t) for t in MARGINS]
    np.testing.assert_allclose(found, surrogate.derivative(MARGINS), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("surrogate", ALL_SURROGATES, ids=name_of)
def test_values_are_the_values(surrogate):
    found = [value(*surrogate_code(surrogate), t) for t in MARGINS]
    np.testing.assert_allclose(found, surrogate.value(MARGINS), rtol=1e-13, atol=1e-300)


def test_the_exponential_and_the_logarithm_without_calls():
    rng = np.random.default_rng(0)
    x = -np.concatenate(
        [[0.0, 708.0], rng.uniform(0.0, 1.0, 2000), rng.uniform(0.0, 708.0, 2000), 10.0 ** rng.uniform(-300, 2, 2000)]
    )
    np.testing.assert_allclose([decay(t) for t in x], np.exp(x), rtol=5e-16)
    assert [decay(t) for t in (0.0, -709.0, -1e308, -np.inf)] == [1.0, 0.0, 0.0, 0.0]
    assert np.isnan(decay(np.nan))
    u = np.concatenate([[0.0, 1.0], rng.uniform(0.0, 1.0, 2000), 10.0 ** rng.uniform(-300, 0, 2000)])
    np.testing.assert_allclose([log1p_of_share(t) for t in u], np.log1p(u), rtol=1e-15)


def test_every_registered_surrogate_has_its_own_code():
    codes = [surrogate_code(kind())[0] for kind in SURROGATES.values()]
    assert sorted(codes) == list(range(len(SURROGATES)))


def test_reparametrisations_nest():
    nested = Reparametrised(Reparametrised(SmoothedHinge(width=0.3), inner=2.0, outer=5.0), inner=0.5, outer=3.0)
    assert surrogate_code(nested) == (surrogate_code(SmoothedHinge())[0], 0.3, 1.0, 15.0)
    found = [slope(*surrogate_code(nested), t) for t in MARGINS]
    np.testing.assert_allclose(found, nested.derivative(MARGINS), rtol=1e-13)


def test_the_logistic_slope_neither_overflows_nor_loses_its_tail():
    code = surrogate_code(Logistic())
    assert slope(*code, 1e308) == 0.0
    assert slope(*code, -1e308) == -1.0
    assert slope(*code, 700.0) == pytest.approx(-np.exp(-700.0), rel=1e-12)


def test_a_subclass_brings_its_own_slope():
    @dataclass(frozen=True)
    class Own(Logistic):
        name: ClassVar[str] = "own"

    assert surrogate_code(Own())[0] == OWN
