"""A plan cannot claim what it does not run: each of these built, ran and verified once."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

import entrenous as en
from entrenous.engine.phases.descent import Descent
from entrenous.planners.ours import moments, noisy_gd
from entrenous.planners.xue2021 import dpegd, dpgdsc
from entrenous.privacy.budget import NO_PRIVACY, Budget
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.mechanisms.gaussian import Gaussian
from entrenous.privacy.noise import SeededNoise

ASK = {"n": 200, "n_features": 3, "epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1)}


def refused(planner, match, **changes):
    with pytest.raises(en.PrivacyError, match=match):
        en.plan(planner, **ASK | changes)


def changed(**changes):
    """A planner that makes an honest plan and then changes its only phase."""

    def planner(problem, budget, n):
        honest = noisy_gd(problem, budget, n)
        return replace(honest, phases=(replace(honest.phases[0], **changes),))

    return planner


def with_mechanism(change):
    """A planner that changes the mechanism of its only phase."""

    def planner(problem, budget, n):
        honest = noisy_gd(problem, budget, n)
        phase = honest.phases[0]
        return replace(honest, phases=(replace(phase, gradient_noise=change(phase.gradient_noise)),))

    return planner


# --- planners ---------------------------------------------------------------------------------------------------------


def test_noise_cannot_be_removed():
    refused(changed(gradient_noise=None), "needs a mechanism that adds noise")


def test_noise_cannot_be_shrunk():
    refused(with_mechanism(lambda m: replace(m, sigma=1e-12)), "must stay within epsilon = 1")


def test_noise_and_bound_cannot_be_shrunk_together():
    """The ratio keeps the price, the lemma does not keep the bound."""
    small = with_mechanism(lambda m: replace(m, sigma=1e-9 * m.sigma, bound=m.bound.times(1e-9)))
    refused(small, r"moves by up to .* \(Lemma 2\)")


@pytest.mark.parametrize("lemma", ["Lemma 13", "Lemma 2 "])
def test_another_lemma_does_not_fit_the_phase(lemma):
    another = with_mechanism(lambda m: replace(m, bound=replace(m.bound, lemma=lemma)))
    refused(another, "needs the bound of Lemma 2")


@pytest.mark.parametrize("name", ["gradient_noise", "output_noise"])
def test_the_sum_of_all_phases_is_what_is_paid(name):
    """One phase's budget does not pay for fifty."""
    honest = noisy_gd if name == "gradient_noise" else dpgdsc

    def fifty(problem, budget, n):
        plan = honest(problem, budget, n)
        return replace(plan, phases=plan.phases * 50)

    refused(fifty, "must stay within epsilon = 1", ridge=0.1)


def test_more_steps_than_priced_are_refused():
    refused(changed(total_steps=1000), "as many releases as it makes: 1000")


def test_longer_steps_than_the_lemma_allows_are_refused():
    def planner(problem, budget, n):
        honest = dpgdsc(problem, budget, n)
        return replace(honest, phases=(replace(honest.phases[0], step_size=100.0),))

    with pytest.raises(en.AssumptionError, match="step size"):
        en.plan(planner, **ASK, ridge=0.1)


def test_shares_called_disjoint_are_disjoint():
    def overlapping(problem, budget, n):
        honest = dpegd(problem, budget, n, index_seed=1)
        first, *rest = honest.phases
        return replace(honest, phases=(replace(first, share=(0, n)), *rest))

    refused(overlapping, "must not have a record in common")

    def beyond(problem, budget, n):
        honest = dpegd(problem, budget, n, index_seed=1)
        return replace(honest, phases=(*honest.phases[:-1], replace(honest.phases[-1], share=(n - 5, n + 5))))

    refused(beyond, "must not have a record in common")


def test_the_scope_of_a_release_is_that_of_its_phase():
    """Fifty phases on all records, each called disjoint, would cost as much as one."""
    disjoint = with_mechanism(lambda m: replace(m, scope="disjoint phase 1"))
    refused(disjoint, "the scope of its records: all")


def test_a_planner_keeps_within_the_budget_it_was_given():
    refused(lambda problem, budget, n: noisy_gd(problem, Budget(5.0, 1e-6), n), "must stay within epsilon = 1")
    refused(lambda problem, budget, n: noisy_gd(problem, NO_PRIVACY, n), "needs a mechanism that adds noise")


def test_printed_noise_that_is_none_is_refused():
    """Noise as printed may cost more than asked for, and the certificate says how much; this is no noise at all."""

    def planner(problem, budget, n):
        plan = with_mechanism(lambda m: m)(problem, budget, n)
        tiny = replace(plan.phases[0].gradient_noise, sigma=1e-12)
        return replace(plan, calibration="paper", phases=(replace(plan.phases[0], gradient_noise=tiny),))

    refused(planner, "must stay within epsilon = 100")


