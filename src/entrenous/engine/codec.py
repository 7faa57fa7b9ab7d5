"""Plans and their parts to and from JSON by the registered types: reading never imports or runs what a file names."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from entrenous.errors import EntrenousError, InputError
from entrenous.registry import is_part, part_named

T = TypeVar("T")


def read_json(text: str | bytes, needs: str, way_out: str) -> Any:
    """What a JSON text holds; a clear error for anything else, however deep or long its numbers are."""
    try:
        return json.loads(text)
    except RecursionError:
        raise InputError(needs, "brackets inside brackets, too deep to read", way_out) from None
    except ValueError as error:
        raise InputError(needs, f"text that is not JSON ({error})", way_out) from error


def encode(thing: Any) -> Any:
    """JSON for None, numbers, text, sequences, mappings with text keys, NumPy values and registered dataclasses."""
    if isinstance(thing, np.ndarray | np.generic):
        thing = thing.tolist()
    if isinstance(thing, float) and not math.isfinite(thing):
        return {"type": "float", "text": repr(thing)}
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, list | tuple):
        return [encode(item) for item in thing]
    if isinstance(thing, Mapping) and all(isinstance(key, str) for key in thing):
        return {"type": "dict", "items": {key: encode(value) for key, value in thing.items()}}
    if is_dataclass(thing) and not isinstance(thing, type) and is_part(type(thing)):
        return {"type": type(thing).__name__, **{f.name: encode(getattr(thing, f.name)) for f in fields(thing)}}
    raise InputError(
        "only numbers, text, sequences, mappings and registered parts can be stored",
        f"a {type(thing).__name__}",
        "Replace it by its public numbers, or register its class with entrenous.registry.part.",
    )


def decode(content: Any, expected: type[T]) -> T:
    """The inverse of `encode`; sequences come back as tuples."""
    try:
        thing = _decode(content)
    except RecursionError:
        raise InputError("a stored object", "one inside another, too deep to read", "Save it again.") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        detail = str(error) if isinstance(error, EntrenousError) else repr(error)
        raise InputError(
            "a stored object needs registered types and their own fields", detail, "Save it again."
        ) from error
    if not isinstance(thing, expected):
        raise InputError(f"a stored {expected.__name__}", f"a {type(thing).__name__}", "Save it again.")
    return thing


def _decode(content: Any) -> Any:
    if isinstance(content, list):
        return tuple(_decode(item) for item in content)
    if not isinstance(content, dict):
        return content
    named = dict(content)
    kind = named.pop("type")
    if kind == "dict":
        return {key: _decode(value) for key, value in named["items"].items()}
    if kind == "float":
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[named["text"]]
    return part_named(kind)(**{key: _decode(value) for key, value in named.items()})
