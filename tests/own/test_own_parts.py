"""A new kind of thing is one new file: each toy of this folder goes through everything, and is named wherever it goes.

Nothing of the library knows the toys. Where they are not imported, whatever needs them is refused by their names.
"""

import json
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from adversary import attack
from scipy import sparse

import entrenous as en
from entrenous.engine.pairs.all_pairs import all_pairs_gradient, all_pairs_objective
from entrenous.engine.phases.descent import Descent
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.streams.stream_kernel import run_stream
from entrenous.privacy.budget import Budget
from entrenous.privacy.lemmas.bound import Bound
from entrenous.privacy.lemmas.gradients import all_pairs_gradient_sensitivity
from entrenous.privacy.mechanisms.calibration import calibrated
from entrenous.privacy.mechanisms.mechanism import disjoint
from entrenous.privacy.mechanisms.sampling import Sampling
from entrenous.privacy.noise import SeededNoise
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis
from entrenous.problem.parameter_domains import L2Ball
from entrenous.problem.problem import Problem
from entrenous.problem.streams.pairing import Pairing
from entrenous.problem.surrogates.base import Reparametrised
from entrenous.problem.surrogates.convex import Logistic
from entrenous.problem.surrogates.spelling import surrogate_from
from entrenous.registry import estimator_named, part, part_named

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (60, 3))
TARGETS = X[:, 0] - 0.5 * X[:, 1] + 0.2 * RNG.normal(size=60)
Y = (TARGETS > 0).astype(int)
BENT = "bent-hinge(width=0.3, steepness=2.0)"

SETTINGS = {
    "surrogate": ("AUCClassifier", {"algorithm": "noisy-gd", "surrogate": BENT}),
    "algorithm": ("AUCClassifier", {"algorithm": "two-steps"}),
    "mechanism": ("AUCClassifier", {"algorithm": "cube-steps", "delta": 0.0}),
    "task": ("TargetRanker", {"target_bounds": (-2.0, 2.0)}),
    "rows": ("AUCClassifier", {"algorithm": "noisy-gd"}),
}
NAMED = {
    "surrogate": ("surrogate BentHinge",),
    "algorithm": ("algorithm two-steps",),
    "mechanism": ("mechanism CubeNoise", "algorithm cube-steps"),
    "task": ("score TargetOrder", "task target-order"),
    "rows": ("kind of rows BlockRows",),
}
"""What the reservations say of each toy."""
TOYS = tuple(SETTINGS)


def table_of(toy):
    from own.toy_rows import blocks

    return (blocks(X) if toy == "rows" else X), (TARGETS if toy == "task" else Y)


def unfitted(toy, **changes):
    name, settings = SETTINGS[toy]
    return estimator_named(name)(**{"epsilon": 1.0, "bounds": (-1, 1), **settings, **changes})


def fitted(toy, **changes):
    return unfitted(toy, **changes).fit(*table_of(toy))


@pytest.fixture(scope="module")
def models():
    """One fit of each toy."""
    return {toy: fitted(toy) for toy in TOYS}


# --- with the toys imported ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("toy", TOYS)
def test_verification_names_the_toy(models, toy):
    certificate = models[toy].certificate_
    verified = certificate.verify()
    assert verified.outcome == "reservations"
    for words in NAMED[toy]:
        assert any(words in said for said in verified.reservations), words
    again = en.PrivacyCertificate.from_json(certificate.to_json())
    assert again == certificate
    assert again.verify().reservations == verified.reservations
    # Nothing else is on trust.
    assert all(any(words in said for words in (*NAMED[toy], BENT)) for said in verified.reservations)
    assert len(verified.reservations) == len(NAMED[toy])


@pytest.mark.parametrize("toy", TOYS)
def test_a_certificate_with_less_noise_is_false_for_a_toy_as_for_any(models, toy):
    content = models[toy].certificate_.to_dict()
    for mechanism in content["mechanisms"]:
        field = "sigma" if mechanism["scale"] is None else "scale"
        mechanism[field] *= 0.9
    with pytest.raises(en.PrivacyError, match="certificate's epsilon"):
        en.PrivacyCertificate.from_dict(content).verify()


