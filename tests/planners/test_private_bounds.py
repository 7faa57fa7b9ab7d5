"""PrivateBounds: one budget for the search and the algorithm, written down, checked, and worth its price."""

import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import entrenous as en
from entrenous.privacy.accounting import second_opinion, total_epsilon
from entrenous.privacy.gaussian_dp import mu_for

LOOSE = en.PrivateBounds(within=([0, -500, 0, 7], [1000, 500, 200, 7]))
N = 300
RNG = np.random.default_rng(0)
X = RNG.normal((50, 30, 60, 7), (5, 5, 5, 0), (N, 4))
Y = (X[:, 0] + RNG.normal(0, 5, N) > 50).astype(int)
TARGETS = X[:, 0]


def asks():
    """Every algorithm, task and kind of privacy that the registry promises."""
    for record in en.algorithms():
        for task in record.tasks:
            for privacy in record.privacy:
                yield record.name, task, privacy


def planned(name, task, privacy, **changes):
    ask = {"n": N, "n_features": 4, "ridge": 0.1, "bounds": LOOSE, "task": task}
    ask |= {"epsilon": None if privacy == "none" else 1.0, "delta": 0.0 if privacy == "pure" else None}
    if task in ("error-entropy", "pointwise-regression"):
        ask["target_bounds"] = (0, 100)
    return en.plan(name, **ask | changes)


@pytest.mark.parametrize(("name", "task", "privacy"), list(asks()))
def test_every_algorithm_works_on_bounds_that_were_found(name, task, privacy):
    plan = planned(name, task, privacy)
    assert en.Plan.from_json(plan.to_json()) == plan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        fitted = plan.run(X, TARGETS if plan.target_bounds else Y, random_state=1)
    assert np.isfinite(fitted.coef).all()
    assert (fitted.bounds.low[3], fitted.bounds.high[3]) == (7.0, 7.0)
    assert not np.any(fitted.coef[..., 3])
    if privacy == "none":
        assert fitted.certificate is None
        assert plan.phases[0].mechanism is None
        return
    certificate = fitted.certificate
    search = next(mechanism for mechanism in certificate.mechanisms if mechanism.lemma == "Lemma 11")
    assert search.scope == "all"
    assert [said for said in certificate.verify().reservations if "seeded" not in said] == []
    assert en.PrivacyCertificate.from_json(certificate.to_json()) == certificate
    # Three varying features in two rounds, and the budget used up but for a rounding.
    assert search.l2_sensitivity == pytest.approx(math.sqrt(6))
    assert 1.0 - 2e-5 < total_epsilon(plan.mechanisms, plan.budget.delta) <= 1.0
    assert second_opinion(plan.mechanisms, plan.budget.delta) <= 1.0 + 1e-6
    assert certificate.public["private_bounds"] == {"share": 0.1, "bins": 32, "rounds": 2}
    assert certificate.public["domain"]["high"] == [1000.0, 500.0, 200.0, 7.0]
    assert certificate.public["found_bounds"]["low"] == list(fitted.bounds.low)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5, 0.9])
def test_gaussian_shares_are_shares_of_mu_squared(share):
    plan = planned("moments", "auc", "approximate", bounds=en.PrivateBounds(LOOSE.within, share))
    whole = mu_for(1.0, 1 / N**2) ** 2
    search, algorithm = plan.mechanisms
    assert search.gdp == pytest.approx(share * whole)
    assert algorithm.gdp == pytest.approx((1 - share) * whole)
    assert search.count == 2


def test_pure_shares_are_shares_of_epsilon():
    search, algorithm = planned("dpgdsc", "auc", "pure").mechanisms
    assert (search.kind, search.l1_sensitivity) == ("laplace", 6.0)
    assert search.pure == pytest.approx(0.1)
    assert algorithm.pure == pytest.approx(0.9)


def test_disjoint_phases_each_have_the_rest():
    plan = planned("dpegd", "auc", "approximate")
    search, *phases = plan.mechanisms
    assert {m.scope for m in phases} == {f"disjoint phase {k}" for k in range(1, len(phases) + 1)}
    largest = max(m.gdp for m in phases)
    assert search.gdp + largest == pytest.approx(mu_for(1.0, 1 / N**2) ** 2)


def test_the_plan_says_that_bounds_are_found_first():
    plan = planned("moments", "auc", "approximate")
    assert [type(phase).__name__ for phase in plan.phases] == ["FindBounds", "MomentRelease"]
    assert str(plan).index("Lemma 11") < str(plan).index("Lemma 8")


# --- certificates that lie --------------------------------------------------------------------------------------------


def bent(privacy, change):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        fitted = planned("dpgdsc", "auc", privacy).run(X, Y, random_state=1)
    content = json.loads(fitted.certificate.to_json())
    change(content)
    return en.PrivacyCertificate.from_json(json.dumps(content))


