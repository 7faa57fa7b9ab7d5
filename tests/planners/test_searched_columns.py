"""PrivateBounds beside what is known: 0/1 columns, a subset of columns, one-hot codes; and what certificates count."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import entrenous as en
from entrenous.engine.phases.find_bounds import clipping_radius
from entrenous.privacy.lemmas.statistics import feature_histograms_sensitivity

N = 2000
RNG = np.random.default_rng(0)
RARE = (RNG.random(N) < 0.01).astype(float)
X = np.column_stack([RARE, RNG.normal(50, 5, N), RNG.normal(30, 5, N), RNG.normal(3, 1, N)])
Y = (X[:, 1] + RNG.normal(0, 5, N) > 50).astype(int)
WITHIN = en.FeatureBounds((0, 0, -1000, 0), (1, 1000, 1000, 6), names=("rare", "a", "b", "c"), binary=("rare",))
BOTH = pytest.mark.parametrize("algorithm", ["moments", "logistic-gd"])


def fitted(algorithm="moments", bounds=None, **changes):
    ask = {"n": N, "n_features": 4, "epsilon": 1.0, "bounds": en.PrivateBounds(WITHIN) if bounds is None else bounds}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        return en.plan(algorithm, **ask | changes).run(X, Y, random_state=1)


def search_of(plan):
    return next(phase for phase in plan.phases if phase.lemmas == ("Lemma 11",))


@BOTH
def test_columns_declared_binary_keep_their_ranges_and_are_not_counted(algorithm):
    made = fitted(algorithm)
    search = search_of(made.plan)
    assert search.columns.tolist() == [1, 2, 3]
    assert search.mechanism.bound.value == pytest.approx(math.sqrt(6))
    assert (search.rounds, search.mechanism.count) == (2, 2)
    assert "columns" not in made.certificate.public["private_bounds"]
    made.certificate.verify()
    assert en.Plan.from_json(made.plan.to_json()) == made.plan
    if algorithm == "moments":
        assert (made.bounds.low[0], made.bounds.high[0]) == (0.0, 1.0)
        assert made.bounds.binary == ("rare",)


@BOTH
@pytest.mark.parametrize("columns", [("b",), ("b", "a"), [2], np.array([1, 2])])
def test_a_subset_is_searched_and_the_rest_stays_as_declared(algorithm, columns):
    asked = en.PrivateBounds(WITHIN, columns=columns)
    made = fitted(algorithm, asked)
    search = search_of(made.plan)
    names = [WITHIN.names[j] for j in search.columns]
    assert sorted(names) == sorted(asked.columns)
    assert search.mechanism.bound.value == pytest.approx(math.sqrt(2 * len(names)))
    assert made.certificate.public["private_bounds"]["columns"] == search.columns.tolist()
    made.certificate.verify()
    assert en.Plan.from_json(made.plan.to_json()) == made.plan
    if algorithm == "moments":
        kept = [j for j in range(4) if WITHIN.names[j] not in names]
        assert [made.bounds.low[j] for j in kept] == [WITHIN.low[j] for j in kept]
        assert [made.bounds.high[j] for j in kept] == [WITHIN.high[j] for j in kept]
        width = np.subtract(made.bounds.high, made.bounds.low)
        assert (width[search.columns] < 150.0).all()


def test_columns_follow_the_tables_order_and_are_stored(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["rare", "a", "b", "c"])[["c", "b", "a", "rare"]]
    asked = en.PrivateBounds(WITHIN, columns=["a"])
    clf = en.AUCClassifier(algorithm="moments", bounds=asked).fit(frame, Y)
    assert search_of(clf.plan_).columns.tolist() == [2]
    assert clf.bounds_.binary == ("rare",)
    again = en.load(en.save(clf, tmp_path / "model"))
    assert (again.bounds, again.plan_) == (clf.bounds, clf.plan_)


def test_a_rare_indicator_that_nobody_declared_keeps_both_levels():
    """One of a hundred among 2000 records, a tenth of epsilon = 1: the noise hides the ones."""
    loose = en.PrivateBounds(en.FeatureBounds(WITHIN.low, WITHIN.high))
    plan = en.plan("moments", n=N, n_features=4, epsilon=1.0, bounds=loose)
    assert search_of(plan).columns.size == 4
    for seed in range(10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", en.PrivacyWarning)
            box = plan.run(X, Y, random_state=seed).bounds
        assert box.low[0] <= 1e-9
        assert box.high[0] >= 1.0 - 1e-9


# --- the radius -------------------------------------------------------------------------------------------------------


def radius(bounds, **changes):
    made = en.plan("moments", n=N, n_features=len(bounds.within.low), epsilon=1.0, bounds=bounds, **changes)
    return search_of(made).clip


def test_the_radius_has_room_for_the_columns_that_keep_their_ranges():
    assert radius(en.PrivateBounds(WITHIN)) == pytest.approx(math.hypot(clipping_radius(3), 1.0))
    assert radius(en.PrivateBounds(WITHIN, columns=["a"])) == pytest.approx(
        math.hypot(clipping_radius(1), math.sqrt(3))
    )
    plain = en.PrivateBounds(en.FeatureBounds(WITHIN.low, WITHIN.high))
    assert radius(plain) == pytest.approx(clipping_radius(4))
    # What a declared radius leaves after one half-width for each searched column; never more than the corner needs.
    for clip, room in ((1.9, 1.9**2 - 3), (1.7, 1.0), (5.0, 1.0)):
        asked = en.PrivateBounds(replace(WITHIN, clip=clip))
        assert radius(asked) == pytest.approx(math.hypot(clipping_radius(3), math.sqrt(room)))


@BOTH
def test_one_hot_codes_go_in(algorithm):
    pd = pytest.importorskip("pandas")
    stage = RNG.integers(1, 5, N)
    coder = en.OneHot({"stage": (1, 2, 3, 4)}, numeric={"a": (0, 1000), "c": (0, 600)})
    rows = coder.fit_transform(pd.DataFrame({"stage": stage, "a": X[:, 1], "c": X[:, 3]}))
    bounds = coder.bounds()
    assert bounds.binary == ("stage_1", "stage_2", "stage_3", "stage_4")
    clf = en.AUCClassifier(epsilon=2.0, algorithm=algorithm, bounds=en.PrivateBounds(bounds)).fit(rows, Y)
    assert search_of(clf.plan_).columns.tolist() == [4, 5]
    assert clf.score(rows, Y) > 0.7
    clf.certificate_.verify()
    if algorithm == "moments":
        assert clf.bounds_.low[:4] == bounds.low[:4]
        assert clf.bounds_.clip == pytest.approx(math.hypot(clipping_radius(2), math.sqrt(4 / 3)))


def test_numeric_columns_declared_binary_stay_so_in_one_hot_codes():
    numeric = en.FeatureBounds.from_mapping({"smoker": (0, 1), "age": (0, 120)}, binary=["smoker"])
    assert en.OneHot({"sex": ("m",)}, numeric=numeric).bounds().binary == ("sex_m", "smoker")


# --- logistic-gd ------------------------------------------------------------------------------------------------------


def test_logistic_gd_searches_when_it_is_asked_to_and_says_so():
    asked = en.plan("logistic-gd", n=300, n_features=4, epsilon=1.0, bounds=en.PrivateBounds(WITHIN))
    assert type(search_of(asked)).__name__ == "FindBounds"
    assert "ranges of 3 columns 10 %" in asked.remarks["stages"]
    declared = en.plan("logistic-gd", n=300, n_features=4, epsilon=1.0, bounds=WITHIN)
    assert "ranges as declared" in declared.remarks["stages"]
    left_out = en.plan(
        "logistic-gd", n=300, n_features=4, epsilon=1.0, bounds=en.PrivateBounds(WITHIN), options={"zoom": 0.0}
    )
    assert "ranges as declared" in left_out.remarks["stages"]


def test_three_classes_share_one_search():
    labels = np.digitize(X[:, 1], (47.0, 53.0))
    asked = en.PrivateBounds(WITHIN, columns=[1, 2])
    clf = en.AUCClassifier(epsilon=3.0, algorithm="logistic-gd", bounds=asked, classes=(0, 1, 2)).fit(X, labels)
    assert sum(m.lemma == "Lemma 11" for m in clf.certificate_.mechanisms) == 1
    clf.certificate_.verify()
    assert clf.certificate_.epsilon <= 3.0 * (1 + 1e-9)


@BOTH
def test_sparse_tables_find_the_bounds_of_dense_ones(algorithm):
    asked = en.PrivateBounds(en.FeatureBounds((0, 0, -100, 0), (1, 100, 100, 6), binary=[0]))
    clfs = [en.AUCClassifier(algorithm=algorithm, bounds=asked, random_state=0) for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        dense, thin = (clf.fit(table, Y) for clf, table in zip(clfs, (X, sparse.csr_array(X)), strict=True))
    np.testing.assert_allclose(thin.bounds_.low, dense.bounds_.low, rtol=1e-9)
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-4)


# --- certificates and plans that count too few ------------------------------------------------------------------------


def refused(certificate, change, match):
    content = json.loads(certificate.to_json())
    change(content)
    with pytest.raises(en.PrivacyError, match=match):
        en.PrivacyCertificate.from_json(json.dumps(content)).verify()


def cheaper(content, columns):
    """The noise that would do if so many columns had been searched."""
    mechanism = next(m for m in content["mechanisms"] if m["lemma"] == "Lemma 11")
    less = math.sqrt(2 * columns) / mechanism["l2_sensitivity"]
    mechanism["l2_sensitivity"] *= less
    mechanism["sigma"] *= less


@BOTH
def test_a_certificate_cannot_count_fewer_columns_than_its_domain_has(algorithm):
    for bounds in (en.PrivateBounds(WITHIN), en.PrivateBounds(WITHIN, columns=[1, 2, 3])):
        certificate = fitted(algorithm, bounds).certificate
        certificate.verify()
        refused(certificate, lambda content: cheaper(content, 2), "sensitivity")


def test_a_certificate_cannot_leave_out_columns_whose_range_was_found():
    def claim(columns):
        def change(content):
            content["public"]["private_bounds"]["columns"] = columns
            cheaper(content, len(columns))

        return change

    certificate = fitted().certificate
    refused(certificate, claim([1]), "columns that were searched must be with 2, 3")
    refused(fitted(bounds=en.PrivateBounds(WITHIN, columns=[1, 2])).certificate, claim([1]), "with 2")
    refused(certificate, claim([0, 1, 2, 3]), "Lemma 11 needs")
    refused(certificate, claim([7]), "Lemma 11 needs")
    refused(certificate, lambda c: c["public"]["private_bounds"].update(columns=[]), "fields")
    refused(certificate, lambda c: c["public"]["private_bounds"].update(columns="a"), "fields")

    def declare_binary(content):
        content["public"]["domain"]["binary"] = ["rare", "b", "c"]
        cheaper(content, 1)

    refused(certificate, declare_binary, "with 2, 3")

    def no_ranges_left(content):
        content["public"]["found_bounds"]["low"] = [0.0]

    refused(certificate, no_ranges_left, "a range per feature")


def test_a_search_that_states_its_columns_does_not_pay_for_zooming():
    def change(content):
        content["public"]["private_bounds"] |= {"columns": [1], "rounds": 1}
        content["public"]["zoom"] = {"share": 0.05, "bins": 32}
        cheaper(content, 1)

    refused(fitted().certificate, change, "sensitivity")


def test_a_plan_cannot_search_more_columns_than_its_noise_pays_for():
    plan = fitted(bounds=en.PrivateBounds(WITHIN, columns=["a"])).plan
    search = search_of(plan)
    assert search.mechanism.bound == feature_histograms_sensitivity(1).l2_only()
    for only in ((1, 2), None):
        with pytest.raises(en.PrivacyError, match="moves by up to"):
            replace(plan, phases=(replace(search, only=only), *plan.phases[1:]))
    # What is listed twice, or declared 0/1, is looked at once or not at all.
    assert replace(search, only=(0, 1, 1)).columns.tolist() == [1]


# --- worth its price --------------------------------------------------------------------------------------------------


@pytest.mark.real_data
def test_a_search_among_undeclared_indicators_costs_little():
    """a9a, epsilon = 1, all 123 columns undeclared: at most 0.02 less AUC than the plain box."""
    data = en.datasets.load("a9a")
    rows, test, labels, truth = train_test_split(data.data, data.target, test_size=0.2, random_state=0)
    plain, found = (
        roc_auc_score(truth, en.AUCClassifier(algorithm="moments", bounds=b).fit(rows, labels).decision_function(test))
        for b in ((0, 1), en.PrivateBounds((0, 1)))
    )
    assert found >= plain - 0.02


@pytest.mark.real_data
def test_logistic_gd_buys_back_ranges_a_hundred_times_too_wide():
    """Diabetes, epsilon = 1, 20 splits: at least 0.1 more AUC than with the loose ranges alone."""
    public = np.array([(0, 15), (40, 220), (30, 130), (0, 70), (0, 500), (10, 60), (0, 2), (15, 85)], dtype=float)
    centre, half_width = public.mean(axis=1), (public[:, 1] - public[:, 0]) / 2.0
    within = (centre - 100 * half_width, centre + 100 * half_width)
    data = en.datasets.load("diabetes")
    gains = []
    for seed in range(20):
        rows, test, labels, truth = train_test_split(
            data.data, data.target, test_size=0.2, stratify=data.target, random_state=seed
        )
        clfs = [en.AUCClassifier(algorithm="logistic-gd", bounds=b) for b in (within, en.PrivateBounds(within))]
        alone, found = (roc_auc_score(truth, clf.fit(rows, labels).decision_function(test)) for clf in clfs)
        gains.append(found - alone)
    assert np.mean(gains) >= 0.1
