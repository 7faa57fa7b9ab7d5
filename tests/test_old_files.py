"""Files of version 0.1.0 are read by this version: the same outputs, the same promises, and they still verify."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import entrenous as en

FOLDER = Path(__file__).parent / "files" / "version-0.1.0"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
ROWS = np.array(EXPECTED["rows"])
MODELS = sorted(path.stem for path in FOLDER.glob("*.entrenous"))
PLANS = sorted(path.name.removesuffix(".plan.json") for path in FOLDER.glob("*.plan.json"))
CERTIFICATES = sorted(path.name.removesuffix(".certificate.json") for path in FOLDER.glob("*.certificate.json"))

ASSUMED = {"listed-pairs": ("assumed: which records are paired is public: no label had a say in it",)}
"""What a reader has to take on trust; of the other files nothing."""


def outputs_of(model):
    for name in ("decision_function", "predict", "transform"):
        if hasattr(model, name):
            return getattr(model, name)(ROWS)
    raise AssertionError(f"{model} says nothing of a row")


def test_no_file_is_missing():
    assert set(MODELS) == set(EXPECTED["outputs"])
    assert len(MODELS) == 18
    assert len(PLANS) == 8
    assert PLANS == CERTIFICATES


@pytest.mark.parametrize("name", MODELS)
def test_a_model_says_what_it_said(name):
    model = en.load(FOLDER / f"{name}.entrenous")
    np.testing.assert_allclose(outputs_of(model), EXPECTED["outputs"][name], rtol=1e-9)
    if name == "without-privacy":
        assert model.certificate_ is None
        return
    verified = model.certificate_.verify()
    assert verified.epsilon <= model.certificate_.epsilon * (1.0 + 1e-9)
    assert verified.reservations == ASSUMED.get(name, ())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_can_be_saved_in_the_new_format(name, tmp_path):
    model = en.load(FOLDER / f"{name}.entrenous")
    path = en.save(model, tmp_path / "model")
    assert path.read_bytes().startswith(b"entrenous-model/2\n")
    again = en.load(path)
    np.testing.assert_array_equal(outputs_of(again), outputs_of(model))
    assert again.certificate_ == model.certificate_


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_makes_the_promises_it_made(name):
    made = en.Plan.from_json((FOLDER / f"{name}.plan.json").read_text()).certificate()
    stored = en.PrivacyCertificate.from_file(FOLDER / f"{name}.certificate.json")
    # The certificate of three classes is that of three such plans together.
    plans = 3 if name == "three-classes" else 1
    # The order is that of the phases now; an intercept came first.
    expected = Counter({mechanism: plans * count for mechanism, count in Counter(made.mechanisms).items()})
    assert Counter(stored.mechanisms) == expected
    assert (made.n, made.delta) == (stored.n, stored.delta)
    if plans == 1:
        for field in ("algorithm", "calibration", "epsilon", "claimed_epsilon", "problem"):
            assert getattr(made, field) == getattr(stored, field), field
    assert made.verify().reservations == ASSUMED.get(name, ())


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_verifies(name):
    verified = en.PrivacyCertificate.from_file(FOLDER / f"{name}.certificate.json").verify()
    assert verified.reservations == ASSUMED.get(name, ())


def test_they_are_read_whatever_was_imported_before():
    """Among them is a ball of features, which nothing but its own name asks for."""
    code = (
        "import sys; from entrenous.files.model_files import load\n"
        "for path in sys.argv[1:]: assert load(path) is not None"
    )
    paths = [str(FOLDER / f"{name}.entrenous") for name in MODELS]
    subprocess.run([sys.executable, "-c", code, *paths], check=True, timeout=120)


@pytest.mark.parametrize(("score", "setting"), [("metric", "threshold"), ("error-entropy", "target_width")])
def test_a_setting_that_is_fixed_now_is_read_at_its_old_default_alone(score, setting):
    name = {"metric": "listed-pairs", "error-entropy": "error-entropy"}[score]
    text = (FOLDER / f"{name}.plan.json").read_text()
    content = json.loads(text)
    assert content["plan"]["problem"]["score"][setting] in (1.0, 2.0)
    content["plan"]["problem"]["score"][setting] = 0.01
    with pytest.raises(en.InputError, match=setting):
        en.Plan.from_json(json.dumps(content))


def test_an_old_plan_with_less_noise_than_it_needs_is_refused():
    content = json.loads((FOLDER / "moments.plan.json").read_text())
    (phase,) = content["plan"]["phases"]
    phase["mechanism"]["sigma"] *= 0.5
    with pytest.raises(en.EntrenousError, match="stay within epsilon"):
        en.Plan.from_json(json.dumps(content))
