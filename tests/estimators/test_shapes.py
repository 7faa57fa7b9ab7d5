"""`AUCClassifier(shape=...)`: scores that bend, what is shown of them, files and ONNX, what is refused."""

import sys
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import entrenous as en
from entrenous.files.onnx_export import to_onnx
from entrenous.problem.features.shaped_box import ShapedBox
from entrenous.report.shapes_table import Shapes

pytestmark = pytest.mark.filterwarnings("ignore::entrenous.PrivacyWarning")
mpl.use("Agg")

RNG = np.random.default_rng(0)
N = 4000
TABLE = pd.DataFrame(
    {
        "dose": RNG.normal(50.0, 10.0, N),
        "age": RNG.normal(60.0, 12.0, N),
        "ward_a": RNG.integers(0, 2, N) * 1.0,
        "ward_b": RNG.integers(0, 2, N) * 1.0,
        "unit": np.ones(N),
    }
)
RISK = np.abs(TABLE["dose"] - 50.0) / 6.0 + (TABLE["age"] - 60.0) / 20.0 + TABLE["ward_a"]
Y = (RISK + RNG.normal(size=N) > 2.0).astype(int).to_numpy()
"""Too little and too much are both bad: no line ranks that."""
BOUNDS = en.FeatureBounds(
    (0.0, 0.0, 0.0, 0.0, 1.0), (100.0, 120.0, 1.0, 1.0, 1.0), names=tuple(TABLE.columns), binary=("ward_a", "ward_b")
)
ROWS = np.concatenate(
    [TABLE.to_numpy()[:50], 50.0 + 100.0 * RNG.normal(size=(50, 5)), 1e200 * RNG.normal(size=(20, 5))]
)
ROWS = pd.DataFrame(ROWS, columns=TABLE.columns)


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    plt.close("all")


def fitted(labels=Y, table=TABLE, **settings):
    usual = {"epsilon": 2.0, "bounds": BOUNDS, "random_state": 0, "shape": "additive"}
    return en.AUCClassifier(**usual | settings).fit(table, labels)


@pytest.fixture(scope="module")
def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", en.PrivacyWarning)
        return fitted()


def test_a_shape_ranks_what_no_line_can(model):
    assert model.score(TABLE, Y) > fitted(shape="linear").score(TABLE, Y) + 0.1


def test_the_shape_shows_what_was_learnt_in_the_users_units(model):
    dose = model.shapes_.of("dose")
    values, scores = (np.array([getattr(point, field) for point in dose]) for field in ("value", "score"))
    assert (np.diff(values) > 0.0).all()
    assert 0.0 <= values[0] < 30.0
    assert 70.0 < values[-1] <= 100.0
    least, low, high = np.interp([50.0, 35.0, 65.0], values, scores)
    assert min(low, high) > least + 1.0
    assert len(dose) == 9 + 1 + 2
    ward = model.shapes_.of("ward_a")
    assert [(point.kind, point.value) for point in ward] == [("0/1", 0.0), ("0/1", 1.0)]
    assert ward[0].score == 0.0
    assert ward[1].score == pytest.approx(model.coef_[0, 2])
    assert [point.kind for point in model.shapes_.of("unit")] == ["constant"]


