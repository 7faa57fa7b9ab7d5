"""What scikit-learn users do without thinking: it works, and where it costs privacy that is said."""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

import entrenous as en

X, Y = make_classification(400, 3, n_informative=2, n_redundant=1, class_sep=2.0, random_state=0)
FRAME = pd.DataFrame(X, columns=["age", "bmi", "sugar"])
BOUNDS = dict.fromkeys(FRAME, (-6.0, 6.0))
KINDS = [{"epsilon": 2.0, "bounds": BOUNDS, "random_state": 0}, {"epsilon": None}]
either = pytest.mark.parametrize("settings", KINDS, ids=["private", "not private"])


@pytest.fixture(autouse=True)
def _seeds_are_meant():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        yield


@either
def test_clone_gives_the_same_fit(settings):
    first = en.AUCClassifier(**settings).fit(FRAME, Y)
    again = clone(first)
    assert not hasattr(again, "coef_")
    np.testing.assert_array_equal(again.fit(FRAME, Y).coef_, first.coef_)


@either
def test_grid_search_and_cross_validation(settings):
    search = GridSearchCV(en.AUCClassifier(**settings), {"ridge": [0.0, 0.1]}, cv=3).fit(FRAME, Y)
    assert search.best_score_ > 0.8
    scores = cross_val_score(en.AUCClassifier(**settings), FRAME, Y, cv=3)
    assert scores.min() > 0.7
    by_name = cross_val_score(en.AUCClassifier(**settings), FRAME, Y, cv=3, scoring="roc_auc")
    np.testing.assert_allclose(by_name, scores)


@either
def test_pipelines_and_column_transformers(settings):
    named = ColumnTransformer([("keep", "passthrough", list(FRAME))], verbose_feature_names_out=False)
    named.set_output(transform="pandas")
    pipeline = make_pipeline(named, en.AUCClassifier(**settings)).fit(FRAME, Y)
    assert pipeline.score(FRAME, Y) > 0.8
    assert pipeline[-1].feature_names_in_.tolist() == list(FRAME)


@either
def test_calibration(settings):
    calibrated = CalibratedClassifierCV(en.AUCClassifier(**settings), cv=3).fit(FRAME, Y)
    chances = calibrated.predict_proba(FRAME)[:, 1]
    assert ((chances > 0.5) == Y).mean() > 0.7


def private(**settings):
    return en.AUCClassifier(**{"bounds": (-6, 6), "random_state": 0} | settings)


LEARNING = [
    (make_pipeline(StandardScaler(), private()), "standardscaler (StandardScaler)"),
    (make_pipeline(Normalizer(), PCA(2), private()), "pca (PCA)"),
    (make_pipeline(SelectKBest(k=2), private()), "selectkbest (SelectKBest)"),
    (make_pipeline(SimpleImputer(), private()), "simpleimputer (SimpleImputer)"),
    (make_pipeline(make_pipeline(StandardScaler()), private()), "pipeline.standardscaler (StandardScaler)"),
    (
        make_pipeline(make_column_transformer((StandardScaler(), [0]), remainder=PCA(1)), private()),
        "columntransformer.standardscaler (StandardScaler), columntransformer.remainder (PCA)",
    ),
    (make_pipeline(make_union(Normalizer(), PCA(1)), private()), "featureunion.pca (PCA)"),
    (make_pipeline(PCA(2), make_pipeline(Normalizer(), private())), "pca (PCA)"),
    (make_pipeline(en.MahalanobisLearner(None), private()), "mahalanobislearner (MahalanobisLearner)"),
]


@pytest.mark.parametrize(("pipeline", "named"), LEARNING)
def test_steps_that_learn_are_found(pipeline, named):
    with pytest.raises(en.PrivacyError, match="must not learn from rows") as caught:
        en.check_pipeline(pipeline)
    assert caught.value.got == named
    for wrapped in (GridSearchCV(pipeline, {}), CalibratedClassifierCV(pipeline)):
        with pytest.raises(en.PrivacyError):
            en.check_pipeline(wrapped)