def _without_the_search(content):
    content["mechanisms"] = content["mechanisms"][1:]


def _one_round(content):
    content["mechanisms"][0]["count"] = 1


def _in_a_phase(content):
    content["mechanisms"][0]["scope"] = "disjoint phase 1"


def _less_sensitive(content):
    content["mechanisms"][0]["l2_sensitivity"] /= 2
    content["mechanisms"][0]["sigma"] /= 2


def _less_sensitive_in_l1(content):
    content["mechanisms"][0]["l1_sensitivity"] /= 2
    content["mechanisms"][0]["scale"] /= 2


def _no_search_stated(content):
    del content["public"]["private_bounds"]


def _no_ranges(content):
    content["public"]["domain"] = None


def _fewer_ranges(content):
    content["public"]["domain"]["low"] = content["public"]["domain"]["low"][:1]
    content["public"]["domain"]["high"] = content["public"]["domain"]["high"][:1]


def _all_rounds_free(content):
    content["public"]["private_bounds"]["rounds"] = 0


@pytest.mark.parametrize(
    "change",
    [
        _without_the_search,
        _one_round,
        _in_a_phase,
        _less_sensitive,
        _no_search_stated,
        _no_ranges,
        _fewer_ranges,
        _all_rounds_free,
    ],
)
def test_a_search_that_is_not_paid_for_is_noticed(change):
    with pytest.raises(en.PrivacyError):
        bent("approximate", change).verify()


def test_a_search_under_laplace_noise_is_checked_in_l1():
    bent("pure", lambda content: None).verify()
    with pytest.raises(en.PrivacyError, match="l1"):
        bent("pure", _less_sensitive_in_l1).verify()


# --- requests that are refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"within": (0, 1), "share": 0}, "share"),
        ({"within": (0, 1), "share": 1.0}, "share"),
        ({"within": (0, 1), "share": -0.1}, "share"),
        ({"within": (0, 1), "share": math.nan}, "share"),
        ({"within": (0, 1), "share": "0.1"}, "share"),
        ({"within": (0, 1), "share": True}, "share"),
        ({}, "within=None"),
        ({"within": (0, math.inf)}, "finite"),
        ({"within": {"a": (-math.inf, 0)}}, "finite"),
        ({"within": (1, 0)}, "low <= high"),
        ({"within": "0:1"}, "within must be"),
        ({"within": 5}, "within must be"),
        ({"within": en.FeatureBall(1.0)}, "within must be"),
        ({"within": (0, 1), "columns": ()}, "empty"),
        ({"within": (0, 1), "columns": ["age"]}, "columns must list columns of the bounds.*no names"),
        ({"within": {"a": (0, 1)}, "columns": ["b"]}, "'b'.*The names are 'a'"),
        ({"within": {"a": (0, 1)}, "columns": [1]}, "columns must list"),
        ({"within": (0, 1), "columns": [-1]}, "columns must list"),
        ({"within": (0, 1), "columns": [True]}, "columns must list"),
        ({"within": (0, 1), "columns": 0.5}, "columns must list"),
        ({"within": en.FeatureBounds([0, 0], [1, 1], binary=[1]), "columns": [0, 1]}, "declared 0/1"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason(wrong, message):
    with pytest.raises(en.InputError, match=message) as caught:
        en.PrivateBounds(**wrong)
    assert caught.value.needs
    assert caught.value.got
    assert caught.value.way_out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bounds": en.PrivateBounds((0, 1)), "calibration": "paper"}, "tight"),
        ({"bounds": en.PrivateBounds(([0, 0], [1, 1]))}, "one per feature"),
        ({"bounds": en.PrivateBounds((3, 3))}, "width"),
        ({"bounds": en.PrivateBounds(LOOSE.within, columns=[3])}, "width"),
        ({"bounds": en.PrivateBounds(en.FeatureBounds(0, 1, binary=[0, 1, 2, 3]))}, "not declared 0/1"),
        ({"bounds": en.PrivateBounds((0, 1), columns=[4])}, "columns must list columns of the bounds"),
        ({"bounds": en.PrivateBounds(en.FeatureBounds(0, 1, clip=2.0))}, "clip"),
        ({"bounds": en.PrivateBounds((0, 1e150))}, "Change the unit"),
        ({"bounds": en.PrivateBounds((0, 1e-95))}, "Change the unit"),
        ({"bounds": en.PrivateBounds((0, 1), share=0.9), "epsilon": 1e-3, "delta": 1e-3}, "budget of its own"),
    ],
)
def test_wrong_plans_are_refused_before_a_row_is_read(changes, message):
    with pytest.raises(en.EntrenousError, match=message) as caught:
        planned("dpgdsc", "auc", "approximate", **changes)
    assert caught.value.way_out


