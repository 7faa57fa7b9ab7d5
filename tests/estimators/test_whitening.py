"""`AUCClassifier(options={"whiten": share})`: what it finds, that scores, files and ONNX follow, what it refuses."""

import numpy as np
import onnxruntime
import pytest
from scipy import sparse

import entrenous as en
from entrenous.files.onnx_export import to_onnx
from entrenous.problem.features.whitened_box import WhitenedBox

pytestmark = pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")

RNG = np.random.default_rng(0)
N, D = 4000, 8
COMMON = RNG.normal(size=(N, 1))
OWN = RNG.normal(size=(N, D))
X = 5.0 + COMMON + 0.05 * OWN
"""Nearly collinear columns, as several measurements of one thing."""
Y = (OWN @ np.linspace(1.0, -1.0, D) > 2.0 * RNG.normal(size=N)).astype(int)
"""What tells the classes apart is how the columns differ."""
BOUNDS = (0.0, 10.0)
ROWS = np.concatenate([X[:50], 5.0 + 100.0 * RNG.normal(size=(50, D)), 1e200 * RNG.normal(size=(20, D))])


def fitted(labels=Y, share=0.1, table=X, **settings):
    options = {"whiten": share} | settings.pop("options", {})
    return en.AUCClassifier(**{"epsilon": 1.0, "bounds": BOUNDS, "random_state": 0, **settings}, options=options).fit(
        table, labels
    )


def test_it_pays_where_columns_are_nearly_collinear():
    with_it, without = (np.mean([fitted(share=s, random_state=r).score(X, Y) for r in range(5)]) for s in (0.1, 0.0))
    assert with_it > without + 0.05


def test_rows_in_the_found_domain_are_spread_more_alike():
    domains = [fitted(share=share, epsilon=4.0).bounds_ for share in (0.1, 0.0)]
    assert isinstance(domains[0], WhitenedBox)
    spread = []
    for domain in domains:
        values = np.linalg.eigvalsh(np.cov(domain.to_internal(X).T))
        spread.append(values[-1] / values[0])
    assert spread[0] < 0.2 * spread[1]


def by_hand(model, rows):
    domain, scores = model.bounds_, []
    weights = np.linalg.solve(domain.matrix, model.coef_[0] * domain.unit)
    for row in rows:
        inner = domain.matrix @ ((np.clip(row, domain.low, domain.high) - domain.origin) / domain.unit)
        scores.append(weights @ (inner / max(1.0, np.linalg.norm(inner))))
    return np.array(scores) + model.coef_[0] @ domain.origin + model.intercept_[0]


def test_a_row_scores_as_the_clipped_row_in_memory_and_from_a_file(tmp_path):
    model = fitted()
    found, clipped = model.decision_function(ROWS), model.bounds_.clipped(ROWS)
    size = np.abs(model.coef_ * model.bounds_.unit).max()
    np.testing.assert_allclose(found, by_hand(model, ROWS), rtol=0, atol=1e-10 * size)
    np.testing.assert_allclose(found, clipped @ model.coef_[0] + model.intercept_[0], rtol=0, atol=1e-9 * size)
    np.testing.assert_array_equal([model.decision_function(row[None])[0] for row in ROWS], found)
    again = en.load(en.save(model, tmp_path / "model"))
    assert (again.bounds_, again.certificate_) == (model.bounds_, model.certificate_)
    np.testing.assert_array_equal(again.decision_function(ROWS), found)
    np.testing.assert_array_equal(again.predict_proba(ROWS), model.predict_proba(ROWS))


