"""What fits leave behind: on tables that differ in one record, only what was released with noise may differ."""

import dataclasses
import io
import logging
import pickle
import re
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from scipy import sparse

import entrenous as en

N, D = 60, 3
RELEASED = {
    "coef_",
    "intercept_",
    "coef_noise_",
    "components_",
    "bounds_",
    "all_bounds_",
    "mean_",
    "scale_",
    "found_bounds",
    "found_event_share",
    "found_targets",
    "found_error_cap",
}
"""Names of what was released, or follows from it and public numbers; nothing else may depend on the rows."""

TASKS = {
    "auc": lambda **more: en.AUCClassifier(bounds=(-3, 3), **more),
    "three classes": lambda **more: en.AUCClassifier(bounds=(-3, 3), classes=(0, 1, 2), **more),
    "metric": lambda **more: en.MahalanobisLearner(bounds=(-3, 3), **more),
    "entropy": lambda **more: en.ErrorEntropyRegressor(bounds=(-3, 3), target_bounds=(-5, 5), **more),
    "classifier": lambda **more: en.PointwiseClassifier(bounds=(-3, 3), max_iter=5, **more),
    "regressor": lambda **more: en.PointwiseRegressor(bounds=(-3, 3), target_bounds=(-5, 5), max_iter=5, **more),
    "found bounds": lambda **more: en.AUCClassifier(bounds=en.PrivateBounds(within=(-30, 30)), **more),
    "standardizer": lambda **more: en.PrivateStandardizer(within=(-30, 30), **more),
}
CASES = [(task, "auto") for task in ("auc", "three classes", "metric", "entropy", "found bounds")]
CASES += [(task, None) for task in ("classifier", "regressor", "standardizer")]
CASES += [("auc", a.name) for a in en.algorithms() if "auc" in a.tasks and "approximate" in a.privacy]
CASES += [("metric", a.name) for a in en.algorithms() if "metric" in a.tasks and "approximate" in a.privacy]


def estimator(task, algorithm):
    settings = {"random_state": 1}
    if algorithm is not None:
        settings["algorithm"] = algorithm
    if algorithm not in (None, "auto"):
        settings["ridge"] = 0.1
    return TASKS[task](**settings)


