"""Saving and loading fitted estimators: a JSON header, raw arrays, a checksum. Loading never runs what a file says.

Layout: a magic line, the header's length (8 bytes, little endian), the header, the arrays one after another (little
endian, C order), and the SHA-256 of everything before it. Only public numbers go in: parameters without the seed, the
plan, the certificate and what `fit` released.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from entrenous import __version__
from entrenous.arrays import AnyArray
from entrenous.engine.codec import decode, encode
from entrenous.engine.plan import Plan
from entrenous.errors import EntrenousError, InputError
from entrenous.estimators.auc import AUCClassifier
from entrenous.estimators.entropy import ErrorEntropyRegressor
from entrenous.estimators.metric import MahalanobisLearner
from entrenous.estimators.pointwise import PointwiseClassifier, PointwiseRegressor
from entrenous.estimators.standardizer import PrivateStandardizer
from entrenous.parts.feature_domains import FeatureDomain
from entrenous.privacy.certificate import PrivacyCertificate

_MAGIC = b"entrenous-model/1\n"
_FAMILY = b"entrenous-model/"
_DIGEST = hashlib.sha256().digest_size
_KINDS = (
    AUCClassifier,
    MahalanobisLearner,
    ErrorEntropyRegressor,
    PointwiseClassifier,
    PointwiseRegressor,
    PrivateStandardizer,
)
_ESTIMATORS: dict[str, Any] = {kind.__name__: kind for kind in _KINDS}
"""What `load` may build. Each of them names its arrays (`_released`)."""


def save(estimator: Any, path: str | Path) -> Path:
    """Write a fitted estimator; the file appears whole or not at all.

    The seed of a repeatable run is left out: with it the noise could be taken off.
    """
    name = type(estimator).__name__
    if _ESTIMATORS.get(name) is not type(estimator):
        raise InputError(
            "save takes one of " + ", ".join(_ESTIMATORS), f"a {name}", "Save the fitted estimator itself."
        )
    if not hasattr(estimator, "certificate_"):
        raise InputError("save needs a fitted estimator", "one that has not seen fit", "Call fit first.")
    plans = _plans_of(estimator)
    parameters = estimator.get_params(deep=False)
    parameters["random_state"] = None
    if callable(parameters.get("algorithm")):
        parameters["algorithm"] = plans[0].algorithm
    arrays = {key: np.asarray(getattr(estimator, key), dtype="<f8", order="C") for key in estimator._released}
    certificate = estimator.certificate_
    header = {
        "estimator": name,
        "library": __version__,
        "parameters": encode(parameters),
        "plans": [encode(plan) for plan in plans],
        "bounds": encode(estimator.bounds_),
        "certificate": None if certificate is None else certificate.to_dict(),
        "classes": encode(getattr(estimator, "classes_", None)),
        "n_iter": getattr(estimator, "n_iter_", None),
        "n_features": int(estimator.n_features_in_),
        "feature_names": encode(getattr(estimator, "feature_names_in_", None)),
        "arrays": [{"name": key, "shape": value.shape} for key, value in arrays.items()],
    }
    text = json.dumps(header, allow_nan=False).encode()
    content = _MAGIC + len(text).to_bytes(8, "little") + text + b"".join(value.tobytes() for value in arrays.values())
    _write_whole(Path(path), content + hashlib.sha256(content).digest())
    return Path(path)


def load(path: str | Path) -> Any:
    """Read a fitted estimator; truncated, altered or newer files are refused."""
    header, blob = _read(Path(path))
    try:
        estimator = _ESTIMATORS[header["estimator"]](**decode(header["parameters"], dict))
        plans = tuple(decode(plan, Plan) for plan in header["plans"])
        if plans:
            estimator.plan_, estimator.n_iter_ = plans[0], int(header["n_iter"])
        if isinstance(estimator, AUCClassifier):
            estimator.plans_ = plans
        stored = header["bounds"]
        estimator.bounds_ = None if stored is None else decode(stored, FeatureDomain)  # type: ignore[type-abstract]
        estimator.n_features_in_ = int(header["n_features"])
        if header["classes"] is not None:
            estimator.classes_ = np.asarray(decode(header["classes"], tuple))
        names = header["feature_names"]
        if names is not None:
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        for key, value in _arrays(header["arrays"], blob, estimator._released).items():
            setattr(estimator, key, value)
        stated = header["certificate"]
        estimator.certificate_ = None if stated is None else PrivacyCertificate.from_dict(stated)
    except (KeyError, TypeError, ValueError) as error:
        detail = error.got if isinstance(error, EntrenousError) else repr(error)
        raise _refused("the fields of a saved estimator", detail) from error
    private = {estimator._is_private, *(plan.is_private for plan in plans)}
    if private != {estimator.certificate_ is not None}:
        raise _refused("a certificate with every private plan, and only there", "a plan and certificate that disagree")
    return estimator


def _plans_of(estimator: Any) -> tuple[Plan, ...]:
    """What ran, for those that have a plan."""
    if hasattr(estimator, "plans_"):
        return tuple(estimator.plans_)
    return (estimator.plan_,) if hasattr(estimator, "plan_") else ()


def certificate_in(path: str | Path) -> PrivacyCertificate | None:
    """The certificate of a saved model, or of a certificate file; ``None`` for a model without privacy."""
    path = Path(path)
    with _opened(path) as file:
        start = file.read(len(_FAMILY))
    return load(path).certificate_ if start == _FAMILY else PrivacyCertificate.from_file(path)


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    with _opened(path) as file:
        content = file.read()
    if not content.startswith(_MAGIC):
        if content.startswith(_FAMILY):
            version = content[len(_FAMILY) : len(_MAGIC) + 2].split(b"\n")[0].decode("ascii", "replace")
            raise _refused("a file of format 1", f"format {version}", "Upgrade entrenous to read it.")
        raise _refused("a file that entrenous.save wrote", "something else")
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise _refused("a file as it was saved", "one that is cut short or altered (the checksum differs)")
    start = len(_MAGIC) + 8
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    try:
        header = json.loads(body[start:end])
    except ValueError as error:
        raise _refused("a readable header", str(error)) from error
    if not isinstance(header, dict):
        raise _refused("a readable header", "something else")
    return header, body[end:]


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError("a saved model or certificate", f"{path} ({error.strerror})", "Check the path.") from error


def _arrays(entries: list[dict[str, Any]], blob: bytes, expected: tuple[str, ...]) -> dict[str, AnyArray]:
    found: dict[str, AnyArray] = {}
    offset = 0
    for entry in entries:
        shape = tuple(int(side) for side in entry["shape"])
        size = 8 * int(np.prod(shape))
        values = np.frombuffer(blob[offset : offset + size], dtype="<f8").reshape(shape)
        found[entry["name"]] = values.astype(np.float64)[()]
        offset += size
    if set(found) != set(expected) or offset != len(blob):
        raise _refused(f"the arrays {', '.join(expected)}", ", ".join(found))
    return found


def _write_whole(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _refused(needs: str, got: str, way_out: str = "Save the model again, or ask for the original file.") -> InputError:
    return InputError(f"loading needs {needs}", got, way_out)