def test_sparse_rows_score_as_dense_ones():
    model = fitted()
    table = np.where(RNG.random(ROWS.shape) < 0.5, 0.0, ROWS)
    found = model.decision_function(sparse.csr_array(table))
    np.testing.assert_allclose(found, model.decision_function(table), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("several", [False, True])
def test_onnx_whitens_too(several):
    labels = Y + (several * (COMMON[:, 0] > 1.0)).astype(int)
    model = fitted(labels, classes=tuple(range(labels.max() + 1)), epsilon=4.0)
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    label, score = session.run(["label", "score"], {"X": ROWS})
    expected = model.decision_function(ROWS)
    np.testing.assert_allclose(score, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(label, model.predict(ROWS))


def test_several_classes_share_it(tmp_path):
    labels = Y + (COMMON[:, 0] > 1.0)
    model = fitted(labels, classes=(0, 1, 2), epsilon=2.0)
    stages = [[type(phase).__name__ for phase in plan.phases] for plan in model.plans_]
    assert [kinds.count("Whiten") for kinds in stages] == [1, 0, 0]
    assert stages[1] == stages[2] == ["EventShare", "CappedDescent"]
    assert len(set(model.all_bounds_)) == 1
    assert isinstance(model.bounds_, WhitenedBox)
    assert model.certificate_.epsilon == 2.0
    assert model.certificate_.verify().epsilon <= 2.0
    again = en.load(en.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.decision_function(ROWS), model.decision_function(ROWS))


def test_the_share_is_that_of_the_certificate():
    model = fitted(share=0.2)
    spent = {m.lemma: m.gdp * m.count if m.count == 1 else m.gdp for m in model.certificate_.mechanisms}
    assert spent["Lemma 18"] / sum(m.gdp for m in model.certificate_.mechanisms) == pytest.approx(0.2)
    assert model.certificate_.public["whiten"] == {"share": 0.2}
    assert model.certificate_.public["found_bounds"]["kind"] == "whitened box"


def test_the_estimate_of_the_noise_follows_the_matrix():
    """In one released domain, where the descent's noise is all there is: about the spread of repeated fits, or more."""
    rows, labels = X[:1000], Y[:1000]
    domain = fitted(labels, table=rows).bounds_
    for epsilon in (0.5, 4.0):
        fits = [en.AUCClassifier(epsilon, bounds=domain, random_state=s).fit(rows, labels) for s in range(40)]
        spread = np.std([fit.coef_[0] for fit in fits], axis=0)
        assert 0.8 <= np.median(fits[0].coef_noise_[0] / spread) <= 3.0, epsilon


def test_sparse_tables_are_refused_with_a_way_out():
    with pytest.raises(
        en.InputError, match=r"whitening mixes the columns.*a sparse table.*Leave out the option whiten"
    ):
        fitted(table=sparse.csr_array(X))
    domain = fitted().bounds_
    with pytest.raises(en.InputError, match=r"mixes or bends the columns.*a sparse table.*Declare ranges or a ball"):
        en.AUCClassifier(1.0, bounds=domain).fit(sparse.csr_array(X), Y)


def test_a_released_domain_may_be_declared_for_another_fit():
    domain = fitted().bounds_
    model = en.AUCClassifier(1.0, bounds=domain).fit(X, Y)
    assert [type(phase).__name__ for phase in model.plan_.phases] == ["EventShare", "CappedDescent"]
    assert model.bounds_ == domain
    assert model.certificate_.epsilon == pytest.approx(1.0)
    assert model.certificate_.verify().outcome == "verified"
    assert model.score(X, Y) > 0.6
    other = en.AUCClassifier(1.0, algorithm="moments", bounds=domain).fit(X, Y)
    assert np.isfinite(other.coef_).all()


def test_float32_tables_give_the_same_model():
    one, two = (fitted(table=table) for table in (X, X.astype(np.float32)))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_tiny_tables_and_constants(rows):
    table = np.column_stack([X[:rows], np.full(rows, 3.0)])
    model = fitted(np.arange(rows) % 2, table=table, bounds=([0.0] * D + [3.0], [10.0] * D + [3.0]))
    assert np.isfinite(model.decision_function(table)).all()
    assert model.coef_[0, -1] == 0.0
    assert np.isfinite(fitted(np.arange(rows) % 2, table=table[:, :1]).coef_).all()