@pytest.mark.parametrize("toy", TOYS)
def test_a_model_comes_back(models, toy, tmp_path):
    model = models[toy]
    again = en.load(en.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.decision_function(table_of(toy)[0]), model.decision_function(table_of(toy)[0]))
    assert again.certificate_ == model.certificate_
    assert again.plan_ == model.plan_ == en.Plan.from_json(model.plan_.to_json())


@pytest.mark.parametrize("toy", [toy for toy in TOYS if toy != "rows"])
def test_no_two_adjacent_tables_are_further_apart_than_the_toy_says(models, toy):
    rng = np.random.default_rng(1)
    largest = max(attack(models[toy].plan_, rng).reached for _ in range(60))
    assert 0.2 < largest <= 1.0 + 1e-9


@pytest.mark.parametrize("toy", TOYS)
def test_a_toy_learns(toy):
    """A fit that learns nothing would pass everything else. Without privacy there is no certificate to name it."""
    without, generous = fitted(toy, epsilon=None, delta=None, radius=1.0), fitted(toy, epsilon=100.0)
    assert without.certificate_ is None
    for model in (without, generous):
        assert np.corrcoef(model.decision_function(X), TARGETS)[0, 1] > 0.7


def test_toys_are_in_the_plans_own_words(models):
    assert "your own    surrogate BentHinge" in str(models["surrogate"].plan_)
    assert models["surrogate"].certificate_.problem["surrogate"] == BENT
    assert "two-steps" in [record.name for record in en.algorithms()]
    with pytest.raises(en.InputError, match="bent-hinge takes width=number, steepness=number"):
        surrogate_from("bent-hinge(depth=1.0)")
    with pytest.raises(en.InputError, match="two positive settings"):
        surrogate_from("bent-hinge(width=-1.0)")


def test_rows_of_ones_own_are_the_rows_of_an_array():
    """The kind of rows is no part of the plan, which is the same; that it clips the rows is what a reader trusts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        own = fitted("rows", random_state=0)
        dense = unfitted("rows", random_state=0).fit(X, Y)
    assert own.plan_ == dense.plan_
    np.testing.assert_allclose(own.decision_function(X), dense.decision_function(X), rtol=0, atol=1e-12)
    ours, theirs = own.certificate_.to_dict(), dense.certificate_.to_dict()
    assert ours["public"].pop("own_parts") == ["kind of rows BlockRows"]
    assert ours == theirs
    assert not any("rows" in said for said in dense.certificate_.verify().reservations)


def test_several_classes_name_the_kind_of_rows_too():
    from own.toy_rows import blocks

    model = en.AUCClassifier(1.0, bounds=(-1, 1), classes=(0, 1, 2)).fit(blocks(X), np.arange(60) % 3)
    assert any("kind of rows BlockRows" in said for said in model.certificate_.verify().reservations)


# --- where nobody imported them -----------------------------------------------------------------------------------

READER = """
import json, sys
from pathlib import Path
from importlib import import_module
import numpy as np
import entrenous as en

folder, toys = Path(sys.argv[1]), sys.argv[2:]
for toy in toys:
    import_module(f"own.{toy}")
X = np.array(json.loads((folder / "rows.json").read_text()))

def outcome(action):
    try:
        return ["done", action()]
    except en.EntrenousError as error:
        return [type(error).__name__, str(error)]

def verified(path):
    return list(en.PrivacyCertificate.from_file(path).verify().reservations)

print(json.dumps({path.stem: {
    "plan": outcome(lambda: en.Plan.from_json((folder / f"{path.stem}.plan").read_text()).algorithm),
    "certificate": outcome(lambda: verified(folder / f"{path.stem}.certificate")),
    "model": outcome(lambda: en.load(path).decision_function(X).tolist()),
} for path in folder.glob("*.entrenous")}))
"""


@pytest.fixture(scope="module")
def elsewhere(models, tmp_path_factory):
    """What processes make of the files: one without the toys, one with them."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "rows.json").write_text(json.dumps(X.tolist()))
    for toy, model in models.items():
        en.save(model, folder / f"{toy}.entrenous")
        (folder / f"{toy}.plan").write_text(model.plan_.to_json())
        (folder / f"{toy}.certificate").write_text(model.certificate_.to_json())

    def read(*toys):
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n" + READER
        command = [sys.executable, "-c", code, str(folder), *toys]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        return json.loads(done.stdout)

    every = (path.stem for path in Path(__file__).parent.glob("toy_*.py"))
    return SimpleNamespace(without=read(), with_toys=read(*every))