def records(task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    if task in ("entropy", "regressor"):
        return X, X[:, 0] + rng.normal(size=N)
    return X, rng.integers(3 if task == "three classes" else 2, size=N)


def leaves(thing, path="", seen=None):
    """Every value that can be reached from an object, with the way to it."""
    seen = set() if seen is None else seen
    if isinstance(thing, np.ndarray):
        yield path, thing.tobytes() + str(thing.dtype).encode()
    elif isinstance(thing, str | bytes | int | float | bool | type(None) | np.generic):
        yield path, repr(thing)
    elif id(thing) in seen:
        return
    else:
        seen.add(id(thing))
        if isinstance(thing, Mapping):
            inner = [(str(key), value) for key, value in thing.items()]
        elif isinstance(thing, list | tuple | set | frozenset):
            inner = [(str(k), value) for k, value in enumerate(thing)]
        elif dataclasses.is_dataclass(thing) or hasattr(thing, "__dict__"):
            inner = list(vars(thing).items())
        else:
            inner = []
            yield path, repr(type(thing))
        for name, value in inner:
            yield from leaves(value, f"{path}.{name}", seen)


def observed(task, algorithm, X, y):
    """All that a fit prints, logs, warns of, raises and stores; and its pickle."""
    out, err, log = io.StringIO(), io.StringIO(), io.StringIO()
    handler = logging.StreamHandler(log)
    logging.getLogger().addHandler(handler)
    model = estimator(task, algorithm)
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        finally:
            logging.getLogger().removeHandler(handler)
    said = (out.getvalue(), err.getvalue(), log.getvalue(), [(w.category, str(w.message)) for w in caught], repr(model))
    return said, dict(leaves(model)), pickle.dumps(model)


@pytest.mark.parametrize(("task", "algorithm"), CASES)
def test_only_what_was_released_depends_on_the_rows(task, algorithm):
    X, y = records(task)
    said, stored, pickled = observed(task, algorithm, X, y)
    released = {path for path in stored if set(path.split(".")) & RELEASED}
    # Of several classes the first one finds bounds, which are the public domain of the others.
    released |= {
        path for path in stored if re.search(r"parts\.[1-9]\d*\.public\.domain|plans_\.[1-9]\d*\.features", path)
    }
    assert released
    assert len(stored) > len(released) + 20
    for i, record, label in ((0, np.full(D, 1e6), 1), (5, -X[5], 0), (N - 1, np.zeros(D), 1)):
        other_X, other_y = X.copy(), y.copy()
        other_X[i], other_y[i] = record, label
        other_said, other_stored, _ = observed(task, algorithm, other_X, other_y)
        assert other_said == said
        assert other_stored.keys() == stored.keys()
        differ = {path for path in stored if stored[path] != other_stored[path]}
        assert differ <= released, differ - released
    for row in X:
        assert row.tobytes() not in pickled


def test_the_walk_sees_what_is_hidden():
    """A fit that kept its rows, a count or a loss would be caught."""
    X, y = records("auc")
    with pytest.warns(en.PrivacyWarning):
        model = estimator("auc", "auto").fit(X, y)
    model._cache = {"seen": [X[:3]], "events": int(y.sum())}
    found = dict(leaves(model))
    assert "._cache.seen.0" in found
    assert found["._cache.events"] == repr(int(y.sum()))
    assert X[0].tobytes() in pickle.dumps(model)


def test_a_saved_model_holds_no_row_and_no_seed(tmp_path):
    for task in ("auc", "three classes", "metric", "entropy", "classifier", "regressor", "found bounds"):
        X, y = records(task)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", en.PrivacyWarning)
            model = estimator(task, None if task in ("classifier", "regressor") else "auto")
            model.set_params(random_state=987_654_321).fit(X, y)
        content = en.save(model, tmp_path / "model").read_bytes()
        assert not any(row.tobytes() in content for row in X)
        assert b"987654321" not in content
        assert pickle.loads(pickle.dumps(model)).certificate_ == model.certificate_


@pytest.mark.parametrize("table", [np.array, sparse.csr_array])
def test_complex_cells_are_not_quoted(table):
    cells = np.array([[71.25 + 1j], [64.5]] * 5)
    with pytest.raises(en.InputError, match="Complex data not supported") as caught:
        en.AUCClassifier(1.0, bounds=(0, 100)).fit(table(cells), [0, 1] * 5)
    assert "71.25" not in str(caught.value)


def told_by(work):
    """What a caller sees of a piece of work: warnings, and the error if there is one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            work()
        except Exception as error:
            return [str(warning.message) for warning in caught], error
    return [str(warning.message) for warning in caught], None


@pytest.mark.parametrize("kind", [int, float, object, str])
def test_which_labels_occur_gives_no_warning(kind):
    """scikit-learn warns once more than half of the labels are different: one record decides."""
    rows, classes = np.random.default_rng(0).uniform(-1, 1, (60, 3)), np.arange(60).astype(kind).tolist()
    seen = []
    for occurring in (29, 30, 31, 32, 60):
        labels = np.array(classes, dtype=kind)[np.minimum(np.arange(60), occurring - 1)]
        learner = en.MahalanobisLearner(bounds=(-1, 1), classes=classes)
        seen.append(told_by(lambda learner=learner, labels=labels: learner.fit(rows, labels)))
    assert seen == [([], None)] * 5
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        en.MahalanobisLearner(bounds=(-1, 1), classes=classes).fit(rows, np.array(classes, dtype=kind))


@pytest.mark.parametrize("label", [0.5, 2.0, 1e300, -1e19, "Alice", None, 2**70, [1]])
def test_a_label_of_any_kind_that_is_no_class_is_told_in_the_same_words(label):
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    labels = (np.arange(40) % 2).astype(float if isinstance(label, float) else object)
    labels[3] = label
    for algorithm in ("moments", "noisy-gd"):
        said, error = told_by(lambda: en.AUCClassifier(bounds=(-1, 1), algorithm=algorithm).fit(rows, labels))  # noqa: B023
        assert said == []
        assert isinstance(error, en.InputError)
        assert "among the public classes (0, 1)" in str(error)


def test_a_number_too_large_for_a_float_gives_no_warning():
    rows = np.random.default_rng(0).uniform(-1, 1, (40, 3)).astype(np.longdouble)
    rows[3, 1] = np.finfo(np.longdouble).max
    fits = [
        lambda: en.AUCClassifier(bounds=(-1, 1)).fit(rows, np.arange(40) % 2),
        lambda: en.PointwiseRegressor(bounds=(-1, 1), target_bounds=(0, 1)).fit(rows[:, [0]], rows[:, 1]),
        lambda: en.plan(n=40, n_features=3, epsilon=1.0, bounds=(0, 1)).run(rows, np.arange(40) % 2),
    ]
    for work in fits:
        said, error = told_by(work)
        assert said == []
        assert np.finfo(np.longdouble).max == np.finfo(float).max or "infin" in str(error)


def test_text_in_the_rows_of_a_plan_is_not_quoted():
    rows = np.array([["1", "Alice"], ["2", "Bob"]], dtype=object)
    _, error = told_by(lambda: en.plan(n=2, n_features=2, epsilon=1.0, bounds=(0, 1)).run(rows, [0, 1]))
    assert isinstance(error, en.InputError)
    assert "Alice" not in str(error)
