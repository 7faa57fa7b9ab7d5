"""Plans and their parts to and from JSON by a closed list of types: reading never imports or runs what a file names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from entrenous.errors import EntrenousError, InputError

T = TypeVar("T")


@cache
def _types() -> dict[str, type]:
    from entrenous.engine.bounds_release import BoundsRelease
    from entrenous.engine.phases import Descent, Minimise, MomentRelease
    from entrenous.engine.plan import Plan
    from entrenous.engine.saddle import SaddlePoint
    from entrenous.engine.sampled import SampledDescent
    from entrenous.engine.streaming import Streaming
    from entrenous.parts.feature_domains import FeatureBall, FeatureBounds
    from entrenous.parts.parameter_domains import PARAMETER_DOMAINS
    from entrenous.parts.pointwise import POINT_SCORES
    from entrenous.parts.private_bounds import PrivateBounds
    from entrenous.parts.problem import Problem
    from entrenous.parts.scores import SCORES
    from entrenous.parts.streams import Stream
    from entrenous.parts.surrogates import SURROGATES
    from entrenous.privacy.budget import Budget
    from entrenous.privacy.mechanisms import Mechanism, Sampling

    kinds: list[type] = [
        Plan,
        Problem,
        Budget,
        Mechanism,
        Sampling,
        Descent,
        SaddlePoint,
        MomentRelease,
        Minimise,
        Stream,
        Streaming,
        SampledDescent,
        FeatureBounds,
        FeatureBall,
        PrivateBounds,
        BoundsRelease,
    ]
    kinds += [*SURROGATES.values(), *SCORES.values(), *POINT_SCORES.values(), *PARAMETER_DOMAINS.values()]
    return {kind.__name__: kind for kind in kinds}


def encode(thing: Any) -> Any:
    """JSON for None, numbers, text, sequences, mappings with text keys, NumPy values and the listed dataclasses."""
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
    if is_dataclass(thing) and not isinstance(thing, type) and _types().get(type(thing).__name__) is type(thing):
        return {"type": type(thing).__name__, **{f.name: encode(getattr(thing, f.name)) for f in fields(thing)}}
    raise InputError(
        "only numbers, text, sequences, mappings and the library's own parts can be stored",
        f"a {type(thing).__name__}",
        "Replace it by its public numbers.",
    )


def decode(content: Any, expected: type[T]) -> T:
    """The inverse of `encode`; sequences come back as tuples."""
    try:
        thing = _decode(content)
    except (KeyError, TypeError, EntrenousError) as error:
        raise InputError(
            "a stored object needs the library's own types and fields", str(error), "Save it again."
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
    return _types()[kind](**{key: _decode(value) for key, value in named.items()})
