"""Records as they come: in any portions the result is that of one fit, and nothing private is kept or shown."""

import copy
import importlib.util
import io
import os
import pickle
import warnings

import joblib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import entrenous as en
from entrenous.engine.online import OnlineRun

N, D = 60, 3
PORTIONS = {"one by one": [1] * N, "uneven": [7, 1, 1, 20, 30, 1], "whole": [N], "first alone": [1, N - 1]}
ONLINE = [a.name for a in en.algorithms() if a.online]
PRIVATE = [a.name for a in en.algorithms() if a.online and a.privacy != ("none",)]
OPTIONS = {"olp": {"buffer": 5}, "oam": {"buffer": 3}, "ogd-previous": {"buffer": 2}}
RIDGE = {"onpairstrc": 0.2}


def records(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def classifier(name, epsilon=None, **more):
    # With a radius: without one and without privacy `fit` takes it from all rows, which `partial_fit` cannot.
    fixed = {"bounds": (-2, 2), "random_state": 3, "ridge": RIDGE.get(name, 0.0), "options": OPTIONS.get(name)}
    return en.AUCClassifier(epsilon=epsilon, algorithm=name, **{"radius": 1.0} | fixed | more)


def fed(clf, X, y, portions, **first):
    start = 0
    for size in portions:
        clf.partial_fit(X[start : start + size], y[start : start + size], **({} if start else first))
        start += size
    return clf


def test_the_online_ones_are_those_that_say_so():
    assert set(ONLINE) == {"ogd-previous", "onpairstrc", "onpairc", "olp", "oam", "spauc"}


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("portions", PORTIONS)
def test_portions_do_not_matter(name, portions):
    X, y = records()
    whole = classifier(name).fit(X, y)
    first = {"classes": (0, 1)} | ({"n_total": N} if name == "onpairc" else {})
    parts = fed(classifier(name), X, y, PORTIONS[portions], **first)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-12, atol=1e-12)
    assert parts.n_iter_ == whole.n_iter_
    assert parts.plan_ == whole.plan_
    assert np.linalg.norm(whole.coef_) > 1e-3


@pytest.mark.parametrize("surrogate", ["logistic", "hinge"])
@pytest.mark.parametrize("portions", PORTIONS)
@pytest.mark.parametrize("epsilon", [None, 2.0])
@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
def test_sgd_previous_in_order_of_arrival(surrogate, portions, epsilon):
    X, y = records()
    settings = {"epsilon": epsilon, "surrogate": surrogate, "options": {"order": "arrival", "buffer": 2}}
    whole = classifier("sgd-previous", **settings).fit(X, y)
    parts = fed(classifier("sgd-previous", **settings), X, y, PORTIONS[portions], classes=(0, 1), n_total=N)
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12, atol=1e-12)
    assert parts.plan_ == whole.plan_
    assert parts.n_iter_ == N - 1
    if epsilon is not None:
        parts.certificate_.verify()
        drawn = classifier("sgd-previous", **settings | {"options": {"buffer": 2}}).fit(X, y)
        if surrogate == "logistic":
            sensitivities = [made.plan_.mechanisms[0].l2_sensitivity for made in (parts, drawn)]
            assert sensitivities[0] < sensitivities[1], "a record that meets few others moves less"


def test_an_order_that_is_none():
    with pytest.raises(en.InputError, match="arrival"):
        en.plan("sgd-previous", n=10, n_features=2, epsilon=None, options={"order": "sorted"})


@pytest.mark.parametrize("surrogate", ["hinge", "squared-hinge"])
@pytest.mark.parametrize("options", [{"buffer": 4}, {"buffer": 4, "replacement": False}])
def test_reservoirs_of_both_kinds(surrogate, options):
    X, y = records()
    whole = classifier("olp", options=options, surrogate=surrogate).fit(X, y)
    parts = fed(classifier("olp", options=options, surrogate=surrogate), X, y, PORTIONS["uneven"], classes=(0, 1))
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("portions", PORTIONS)
@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
def test_a_private_fit_releases_once_or_pays_for_every_iterate(name, portions):
    X, y = records()
    whole = classifier(name, epsilon=2.0).fit(X, y)
    clf = classifier(name, epsilon=2.0)
    every = whole.plan_.phases[0].every_iterate
    sizes = PORTIONS[portions]
    clf = fed(clf, X, y, sizes[:-1], n_total=N)
    if len(sizes) > 1 and not every:
        assert not hasattr(clf, "coef_")
        with pytest.raises(NotFittedError, match=f"{sum(sizes[:-1])} have come"):
            clf.decision_function(X)
    clf.partial_fit(X[N - sizes[-1] :], y[N - sizes[-1] :], **({"n_total": N} if len(sizes) == 1 else {}))
    assert clf.plan_ == whole.plan_
    assert clf.certificate_ == whole.certificate_
    if not every or len(sizes) == 1:
        # The same number of draws before the last release, so the same noise.
        np.testing.assert_allclose(clf.coef_, whole.coef_, rtol=1e-12, atol=1e-12)
    with pytest.raises(en.InputError, match="60 records"):
        clf.partial_fit(X[:1], y[:1])


