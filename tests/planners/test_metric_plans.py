"""The plan of the default metric: its stages follow from public numbers, and add up to the budget."""

import re

import numpy as np
import pytest

import entrenous as en
from entrenous.engine.solvers.metric_moments import class_sizes, true_variances
from entrenous.privacy.gaussian_dp import mu_for

ASK = {"task": "metric", "n": 1000, "n_features": 5, "epsilon": 1.0, "bounds": (0, 1)}


def kinds(made):
    return [type(phase).__name__ for phase in made.phases]


def test_auto_is_moments_where_the_surrogate_is_open():
    assert en.plan(**ASK).algorithm == "moments"
    assert en.plan(**ASK | {"epsilon": None}).algorithm == "moments"
    assert en.plan(**ASK, surrogate="hinge").algorithm == "noisy-gd"
    assert en.plan(**ASK, surrogate="square").algorithm == "noisy-gd"
    assert en.plan(**ASK, delta=0, ridge=0.1).algorithm == "dpgdsc"
    assert en.plan("moments", n=1000, n_features=5, epsilon=1.0).task == "auc"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["FindCentre", "Standardise", "LabelledMomentRelease"]),
        ({"n": 50_000}, ["Zoom", "Standardise", "LabelledMomentRelease"]),
        ({"n": 20}, ["Standardise", "LabelledMomentRelease"]),
        ({"bounds": en.FeatureBall(1.0)}, ["Standardise", "LabelledMomentRelease"]),
        ({"options": {"zoom": 0.0, "standardise": 0.0}}, ["LabelledMomentRelease"]),
        ({"options": {"listed_pairs": (1000, 2)}}, ["FindCentre", "Standardise", "PairScatterRelease"]),
        ({"epsilon": None}, ["Standardise", "LabelledMomentRelease"]),
        ({"epsilon": None, "bounds": None}, ["Standardise", "LabelledMomentRelease"]),
        ({"bounds": (0, 0)}, ["LabelledMomentRelease"]),
    ],
)
def test_stages_follow_from_public_numbers(changes, expected):
    made = en.plan(**ASK | changes)
    assert kinds(made) == expected
    assert en.Plan.from_json(made.to_json()) == made


@pytest.mark.parametrize("changes", [{}, {"n": 50_000}, {"options": {"listed_pairs": (1000, 2)}}, {"epsilon": 4.0}])
def test_the_whole_budget_is_spent(changes):
    made = en.plan(**ASK | changes)
    mu = mu_for(made.budget.epsilon, made.budget.delta)
    assert sum(m.gdp for m in made.mechanisms) == pytest.approx(mu**2, rel=1e-9)
    assert made.epsilon <= made.budget.epsilon * (1 + 1e-9)
    assert made.remarks["stages"].endswith("% of the budget")
    assert ("assumed" in made.remarks) == ("options" in changes)


def test_the_number_of_classes_is_public():
    assert en.plan(**ASK).phases[-1].classes == 2
    assert en.plan(**ASK, classes="abcd").phases[-1].classes == 4
    assert en.plan(**ASK | {"epsilon": None}).phases[-1].classes is None


def test_labels_never_decide_what_is_released():
    made = en.plan(**ASK)
    with pytest.raises(en.EntrenousError, match="public number of classes"):
        en.Plan.from_json(made.to_json().replace('"classes": 2', '"classes": null'))
    for wrong in ('"classes": 1', '"classes": 2.5', '"classes": true'):
        with pytest.raises(en.InputError, match="classes must be an int"):
            en.Plan.from_json(made.to_json().replace('"classes": 2', wrong))
    low = en.plan(**ASK, n_components=np.int64(3))
    assert en.Plan.from_json(low.to_json()) == low
    assert low.phases[-1].rank == 3
    with pytest.raises(en.InputError, match="rank must be an int"):
        en.Plan.from_json(low.to_json().replace('"rank": 3', '"rank": 0'))


def test_weights_in_a_plan_are_priced():
    text = en.plan(**ASK).to_json()
    with pytest.raises(en.EntrenousError, match="moves by up to"):
        en.Plan.from_json(re.sub(r'("weights": \[\s+)0\.71,', r"\g<1>7.1,", text))


def test_one_name_stands_for_two_tasks_and_no_more():
    from entrenous.planners.registry import algorithm, algorithm_named
    from entrenous.problem.tasks.task import task_named

    assert algorithm_named("moments").tasks == ("auc",)
    assert algorithm_named("moments", task_named("metric")).tasks == ("metric",)
    assert [a.tasks for a in en.algorithms() if a.name == "moments"] in (
        [("auc",), ("metric",)],
        [("metric",), ("auc",)],
    )
    for joins in (False, True):
        with pytest.raises(en.InputError, match="name of its own"):
            algorithm("moments", "mine", "mine", cost="none", tasks=("other",), joins=joins)(lambda p, b, n: None)
    with pytest.raises(en.AssumptionError, match="covers auc"):
        en.plan("moments", task="error-entropy", n=100, n_features=2, epsilon=1.0, target_bounds=(0, 1))


def test_class_sizes_are_positive_and_add_up():
    sizes = class_sizes(np.array([-50.0, 900.0, 120.0]), 1000)
    assert sizes.sum() == pytest.approx(1000.0)
    assert (sizes > 4.0).all()


def test_variances_are_drawn_together_where_noise_pushed_them_apart():
    rng = np.random.default_rng(0)
    d, sd = 120, 0.05
    noise = np.tril(rng.normal(size=(d, d)), -1) / np.sqrt(2.0)
    noisy = np.eye(d) + sd * (noise + noise.T + np.diag(rng.normal(size=d)))
    raw = np.linalg.eigvalsh(noisy)
    found, _ = true_variances(noisy, sd)
    assert np.abs(raw - 1.0).max() > 0.6
    assert np.abs(found - 1.0).max() < 0.25
