"""Every way to fit privately spends from the ledger or raises, and nothing is spent on what is refused."""

import copy
import json
import math
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

import entrenous as en
from entrenous.cli.app import app
from entrenous.ledger import spending
from entrenous.ledger.rules import GaussianRule, RenyiRule

X, Y = make_classification(120, 3, n_informative=2, n_redundant=1, random_state=0)
TARGETS = X @ np.array([1.0, -1.0, 0.5])


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A ledger that the estimator is told of; none in the environment."""
    monkeypatch.delenv(spending.LEDGER, raising=False)
    monkeypatch.delenv(spending.DATASET, raising=False)
    return str(tmp_path / "ledger.db")


@pytest.fixture
def everywhere(place, monkeypatch):
    """A ledger that the whole process spends from."""
    monkeypatch.setenv(spending.LEDGER, place)
    monkeypatch.setenv(spending.DATASET, "set")
    return place


def enter(place, epsilon=50.0, **more):
    en.Ledger(place).init("set", epsilon=epsilon, delta=1e-6, **more)
    return en.Ledger(place)


def room_for(fits, place, epsilon=1.0, n=120):
    """A ledger for so many fits, and half of one more."""
    each = GaussianRule().limit(epsilon, 1.0 / n**2)
    ledger = en.Ledger(place)
    ledger.init("set", mu=math.sqrt((fits + 0.5) * each))
    return ledger


def statuses(ledger):
    return [entry.status for entry in ledger.history()]


def moments(**more):
    return en.AUCClassifier(1.0, bounds=(-5, 5), algorithm="moments", **more)


FITS = {
    "AUCClassifier": (lambda **more: en.AUCClassifier(1.0, bounds=(-5, 5), **more), Y),
    "pure": (lambda **more: en.AUCClassifier(1.0, 0, bounds=(-5, 5), algorithm="offpairstrc", ridge=0.1, **more), Y),
    "three classes": (
        lambda **more: en.AUCClassifier(1.0, bounds=(-5, 5), classes=(0, 1, 2), **more),
        np.arange(120) % 3,
    ),
    "three classes by plans": (lambda **more: moments(classes=(0, 1, 2), **more), np.arange(120) % 3),
    "three classes and found bounds": (
        lambda **more: en.AUCClassifier(1.0, bounds=en.PrivateBounds((-50, 50)), classes=(0, 1, 2), **more),
        np.arange(120) % 3,
    ),
    "MahalanobisLearner": (lambda **more: en.MahalanobisLearner(1.0, bounds=(-5, 5), **more), Y),
    "ErrorEntropyRegressor": (
        lambda **more: en.ErrorEntropyRegressor(1.0, bounds=(-5, 5), target_bounds=(-9, 9), **more),
        TARGETS,
    ),
    "PointwiseClassifier": (
        lambda **more: en.PointwiseClassifier(1.0, algorithm="dpsgd-pointwise", bounds=(-5, 5), max_iter=20, **more),
        Y,
    ),
    "PointwiseRegressor": (
        lambda **more: en.PointwiseRegressor(
            1.0, algorithm="dpsgd-pointwise", bounds=(-5, 5), target_bounds=(-9, 9), max_iter=20, **more
        ),
        TARGETS,
    ),
    "PrivateStandardizer": (lambda **more: en.PrivateStandardizer((-50, 50), **more), None),
}
SAMPLED = ("PointwiseClassifier", "PointwiseRegressor")


@pytest.mark.parametrize("name", FITS)
def test_every_estimator_spends_once_and_leaves_its_certificate(name, place):
    make, y = FITS[name]
    rule = {"rule": "rdp"} if name in SAMPLED else {}
    ledger = enter(place, **rule)
    model = make(ledger=place, dataset="set").fit(X, y)
    (entry,) = ledger.history()
    assert entry.status == "committed"
    assert entry.certificate == model.certificate_
    accounting = ledger.account("set").terms.accounting
    assert entry.cost == pytest.approx(accounting.cost(model.certificate_.mechanisms), rel=1e-8)
    ledger.verify()


@pytest.mark.parametrize("name", FITS)
def test_every_estimator_is_refused_when_the_budget_is_spent_and_keeps_nothing(name, place):
    make, y = FITS[name]
    sampled = {"rule": "rdp", "order": 256, "epsilon": 0.06}
    ledger = enter(place, **(sampled if name in SAMPLED else {"epsilon": 0.01}))
    model = make(ledger=place, dataset="set")
    with pytest.raises(en.BudgetError, match="together"):
        model.fit(X, y)
    assert not hasattr(model, "certificate_")
    assert ledger.history() == []


def test_one_budget_of_exactly_its_epsilon_pays_for_each_way_to_fit(place):
    ledger = en.Ledger(place)
    for number, name in enumerate(name for name in FITS if name not in (*SAMPLED, "pure", "PrivateStandardizer")):
        make, y = FITS[name]
        ledger.init(f"set {number}", epsilon=1.0, delta=1e-6)
        make(ledger=place, dataset=f"set {number}").set_params(delta=1e-6).fit(X, y)
        assert ledger.account(f"set {number}").share_left < 1e-6


def test_gdp_refuses_an_algorithm_with_secret_samples(place):
    enter(place)
    with pytest.raises(en.BudgetError, match="secret sample"):
        FITS["PointwiseClassifier"][0](ledger=place, dataset="set").fit(X, Y)


def test_a_pure_fit_counts_as_its_gaussian(place):
    ledger = enter(place)
    make, y = FITS["pure"]
    make(ledger=place, dataset="set").fit(X, y)
    (entry,) = ledger.history()
    assert math.sqrt(entry.cost) == pytest.approx(1.232035, rel=1e-6)


def test_a_fit_without_privacy_spends_nothing(everywhere):
    ledger = enter(everywhere)
    en.AUCClassifier(None).fit(X, Y)
    en.plan("moments", n=120, n_features=3, epsilon=None).run(X, Y)
    assert ledger.history() == []


WRONG = {
    "NaN": (np.where(X > 0, X, np.nan), Y),
    "shapes": (X[:, :0], Y),
    "lengths": (X, Y[:-1]),
    "text": (X.astype(str).astype(object) + "a", Y),
    "labels": (X, Y + 5),
    "too few": (X[:1], Y[:1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rows_spend_nothing(name, everywhere):
    ledger = enter(everywhere)
    for model in (moments(), moments(classes=(0, 1, 2))):
        with pytest.raises(ValueError):
            model.fit(*WRONG[name])
    online = en.AUCClassifier(1.0, bounds=(-5, 5), algorithm="ogd-previous")
    if name != "too few":
        with pytest.raises(ValueError):
            online.partial_fit(*WRONG[name], n_total=500)
    assert ledger.history() == []


def test_a_plan_spends(place, everywhere):
    ledger = enter(place)
    plan = en.plan("moments", n=120, n_features=3, epsilon=1.0, bounds=(-5, 5))
    fitted = plan.run(X, Y)
    plan.run(X, Y, ledger=place, dataset="set")
    assert statuses(ledger) == ["committed", "committed"]
    assert ledger.history()[0].certificate == fitted.certificate
    with pytest.raises(en.InputError):
        plan.run(X[:50], Y[:50])
    assert len(ledger.history()) == 2


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_a_fit_in_portions_reserves_with_its_first_rows(classes, place):
    ledger = enter(place)
    model = en.AUCClassifier(
        1.0, bounds=(-5, 5), classes=classes, algorithm="ogd-previous", ledger=place, dataset="set"
    )
    y = np.arange(120) % len(classes)
    model.partial_fit(X[:50], y[:50], n_total=120)
    assert statuses(ledger) == ["reserved"]
    model.partial_fit(X[50:100], y[50:100])
    assert statuses(ledger) == ["reserved"]
    model.partial_fit(X[100:], y[100:])
    (entry,) = ledger.history()
    assert entry.certificate == model.certificate_
    ledger.verify()


def test_later_classes_of_a_portion_do_not_ask_the_ledger_again(place, monkeypatch):
    """A refusal half way through the classes would leave a portion with some of them, to be fed twice."""
    enter(place)

    def gone(*arguments):
        raise en.BudgetError("a ledger", "none", "Wait.")

    monkeypatch.setattr(en.Ledger, "need_covered", gone)
    model = en.AUCClassifier(
        1.0, bounds=(-5, 5), classes=(0, 1, 2), algorithm="ogd-previous", ledger=place, dataset="set"
    )
    model.partial_fit(X, np.arange(120) % 3, n_total=120)
    # Where later classes are planned on what the first found, it is asked, and nothing is fed twice.
    with pytest.raises(en.BudgetError):
        en.AUCClassifier(1.0, bounds=(-5, 5), classes=(0, 1, 2), ledger=place, dataset="set").fit(X, np.arange(120) % 3)


def test_portions_of_a_metric_and_of_one_that_releases_every_iterate(everywhere):
    ledger = enter(everywhere)
    metric = en.MahalanobisLearner(1.0, bounds=(-5, 5), algorithm="ogd-previous")
    metric.partial_fit(X[:60], Y[:60], n_total=120).partial_fit(X[60:], Y[60:])
    every = en.AUCClassifier(1.0, bounds=(-5, 5), algorithm="onpairc")
    every.partial_fit(X[:60], Y[:60], n_total=120)
    assert statuses(ledger) == ["committed", "reserved"]
    every.partial_fit(X[60:], Y[60:])
    assert statuses(ledger) == ["committed", "committed"]


def test_portions_are_refused_before_the_first_row(place):
    enter(place, epsilon=0.01)
    model = en.AUCClassifier(1.0, bounds=(-5, 5), algorithm="ogd-previous", ledger=place, dataset="set")
    for _ in range(2):
        with pytest.raises(en.BudgetError):
            model.partial_fit(X[:50], Y[:50], n_total=120)
        assert model._online[0].seen == 0


def test_a_pipeline_pays_for_both_steps(everywhere):
    ledger = enter(everywhere)
    bounds = en.PrivateStandardizer.output_bounds(3)
    make_pipeline(en.PrivateStandardizer((-50, 50)), en.AUCClassifier(1.0, bounds=bounds)).fit(X, Y)
    assert [entry.algorithm for entry in ledger.history()] == ["private-standardizer", "logistic-gd"]


def test_a_fit_that_breaks_after_it_began_stays_reserved(place, monkeypatch):
    ledger = room_for(1, place)
    from entrenous.engine.phases.moment_release import MomentRelease

    def broken(*arguments):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(MomentRelease, "run", broken)
    with pytest.raises(RuntimeError):
        moments(ledger=place, dataset="set").fit(X, Y)
    monkeypatch.undo()
    assert statuses(ledger) == ["reserved"]
    with pytest.raises(en.BudgetError):
        moments(ledger=place, dataset="set").fit(X, Y)


def test_a_certificate_that_cannot_be_left_is_a_warning_and_counts(place, monkeypatch):
    ledger = enter(place)

    def fails(self, entry, certificate):
        raise en.BudgetError("a disk", "a full one", "Make room.")

    monkeypatch.setattr(en.Ledger, "commit", fails)
    with pytest.warns(en.PrivacyWarning, match="stays reserved"):
        model = moments(ledger=place, dataset="set").fit(X, Y)
    assert model.certificate_.epsilon == 1.0
    assert statuses(ledger) == ["reserved"]


def duplicated(way):
    return {
        "clone": clone,
        "deepcopy": copy.deepcopy,
        "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    }[way]


@pytest.mark.parametrize("way", ["clone", "deepcopy", "pickle"])
def test_copies_spend_too(way, place):
    ledger = room_for(2, place)
    model = moments(ledger=place, dataset="set").fit(X, Y)
    copied = duplicated(way)(model)
    assert copied.get_params() == model.get_params()
    copied.fit(X, Y)
    with pytest.raises(en.BudgetError):
        model.fit(X, Y)
    assert statuses(ledger) == ["committed"] * 2


def test_a_search_hides_a_refusal_as_nan_unless_it_is_told_to_raise(place):
    n = 80  # rows of two thirds
    ledger = room_for(4, place, n=n)
    model = moments(ledger=place, dataset="set")
    search = GridSearchCV(model, {"ridge": [0.0, 0.1]}, cv=3, refit=False)
    with pytest.warns(FitFailedWarning, match="2 fits failed"), pytest.warns(UserWarning, match="non-finite"):
        search.fit(X, Y)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
    assert len(ledger.history()) == 4
    with pytest.raises(en.BudgetError):
        search.set_params(error_score="raise").fit(X, Y)
    with pytest.raises(en.BudgetError):
        cross_val_score(model, X, Y, cv=3, error_score="raise")
    assert len(ledger.history()) == 4


@pytest.fixture
def new_workers():
    """Worker processes have the environment of their start, so they must not outlive a test."""
    get_reusable_executor().shutdown(wait=True)
    yield
    get_reusable_executor().shutdown(wait=True)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_spends_in_processes_and_threads(backend, everywhere, new_workers):
    ledger = room_for(4, everywhere, n=90)
    with joblib.parallel_backend(backend, n_jobs=2):
        scores = cross_val_score(moments(), X, Y, cv=4)
    assert np.isfinite(scores).all()
    assert statuses(ledger) == ["committed"] * 4
    # With one thread: others would go on after the first refusal, into the next test's environment.
    with joblib.parallel_backend(backend, n_jobs=2 if backend == "loky" else 1), pytest.raises(en.BudgetError):
        cross_val_score(moments(), X, Y, cv=4, error_score="raise")


def test_with_the_variable_set_a_data_set_must_be_named(everywhere, monkeypatch):
    ledger = enter(everywhere)
    monkeypatch.delenv(spending.DATASET)
    for fit in (
        lambda: moments().fit(X, Y),
        lambda: en.PrivateStandardizer((-50, 50)).fit(X),
        lambda: en.plan("moments", n=120, n_features=3, epsilon=1.0, bounds=(-5, 5)).run(X, Y),
    ):
        with pytest.raises(en.BudgetError, match="needs the data set") as caught:
            fit()
        assert spending.DATASET in caught.value.way_out
    moments(dataset="set").fit(X, Y)
    assert len(ledger.history()) == 1


def test_the_variable_cannot_be_left_by_naming_another_ledger(everywhere, tmp_path):
    ledger = enter(everywhere)
    other = str(tmp_path / "other.db")
    enter(other)
    with pytest.raises(en.BudgetError, match="all fits of this process"):
        moments(ledger=other).fit(X, Y)
    moments(ledger=str(tmp_path / "." / "ledger.db")).fit(X, Y)
    assert len(ledger.history()) == 1


def test_a_data_set_without_a_ledger_and_a_ledger_without_a_data_set_are_refused(place):
    enter(place)
    with pytest.raises(en.BudgetError, match="kept in a ledger"):
        moments(dataset="set").fit(X, Y)
    with pytest.raises(en.BudgetError, match="needs the data set"):
        moments(ledger=place).fit(X, Y)
    with pytest.raises(en.BudgetError, match="must be there"):
        moments(ledger=place + "x", dataset="set").fit(X, Y)
    with pytest.raises(en.InputError, match="path"):
        moments(ledger=3, dataset="set").fit(X, Y)


def test_a_saved_model_keeps_the_data_set_and_not_the_place(place, tmp_path):
    enter(place)
    path = en.save(moments(ledger=place, dataset="set").fit(X, Y), tmp_path / "model")
    assert str(tmp_path).encode() not in path.read_bytes()
    again = en.load(path)
    assert (again.ledger, again.dataset) == (None, "set")
    np.testing.assert_allclose(again.decision_function(X), again.decision_function(X))
    # A refit without the ledger is refused: it would spend what nobody counts.
    with pytest.raises(en.BudgetError, match="kept in a ledger"):
        again.fit(X, Y)


def test_nothing_of_the_rows_enters_the_ledger(place):
    ledger = enter(place)
    rows = X * 0.987654321 + 0.123456789
    en.AUCClassifier(1.0, bounds=(-5, 5), ledger=place, dataset="set").fit(rows, Y)
    text = json.dumps(ledger.export())
    assert not any(repr(float(value)) in text for value in rows.ravel())


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["outcome"] = Y
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def fit_words(table, *more):
    ranges = [word for name in "abc" for word in ("--bounds", f"{name}=-5:5")]
    return ["fit", table, "--target", "outcome", *ranges, "--out", table.parent / "m.entrenous", "--force", *more]


def test_the_command_line_from_init_to_export(place, table, tmp_path):
    shown = run("ledger", "init", place, "--dataset", "set", "--epsilon", 1.5, "--delta", 1e-4, "--owner", "me")
    assert shown.exit_code == 0, shown.output
    assert "epsilon = 1.5 at delta = 0.0001, rule gdp" in shown.output
    shown = run(*fit_words(table, "--ledger", place, "--dataset", "set"))
    assert shown.exit_code == 0, shown.output
    refused = run(*fit_words(table, "--ledger", place, "--dataset", "set", "--epsilon", 1.4))
    assert refused.exit_code == 1
    assert "may cost" in refused.output
    shown = run("ledger", "show", place, "--epsilon", 0.5)
    assert shown.exit_code == 0
    assert "room for" in shown.output
    assert "no room for a fit at epsilon = 3" in run("ledger", "show", place, "--epsilon", 3).output
    head = shown.output.split("head ")[1].split()[0]
    listed = run("ledger", "history", place)
    assert "committed" in listed.output
    assert "logistic-gd" in listed.output
    shown = run("ledger", "verify", place, "--head", head)
    assert shown.exit_code == 0
    assert shown.output.endswith("verified\n")
    assert run("ledger", "verify", place, "--head", "0" * 64).exit_code == 1
    for suffix in ("json", "csv"):
        out = tmp_path / f"export.{suffix}"
        assert run("ledger", "export", place, "--out", out).exit_code == 0
        assert run("ledger", "export", place, "--out", out).exit_code == 2
    assert json.loads((tmp_path / "export.json").read_text())["head"] == head
    assert pd.read_csv(tmp_path / "export.csv")["status"].tolist() == ["committed"]
    assert run("ledger", "export", place, "--out", tmp_path / "export.txt").exit_code == 2


def test_the_command_line_in_portions_and_from_the_environment(everywhere, table):
    assert run("ledger", "init", everywhere, "--dataset", "set", "--mu", 2).exit_code == 0
    chunks = ("--algorithm", "sgd-previous", "--chunk-rows", 40)
    shown = run(*fit_words(table, *chunks))
    assert shown.exit_code == 0, shown.output
    assert statuses(en.Ledger(everywhere)) == ["committed"]
    assert "needs a delta" in run("ledger", "show", "--epsilon", 1).output
    assert "room for" in run("ledger", "show", "--epsilon", 0.5, "--delta", 1e-6).output


def test_parts_and_versions_on_the_command_line(place):
    words = ("ledger", "init", place, "--dataset")
    assert run(*words, "whole", "--epsilon", 1, "--delta", 1e-6, "--rule", "rdp").exit_code == 0
    shown = run(*words, "new", "--version-of", "whole")
    assert "shared with whole" in shown.output
    assert "at order 22" in shown.output
    refused = run(*words, "ward 7", "--part-of", "whole", "--membership", "value")
    assert refused.exit_code == 1
    assert "replace-one" in refused.output
    assert run(*words, "half", "--part-of", "whole", "--membership", "random").exit_code == 0
    assert run(*words, "whole", "--mu", 1).exit_code == 2


def test_rdp_and_gdp_agree_on_what_a_gaussian_fit_leaves(place):
    ledger = en.Ledger(place)
    for rule in ("gdp", "rdp"):
        ledger.init(rule, epsilon=2.0, delta=1e-6, rule=rule)
        moments(ledger=place, dataset=rule).fit(X, Y)
    left = [ledger.account(rule).share_left for rule in ("gdp", "rdp")]
    assert isinstance(ledger.account("rdp").terms.accounting, RenyiRule)
    assert 0.4 < left[1] < left[0] < 1.0


def test_a_seeded_fit_spends_like_any_other(place):
    ledger = enter(place)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        moments(ledger=place, dataset="set", random_state=1).fit(X, Y)
    assert ledger.history()[0].certificate.seeded
