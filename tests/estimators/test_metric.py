"""The metric learner: scikit-learn's contract, privacy's contract, labelled rows and listed pairs."""

import io
import itertools
import json
import math
import os
import pickle
import warnings
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import entrenous as en
from entrenous.estimators.metric import components_of
from entrenous.privacy.noise import noise_from

X, Y = load_iris(return_X_y=True)
BOUNDS = (0.0, 8.0)
CLASSES = (0, 1, 2)
METRIC = [a.name for a in en.algorithms() if "metric" in a.tasks and "approximate" in a.privacy]
ONLINE = [a.name for a in en.algorithms() if "metric" in a.tasks and a.online]

EXPECTED = {
    "check_dtype_object": "its labels go beyond the declared ones",
    "check_n_features_in_after_fitting": "it calls partial_fit without classes, which only classifiers are spared",
}
"""Checks of scikit-learn that a fit with declared labels cannot pass, and why."""


def learner(**settings):
    return en.MahalanobisLearner(**{"bounds": BOUNDS, "classes": CLASSES, "random_state": 0} | settings)


def fit(rows=X, labels=Y, **settings):
    """A seeded fit, its warning set aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        return learner(**settings).fit(rows, labels)


def listed(n=150, each=2, seed=0):
    """A random list in which every record meets `each` others on either side of a random ring."""
    ring = np.random.default_rng(seed).permutation(n)
    pairs = np.concatenate([np.column_stack([ring, np.roll(ring, k)]) for k in range(1, each + 1)])
    return pairs, Y[pairs[:, 0]] == Y[pairs[:, 1]]


def fit_pairs(pairs=None, similar=None, rows=X, ids=None, **settings):
    if pairs is None:
        pairs, similar = listed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        return learner(**{"classes": None} | settings).fit_pairs(rows, pairs, similar, ids=ids)


def failures(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert len(results) > 40
    return {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}


@pytest.mark.parametrize(
    "settings",
    [{}, {"domain": "nuclear", "surrogate": "hinge", "max_iter": 50}, {"algorithm": "dpgdsc", "ridge": 0.01}],
)
def test_scikit_learns_checks_pass_without_privacy(settings):
    assert failures(en.MahalanobisLearner(None, **settings)) == {}


@pytest.mark.parametrize("settings", [{}, {"algorithm": "dpgdc2"}, {"algorithm": "ogd-previous", "epsilon": None}])
def test_scikit_learns_checks_with_declared_labels_fail_only_as_expected(settings):
    found = failures(en.MahalanobisLearner(**{"bounds": (-10, 10), "classes": CLASSES, "random_state": 0} | settings))
    assert set(found) <= set(EXPECTED)
    assert all("public classes" in str(error) or "needs the classes" in str(error) for error in found.values())


# --- what it learns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["frobenius", "nuclear"])
@pytest.mark.parametrize("epsilon", [1.0, None])
def test_every_view_is_the_same_distance(domain, epsilon):
    model = fit(epsilon=epsilon, domain=domain)
    W, mapped = model.get_mahalanobis_matrix(), model.transform(X)
    pairs = np.stack([X[:-1], X[1:]], axis=1)
    # As training saw them: clipped into what was found.
    clipped = model.bounds_.origin + model.bounds_.unit * model.bounds_.to_internal(X)
    gaps = clipped[:-1] - clipped[1:]
    expected = np.sqrt(np.einsum("ni,ij,nj->n", gaps, W, gaps))
    np.testing.assert_allclose(model.pair_distance(pairs), expected, atol=1e-12)
    np.testing.assert_allclose(model.pair_score(pairs), -expected, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(mapped[:-1] - mapped[1:], axis=1), expected, atol=1e-12)
    metric = model.get_metric()
    np.testing.assert_allclose([metric(a, b) for a, b in pairs], expected, atol=1e-12)
    assert model.components_.shape == (mapped.shape[1], 4)
    assert list(model.get_feature_names_out()) == [f"mahalanobislearner{i}" for i in range(mapped.shape[1])]


@pytest.mark.parametrize("epsilon", [1.0, None])
def test_the_matrix_is_the_plans(epsilon):
    model = fit(epsilon=epsilon)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        coef = model.plan_.run(X, Y, random_state=0).coef
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), coef, atol=1e-14)
    assert np.linalg.norm(model.components_, axis=1)[0] == np.linalg.norm(model.components_, axis=1).max()


def test_units_do_not_decide_which_directions_are_kept():
    """A feature in nanometres beside one in kilometres: both keep their share of the distance."""
    scale = np.array([1e9, 1.0, 1e-6, 1e-9])
    plain = fit(epsilon=None)
    scaled = fit(X * scale, epsilon=None, bounds=(0.0 * scale, 8.0 * scale))
    np.testing.assert_allclose(scaled.components_ * scale, plain.components_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(scaled.transform(X * scale), plain.transform(X), rtol=1e-7, atol=1e-8)


def test_a_nuclear_ball_gives_few_directions():
    ask = {"epsilon": None, "algorithm": "noisy-gd", "radius": 2.0}
    wide, narrow = (fit(domain=domain, **ask) for domain in ("frobenius", "nuclear"))
    assert len(narrow.components_) < len(wide.components_) == 4


def test_no_metric_at_all_still_has_a_column():
    """Where noise and projection leave nothing, every distance is zero, and there is a column to say so."""
    nothing = components_of(SimpleNamespace(w=np.zeros((3, 3)), coef=np.zeros((3, 3)), bounds=None))
    np.testing.assert_array_equal(nothing, np.zeros((1, 3)))


def test_a_learnt_metric_ignores_a_noisy_feature():
    rng = np.random.default_rng(0)
    rows = np.column_stack([X, 8.0 * rng.uniform(size=(150, 4))])
    train, test, y_train, y_test = train_test_split(rows, Y, random_state=0, stratify=Y)
    plain = KNeighborsClassifier(3).fit(train, y_train).score(test, y_test)
    learnt = make_pipeline(en.MahalanobisLearner(None), KNeighborsClassifier(3)).fit(train, y_train)
    assert learnt.score(test, y_test) > plain + 0.05


def test_neighbours_take_the_metric():
    model = fit(epsilon=None)
    by_metric = KNeighborsClassifier(3, metric=pickle.loads(pickle.dumps(model.get_metric()))).fit(X[::2], Y[::2])
    by_map = KNeighborsClassifier(3).fit(model.transform(X[::2]), Y[::2])
    distances = [by_metric.kneighbors(X[1::2])[0], by_map.kneighbors(model.transform(X[1::2]))[0]]
    np.testing.assert_allclose(*distances, atol=1e-9)


def test_a_metric_stays_when_the_estimator_is_fitted_again():
    model = fit(epsilon=None)
    metric, before = model.get_metric(), model.get_metric()(X[0], X[100])
    model.set_params(radius=0.01).fit(X, Y)
    assert metric(X[0], X[100]) == before != model.get_metric()(X[0], X[100])


def test_tables_in_tables_out():
    frame = pd.DataFrame(X, columns=list("abcd"))
    ranges = dict.fromkeys("dcba", (0, 8))
    model = fit(frame, bounds=ranges).set_output(transform="pandas")
    mapped = model.transform(frame)
    assert list(mapped.columns) == list(model.get_feature_names_out())
    assert model.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), fit().get_mahalanobis_matrix(), rtol=1e-9, atol=1e-15)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[list("bacd")])
    with pytest.raises(en.PrivacyError, match="sample_weight"):
        learner().fit(X, Y, sample_weight=np.ones(150))


def test_words_as_labels():
    words = np.array(["setosa", "versicolor", "virginica"])
    model = fit(X, words[Y], classes=tuple(words))
    np.testing.assert_array_equal(model.components_, fit().components_)
    assert model.classes_.tolist() == words.tolist()
    assert fit(X, words[Y], classes=None, epsilon=None).classes_.tolist() == words.tolist()
    with pytest.raises(en.InputError, match=r"public classes \(0, 1\)"):
        en.MahalanobisLearner(bounds=BOUNDS).fit(X, Y)


@pytest.mark.parametrize("call", ["transform", "pair_distance", "pair_score"])
def test_nothing_comes_out_before_a_fit(call):
    with pytest.raises(NotFittedError):
        getattr(en.MahalanobisLearner(), call)(X)
    for name in ("get_metric", "get_mahalanobis_matrix"):
        with pytest.raises(NotFittedError):
            getattr(en.MahalanobisLearner(), name)()


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (X, r"\(m, 2, 4\)"),
        (np.zeros((3, 2, 5)), r"\(m, 2, 4\)"),
        (np.full((3, 2, 4), math.nan), "finite"),
        (np.full((3, 2, 4), "secret"), "numbers"),
    ],
)
def test_wrong_pairs_of_vectors_are_refused(pairs, message):
    with pytest.raises(en.InputError, match=message) as caught:
        fit().pair_distance(pairs)
    assert "secret" not in str(caught.value)


# --- privacy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", METRIC)
def test_seeded_runs_repeat_and_certificates_verify(algorithm):
    first, second = (fit(algorithm=algorithm, ridge=0.1) for _ in range(2))
    np.testing.assert_array_equal(first.components_, second.components_)
    assert first.certificate_.seeded
    assert all("seeded" in said for said in first.certificate_.verify().reservations)
    free = [learner(algorithm=algorithm, ridge=0.1, random_state=None).fit(X, Y) for _ in range(2)]
    assert not np.array_equal(free[0].get_mahalanobis_matrix(), free[1].get_mahalanobis_matrix())
    assert not free[0].certificate_.seeded


def observed(call):
    """Everything a bystander sees of a private fit, but for the noisy numbers."""
    out, err = io.StringIO(), io.StringIO()
    model = learner(random_state=1)
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call(model)
            raised = None
        except Exception as error:
            raised = (type(error), str(error))
    stored = {name: value.dtype if name == "components_" else repr(value) for name, value in vars(model).items()}
    if raised is None:
        # Released, with noise: the domain, which the certificate repeats.
        content = json.loads(model.certificate_.to_json())
        content["public"]["found_bounds"] = sorted(content["public"]["found_bounds"])
        stored |= {"bounds_": type(model.bounds_), "certificate_": content}
    return out.getvalue(), err.getvalue(), [(w.category, str(w.message)) for w in caught], raised, stored


@pytest.mark.parametrize("how", ["labels", "pairs"])
@pytest.mark.parametrize("base", ["ordinary", "all alike", "all rows equal"])
def test_adjacent_data_sets_raise_warn_print_and_store_the_same(how, base):
    rows, labels = X[::5].copy(), Y[::5].copy()
    pairs = np.column_stack([np.arange(30), np.roll(np.arange(30), 1)])
    similar = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    if base == "all alike":
        labels[:], similar[:] = 0, True
    elif base == "all rows equal":
        rows[:] = rows[0]

    def see(rows, labels, similar):
        return observed(lambda m: m.fit(rows, labels) if how == "labels" else m.fit_pairs(rows, pairs, similar))

    expected = see(rows, labels, similar)
    assert expected[3] is None
    for i, record, label in ((0, np.full(4, 1e9), 2), (7, np.zeros(4), 1), (29, rows[0], 0)):
        other, turned, flags = rows.copy(), labels.copy(), similar.copy()
        other[i], turned[i] = record, label
        mine = (pairs == i).any(axis=1)
        flags[mine] = ~flags[mine]
        assert see(other, turned, flags) == expected


@pytest.mark.parametrize(
    ("settings", "rows", "labels", "message"),
    [
        ({"bounds": None}, X, Y, "Never use X.min"),
        ({}, np.where(X > 2, np.nan, X), Y, "NaN"),
        ({}, np.array([["secret", "high"]] * 4), Y[:4], "features must be numbers"),
        ({}, X, Y + 1, "public classes"),
        ({}, X, Y + 0.5, "continuous"),
        ({"domain": "cube"}, X, Y, "frobenius, nuclear"),
        ({"radius": -1.0}, X, Y, "radius"),
        ({"classes": (1,)}, X, Y, "two or more"),
        ({"algorithm": "logistic-gd"}, X, Y, "logistic-gd covers auc"),
        ({"algorithm": "moments", "surrogate": "hinge"}, X, Y, "no surrogate"),
        ({"algorithm": "moments", "max_iter": 3}, X, Y, "no steps"),
        ({"algorithm": "moments", "delta": 0}, X, Y, "delta > 0"),
        ({"options": {"standardise": 0.99, "zoom": 0.5}}, X, Y, "share of the budget"),
        ({"options": {"classes": 3}}, X, Y, "options"),
        ({"n_components": 0}, X, Y, "from 1 to the number of features, 4"),
        ({"n_components": 5}, X, Y, "from 1 to the number of features, 4"),
        ({"n_components": 2.0}, X, Y, "n_components"),
        ({"n_components": True}, X, Y, "n_components"),
        ({"options": {"speed": 9}}, X, Y, "options"),
        ({"options": {"listed_pairs": (75, 1)}}, X, Y, "list of pairs"),
        ({"delta": 0}, X, Y, "ridge"),
        ({"epsilon": None, "classes": None}, X, 0 * Y, "two classes"),
        ({}, X, None, "requires y"),
    ],
)
def test_wrong_input_is_refused_before_any_noise_is_drawn(settings, rows, labels, message, monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda size: pytest.fail("noise was drawn"))
    model = learner(**{"random_state": None} | settings)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(rows, labels)
    assert "secret" not in str(caught.value)
    assert not hasattr(model, "components_")


# --- as records come --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ONLINE)
@pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
def test_portions_do_not_matter(algorithm):
    order = np.random.default_rng(0).permutation(150)
    rows, labels = X[order], Y[order]
    for epsilon in (None, 2.0):
        settings = {"algorithm": algorithm, "ridge": 0.2, "epsilon": epsilon}
        whole, parts = fit(rows, labels, **settings), learner(**settings)
        for start in range(0, 150, 50):
            if start and epsilon and algorithm not in ("onpairstrc", "onpairc"):
                with pytest.raises(NotFittedError, match=f"{start} have come"):
                    parts.transform(X)
            parts.partial_fit(rows[start : start + 50], labels[start : start + 50], n_total=150)
        assert parts.plan_ == whole.plan_
        if epsilon is None or algorithm not in ("onpairstrc", "onpairc"):
            np.testing.assert_allclose(
                parts.get_mahalanobis_matrix(), whole.get_mahalanobis_matrix(), rtol=1e-9, atol=1e-12
            )


def test_partial_fit_is_for_online_algorithms():
    assert not hasattr(learner(), "partial_fit")
    assert hasattr(learner(algorithm="ogd-previous"), "partial_fit")
    with pytest.raises(en.InputError, match="needs the classes"):
        learner(algorithm="ogd-previous", epsilon=None, classes=None).partial_fit(X, Y)


# --- listed pairs -----------------------------------------------------------------------------------------------------


def test_a_listed_fit_is_the_literal_descent():
    pairs, similar = listed()
    model = fit_pairs(pairs, similar, algorithm="noisy-gd", domain="nuclear", radius=0.7, max_iter=6)
    plan, noise, W, kept = model.plan_, noise_from(0), np.zeros((4, 4)), []
    U = (X - 4.0) / (4.0 * 2.0)
    lower = np.tril_indices(4)
    for t in range(1, 7):
        gradient = np.zeros((4, 4))
        for (i, j), alike in zip(pairs, similar, strict=True):
            gap, tau = U[i] - U[j], 1.0 if alike else -1.0
            slope = -1.0 / (1.0 + math.exp(tau * (1.0 - gap @ W @ gap)))
            gradient -= tau * slope * np.outer(gap, gap) / len(pairs)
        drawn = np.zeros((4, 4))
        drawn[lower] = plan.mechanisms[0].sigma * noise.normal(10)
        drawn = np.where(np.eye(4, dtype=bool), drawn, (drawn + drawn.T) / math.sqrt(2))
        W = plan.problem.domain.project(W - plan.public["step_size"] * (gradient + drawn))
        if t >= 3:
            kept.append(W)
    np.testing.assert_allclose(model.get_mahalanobis_matrix() * 64.0, np.mean(kept, axis=0), rtol=1e-9, atol=1e-12)


def test_the_certificate_of_a_listed_descent():
    model = fit_pairs(algorithm="noisy-gd")
    certificate = en.PrivacyCertificate.from_json(model.certificate_.to_json())
    assert certificate.public["pair_list"] == {"pairs": 300, "most": 4}
    assert "public" in certificate.public["assumed"]
    assert certificate.n == 150
    assert certificate.mechanisms[0].lemma == "Lemma 12"
    c = certificate.problem["c1"]
    assert certificate.mechanisms[0].l2_sensitivity == pytest.approx(4 * 2 * c * 4.0 / 300)
    verified = certificate.verify()
    assert all("assumed" in said or "seeded" in said for said in verified.reservations)
    assert verified.epsilon == pytest.approx(1.0)
    assert en.Plan.from_json(model.plan_.to_json()) == model.plan_
    assert model.plan_.pair_gradients == 300 * model.n_iter_
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "wrong",
    [
        {"pairs": 600, "most": 4},
        {"pairs": 300, "most": 3},
        {"pairs": 300, "most": 0},
        {"pairs": 3, "most": 4},
        {"pairs": 300},
        {"pairs": 300, "most": 4.0},
        None,
    ],
)
def test_the_list_of_a_certificate_cannot_be_bent(wrong):
    content = json.loads(fit_pairs().certificate_.to_json())
    content["public"]["pair_list"] = wrong
    if wrong == {"pairs": 600, "most": 4}:
        # Fewer members of each pair than n records can make: 600 pairs of 150 put some record into 8.
        content["mechanisms"][-1]["l2_sensitivity"] /= 2.0
        content["mechanisms"][-1]["sigma"] /= 2.0
    with pytest.raises(en.PrivacyError):
        en.PrivacyCertificate.from_json(json.dumps(content)).verify()
    del content["public"]["pair_list"]
    with pytest.raises(en.PrivacyError, match="public numbers"):
        en.PrivacyCertificate.from_json(json.dumps(content)).verify()


def test_a_hub_costs_what_it_is_worth():
    """The same number of pairs, all with one record: its share of the gradient is the whole of it."""
    star = np.column_stack([np.zeros(149, dtype=int), np.arange(1, 150)])
    ring = np.column_stack([np.arange(149), np.arange(1, 150)])
    similar = np.ones(149, dtype=bool)
    for algorithm in ("auto", "noisy-gd"):
        fits = [fit_pairs(pairs, similar, algorithm=algorithm) for pairs in (star, ring)]
        hub, even = (model.certificate_.mechanisms[-1].l2_sensitivity for model in fits)
        assert hub / even == pytest.approx(149 / 2)


def test_all_pairs_listed_are_the_fit_on_labels():
    pairs = np.array(list(itertools.combinations(range(150), 2)))
    similar = Y[pairs[:, 0]] == Y[pairs[:, 1]]
    labelled, paired = fit(algorithm="noisy-gd"), fit_pairs(pairs, similar, algorithm="noisy-gd")
    np.testing.assert_allclose(
        paired.get_mahalanobis_matrix(), labelled.get_mahalanobis_matrix(), rtol=1e-9, atol=1e-14
    )
    assert paired.certificate_.mechanisms[0].sigma == pytest.approx(labelled.certificate_.mechanisms[0].sigma)
    free = [
        fit(epsilon=None, surrogate="squared-hinge"),
        fit_pairs(pairs, similar, epsilon=None, surrogate="squared-hinge"),
    ]
    np.testing.assert_allclose(*(m.get_mahalanobis_matrix() for m in free), atol=1e-6)


def test_records_by_name():
    pairs, similar = listed()
    names = [f"person {k}" for k in np.random.default_rng(1).permutation(150)]
    named = [(names[i], names[j]) for i, j in pairs]
    np.testing.assert_array_equal(
        fit_pairs(named, similar, ids=names).components_, fit_pairs(pairs, similar).components_
    )
    numbers = 1000 + np.arange(150)
    np.testing.assert_array_equal(
        fit_pairs(numbers[pairs], similar, ids=numbers).components_, fit_pairs(pairs, similar).components_
    )
    with pytest.raises(en.InputError, match="2 of 3 pairs with a record that is not, the first at position 1") as told:
        fit_pairs([names[:2], ("Alice", names[0]), ("Alice", "Bob")], [True] * 3, ids=names)
    assert not any(name in str(told.value) for name in ("Alice", "Bob", "person"))
    with pytest.raises(en.InputError, match="1 of 2 pairs with others, the first at position 1") as told:
        fit_pairs([(0, 1), (7_041_976, 2)], [True] * 2)
    assert "7041976" not in str(told.value)
    with pytest.raises(en.InputError, match="one different name per row"):
        fit_pairs(named, similar, ids=names[:-1])
    with pytest.raises(en.InputError, match="one different name per row"):
        fit_pairs(named, similar, ids=[names[0], *names[:-1]])


def test_repeated_pairs_count_each_time():
    pairs, similar = listed()
    doubled, flags = np.concatenate([pairs, pairs[:, ::-1]]), np.concatenate([similar, similar])
    twice = fit_pairs(doubled, flags, algorithm="noisy-gd")
    assert twice.certificate_.public["pair_list"] == {"pairs": 600, "most": 8}
    once = fit_pairs(pairs, similar, algorithm="noisy-gd")
    np.testing.assert_allclose(twice.components_, once.components_, rtol=1e-9, atol=1e-12)


PAIRS, SIMILAR = listed()


@pytest.mark.parametrize(
    ("settings", "pairs", "similar", "message"),
    [
        ({"bounds": None}, PAIRS, SIMILAR, "Never use X.min"),
        ({}, [(0, 1), (2, 2)], [True, False], "record 2 with itself"),
        ({}, [(0, 150)], [True], "0 to 149"),
        ({}, [(-1, 3)], [True], "0 to 149"),
        ({}, np.zeros((0, 2), dtype=int), [], "at least one pair"),
        ({}, PAIRS.astype(float), SIMILAR, "row numbers"),
        ({}, PAIRS.ravel(), SIMILAR, r"shape \(m, 2\)"),
        ({}, PAIRS, SIMILAR[:-1], "one flag per pair"),
        ({}, PAIRS, np.where(SIMILAR, 1, -1), "booleans"),
        ({}, PAIRS, np.where(SIMILAR, "yes", "no"), "booleans"),
        ({"algorithm": "dpgdc"}, PAIRS, SIMILAR, 'noisy-gd.*dpgdc.*Use algorithm="auto"'),
        ({"algorithm": "dpgdc", "epsilon": None}, PAIRS, SIMILAR, "noisy-gd"),
        ({"algorithm": lambda problem, budget, n: None}, PAIRS, SIMILAR, "noisy-gd"),
        ({"delta": 0}, PAIRS, SIMILAR, "delta > 0"),
        ({"calibration": "paper"}, PAIRS, SIMILAR, "paper"),
        ({"epsilon": None}, PAIRS, np.ones(300, dtype=bool), "similar and dissimilar"),
    ],
)
def test_wrong_lists_are_refused_before_any_noise_is_drawn(settings, pairs, similar, message, monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda size: pytest.fail("noise was drawn"))
    model = learner(**{"random_state": None, "classes": None} | settings)
    with pytest.raises(en.EntrenousError, match=message):
        model.fit_pairs(X, pairs, similar)
    assert not hasattr(model, "components_")


def test_a_plan_runs_only_on_the_list_it_was_made_for():
    ask = {"task": "metric", "n": 150, "n_features": 4, "epsilon": 1.0, "bounds": BOUNDS}
    plan = en.plan("noisy-gd", **ask, options={"listed_pairs": (300, 4)})
    table = np.column_stack([PAIRS, SIMILAR])
    assert plan.run(X, table).certificate == plan.certificate()
    crowded = table.copy()
    crowded[:5, :2] = [(0, k) for k in range(1, 6)]
    for wrong in (table[:-1], crowded, Y, table.astype(float), np.column_stack([PAIRS, 2 * SIMILAR])):
        with pytest.raises(en.InputError):
            plan.run(X, wrong)
    with pytest.raises(en.InputError, match="one label per row"):
        en.plan("noisy-gd", **ask, classes=CLASSES).run(X, table)
    for numbers, message in (((300, 3), "at least 4"), ((300,), "two ints"), (300, "two ints"), ((4, 5), "most")):
        with pytest.raises(en.InputError, match=message):
            en.plan("noisy-gd", **ask, options={"listed_pairs": numbers})
    with pytest.raises(en.AssumptionError, match="only a metric"):
        en.plan("noisy-gd", n=150, n_features=4, epsilon=1.0, options={"listed_pairs": (300, 4)})


def test_clones_and_refits_forget_the_list():
    model = fit_pairs(classes=CLASSES)
    assert not hasattr(clone(model), "components_")
    with pytest.warns(en.PrivacyWarning):
        model.fit(X, Y)
    assert "pair_list" not in model.certificate_.public
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.warns(en.PrivacyWarning):
        model.fit_pairs(X, PAIRS, SIMILAR)
    assert not hasattr(model, "classes_")


# --- saved ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"epsilon": None, "bounds": None}, {"domain": "nuclear", "radius": 0.3}])
@pytest.mark.parametrize("how", ["labels", "pairs"])
def test_a_metric_comes_back_as_it_was(settings, how, tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = fit(frame, **settings) if how == "labels" else fit_pairs(rows=frame, **settings)
    path = en.save(model, tmp_path / "metric")
    again = en.load(path)
    assert type(again) is en.MahalanobisLearner
    np.testing.assert_array_equal(again.transform(frame), model.transform(frame))
    assert (again.plan_, again.certificate_, again.n_iter_) == (model.plan_, model.certificate_, model.n_iter_)
    assert getattr(again, "classes_", np.array([])).tolist() == getattr(model, "classes_", np.array([])).tolist()
    assert again.get_params() == model.get_params() | {"random_state": None}
    with pytest.raises(ValueError, match="feature names"):
        again.transform(frame.rename(columns={"a": "z"}))


@pytest.mark.real_data
def test_letters_are_told_apart_by_listed_pairs():
    """Real records, no labels: held-out pairs are told apart far better than by the plain distance."""
    letters = en.datasets.load("letter")
    rows, labels = letters.data, np.asarray(letters.target)
    ring = np.arange(4000)
    pairs, others = np.column_stack([ring, np.roll(ring, 1)]), np.column_stack([4000 + ring, 4000 + np.roll(ring, 1)])
    similar, truth = (labels[p[:, 0]] == labels[p[:, 1]] for p in (pairs, others))
    vectors = rows[others]
    plain = roc_auc_score(truth, -np.linalg.norm(vectors[:, 0] - vectors[:, 1], axis=1))
    descent = {"algorithm": "noisy-gd", "radius": 100.0, "max_iter": 150}
    for settings in ({}, descent):
        model = en.MahalanobisLearner(None, bounds=en.FeatureBounds(0, 15, clip=2.0), **settings)
        model.fit_pairs(rows[:4000], pairs, similar)
        assert roc_auc_score(truth, model.pair_score(vectors)) > plain + 0.05