@pytest.mark.parametrize("toy", TOYS)
def test_another_process_that_imports_the_toys_reads_everything(elsewhere, models, toy):
    read = elsewhere.with_toys[toy]
    assert read["plan"] == ["done", models[toy].plan_.algorithm]
    assert read["certificate"] == ["done", list(models[toy].certificate_.verify().reservations)]
    assert read["model"] == ["done", models[toy].decision_function(X).tolist()]


@pytest.mark.parametrize(
    ("toy", "in_plans", "in_certificates"),
    [
        ("surrogate", "'BentHinge'", "bent-hinge"),
        ("mechanism", "'CubeNoise'", "'cube'"),
        ("task", "'TargetOrder'", "'target-order'"),
    ],
)
def test_without_the_toy_its_files_are_refused_by_name(elsewhere, toy, in_plans, in_certificates):
    read = elsewhere.without[toy]
    for what, words in (("plan", in_plans), ("certificate", in_certificates)):
        kind, said = read[what]
        assert kind in ("InputError", "PrivacyError")
        assert words in said
    kind, said = read["model"]
    assert kind == "InputError"
    assert ("'TargetRanker'" if toy == "task" else in_plans) in said


@pytest.mark.parametrize(("toy", "words"), [("algorithm", "'two-steps'"), ("rows", "kind of rows BlockRows")])
def test_what_no_file_needs_is_named_and_not_missed(elsewhere, models, toy, words):
    """A plan of the library's phases runs and is checked without its planner, and a model without its rows' kind."""
    read = elsewhere.without[toy]
    kind, reservations = read["certificate"]
    assert kind == "done"
    assert any(words in said for said in reservations)
    assert read["plan"] == ["done", models[toy].plan_.algorithm]
    assert read["model"] == ["done", models[toy].decision_function(X).tolist()]


# --- each toy is what it says -------------------------------------------------------------------------------------


def test_the_cubes_noise_has_the_stated_size():
    noise = part_named("CubeNoise")(Bound(1.0, "Lemma 2"), 0.7)
    draws = np.array([noise.draw(SeededNoise(np.random.default_rng(k)), 4) for k in range(20_000)])
    np.testing.assert_allclose(np.sqrt((draws**2).mean(axis=0)), noise.rms(4), rtol=0.03)
    # The largest coordinate of this density is Gamma(4).
    np.testing.assert_allclose(np.abs(draws).max(axis=1).mean(), 4 * 0.7, rtol=0.02)


def problem_of_task():
    return Problem(part_named("TargetOrder")(), Logistic(), L2Ball(1.0), n_features=3)


def test_a_score_of_ones_own_goes_by_its_definition():
    problem, w = problem_of_task(), np.array([0.3, -0.2, 0.5])
    exact = np.zeros(3)
    for i in range(12):
        for j in range(12):
            if TARGETS[i] > TARGETS[j]:
                exact += Logistic().derivative(np.array([(X[i] - X[j]) @ w]))[0] * (X[i] - X[j])
    np.testing.assert_allclose(
        all_pairs_gradient(problem, w, rows_of(X[:12]), TARGETS[:12]), exact / (12 * 11), rtol=1e-12
    )


def test_the_smoothness_of_a_score_of_ones_own_is_no_smaller_than_it_is():
    """One order of every pair counts: twice as many as where a pair has an event and a non-event."""
    n = 40
    problem, w = problem_of_task(), np.zeros(3)
    rows = np.zeros((n, 3))
    rows[:, 0] = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    rows[:, 1] = np.arange(n) * 1e-3
    step = np.array([1e-4, 0.0, 0.0])
    change = all_pairs_gradient(problem, w + step, rows_of(rows), np.arange(n)) - all_pairs_gradient(
        problem, w - step, rows_of(rows), np.arange(n)
    )
    curvature = np.linalg.norm(change) / 2e-4
    assert curvature <= problem.full_smoothness(n)
    assert problem.full_smoothness(n) == problem.pair_smoothness / 2.0
    ranking = replace(problem, score=LinearDifference())
    assert ranking.full_smoothness(n) == pytest.approx(ranking.pair_smoothness * n / (4 * (n - 1)))


