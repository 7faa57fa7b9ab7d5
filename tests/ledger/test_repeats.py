"""Without a ledger, whoever fits again is told once what it costs."""

import warnings

import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score

import entrenous as en
from entrenous.ledger import repeats, spending

X, Y = make_classification(120, 3, n_informative=2, n_redundant=1, random_state=0)


@pytest.fixture(autouse=True)
def nobody_was_told(monkeypatch):
    monkeypatch.setattr(repeats, "_told_of_searches", False)
    monkeypatch.delenv(spending.LEDGER, raising=False)


def told(act):
    """The warnings about repeated fits."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(one.message) for one in caught if "spends again" in str(one.message)]


def moments(**more):
    return en.AUCClassifier(1.0, bounds=(-5, 5), algorithm="moments", **more)


def test_a_second_fit_is_told_what_both_cost_and_a_third_is_not_told_again():
    model = moments()
    assert told(lambda: model.fit(X, Y)) == []
    (message,) = told(lambda: model.fit(X, Y))
    both = en.compose_certificates([model.certificate_] * 2).epsilon
    assert f"epsilon = {both:.3g} together" in message
    assert told(lambda: model.fit(X, Y)) == []
    assert told(lambda: moments().fit(X, Y)) == []


def test_several_classes_and_a_standardizer_are_told_of_the_whole():
    model = moments(classes=(0, 1, 2)).fit(X, Y)
    (message,) = told(lambda: model.fit(X, Y))
    both = en.compose_certificates([model.certificate_] * 2, delta=model.certificate_.delta).epsilon
    assert f"epsilon = {both:.3g} together" in message
    scaler = en.PrivateStandardizer((-50, 50)).fit(X)
    assert len(told(lambda: scaler.fit(X))) == 1


@pytest.mark.parametrize("way", ["cross_val_score", "GridSearchCV"])
def test_a_search_is_told_once(way):
    search = {
        "cross_val_score": lambda: cross_val_score(moments(), X, Y, cv=3),
        "GridSearchCV": lambda: GridSearchCV(moments(), {"ridge": [0.0, 0.1]}, cv=3).fit(X, Y),
    }[way]
    (message,) = told(search)
    one = en.plan("moments", n=80, n_features=3, epsilon=1.0, bounds=(-5, 5)).certificate()
    assert f"2 cost {en.compose_certificates([one] * 2).epsilon:.3g}, 5 cost" in message
    assert "docs/ledger.md" in message
    assert told(search) == []


def test_a_ledger_or_no_privacy_is_told_nothing(tmp_path):
    place = str(tmp_path / "ledger.db")
    en.Ledger(place).init("set", mu=10.0)
    for model in (moments(ledger=place, dataset="set"), en.AUCClassifier(None)):
        assert told(lambda model=model: cross_val_score(model.fit(X, Y).fit(X, Y), X, Y, cv=3)) == []
