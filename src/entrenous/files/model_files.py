"""Saving and loading fitted estimators: a JSON header, raw arrays, a checksum. Loading never runs what a file says.

Layout: a magic line, the header's length (8 bytes, little endian), the header, the arrays one after another (little
endian, C order), and the SHA-256 of everything before it. Only public numbers go in: parameters without the seed, the
plan, the certificate and what `fit` released.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from entrenous.arrays import AnyArray
from entrenous.engine.codec import decode, encode, read_json
from entrenous.engine.plan import Plan, plan_from
from entrenous.errors import EntrenousError, InputError
from entrenous.privacy.accounting import total_epsilon
from entrenous.privacy.budget import budget_for
from entrenous.privacy.certificate import PrivacyCertificate, as_json
from entrenous.privacy.composition import compose_certificates
from entrenous.problem.features.domain import FeatureDomain
from entrenous.registry import estimator_named, estimator_names, is_estimator
from entrenous.version import __version__

_MAGIC, _OLD_MAGIC = b"entrenous-model/2\n", b"entrenous-model/1\n"
_FAMILY = b"entrenous-model/"
_DIGEST = hashlib.sha256().digest_size


def save(estimator: Any, path: str | Path) -> Path:
    """Write a fitted estimator; the file appears whole or not at all.

    The seed of a repeatable run is left out: with it the noise could be taken off.
    """
    name = type(estimator).__name__
    if not is_estimator(type(estimator)):
        raise InputError(
            "save takes one of " + ", ".join(estimator_names()), f"a {name}", "Save the fitted estimator itself."
        )
    if not hasattr(estimator, "certificate_"):
        raise InputError("save needs a fitted estimator", "one that has not seen fit", "Call fit first.")
    plans = _plans_of(estimator)
    _need_agreement(estimator, plans, _not_of_one_fit)
    parameters = estimator.get_params(deep=False)
    parameters["random_state"] = None
    # Where a ledger is, and perhaps a password in its address, is nobody's business who reads the model.
    if "ledger" in parameters:
        parameters["ledger"] = None
    if callable(parameters.get("algorithm")):
        parameters["algorithm"] = plans[0].algorithm
    arrays = {key: np.asarray(getattr(estimator, key), dtype="<f8", order="C") for key in estimator.released_arrays()}
    if not all(np.isfinite(value).all() for value in arrays.values()):
        raise _not_of_one_fit("arrays of finite numbers", "NaN or infinity")
    certificate = estimator.certificate_
    header = {
        "estimator": name,
        "library": __version__,
        "parameters": encode(parameters),
        "plans": [encode(plan) for plan in plans],
        "bounds": encode(estimator.bounds_),
        "all_bounds": [encode(bounds) for bounds in getattr(estimator, "all_bounds_", ())],
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
    """Read a fitted estimator; truncated, altered or newer files are refused, and those that contradict themselves.

    Files of version 0.1.0 (format 1) are read too.
    """
    header, blob, old = _read(Path(path))
    try:
        estimator = estimator_named(header["estimator"])(**decode(header["parameters"], dict))
        if estimator.random_state is not None:
            raise _refused("a file without a seed", "one: with it the noise could be taken off")
        plans = tuple(plan_from(plan, old=old) for plan in header["plans"])
        if plans:
            estimator.plan_, estimator.n_iter_ = plans[0], _whole(header["n_iter"])
        # Files from before rows were clipped for scoring too have the box of a stream's units here.
        finds = any(phase.finds_bounds for plan in plans for phase in plan.phases)
        only_units = bool(plans) and plans[0].features is None and not finds
        estimator.bounds_ = None if only_units else _domain(header["bounds"])
        if estimator.has_plan_per_class:
            estimator.plans_ = plans
            found = tuple(map(_domain, header.get("all_bounds", ())))
            estimator.all_bounds_ = found or (estimator.bounds_,) * len(plans)
        estimator.n_features_in_ = _whole(header["n_features"])
        if header["classes"] is not None:
            estimator.classes_ = np.asarray(decode(header["classes"], tuple))
        names = header["feature_names"]
        if names is not None:
            if not all(isinstance(name, str) for name in names):
                raise _refused("feature names that are text", "others")
            estimator.feature_names_in_ = np.asarray(names, dtype=object)
        for key, value in _arrays(header["arrays"], blob, estimator.released_arrays()).items():
            setattr(estimator, key, value)
        stated = header["certificate"]
        estimator.certificate_ = None if stated is None else PrivacyCertificate.from_dict(stated)
    except (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError) as error:
        detail = error.got if isinstance(error, EntrenousError) else repr(error)[:200]
        raise _refused("the fields of a saved estimator", detail) from error
    _need_agreement(estimator, plans, _refused)
    return estimator


def _need_agreement(estimator: Any, plans: tuple[Plan, ...], needs: Callable[[str, str], InputError]) -> None:
    """An error where plans, certificate, parameters, bounds and arrays do not belong to one fit."""
    certificate = estimator.certificate_
    private = {estimator._is_private, *(plan.is_private for plan in plans)}
    if private != {certificate is not None}:
        raise needs("a certificate with every private plan, and only there", "a plan and certificate that disagree")
    if plans and not 0 <= estimator.n_iter_ <= max(plan.steps for plan in plans):
        raise needs("as many steps as the plan has", f"{estimator.n_iter_}")
    for what, wrong in (*estimator.contradictions(), *_strange_bounds(estimator, plans)):
        raise needs(what, wrong)
    if certificate is None:
        return
    asked = estimator.delta
    delta = budget_for(estimator.epsilon, None, certificate.n).delta if asked is None else asked
    if (certificate.claimed_epsilon, certificate.delta) != (estimator.epsilon, delta):
        raise needs("a certificate of the budget that the parameters ask for", "one of another budget")
    if plans:
        for what in _disagreements(_certificate_of(plans, certificate), certificate):
            raise needs(f"a certificate of the plan's own {what}", "a plan and certificate that disagree")
    elif not _close(total_epsilon(certificate.mechanisms, certificate.delta), certificate.epsilon):
        raise needs("a certificate of the epsilon that its releases cost", f"{certificate.epsilon:.9g}")


_SAME = ("algorithm", "n", "calibration", "delta", "problem", "adjacency", "unit")
"""What plan and certificate state in the same words."""
_RELATIVE = 1e-6
"""Rounding between two computations of one epsilon, perhaps by two versions."""


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_RELATIVE)


def _certificate_of(plans: tuple[Plan, ...], stated: PrivacyCertificate) -> PrivacyCertificate:
    """What the plans of a fit cost, several together: those aim below the request, which is the honest figure."""
    made = [one for one in (plan.certificate() for plan in plans) if one is not None]
    if len(made) == 1:
        return made[0]
    together, asked = compose_certificates(made, delta=stated.delta), stated.claimed_epsilon
    return replace(together, epsilon=max(together.epsilon, asked), claimed_epsilon=asked)


def _disagreements(made: PrivacyCertificate, stated: PrivacyCertificate) -> Iterator[str]:
    """Where a stored certificate is not the one that the plans make; what only the run knew is its own."""
    yield from (what for what in _SAME if getattr(made, what) != getattr(stated, what))
    if Counter(made.mechanisms) != Counter(stated.mechanisms):
        yield "releases"
    if not (_close(made.epsilon, stated.epsilon) and _close(made.claimed_epsilon, stated.claimed_epsilon)):
        yield "epsilon"
    if stated.epsilon * (1.0 + 1e-9) < made.epsilon:
        yield "epsilon"
    for name, number in made.public.items():
        if name == "parts":
            own = [PrivacyCertificate.from_dict(part) for part in number]
            theirs = [PrivacyCertificate.from_dict(part) for part in stated.public.get(name, ())]
            if len(own) != len(theirs):
                yield name
            yield from (what for pair in zip(own, theirs, strict=False) for what in _disagreements(*pair))
        elif name == "own_parts":
            if not set(number) <= set(stated.public.get(name, ())):
                yield name
        elif name in stated.public and stated.public[name] != number:
            yield name


def _strange_bounds(estimator: Any, plans: tuple[Plan, ...]) -> Iterator[tuple[str, str]]:
    """Bounds that are neither declared in the plan nor released."""
    if not plans:
        return
    kept = getattr(estimator, "all_bounds_", (estimator.bounds_,))
    stated = () if estimator.certificate_ is None else (estimator.certificate_.public,)
    if stated and "parts" in stated[0]:
        stated = tuple(part["public"] for part in stated[0]["parts"])
    if len(kept) != len(plans) or kept[0] != estimator.bounds_ or (stated and len(stated) != len(plans)):
        yield "bounds for every plan", f"{len(kept)} for {len(plans)}"
        return
    for k, (plan, bounds) in enumerate(zip(plans, kept, strict=True)):
        if not any(phase.finds_bounds for phase in plan.phases):
            if bounds != plan.features:
                yield "the bounds of its plan", "others"
        elif stated and (bounds is None or as_json(dict(bounds.public_numbers())) != stated[k].get("found_bounds")):
            yield "the bounds that its certificate says were found", "others"


def _domain(stored: Any) -> FeatureDomain | None:
    return None if stored is None else decode(stored, FeatureDomain)  # type: ignore[type-abstract]


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


def _read(path: Path) -> tuple[dict[str, Any], bytes, bool]:
    """Header, arrays, and whether the file is of the format before this."""
    with _opened(path) as file:
        content = file.read()
    old = content.startswith(_OLD_MAGIC)
    if not old and not content.startswith(_MAGIC):
        if content.startswith(_FAMILY):
            version = content[len(_FAMILY) : len(_MAGIC) + 2].split(b"\n")[0].decode("ascii", "replace")
            raise _refused("a file of format 1 or 2", f"format {version}", "Upgrade entrenous to read it.")
        raise _refused("a file that entrenous.save wrote", "something else")
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise _refused("a file as it was saved", "one that is cut short or altered (the checksum differs)")
    start = len(_MAGIC) + 8
    end = start + int.from_bytes(body[len(_MAGIC) : start], "little")
    header = read_json(body[start:end], "loading needs a readable header", "Save the model again.")
    if not isinstance(header, dict):
        raise _refused("a readable header", "something else")
    return header, body[end:], old


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError("a saved model or certificate", f"{path} ({error.strerror})", "Check the path.") from error


def _arrays(entries: list[dict[str, Any]], blob: bytes, expected: tuple[str, ...]) -> dict[str, AnyArray]:
    found: dict[str, AnyArray] = {}
    offset = 0
    for entry in entries:
        shape = tuple(map(_whole, entry["shape"]))
        size = 8 * math.prod(shape)
        if offset + size > len(blob):
            raise _refused("arrays as long as they say", f"{entry['name']} of shape {shape}")
        values = np.frombuffer(blob[offset : offset + size], dtype="<f8").reshape(shape)
        if not np.isfinite(values).all():
            raise _refused("arrays of finite numbers", f"NaN or infinity in {entry['name']}")
        found[entry["name"]] = values.astype(np.float64)[()]
        offset += size
    if sorted(entry["name"] for entry in entries) != sorted(expected) or offset != len(blob):
        raise _refused(f"the arrays {', '.join(expected)}", ", ".join(found))
    return found


def _whole(number: Any) -> int:
    """A count that a file states."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise _refused("counts that are whole numbers", repr(number)[:200])
    return number


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


def _not_of_one_fit(needs: str, got: str) -> InputError:
    return InputError(f"saving needs {needs}", got, "Fit again: something was changed after the fit.")