def test_noise_on_the_result_of_a_score_of_ones_own_is_attacked_too():
    plan = unfitted("task", algorithm="dpgdc", max_iter=4).fit(X[:20], TARGETS[:20]).plan_
    assert plan.mechanisms[0].lemma == "Lemma 4"
    rng = np.random.default_rng(2)
    assert 0.2 < max(attack(plan, rng).reached for _ in range(60)) <= 1.0 + 1e-9


def test_what_takes_pairs_one_by_one_refuses_a_score_of_ones_own():
    pairing = Pairing(np.array([1]), np.array([0]), np.array([0]), np.array([1]))
    with pytest.raises(en.InputError, match="TargetOrder, a score of your own"):
        run_stream(problem_of_task(), X, TARGETS, pairing, np.ones(1), np.ones(2), np.zeros(3))
    with pytest.raises(en.AssumptionError, match="target-order"):
        en.plan("sgd-pair", task="target-order", n=60, n_features=3, epsilon=1.0, target_bounds=(-1, 1))
    with pytest.raises(en.InputError, match=r"sparse|one by one"):
        en.plan("noisy-gd", task="target-order", n=60, n_features=3, epsilon=None, target_bounds=(-2, 2)).run(
            sparse.csr_array(X), TARGETS
        )


# --- parts that say something false, or nothing -------------------------------------------------------------------


class Flatter(Logistic):
    """A logistic that says it is flatter than it is; nobody registered it."""

    def slopes(self, margins):
        return 0.01, 0.0


@dataclass(frozen=True)
class RegisteredFlatter(Logistic):
    """The same, for a test to register."""

    name: ClassVar[str] = "registered-flatter"

    def slopes(self, margins):
        return 0.01, 0.0


@dataclass(frozen=True)
class LooserBounds(FeatureBounds):
    """Bounds that do not clip; nobody registered them."""

    def for_features(self, n_features):
        return self

    def to_internal(self, X):
        return np.asarray(X, dtype=float)


def planned(**settings):
    return en.plan("noisy-gd", **{"n": 100, "n_features": 3, "epsilon": 1.0, "bounds": (-1, 1), **settings})


@pytest.mark.parametrize("bad", [RegisteredFlatter(), Reparametrised(RegisteredFlatter(), 2.0, 1.0)])
def test_false_slopes_are_found_on_the_reachable_margins(bad):
    part(RegisteredFlatter)
    with pytest.raises(en.AssumptionError, match="as flat as declared"):
        planned(surrogate=bad)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_subclass_that_nobody_registered_is_no_part_of_a_plan(wrapped, monkeypatch):
    # Slopes that would pass where they are tried.
    monkeypatch.setattr(Flatter, "slopes", Logistic.slopes)
    bad = Reparametrised(Flatter(), 1.0, 1.0) if wrapped else Flatter()
    with pytest.raises(en.PrivacyError, match=r"every surrogate of a plan .*Flatter, which is neither"):
        planned(surrogate=bad)


def test_a_subclass_with_false_slopes_is_refused_whether_registered_or_not():
    with pytest.raises(en.EntrenousError, match=r"Flatter|as flat as declared"):
        planned(surrogate=Flatter())


def test_bounds_that_nobody_registered_are_no_part_of_a_plan():
    with pytest.raises(en.PrivacyError, match=r"every feature domain of a plan .*LooserBounds"):
        planned(bounds=LooserBounds((-1.0,) * 3, (1.0,) * 3))


@dataclass(frozen=True)
class RegisteredBounds(FeatureBounds):
    """Bounds of one's own, for a test to register."""

    def for_features(self, n_features):
        return self


def test_bounds_of_ones_own_are_named():
    part(RegisteredBounds)
    made = planned(bounds=RegisteredBounds((-1.0,) * 3, (1.0,) * 3))
    assert made.own_parts == ("feature domain RegisteredBounds",)
    assert "taken on trust, the user's own: feature domain RegisteredBounds" in made.certificate().verify().reservations


