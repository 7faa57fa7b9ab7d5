"""What may be asked for, and what every certificate repeats about it."""

import math
import warnings

import numpy as np
import pytest

import entrenous as en
from entrenous.privacy.budget import SMALLEST_DELTA, Budget, budget_for


@pytest.mark.parametrize("delta", [1e-19, 2.0**-65, math.ulp(0.0), np.nextafter(1e-18, 0.0)])
def test_a_delta_that_the_tails_of_the_noise_cannot_keep_is_refused(delta):
    with pytest.raises(en.InputError) as caught:
        budget_for(1.0, delta, 1000)
    assert "1e-18" in caught.value.needs
    assert repr(delta) in caught.value.got
    assert "1/n**2" in caught.value.way_out
    with pytest.raises(en.InputError, match="1e-18"):
        en.plan("moments", n=1000, n_features=2, epsilon=1.0, delta=delta, bounds=(0, 1))


def test_the_smallest_delta_and_pure_privacy_are_taken():
    assert budget_for(1.0, 1e-18, 1000) == Budget(1.0, 1e-18)
    assert budget_for(1.0, 0, 1000).is_pure


@pytest.mark.parametrize("n", [10**9 + 1, 10**12])
def test_no_delta_is_one_in_n_squared_down_to_the_floor(n):
    assert budget_for(1.0, None, n).delta == SMALLEST_DELTA
    assert budget_for(1.0, None, 10**8).delta == pytest.approx(1e-16, rel=1e-12)
    assert en.plan("moments", n=n, n_features=2, epsilon=1.0, bounds=(0, 1)).certificate().delta == SMALLEST_DELTA


def test_a_delta_of_one_in_n_is_in_the_certificate_too():
    ask = {"n": 100, "n_features": 2, "epsilon": 1.0, "bounds": (0, 1)}
    with pytest.warns(en.PrivacyWarning, match="not below 1/n") as told:
        made = en.plan("noisy-gd", delta=0.01, **ask)
    said = str(told[0].message)
    assert made.certificate().warnings == (said,)
    assert en.Plan.from_json(made.to_json()).certificate().warnings == (said,)
    assert said in str(made)
    assert en.plan("noisy-gd", delta=0.009, **ask).certificate().warnings == ()


def test_estimators_repeat_it_once_however_many_plans_they_make():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        several = en.AUCClassifier(delta=0.1, bounds=(0, 1), classes=(0, 1, 2)).fit(X, rng.integers(0, 3, 60))
        scaler = en.PrivateStandardizer(within=(0, 1), delta=0.1).fit(X)
    for certificate in (several.certificate_, scaler.certificate_):
        assert [caution for caution in certificate.warnings if "1/n" in caution] == list(Budget(1.0, 0.1).cautions(60))
        certificate.verify()