@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
def test_every_released_iterate_has_noise_of_its_own():
    X, y = records()
    clf = classifier("onpairc", epsilon=2.0)
    seen = []
    for i in range(N):
        clf.partial_fit(X[[i]], y[[i]], **({} if i else {"n_total": N}))
        seen.append(clf.coef_.copy())
    assert len({tuple(c.ravel()) for c in seen}) == N


@pytest.mark.parametrize("task", ["auc", "metric"])
@pytest.mark.parametrize("name", ["ogd-previous", "olp", "onpairstrc"])
def test_plans_of_every_task_take_portions(task, name):
    X, y = records()
    ask = {"n": N, "n_features": D, "epsilon": None, "bounds": (-2, 2), "ridge": 0.2, "index_seed": 5}
    plan = en.plan(name, task=task, classes=(0, 1), **ask, options=OPTIONS.get(name))
    online = OnlineRun(plan, None)
    for start in range(0, N, 7):
        fitted = online.feed(X[start : start + 7], y[start : start + 7])
    np.testing.assert_allclose(fitted.coef, plan.run(X, y).coef, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["ogd-previous", "olp", "oam", "spauc"])
def test_memory_is_the_buffers(name):
    """What an online fit holds does not grow with the records it has seen."""
    X, y = records(n=2000)
    sizes = []
    clf = classifier(name)
    for start in range(0, 2000, 50):
        clf.partial_fit(X[start : start + 50], y[start : start + 50], classes=(0, 1))
        sizes.append(len(pickle.dumps(clf._online)))
    assert max(sizes[5:]) <= min(sizes[5:]) + 64


def test_an_open_stream_without_privacy_is_usable_at_any_time():
    X, y = records()
    clf = classifier("ogd-previous")
    for i in range(N):
        clf.partial_fit(X[[i]], y[[i]], classes=(0, 1))
        assert clf.predict(X).shape == (N,)
        assert clf.plan_.n == max(2, i + 1)
    kept = pickle.loads(pickle.dumps(clf))
    more_X, more_y = records(seed=1)
    for estimator in (clf, kept):
        estimator.partial_fit(more_X, more_y)
    np.testing.assert_array_equal(clf.coef_, kept.coef_)


def test_a_pickle_of_a_private_stream_holds_no_rows():
    X, y = records()
    clf = classifier("ogd-previous", epsilon=1.0, random_state=None).partial_fit(X[:40], y[:40], n_total=N)
    content = pickle.dumps(clf)
    assert X[39].tobytes() not in content
    assert not hasattr(pickle.loads(content), "_online")
    clf.partial_fit(X[40:], y[40:])
    assert clf._online[0]._fold is None
    assert clf._online[0]._means is None


def copies():
    """Every way to write an object down or to copy it, as functions that give the bytes of the copy."""
    ways = {f"pickle {k}": lambda it, k=k: pickle.dumps(it, k) for k in range(pickle.HIGHEST_PROTOCOL + 1)}
    ways["pickle in Python"] = lambda it: pickle._dumps(it, 4)
    for name in ("copy", "deepcopy"):
        ways[name] = lambda it, name=name: pickle.dumps(vars(getattr(copy, name)(it)))
    for name in ("cloudpickle", "dill"):
        if importlib.util.find_spec(name):
            ways[name] = lambda it, name=name: importlib.import_module(name).dumps(it)

    def joblib_dump(it):
        file = io.BytesIO()
        joblib.dump(it, file)
        return file.getvalue()

    return ways | {"joblib": joblib_dump}


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
@pytest.mark.parametrize("way", copies())
def test_a_private_run_stays_in_its_process_whatever_epsilon_says_later(way, classes):
    X, _ = records()
    y = np.arange(N) % len(classes)
    clf = classifier("ogd-previous", epsilon=1.0, random_state=None, classes=classes)
    clf.partial_fit(X[:40], y[:40], n_total=N)
    for said in (1.0, None, np.inf):
        clf.set_params(epsilon=said)
        content = copies()[way](clf)
        kept = [row.tobytes() for rows in (X, clf._online[0]._plan.features.to_internal(X)) for row in rows[:40]]
        assert not any(row in content for row in kept)
        assert b"OnlineRun" not in content
        for run in clf._online:
            with pytest.raises(en.PrivacyError, match="stays where it is") as caught:
                copies()[way](run)
            assert all((caught.value.needs, caught.value.got, caught.value.way_out))
    # The run itself is none the worse.
    clf.set_params(epsilon=1.0).partial_fit(X[40:], y[40:])
    assert clf.certificate_.epsilon == 1.0