def test_moments_are_weighted_as_they_are_priced():
    def planner(problem, budget, n):
        honest = moments(problem, budget, n)
        return replace(honest, phases=(replace(honest.phases[0], weights=(1.0, 10.0, 1.0)),))

    refused(planner, "Lemma 8", surrogate="square")


def test_subclasses_of_parts_are_refused():
    @dataclass(frozen=True)
    class Quiet(Descent):
        def run(self, problem, X, y, so_far, noise, progress):
            return super().run(problem, X, y, so_far, noise, progress)

    def planner(problem, budget, n):
        honest = noisy_gd(problem, budget, n)
        return replace(honest, phases=(Quiet(**vars(honest.phases[0])),))

    refused(planner, "must be the library's own or registered as the user's")

    @dataclass(frozen=True)
    class Less(Gaussian):
        def draw(self, source, dimension):
            return 0.0 * super().draw(source, dimension)

    refused(with_mechanism(lambda m: Less(m.bound, m.sigma, count=m.count)), "library's own or registered")


def test_mechanisms_are_no_argument_of_a_plan():
    plan = en.plan("noisy-gd", **ASK)
    with pytest.raises(TypeError):
        replace(plan, mechanisms=())
    assert plan.mechanisms == (plan.phases[0].gradient_noise,)


# --- plan files -------------------------------------------------------------------------------------------------------


def read_with(change, algorithm="noisy-gd", **more):
    content = json.loads(en.plan(algorithm, **ASK | more).to_json())
    change(content["plan"])
    return en.Plan.from_json(json.dumps(content))


def set_phase(name, value):
    return lambda plan: plan["phases"][0].__setitem__(name, value)


@pytest.mark.parametrize(
    "change",
    [
        set_phase("gradient_noise", None),
        lambda plan: plan["phases"][0]["gradient_noise"].__setitem__("sigma", 1e-12),
        lambda plan: plan["phases"][0]["gradient_noise"]["bound"].__setitem__("value", 1e-12),
        lambda plan: plan["phases"][0]["gradient_noise"].__setitem__("count", 1),
        lambda plan: plan.__setitem__("phases", plan["phases"] * 50),
        lambda plan: plan.__setitem__("phases", []),
        lambda plan: plan.__setitem__("n", 100),
        lambda plan: plan["budget"].__setitem__("epsilon", 0.5),
        lambda plan: plan["problem"].__setitem__("surrogate", {"type": "Square"}),
        lambda plan: plan["problem"]["domain"].__setitem__("radius", 1e6),
        set_phase("total_steps", 10_000),
        set_phase("type", "Minimise"),
        set_phase("type", "NoSuchPhase"),
    ],
)
def test_a_plan_file_goes_through_the_same_door(change):
    assert read_with(lambda plan: None) is not None
    with pytest.raises(en.EntrenousError):
        read_with(change)


def test_a_plan_file_with_overlapping_shares_is_refused():
    with pytest.raises(en.EntrenousError, match="in common"):
        read_with(lambda plan: plan["phases"][1].__setitem__("share", [0, 150]), "dpegd")


@pytest.mark.parametrize("text", ["[" * 100_000, '{"schema": "entrenous-plan/2", "plan": ' + "[" * 100_000, "1" * 5000])
def test_deep_and_long_files_are_refused(text):
    with pytest.raises(en.InputError):
        en.Plan.from_json(text)


# --- what is stated is what is drawn ----------------------------------------------------------------------------------


class CountingNoise(SeededNoise):
    """A source that notes how many normal values were asked for."""

    def __init__(self):
        self.drawn = 0

    def normal(self, size):
        self.drawn += size
        return np.zeros(size)


@pytest.mark.parametrize("algorithm", ["noisy-gd", "dpgdsc", "moments", "dpegd", "sgd-previous"])
def test_every_release_of_the_plan_is_drawn_once(algorithm, monkeypatch):
    plan = en.plan(algorithm, **ASK, ridge=0.1)
    source = CountingNoise()
    monkeypatch.setattr("entrenous.engine.run.noise_from", lambda random_state: source)
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    with pytest.warns(en.PrivacyWarning, match="seeded"):
        plan.run(X, np.arange(200) % 2)
    d = plan.n_features
    size = 1 + 2 * d + d * (d + 1) if algorithm == "moments" else d
    assert source.drawn == sum(m.count for m in plan.mechanisms) * size


def test_a_bound_needs_a_number_and_a_lemma():
    for wrong in (0.0, -1.0, float("nan"), "1", None, True):
        with pytest.raises(en.PrivacyError, match="a bound needs"):
            Bound(wrong, "Lemma 2")
    with pytest.raises(en.PrivacyError, match="finite bound"):
        Gaussian(Bound(float("inf"), "Lemma 2"), 1.0)