def frozen_scaler():
    return FrozenEstimator(StandardScaler().fit(np.random.default_rng(0).normal(size=(50, 3))))


HARMLESS = [
    make_pipeline(Normalizer(), Binarizer(), FunctionTransformer(), private()),
    make_pipeline("passthrough", None, private()),
    make_pipeline(SimpleImputer(strategy="constant", fill_value=0), private()),
    make_pipeline(PolynomialFeatures(2), private()),
    make_pipeline(frozen_scaler(), private()),
    make_pipeline(en.OneHot({0: (0, 1)}, numeric={1: (0, 1), 2: (0, 1)}), private()),
    make_pipeline(OneHotEncoder(categories=[[0, 1]] * 3, handle_unknown="ignore"), private()),
    make_pipeline(StandardScaler(), en.AUCClassifier(None)),
    make_pipeline(en.PrivateStandardizer((-9, 9)), private()),
    make_pipeline(en.MahalanobisLearner(bounds=(-9, 9)), private()),
    make_pipeline(make_column_transformer((Normalizer(), [0]), remainder="drop"), private()),
    private(),
    en.AUCClassifier(None),
    GridSearchCV(private(), {}),
]


@pytest.mark.parametrize("pipeline", HARMLESS)
def test_steps_that_learn_nothing_pass(pipeline):
    en.check_pipeline(pipeline)


@pytest.mark.parametrize("steps", [[StandardScaler()], [FeatureUnion([("a", PCA(1)), ("b", Normalizer())])]])
def test_a_fit_inside_a_pipeline_warns_and_certifies(steps):
    pipeline = make_pipeline(*steps, private())
    with pytest.warns(en.PrivacyWarning, match="does not cover steps that learn from rows"):
        pipeline.fit(X, Y)
    assert any("learn from rows" in line for line in pipeline[-1].certificate_.warnings)
    pipeline[-1].certificate_.verify()
    with pytest.warns(en.PrivacyWarning, match="does not cover steps"):
        cross_val_score(pipeline, X, Y, cv=2)


@pytest.mark.parametrize(
    "pipeline", [make_pipeline(frozen_scaler(), private()), make_pipeline(StandardScaler(), en.AUCClassifier(None))]
)
def test_a_harmless_pipeline_fits_in_silence(pipeline):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        pipeline.fit(X, Y)


def test_an_estimator_alone_is_not_blamed_for_a_pipeline_around_it():
    """The pipeline on the stack fits something else, which fits a private model on its own."""

    class Wrapper(StandardScaler):
        def transform(self, X):
            private().fit(FRAME.to_numpy(), Y)
            return super().transform(X)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "In this private fit the noise is seeded", en.PrivacyWarning)
        Pipeline([("wrapper", Wrapper()), ("model", en.AUCClassifier(None))]).fit(X, Y)


def test_weights_are_refused_with_the_reason(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda size: pytest.fail("noise was drawn"))
    weights = np.ones(len(Y))
    with pytest.raises(en.PrivacyError, match="counts every record once"):
        en.AUCClassifier(bounds=BOUNDS).fit(FRAME, Y, sample_weight=weights)
    with pytest.raises(en.PrivacyError, match="counts every record once"):
        en.PointwiseClassifier(bounds=BOUNDS).fit(FRAME, Y, sample_weight=weights)
    with pytest.raises(en.PrivacyError, match="counts every record once"):
        en.PointwiseRegressor(bounds=BOUNDS, target_bounds=(0, 1)).fit(FRAME, Y, sample_weight=weights)
    with pytest.raises(en.InputError, match="every record counts once"):
        en.AUCClassifier(None).fit(FRAME, Y, sample_weight=weights)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        en.AUCClassifier(None).fit(FRAME, Y, weights=weights)
    assert en.AUCClassifier(None).fit(FRAME, Y, sample_weight=None).score(FRAME, Y) > 0.8
