"""What each field of a certificate may hold: a file from outside passes this table before anything is computed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from entrenous.errors import PrivacyError
from entrenous.privacy.budget import SMALLEST_DELTA

Rule = Callable[[Any], bool]

_LARGEST_NUMBER = 10**300


LARGEST_COUNT = 10**12
"""Of records, steps and releases: more than any table, and few enough that nothing overflows."""


def _number(thing: Any) -> bool:
    if isinstance(thing, bool) or not isinstance(thing, int | float):
        return False
    # A whole number of hundreds of digits is no float.
    return abs(thing) <= _LARGEST_NUMBER if isinstance(thing, int) else math.isfinite(thing)


def _positive(thing: Any) -> bool:
    return _number(thing) and thing > 0


def _not_negative(thing: Any) -> bool:
    return _number(thing) and thing >= 0


def _text(thing: Any) -> bool:
    return isinstance(thing, str)


def _whole(at_least: int, at_most: int = LARGEST_COUNT) -> Rule:
    return lambda thing: isinstance(thing, int) and not isinstance(thing, bool) and at_least <= thing <= at_most


def _none_or(rule: Rule) -> Rule:
    return lambda thing: thing is None or rule(thing)


def _one_of(*values: str) -> Rule:
    return lambda thing: thing in values


def _scope(thing: Any) -> bool:
    return isinstance(thing, str) and re.fullmatch(r"all|disjoint phase [1-9][0-9]*", thing) is not None


def _sampling(thing: Any) -> bool:
    """Scheme, population, sample: what they may be is `Sampling`'s to say."""
    return isinstance(thing, Mapping) and set(thing) == {"scheme", "population", "sample"} and _text(thing["scheme"])


def _three_positive(thing: Any) -> bool:
    return isinstance(thing, list | tuple) and len(thing) == 3 and all(_positive(part) for part in thing)


def _pair_list(thing: Any) -> bool:
    """How many pairs, and in how many of them a record can be: what they may be is `PairList`'s to say."""
    return isinstance(thing, Mapping) and set(thing) == {"pairs", "most"} and all(map(_whole(1), thing.values()))


def _phases(thing: Any) -> bool:
    return isinstance(thing, list | tuple) and len(thing) > 0 and all(map(_phase, thing))


def _phase(thing: Any) -> bool:
    return (
        isinstance(thing, Mapping)
        and _whole(2)(thing.get("records"))
        and all(rule(thing[name]) for name, rule in _PUBLIC.items() if name in thing)
    )


def _private_bounds(thing: Any) -> bool:
    return (
        isinstance(thing, Mapping)
        and set(thing) - {"columns"} == {"share", "bins", "rounds"}
        and ("columns" not in thing or _columns(thing["columns"]))
        and _positive(thing["share"])
        and thing["share"] <= 1
        and _whole(2)(thing["bins"])
        and _whole(1)(thing["rounds"])
    )


def _columns(thing: Any) -> bool:
    return isinstance(thing, list | tuple) and len(thing) > 0 and all(map(_whole(0), thing))


def _log_odds_map(thing: Any) -> bool:
    return (
        isinstance(thing, Mapping)
        and set(thing) == {"slope", "shift"}
        and _positive(thing["slope"])
        and _number(thing["shift"])
    )


def _target_spread(thing: Any) -> bool:
    return (
        isinstance(thing, Mapping)
        and set(thing) == {"centre", "scale"}
        and _number(thing["centre"])
        and _positive(thing["scale"])
    )


def _list_of_text(thing: Any) -> bool:
    return isinstance(thing, list | tuple) and all(isinstance(line, str) for line in thing)


def _mapping(thing: Any) -> bool:
    return isinstance(thing, Mapping)


_TOP: dict[str, Rule] = {
    "schema": _text,
    "library": _text,
    "algorithm": _text,
    "citation": _text,
    "calibration": _one_of("tight", "paper"),
    "epsilon": _not_negative,
    "delta": lambda thing: _number(thing) and (thing == 0 or SMALLEST_DELTA <= thing < 1),
    "claimed_epsilon": _positive,
    "adjacency": _text,
    "n": _whole(2),
    "problem": _mapping,
    "mechanisms": lambda thing: isinstance(thing, list | tuple) and len(thing) > 0 and all(map(_mapping, thing)),
    "accountant": _mapping,
    "public": _mapping,
    "seeded": lambda thing: isinstance(thing, bool),
    "unit": _mapping,
    "warnings": _list_of_text,
}