def test_a_run_without_privacy_may_be_copied_whatever_epsilon_says_later():
    X, y = records()
    clf = classifier("ogd-previous").partial_fit(X, y, classes=(0, 1)).set_params(epsilon=1.0)
    assert pickle.loads(pickle.dumps(clf))._online[0].seen == N
    assert copy.deepcopy(clf._online[0]).seen == N


@pytest.mark.parametrize(
    ("change", "call", "message"),
    [
        ({"epsilon": 1.0}, {}, "n_total"),
        ({"bounds": None}, {"classes": (0, 1)}, "bounds"),
        ({}, {}, "classes"),
        ({"algorithm": "onpairc", "options": None}, {"classes": (0, 1)}, "n_total"),
        ({"epsilon": 1.0}, {"n_total": 1}, "n must be"),
        ({"epsilon": 1.0}, {"n_total": 5}, "5 records"),
        ({}, {"classes": (0, 2)}, "public classes"),
    ],
)
def test_wrong_beginnings_are_refused(change, call, message):
    X, y = records()
    clf = classifier("ogd-previous").set_params(**{"random_state": None} | change)
    with pytest.raises(en.EntrenousError, match=message):
        clf.partial_fit(X, y, **call)
    assert not hasattr(clf, "coef_")


def test_errors_on_the_way_lose_nothing():
    X, y = records()
    whole = classifier("ogd-previous").fit(X, y)
    clf = fed(classifier("ogd-previous"), X, y, [30], classes=(0, 1))
    for bad_X, bad_y in ((X[:2, :2], y[:2]), (np.full((1, D), np.nan), y[:1]), (X[:1], [7]), (X[:2], y[:1])):
        with pytest.raises(ValueError):
            clf.partial_fit(bad_X, bad_y)
    with pytest.raises(en.InputError, match="classes stay"):
        clf.partial_fit(X[:1], y[:1], classes=(1, 0))
    clf.partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(clf.coef_, whole.coef_, rtol=1e-12, atol=1e-12)


def test_only_online_algorithms_have_it():
    assert not hasattr(en.AUCClassifier(), "partial_fit")
    assert not hasattr(en.AUCClassifier(algorithm="sgd-previous"), "partial_fit")
    assert hasattr(en.AUCClassifier(algorithm="sgd-previous", options={"order": "arrival"}), "partial_fit")
    assert hasattr(en.AUCClassifier(algorithm="olp"), "partial_fit")
    with pytest.raises(en.AssumptionError, match="online"):
        OnlineRun(en.plan("moments", n=10, n_features=2, epsilon=None, bounds=(0, 1)), None)