def test_shapes_and_intercept_are_the_whole_model():
    """For rows that the domain does not draw in, the score is that of the centre and what each value adds."""
    model = fitted(options={"standardise": 0.3}, table=TABLE.iloc[:, :2], bounds=([0, 0], [100, 120]))
    domain = model.bounds_
    rows = TABLE.iloc[:, :2]
    added = domain.added((rows.to_numpy() - domain.origin) * domain.scale)
    inside = np.linalg.norm(np.hstack([(rows.to_numpy() - domain.origin) * domain.scale, added]), axis=1) < 1.0
    assert inside.sum() > 100
    expected = np.full(
        len(rows), float(model.decision_function(pd.DataFrame([domain.origin], columns=rows.columns))[0])
    )
    for name in rows:
        shape = model.shapes_.of(name)
        expected += np.interp(rows[name], [p.value for p in shape], [p.score for p in shape])
    found = model.decision_function(rows)
    np.testing.assert_allclose(found[inside], expected[inside], rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_one_certificate_covers_it_and_names_what_was_found():
    certificate = fitted(epsilon=1.0, random_state=None).certificate_
    assert certificate.epsilon == pytest.approx(1.0)
    assert certificate.verify().outcome == "verified"
    assert certificate.public["found_bounds"]["kind"] == "shaped box"
    straight, bent = (fitted(shape=shape).certificate_.mechanisms for shape in ("linear", "additive"))
    assert [m.lemma for m in straight] == [m.lemma for m in bent]


def test_the_table_prints_and_becomes_a_data_frame(model):
    shapes = model.shapes_
    assert isinstance(shapes, Shapes)
    assert repr(shapes).splitlines()[0].split() == ["class", "feature", "kind", "value", "score", "noise"]
    assert len(repr(shapes).splitlines()) == 1 + len(shapes)
    assert shapes._repr_html_().count("<tr>") == 1 + len(shapes)
    frame = pd.DataFrame(shapes)
    assert list(frame.columns) == ["label", "feature", "kind", "value", "score", "noise"]
    assert isinstance(shapes[0:3], Shapes)
    with pytest.raises(en.InputError, match="must be one of dose, age"):
        shapes.of("weight")


def test_a_linear_model_has_straight_shapes():
    model = fitted(shape="linear")
    assert model.rises_.shape == (1, 0)
    dose = model.shapes_.of("dose")
    assert len(dose) == 2
    slope = (dose[1].score - dose[0].score) / (dose[1].value - dose[0].value)
    assert slope == pytest.approx(model.coef_[0, 0])


def test_the_noise_of_a_shape_is_about_its_spread_or_more(model):
    """In one released domain, where the descent's noise is all there is."""
    fits = [fitted(epsilon=1.0, bounds=model.bounds_, random_state=seed) for seed in range(30)]
    scores, noise = (
        np.array([[getattr(point, field) for point in fit.shapes_] for fit in fits]) for field in ("score", "noise")
    )
    spread, stated = scores.std(axis=0), np.median(noise, axis=0)
    told = spread > 1e-9
    ratio = stated[told] / spread[told]
    assert ratio.min() >= 0.8
    assert np.median(ratio) <= 4.0


def test_auto_bends_where_public_numbers_say_that_it_pays():
    def ramps(n, epsilon=1.0, bounds=BOUNDS):
        plan = en.plan("auto", n=n, n_features=5, epsilon=epsilon, bounds=bounds, shape="auto")
        return max(getattr(phase, "ramps", 0) for phase in plan.phases), str(plan)

    assert ramps(300)[0] == 0
    found, text = ramps(50_000)
    assert found == 9
    assert "shapes of 2 columns with 9 ramps each" in text
    assert ramps(50_000, epsilon=0.01)[0] == 0
    assert ramps(50_000, bounds=en.FeatureBounds(0.0, 1.0, binary=tuple(range(5))))[0] == 0
    assert ramps(50_000, epsilon=None)[0] == 0


def test_saved_and_loaded(model, tmp_path):
    again = en.load(en.save(model, tmp_path / "other"))
    assert (again.bounds_, again.certificate_, again.shape) == (model.bounds_, model.certificate_, "additive")
    np.testing.assert_array_equal(again.decision_function(ROWS), model.decision_function(ROWS))
    np.testing.assert_array_equal(again.predict_proba(ROWS), model.predict_proba(ROWS))
    assert list(again.shapes_) == list(model.shapes_)


def scored(model):
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    return session.run(["label", "score"], {"X": ROWS.to_numpy()})


@pytest.mark.parametrize("several", [False, True])
def test_onnx_bends_too(several):
    labels = Y + several * (TABLE["age"] > 75.0).to_numpy().astype(int)
    model = fitted(labels, classes=tuple(range(labels.max() + 1)))
    label, score = scored(model)
    expected = model.decision_function(ROWS)
    np.testing.assert_allclose(score, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_array_equal(label, model.predict(ROWS))


def test_several_classes_share_the_stages(tmp_path):
    labels = Y + (TABLE["age"] > 75.0).to_numpy()
    model = fitted(labels, classes=(0, 1, 2))
    stages = [[type(phase).__name__ for phase in plan.phases] for plan in model.plans_]
    assert stages[1] == stages[2] == ["EventShare", "CappedDescent"]
    assert len(set(model.all_bounds_)) == 1
    assert isinstance(model.bounds_, ShapedBox)
    assert model.certificate_.verify().epsilon <= 2.0
    assert {point.label for point in model.shapes_} == {0, 1, 2}
    assert {point.label for point in model.shapes_.of("age", 2)} == {2}
    again = en.load(en.save(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.decision_function(ROWS), model.decision_function(ROWS))
    figure = en.plot_shapes(model, label=2)
    assert "dose" in [ax.get_title(loc="left") for ax in figure.axes]
    with pytest.raises(en.InputError, match="label must be one of 0, 1, 2, got None"):
        en.plot_shapes(model)


def test_sparse_tables_stay_linear_or_are_refused():
    numbers = TABLE.to_numpy()
    bounds = en.FeatureBounds(BOUNDS.low, BOUNDS.high, binary=(2, 3))
    assert fitted(table=sparse.csr_array(numbers), bounds=bounds, shape="auto").rises_.shape == (1, 0)
    with pytest.raises(en.InputError, match=r"shapes are learnt from dense rows.*a sparse table.*shape=\"linear\""):
        fitted(table=sparse.csr_array(numbers), bounds=bounds)
    model = fitted(table=numbers, bounds=bounds)
    found = model.decision_function(sparse.csr_array(ROWS.to_numpy()))
    np.testing.assert_allclose(found, model.decision_function(ROWS.to_numpy()), rtol=1e-9)


def test_float32_tables_give_the_same_model():
    numbers = TABLE.to_numpy()
    bounds = en.FeatureBounds(BOUNDS.low, BOUNDS.high, binary=(2, 3))
    one, two = (fitted(table=table, bounds=bounds) for table in (numbers, numbers.astype(np.float32)))
    np.testing.assert_allclose(one.decision_function(numbers), two.decision_function(numbers), atol=1e-2)


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_tiny_tables_and_tables_without_numbers(rows):
    labels = np.arange(rows) % 2
    assert np.isfinite(fitted(labels, table=TABLE[:rows]).decision_function(ROWS)).all()
    only = fitted(labels, table=TABLE[["ward_a"]][:rows], bounds=en.FeatureBounds(0.0, 1.0, binary=(0,)))
    assert only.rises_.shape == (1, 0)
    constant = fitted(labels, table=TABLE[["unit"]][:rows], bounds=(1.0, 1.0))
    assert constant.coef_.tolist() == [[0.0]]


def test_a_released_domain_may_be_declared_for_another_fit(model):
    other = fitted(epsilon=1.0, bounds=model.bounds_)
    assert [type(phase).__name__ for phase in other.plan_.phases] == ["EventShare", "CappedDescent"]
    assert other.bounds_ == model.bounds_
    assert other.certificate_.verify().outcome == "reservations"  # seeded
    assert other.score(TABLE, Y) > 0.7
    with pytest.raises(en.AssumptionError, match="takes bounds without shapes"):
        fitted(bounds=model.bounds_, algorithm="moments", shape="linear")


WRONG = [
    ({"shape": "cubic"}, "shape must be one of linear, additive, auto"),
    ({"algorithm": "moments"}, r"moments learns linear scores.*shape=\"linear\""),
    ({"algorithm": "noisy-gd", "shape": "cubic"}, "learns linear scores"),
    ({"epsilon": None}, "learnt privately.*SplineTransformer"),
    ({"options": {"whiten": 0.1}}, "whitening mixes them"),
    ({"options": {"standardise": 0.0}}, r"standardise=0.*Leave standardise at 0\.1"),
    ({"options": {"ramps": 0}}, "ramps must be an int from 1 to 100"),
    ({"options": {"ramps": 101}}, "ramps must be an int from 1 to 100"),
    ({"options": {"ramps": True}}, "ramps must be an int from 1 to 100"),
    ({"options": {"ramps": "many"}}, "ramps must be an int from 1 to 100"),
    ({"options": {"shape": "additive"}}, "shape are arguments of their own"),
]


@pytest.mark.parametrize(("settings", "told"), WRONG)
def test_what_cannot_bend_is_refused_with_a_way_out(settings, told):
    with pytest.raises(en.EntrenousError, match=told):
        fitted(**settings)


def test_auto_is_linear_where_an_algorithm_cannot_bend():
    assert fitted(shape="auto", algorithm="moments").rises_.shape == (1, 0)
    whitened = fitted(shape="auto", options={"whiten": 0.1})
    assert whitened.rises_.shape == (1, 0)
    with pytest.raises(en.InputError, match=r"keep the features apart.*whitened fit"):
        _ = whitened.shapes_
    with pytest.raises(en.InputError, match=r"keep the features apart.*without bounds"):
        _ = en.AUCClassifier(None, shape="auto").fit(TABLE, Y).shapes_
    with pytest.raises(NotFittedError):
        _ = en.AUCClassifier().shapes_


def test_ramps_may_be_chosen():
    assert fitted(options={"ramps": 3}).rises_.shape == (1, 6)
    assert fitted(options={"ramps": 3}, shape="auto").rises_.shape == (1, 6)


def test_a_picture_has_a_panel_per_feature_and_one_for_each_category(model):
    figure = en.plot_shapes(model)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title(loc="left") for ax in shown] == ["dose", "age", "ward"]
    assert [text.get_text() for text in shown[2].get_xticklabels()] == ["a", "b"]
    line = shown[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), [point.score for point in model.shapes_.of("dose")])
    assert shown[0].get_ylim() == shown[1].get_ylim()
    assert "epsilon = 2" in figure.get_suptitle()
    one = en.plot_shapes(model, features=["age"])
    assert [ax.get_title(loc="left") for ax in one.axes if ax.get_visible()] == ["age"]
    assert sum(ax.get_visible() for ax in en.plot_shapes(model, most=1).axes) == 1
    with pytest.raises(en.InputError, match="features must be among dose, age, ward"):
        en.plot_shapes(model, features=["weight"])
    with pytest.raises(en.InputError, match="needs a fitted AUCClassifier"):
        en.plot_shapes(en.AUCClassifier())


def test_a_picture_without_matplotlib_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("entrenous.report.plots.find_spec", lambda name: None)
    with pytest.raises(en.InputError, match="pip install"):
        en.plot_shapes(model)