def test_a_planner_that_ignores_its_budget_is_stopped():
    from entrenous.planners.ours import noisy_gd
    from entrenous.privacy.budget import Budget

    def greedy(problem, budget, n):
        return replace(noisy_gd(problem, Budget(2.0, budget.delta), n), budget=budget)

    with pytest.raises(en.PrivacyError, match="must stay within epsilon"):
        en.plan(greedy, n=N, n_features=4, epsilon=1.0, bounds=LOOSE)


def test_a_planner_with_pure_noise_at_a_positive_delta_gets_what_is_left():
    from entrenous.planners.xue2021 import dpgdsc
    from entrenous.privacy.budget import Budget

    def pure(problem, budget, n):
        return dpgdsc(problem, Budget(budget.epsilon, 0.0), n)

    plan = en.plan(pure, n=N, n_features=4, epsilon=1.0, ridge=0.1, bounds=LOOSE)
    assert [m.kind for m in plan.mechanisms] == ["gaussian", "l2-laplace"]
    assert total_epsilon(plan.mechanisms, plan.budget.delta) <= 1.0


# --- the estimator ----------------------------------------------------------------------------------------------------


def test_the_classifier_finds_bounds_and_keeps_them(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    ranges = {"d": (7, 7), "a": (0, 1000), "b": (-500, 500), "c": (0, 200)}
    clf = en.AUCClassifier(epsilon=3.0, bounds=en.PrivateBounds(ranges))
    clf = clone(clf).fit(frame, Y)
    assert clf.bounds_.names == ("a", "b", "c", "d")
    assert clf.bounds_.high[3] == 7.0
    again = en.load(en.save(clf, tmp_path / "model"))
    assert again.bounds_ == clf.bounds_
    assert again.bounds == clf.bounds
    assert again.plan_ == clf.plan_
    assert again.certificate_ == clf.certificate_
    again.certificate_.verify()
    np.testing.assert_array_equal(again.decision_function(frame), clf.decision_function(frame))
    with pytest.raises(en.InputError, match="no bounds for 'd'"):
        en.AUCClassifier(bounds=en.PrivateBounds({"a": (0, 1), "b": (0, 1), "c": (0, 1)})).fit(frame, Y)


def test_no_row_is_in_a_saved_model(tmp_path):
    content = en.save(en.AUCClassifier(bounds=LOOSE).fit(X, Y), tmp_path / "model").read_bytes()
    for value in X[:50, :3].ravel():
        assert repr(float(value)).encode() not in content


def test_declared_bounds_are_kept_too():
    assert en.AUCClassifier(algorithm="moments", bounds=(-5, 5)).fit(X, Y).bounds_ == en.FeatureBounds(
        (-5,) * 4, (5,) * 4
    )
    assert en.AUCClassifier(epsilon=None).fit(X, Y).bounds_ is None


def test_without_privacy_the_same_bounds_are_found_without_noise():
    clf = en.AUCClassifier(epsilon=None, bounds=LOOSE).fit(X, Y)
    assert clf.certificate_ is None
    np.testing.assert_allclose(clf.bounds_.origin[:3], X.mean(axis=0)[:3], atol=3.0)
    assert clf.score(X, Y) > 0.75


def test_one_class_and_constant_rows_are_no_error():
    """Whether a fit works must not tell anything about the rows."""
    for rows in (np.full((N, 4), 7.0), np.full((N, 4), 1e200)):
        clf = en.AUCClassifier(bounds=LOOSE).fit(rows, np.r_[np.zeros(N - 1), 1].astype(int))
        assert np.isfinite(clf.coef_).all()


# --- worth its price --------------------------------------------------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.parametrize("shifted", [False, True], ids=["same centre", "from zero"])
def test_a_tenth_of_the_budget_buys_back_ranges_ten_times_too_wide(shifted):
    """Diabetes, epsilon = 1, 20 splits: at least 0.05 more AUC than with the loose ranges alone."""
    public = np.array([(0, 15), (40, 220), (30, 130), (0, 70), (0, 500), (10, 60), (0, 2), (15, 85)], dtype=float)
    centre, half_width = public.mean(axis=1), (public[:, 1] - public[:, 0]) / 2.0
    within = (np.zeros(8), 10.0 * public[:, 1]) if shifted else (centre - 10 * half_width, centre + 10 * half_width)
    data = en.datasets.load("diabetes")
    gains = []
    for seed in range(20):
        rows, test, labels, truth = train_test_split(
            data.data, data.target, test_size=0.2, stratify=data.target, random_state=seed
        )
        aucs = []
        for bounds in (within, en.PrivateBounds(within)):
            clf = en.AUCClassifier(epsilon=1.0, algorithm="moments", bounds=bounds).fit(rows, labels)
            assert clf.certificate_.delta == 1 / len(rows) ** 2
            aucs.append(roc_auc_score(truth, clf.decision_function(test)))
        gains.append(aucs[1] - aucs[0])
    # About 0.25 over many draws of the noise, so the promise holds whatever the draw.
    assert np.mean(gains) >= 0.05