def test_fit_starts_anew():
    X, y = records()
    clf = fed(classifier("ogd-previous"), X[::-1], y[::-1], [20], classes=(0, 1)).fit(X, y)
    np.testing.assert_array_equal(clf.coef_, classifier("ogd-previous").fit(X, y).coef_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.partial_fit(X, y)
    np.testing.assert_allclose(clf.coef_, classifier("ogd-previous").fit(X, y).coef_, atol=1e-12)


def test_only_fit_takes_its_radius_from_the_rows():
    X, y = records()
    whole = classifier("ogd-previous", radius=None).fit(X, y)
    parts = fed(classifier("ogd-previous", radius=None), X, y, PORTIONS["uneven"], classes=(0, 1))
    assert whole.plan_.problem.domain.radius > 1.0 == parts.plan_.problem.domain.radius


def spauc_by_hand(X, y, step_size):
    """Class means of all records so far, the gradient of the decoupled square loss at the newest one."""
    w, iterates = np.zeros(D), []
    for t in range(1, len(X) + 1):
        iterates.append(w)
        past_X, past_y, x = X[:t], y[:t], X[t - 1]
        p = past_y.mean()
        means = [past_X[past_y == k].mean(axis=0) if (past_y == k).any() else np.zeros(D) for k in (0, 1)]
        gap = x - means[y[t - 1]]
        between = means[1] - means[0]
        spreads = [past_X[past_y == k].var(axis=0).sum() if (past_y == k).any() else 0.0 for k in (0, 1)]
        curvature = 2 * p * (1 - p) * (sum(spreads) + between @ between) + 0.1
        gradient = 2 * (1 - p if y[t - 1] else p) * (w @ gap) * gap - 2 * p * (1 - p) * (1 - w @ between) * between
        step = w - step_size / curvature / np.sqrt(t) * (gradient + 0.1 * w)
        w = step / max(1.0, np.linalg.norm(step))
    return np.mean(iterates, axis=0)


def test_spauc_step_by_step():
    X, y = records()
    U = X / np.maximum(4.0, np.linalg.norm(X, axis=1, keepdims=True))
    for options, step_size in (({}, 4.0), ({"step_size": 0.5}, 0.5)):
        ask = {"bounds": en.FeatureBall(4.0), "ridge": 0.1, "options": options}
        plan = en.plan("spauc", n=N, n_features=D, epsilon=None, **ask)
        assert plan.public["step_size"] == step_size
        np.testing.assert_allclose(plan.run(X, y).w, spauc_by_hand(U, y, step_size), rtol=1e-10, atol=1e-12)
    with pytest.raises(en.AssumptionError, match="moments"):
        en.plan("spauc", n=N, n_features=D, epsilon=1.0)


def test_spauc_aims_at_the_all_pairs_square_loss():
    """Long enough, it comes near the minimiser over all pairs."""
    X, y = records(n=20_000)
    ask = {"epsilon": None, "bounds": (-4, 4), "radius": 3.0, "surrogate": "square"}
    near = en.AUCClassifier(algorithm="spauc", **ask).fit(X, y).coef_[0]
    exact = en.AUCClassifier(algorithm="moments", **ask | {"radius": None}).fit(X, y).coef_[0]
    assert near @ exact / np.linalg.norm(near) / np.linalg.norm(exact) > 0.99


@pytest.mark.parametrize("scale", [0.0, 1e-130])
def test_spauc_takes_records_that_are_all_alike(scale):
    X, y = records()
    fitted = en.plan("spauc", n=N, n_features=D, epsilon=None, bounds=(-5, 5)).run(1.0 + scale * X, y)
    assert np.isfinite(fitted.coef).all()
    near_zero = en.plan("spauc", n=N, n_features=D, epsilon=None, bounds=(-5, 5)).run(scale * X, y)
    assert np.isfinite(near_zero.coef).all()


@pytest.mark.parametrize("epsilon", [1.0, None])
def test_the_number_of_records_stays(epsilon):
    X, y = records()
    clf = classifier("sgd-previous", epsilon=epsilon, options={"order": "arrival"}, random_state=None)
    with pytest.raises(en.InputError, match="5 records"):
        clf.partial_fit(X[:40], y[:40], classes=(0, 1), n_total=5)
    clf.partial_fit(X[:40], y[:40], classes=(0, 1), n_total=N)
    with pytest.raises(en.InputError, match=f"began for {N} records"):
        clf.partial_fit(X[40:], y[40:], n_total=2 * N)
    clf.partial_fit(X[40:], y[40:], n_total=N)
    assert clf.n_iter_ == N - 1


# --- interrupted, or in two processes ---------------------------------------------------------------------------------


class Interrupting:
    """A fold that is interrupted after it has taken the rows."""

    def __init__(self, fold):
        self.fold = fold

    def feed(self, X, y):
        self.fold.feed(X, y)
        raise KeyboardInterrupt


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_after_an_interruption_no_record_comes_twice(classes):
    X, y = records()
    clf = classifier("ogd-previous", 1.0, random_state=None, classes=classes)
    clf.partial_fit(X[:20], y[:20], n_total=N)
    last = clf._online[-1]
    last._fold = Interrupting(last._fold)
    with pytest.raises(KeyboardInterrupt):
        clf.partial_fit(X[20:40], y[20:40])
    # Where there are several classes the first ones have the rows, and the last one nobody knows.
    with pytest.raises(en.PrivacyError, match="interrupted"):
        clf.partial_fit(X[20:40], y[20:40])
    assert not hasattr(clf, "coef_")


def test_a_refused_chunk_is_no_interruption():
    X, y = records()
    clf = classifier("ogd-previous", 1.0, random_state=None)
    clf.partial_fit(X[:20], y[:20], n_total=N)
    with pytest.raises(ValueError, match="NaN"):
        clf.partial_fit(np.full((2, D), np.nan), y[:2])
    clf.partial_fit(X[20:], y[20:])
    assert clf.coef_.shape == (1, D)


def test_a_run_under_way_does_not_go_on_in_a_forked_process():
    X, y = records()
    clf = classifier("ogd-previous", 1.0, random_state=None)
    clf.partial_fit(X[:20], y[:20], n_total=N)
    child = os.fork()
    if child == 0:
        told = 1
        try:
            clf.partial_fit(X[20:], y[20:])
        except en.PrivacyError as error:
            told = 0 if "another process" in str(error) else 2
        finally:
            os._exit(told)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    clf.partial_fit(X[20:], y[20:])
    assert clf.certificate_.epsilon == 1.0
