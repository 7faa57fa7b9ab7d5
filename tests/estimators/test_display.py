"""What people see of an estimator: its privacy, in text and in a notebook."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

import entrenous as en

X = np.random.default_rng(0).normal(size=(50, 2))
Y = (X[:, 0] > 0).astype(int)


def test_repr_says_what_is_spent_and_stays_python():
    clf = en.AUCClassifier(bounds=(-3, 3))
    assert "# private: epsilon = 1, not fitted yet" in repr(clf)
    assert repr(eval(repr(clf), {"AUCClassifier": en.AUCClassifier})) == repr(clf)
    assert "delta = 0.0004" in repr(clf.fit(X, Y))
    assert "not fitted" in repr(clone(clf))
    assert "not private" in repr(en.AUCClassifier(None))
    assert "no budget" in repr(en.AUCClassifier("x"))


def test_notebooks_show_the_certificate():
    clf = en.AUCClassifier(bounds=(-3, 3))
    assert "not fitted yet" in clf._repr_mimebundle_()["text/html"]
    shown = clf.fit(X, Y)._repr_mimebundle_()
    assert "Privacy certificate: epsilon = 1" in shown["text/html"]
    assert "AUCClassifier" in shown["text/html"]
    assert clf._repr_html_() == shown["text/html"] or "Privacy certificate" in clf._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in clf._repr_mimebundle_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        seeded = en.AUCClassifier(bounds=(-3, 3), algorithm="dp-localized-sgd", random_state=0).fit(X, Y)
    assert "repeatable by whoever knows the seed" in seeded.certificate_._repr_html_()
    assert "<script" not in seeded.certificate_._repr_html_()


def test_warnings_point_at_the_callers_line():
    with pytest.warns(en.PrivacyWarning) as caught:
        en.AUCClassifier(bounds=(-3, 3), random_state=0).fit(X, Y)
    assert caught[0].filename == __file__
    with pytest.warns(en.PrivacyWarning, match="1/n") as caught:
        en.plan("moments", n=10, n_features=2, epsilon=1.0, delta=0.5)
    assert caught[0].filename == __file__