_PROBLEM: dict[str, Rule] = {
    "task": _text,
    "surrogate": _text,
    "form": _text,
    "R": _positive,
    "radius": _none_or(_positive),
    "ridge": _not_negative,
    "c1": _none_or(_not_negative),
    "c2": _none_or(_not_negative),
}

_MECHANISM: dict[str, Rule] = {
    "kind": _text,
    "l2_sensitivity": _positive,
    "l1_sensitivity": _none_or(_positive),
    "sigma": _none_or(_positive),
    "scale": _none_or(_positive),
    "count": _whole(1),
    "lemma": _text,
    "sampling": _none_or(_sampling),
    "scope": _scope,
}

_DRAWN: dict[str, Rule] = {"noise": _text, "grid": _none_or(_positive), "error": _none_or(_not_negative)}
"""Of a mechanism too; older certificates do not say it."""

_PUBLIC: dict[str, Rule] = {
    "n_features": _whole(1),
    "steps": _whole(1),
    "batch": _none_or(_whole(1)),
    "step_size": _positive,
    "average_from": _whole(0),
    "weights": _three_positive,
    "phases": _phases,
    "private_bounds": _private_bounds,
    "pair_list": _pair_list,
    "intercept": lambda thing: isinstance(thing, Mapping) and _positive(thing.get("clip")),
    "found_event_share": lambda thing: _positive(thing) and thing < 1,
    "found_log_odds_map": _log_odds_map,
    "filled_weight": _positive,
    "found_targets": _target_spread,
    "found_error_cap": _positive,
    "domain_found_by_part": _whole(1),
    "index_seed": _whole(0, 2**63 - 1),
    "phase": _whole(1),
    "anchor_ridge": _not_negative,
    "stream": _mapping,
    "parameter_domain": _text,
    "own_parts": _list_of_text,
}
"""Planners may add other public numbers; these are the ones that a lemma is recomputed from or that probabilities
follow from. Disjoint phases state their own, one mapping each, with the number of their records."""


def check_fields(content: Any, schema: str) -> None:
    """Raise `PrivacyError` unless this is a certificate whose every field holds what it should."""
    if not isinstance(content, Mapping) or content.get("schema") != schema:
        raise not_a_certificate(
            schema, f"schema {content.get('schema') if isinstance(content, Mapping) else content!r}"
        )
    _check(content, _TOP, schema, "")
    _check(content["problem"], _PROBLEM, schema, "problem.")
    for index, mechanism in enumerate(content["mechanisms"]):
        drawn = _DRAWN if set(_DRAWN) & set(mechanism) else {}
        _check(mechanism, {**_MECHANISM, **drawn}, schema, f"mechanisms[{index}].")
    for name, rule in _PUBLIC.items():
        if name in content["public"] and not rule(content["public"][name]):
            raise not_a_certificate(schema, f"public.{name} = {_shown(content['public'][name])}")


def _check(content: Mapping[str, Any], rules: dict[str, Rule], schema: str, where: str) -> None:
    odd = sorted(set(content) ^ set(rules))
    if odd:
        raise not_a_certificate(schema, f"missing or unknown fields: {', '.join(where + name for name in odd)}")
    for name, rule in rules.items():
        if not rule(content[name]):
            raise not_a_certificate(schema, f"{where}{name} = {_shown(content[name])}")


def _shown(thing: Any) -> str:
    """What stands there, in a few words: a hostile file may hold a number of a thousand digits."""
    try:
        text = repr(thing)
    except (ValueError, RecursionError):
        return "something too long to print"
    return text if len(text) <= 200 else f"{text[:200]}..."


def not_a_certificate(schema: str, got: str) -> PrivacyError:
    """The error for anything that is no certificate."""
    return PrivacyError(f"a certificate needs the fields of {schema}", got, "Ask for the file that the fit wrote.")