def test_a_phase_that_nobody_registered_is_no_part_of_a_plan():
    class Louder(Descent):
        pass

    made = planned()
    (phase,) = made.phases
    louder = Louder(phase.total_steps, phase.step_size, phase.average_from, gradient_noise=phase.gradient_noise)
    with pytest.raises(en.PrivacyError, match=r"every phase of a plan .*Louder"):
        replace(made, phases=(louder,))


def test_what_kernels_and_constants_share_cannot_be_set():
    with pytest.raises(TypeError):
        Mahalanobis(threshold=2)
    with pytest.raises(TypeError):
        ErrorDifference(target_width=0.01)
    for inner, outer in ((-1, -1), (-1, 1), (1, -1), (0, 1), (1, float("inf")), (float("nan"), 1)):
        with pytest.raises(en.InputError, match="0 < inner < inf"):
            Reparametrised(Logistic(), inner, outer)


@pytest.mark.parametrize("sampling", [None, Sampling("without-replacement", 100, 10)])
def test_calibration_keeps_the_scope(sampling):
    noise = calibrated(Budget(1.0, 1e-5), Bound(0.1, "Lemma 2"), count=3, sampling=sampling, scope=disjoint(2))
    assert noise.scope == "disjoint phase 2"
    assert noise.count == 3
    assert noise.secret_sample == sampling


# --- both settings reach the compiled loop ------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["indicator", "label-difference"])
def test_the_compiled_stream_takes_the_gradient_that_numpy_takes(form):
    """One step from w along one pair, in a ball too large to matter: the step is the gradient."""
    w, found = np.array([0.4, -0.3, 0.2]), []
    for settings in ({"width": 0.3, "steepness": 2.0}, {"width": 0.3, "steepness": 5.0}, {"width": 3.0}):
        surrogate = part_named("BentHinge")(**settings)
        problem = Problem(LinearDifference(), surrogate, L2Ball(1e3), 3, form=form)
        events, others = np.flatnonzero(Y == 1)[:10], np.flatnonzero(Y == 0)[:10]
        for event, other in zip(events, others, strict=True):
            pairing = Pairing(np.array([1]), np.array([0]), np.array([0]), np.array([1]))
            rows, labels = X[[other, event]], np.array([0, 1])
            last, _ = run_stream(problem, rows, labels, pairing, np.ones(1), np.zeros(2), w)
            difference = X[event] - X[other]
            slope = problem.pair_loss.derivative(np.array([difference @ w]))[0]
            np.testing.assert_allclose(w - last, slope * difference, rtol=1e-12, atol=1e-15)
            found.append(slope)
    # All three surrogates differ on these pairs, so a kernel that knew one setting would have failed.
    assert len({round(slope, 12) for slope in (found[0], found[10], found[20])}) == 3


def test_scalar_functions_are_the_surrogate():
    surrogate, t = surrogate_from(BENT), np.linspace(-2.0, 2.0, 101)
    value, derivative = surrogate.scalar_functions
    np.testing.assert_allclose([value(float(s)) for s in t], surrogate.value(t), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose([derivative(float(s)) for s in t], surrogate.derivative(t), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("algorithm", ["sgd-previous", "dpsgd-pairwise", "dpgdc"])
def test_every_loop_takes_the_surrogate_compiled(algorithm):
    """No warning of a loop in Python: pytest would raise it."""
    model = unfitted("surrogate", algorithm=algorithm, max_iter=20).fit(X, Y)
    assert model.certificate_.verify().outcome == "reservations"


def test_its_objective_has_its_gradient():
    problem = Problem(LinearDifference(), surrogate_from(BENT), L2Ball(1.0), 3)
    w, step = np.array([0.4, -0.3, 0.2]), 1e-6
    slopes = [
        (all_pairs_objective(problem, w + e, rows_of(X), Y)[0] - all_pairs_objective(problem, w - e, rows_of(X), Y)[0])
        / (2 * step)
        for e in step * np.eye(3)
    ]
    np.testing.assert_allclose(all_pairs_gradient(problem, w, rows_of(X), Y), slopes, rtol=1e-6)
    assert all_pairs_gradient_sensitivity(problem, 60).value == pytest.approx(2.0 * 2.0 / 60)
