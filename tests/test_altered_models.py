"""Model files whose checksum holds but whose content does not: refused, at once, with an error of this library."""

import copy
import hashlib
import json
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

import entrenous as en

X, Y = make_classification(120, 3, n_informative=2, n_redundant=1, random_state=1)
MAGIC = b"entrenous-model/2\n"
START = len(MAGIC) + 8


def taken_apart(path):
    content = path.read_bytes()
    assert content.startswith(MAGIC)
    end = START + int.from_bytes(content[len(MAGIC) : START], "little")
    return json.loads(content[START:end]), content[end:-32]


def put_together(path, header, blob, *, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    content = MAGIC + (len(text) if length is None else length).to_bytes(8, "little") + text + blob
    path.write_bytes(content + hashlib.sha256(content).digest())
    return path


SETTINGS = {
    "noisy-gd": {"algorithm": "noisy-gd", "max_iter": 5},
    "other": {"algorithm": "noisy-gd", "max_iter": 7, "epsilon": 2.0},
    "moments": {"algorithm": "moments"},
    "pure": {"algorithm": "dpgdsc", "ridge": 0.1, "delta": 0.0},
    "phases": {"algorithm": "dp-localized-sgd"},
    "found": {"algorithm": "noisy-gd", "bounds": en.PrivateBounds(within=(-9, 9))},
    "without": {"epsilon": None},
    "classes": {"algorithm": "moments", "classes": (0, 1, 2)},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Header and arrays of one saved model of each kind."""
    folder = tmp_path_factory.mktemp("models")
    made = {}
    for name, settings in SETTINGS.items():
        labels = np.arange(120) % 3 if name == "classes" else Y
        model = en.AUCClassifier(**{"epsilon": 1.0, "bounds": (-5, 5), **settings}).fit(X, labels)
        made[name] = taken_apart(en.save(model, folder / name))
    metric = en.MahalanobisLearner(1.0, bounds=(-5, 5), classes=(0, 1), algorithm="noisy-gd", max_iter=3).fit(X, Y)
    made["metric"] = taken_apart(en.save(metric, folder / "metric"))
    ranges = {"bounds": (-5, 5), "target_bounds": (-9, 9)}
    entropy = en.ErrorEntropyRegressor(1.0, max_iter=3, **ranges).fit(X, X[:, 0])
    made["entropy"] = taken_apart(en.save(entropy, folder / "entropy"))
    pointwise = en.PointwiseClassifier(1.0, bounds=(-5, 5), max_iter=3).fit(X, Y)
    made["pointwise"] = taken_apart(en.save(pointwise, folder / "pointwise"))
    standardizer = en.PrivateStandardizer(within=(-9, 9)).fit(X)
    made["standardizer"] = taken_apart(en.save(standardizer, folder / "standardizer"))
    return made


def refused(path, match=None):
    begun = time.perf_counter()
    with pytest.raises(en.EntrenousError, match=match):
        en.load(path)
    assert time.perf_counter() - begun < 1.0


def test_an_unaltered_file_is_read_after_the_same_surgery(files, tmp_path):
    """Otherwise everything below could be refused for the surgery itself."""
    for name, (header, blob) in files.items():
        model = en.load(put_together(tmp_path / name, header, blob))
        assert (model.certificate_ is None) == (name == "without")


# --- plan and certificate -----------------------------------------------------------------------------------------


def noise_in_plan(header, factor):
    (phase,) = header["plans"][0]["phases"]
    phase["gradient_noise"]["sigma"] *= factor


def noise_in_certificate(header, factor):
    header["certificate"]["mechanisms"][0]["sigma"] *= factor


def epsilon_in_certificate(header, factor):
    header["certificate"]["epsilon"] *= factor


def no_noise(header):
    header["plans"][0]["phases"][0]["gradient_noise"] = None


def many_phases(header):
    header["plans"][0]["phases"] *= 50


def many_phases_and_mechanisms(header):
    header["plans"][0]["phases"] *= 50
    header["certificate"]["mechanisms"] *= 50


def no_plan(header):
    header["plans"] = []


def two_plans(header):
    header["plans"] *= 2


def no_certificate(header):
    header["certificate"] = None


def no_privacy(header):
    header["parameters"]["items"]["epsilon"] = None
    header["certificate"] = None


def other_budget(header):
    header["plans"][0]["budget"]["epsilon"] = 0.5


def more_records(header):
    header["plans"][0]["n"] = 10_000


def other_records(header):
    header["certificate"]["n"] = 10_000


def more_steps(header):
    header["plans"][0]["phases"][0]["total_steps"] = 50


def smaller_bound(header):
    header["plans"][0]["phases"][0]["gradient_noise"]["bound"]["value"] *= 0.5


def other_features(header):
    header["plans"][0]["problem"]["n_features"] = 2


def other_algorithm(header):
    header["certificate"]["algorithm"] = "moments"


def other_surrogate(header):
    header["certificate"]["problem"]["surrogate"] = "hinge"


def other_delta(header):
    header["certificate"]["delta"] = 0.1


CHANGES = {
    "plan's sigma, less": lambda h: noise_in_plan(h, 0.5),
    "plan's sigma, more": lambda h: noise_in_plan(h, 2.0),
    "plan's sigma, NaN": lambda h: noise_in_plan(h, float("nan")),
    "plan's sigma, infinite": lambda h: noise_in_plan(h, float("inf")),
    "certificate's sigma, less": lambda h: noise_in_certificate(h, 0.5),
    "certificate's sigma, more": lambda h: noise_in_certificate(h, 2.0),
    "certificate's epsilon, less": lambda h: epsilon_in_certificate(h, 0.5),
    "certificate's epsilon, more": lambda h: epsilon_in_certificate(h, 2.0),
    "certificate's epsilon, NaN": lambda h: epsilon_in_certificate(h, float("nan")),
    "claimed epsilon": lambda h: h["certificate"].update(claimed_epsilon=0.1),
    "estimator's epsilon, less": lambda h: h["parameters"]["items"].update(epsilon=0.1),
    "estimator's epsilon, more": lambda h: h["parameters"]["items"].update(epsilon=5.0),
    "estimator's epsilon, text": lambda h: h["parameters"]["items"].update(epsilon="1"),
    "estimator's epsilon, none": lambda h: h["parameters"]["items"].update(epsilon=None),
    "estimator's delta": lambda h: h["parameters"]["items"].update(delta=0.25),
    "estimator's seed": lambda h: h["parameters"]["items"].update(random_state=1),
    "certificate's adjacency": lambda h: h["certificate"].update(adjacency="add-remove"),
    "certificate's public domain": lambda h: h["certificate"]["public"].update(n_features=2),
    "steps": lambda h: h.update(n_iter=10**6),
    "steps, NaN": lambda h: h.update(n_iter=float("nan")),
    "steps, infinite": lambda h: h.update(n_iter=float("inf")),
    "features": lambda h: h.update(n_features=2),
    "features, negative": lambda h: h.update(n_features=-3),
    "features, infinite": lambda h: h.update(n_features=float("inf")),
    "bounds": lambda h: h.update(bounds=None),
    "bounds of others": lambda h: h["bounds"].update(high=[1.0] * 3),
    "names": lambda h: h.update(feature_names=["a"]),
    "names, numbers": lambda h: h.update(feature_names=[1, 2, 3]),
    "classes": lambda h: h.update(classes=[0, 1, 2, 3]),
    "classes alike": lambda h: h.update(classes=[1, 1]),
    "no classes": lambda h: h.update(classes=None),
    "another estimator": lambda h: h.update(estimator="MahalanobisLearner"),
    "no such estimator": lambda h: h.update(estimator="os.system"),
    "estimator in a list": lambda h: h.update(estimator=["AUCClassifier"]),
    "unknown parameter": lambda h: h["parameters"]["items"].update(command="rm"),
    "parameters, a list": lambda h: h.update(parameters=[]),
    "plans, a number": lambda h: h.update(plans=3),
    "certificate, text": lambda h: h.update(certificate="yes"),
    "certificate, empty": lambda h: h.update(certificate={}),
    "mechanisms, empty": lambda h: h["certificate"].update(mechanisms=[]),
} | {
    change.__name__.replace("_", " "): change
    for change in (
        no_noise,
        many_phases,
        many_phases_and_mechanisms,
        no_plan,
        two_plans,
        no_certificate,
        no_privacy,
        other_budget,
        more_records,
        other_records,
        more_steps,
        smaller_bound,
        other_features,
        other_algorithm,
        other_surrogate,
        other_delta,
    )
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_contradicts_itself_is_refused(files, tmp_path, change):
    header, blob = files["noisy-gd"]
    altered = copy.deepcopy(header)
    CHANGES[change](altered)
    refused(put_together(tmp_path / "model", altered, blob))


@pytest.mark.parametrize("field", sorted(en.PrivacyCertificate.__dataclass_fields__))
def test_no_field_of_a_certificate_may_be_missing(files, tmp_path, field):
    header, blob = files["noisy-gd"]
    altered = copy.deepcopy(header)
    del altered["certificate"][field]
    refused(put_together(tmp_path / "model", altered, blob))


@pytest.mark.parametrize("one", ["noisy-gd", "moments", "pure", "phases", "found", "classes", "metric", "entropy"])
def test_certificates_are_not_exchanged(files, tmp_path, one):
    header, blob = files[one]
    for name, (other, _) in files.items():
        if name != one:
            altered = {**header, "certificate": other["certificate"]}
            refused(put_together(tmp_path / f"{one}-{name}", altered, blob))


@pytest.mark.parametrize("one", ["noisy-gd", "metric", "without", "classes", "entropy", "pointwise", "standardizer"])
def test_plans_are_not_exchanged(files, tmp_path, one):
    header, blob = files[one]
    for name, (other, _) in files.items():
        if name != one:
            refused(put_together(tmp_path / f"{one}-{name}", {**header, "plans": other["plans"]}, blob))


def test_bounds_that_were_found_are_those_of_the_certificate(files, tmp_path):
    header, blob = files["found"]
    altered = copy.deepcopy(header)
    altered["bounds"]["high"] = [100.0] * 3
    refused(put_together(tmp_path / "model", altered, blob))


def test_a_standardizers_certificate_is_its_own(files, tmp_path):
    header, blob = files["standardizer"]
    for factor in (0.5, 2.0):
        altered = copy.deepcopy(header)
        altered["certificate"]["epsilon"] *= factor
        refused(put_together(tmp_path / "model", altered, blob))
        altered = copy.deepcopy(header)
        for mechanism in altered["certificate"]["mechanisms"]:
            mechanism["sigma"] *= factor
        refused(put_together(tmp_path / "model", altered, blob))


# --- arrays -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", [*SETTINGS, "metric", "entropy", "pointwise", "standardizer"])
def test_numbers_are_finite(files, tmp_path, name, wrong):
    header, blob = files[name]
    values = np.frombuffer(blob, dtype="<f8").copy()
    for place in range(0, len(values), max(1, len(values) // 4)):
        altered = values.copy()
        altered[place] = wrong
        refused(put_together(tmp_path / "model", header, altered.tobytes()), "NaN or infinity")


SHAPES = (
    [],
    [3],
    [1],
    [3, 1],
    [1, 3],
    [-1],
    [-1, -3],
    [0],
    [10**12],
    [2**62, 4],
    [1.5],
    ["3"],
    None,
    [[3]],
    [True] * 3,
)


@pytest.mark.parametrize("name", [*SETTINGS, "metric", "entropy", "pointwise", "standardizer"])
def test_shapes_are_those_of_the_estimator(files, tmp_path, name):
    header, blob = files[name]
    for k, entry in enumerate(header["arrays"]):
        for shape in SHAPES:
            if shape == entry["shape"]:
                continue
            altered = copy.deepcopy(header)
            altered["arrays"][k]["shape"] = shape
            refused(put_together(tmp_path / "model", altered, blob))


@pytest.mark.parametrize("name", [*SETTINGS, "metric", "entropy", "pointwise", "standardizer"])
def test_arrays_are_neither_missing_nor_too_many(files, tmp_path, name):
    header, blob = files[name]
    for k, entry in enumerate(header["arrays"]):
        before = 8 * sum(int(np.prod(other["shape"])) for other in header["arrays"][:k])
        size = 8 * int(np.prod(entry["shape"]))
        others = [*header["arrays"][:k], *header["arrays"][k + 1 :]]
        refused(put_together(tmp_path / "a", {**header, "arrays": others}, blob))
        refused(put_together(tmp_path / "b", {**header, "arrays": others}, blob[:before] + blob[before + size :]))
        renamed = [*others, {**entry, "name": "_online"}]
        refused(put_together(tmp_path / "c", {**header, "arrays": renamed}, blob))
        twice = [*header["arrays"], entry]
        refused(put_together(tmp_path / "d", {**header, "arrays": twice}, blob + blob[before : before + size]))
    more = [*header["arrays"], {"name": "extra_", "shape": [1]}]
    refused(put_together(tmp_path / "e", {**header, "arrays": more}, blob + bytes(8)))
    refused(put_together(tmp_path / "f", header, blob + bytes(8)))
    refused(put_together(tmp_path / "g", header, blob[:-8]))
    refused(put_together(tmp_path / "h", {**header, "arrays": None}, blob))


# --- the file itself ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 10**6, 2**63, 2**64 - 1])
def test_a_header_is_as_long_as_it_says(files, tmp_path, length):
    header, blob = files["noisy-gd"]
    refused(put_together(tmp_path / "model", header, blob, length=length))


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"estimator": "AUCClassifier", "parameters": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
        b"[]",
        b"{}",
        b"null",
        b"\xff\xfe",
        b'{"n_features": ' + b"9" * 100_000 + b"}",
    ],
    ids=["open", "deep list", "deep mapping", "deep parameters", "list", "empty", "null", "no text", "digits"],
)
def test_a_header_that_is_none_is_refused(tmp_path, text):
    refused(put_together(tmp_path / "model", text, b""))


@pytest.mark.parametrize("depth", [100, 300, 450])
@pytest.mark.parametrize("where", ["parameters", "plans", "bounds", "all_bounds", "certificate", "classes", "arrays"])
def test_what_json_can_read_but_nothing_else_can_is_refused(files, tmp_path, where, depth):
    header, blob = files["noisy-gd"]
    nested = []
    for _ in range(depth):
        nested = [nested]
    if where == "all_bounds":
        header, blob = files["classes"]
    refused(put_together(tmp_path / "model", {**header, where: nested}, blob))
    deep = {"type": "dict", "items": {}}
    for _ in range(depth):
        deep = {"type": "dict", "items": {"a": deep}}
    refused(put_together(tmp_path / "model", {**header, where: deep}, blob))


@pytest.mark.parametrize("size", range(0, START + 40, 7))
def test_a_file_too_short_to_hold_anything_is_refused(tmp_path, size):
    content = (MAGIC + bytes(200))[:size]
    path = tmp_path / "model"
    path.write_bytes(content + hashlib.sha256(content).digest())
    refused(path)
