"""Plans as version 0.1.0 stored them, in the form of this version.

There a plan held a list of mechanisms beside its phases, a mechanism was one type with a kind, and the search for
bounds stood outside the phases. What the old lists claimed is not taken over: it follows from the phases again.
"""

from __future__ import annotations

from typing import Any

_KINDS = {
    "gaussian": ("Gaussian", "sigma"),
    "sampled-gaussian": ("SampledGaussian", "sigma"),
    "laplace": ("Laplace", "scale"),
    "l2-laplace": ("L2Laplace", "scale"),
}
_FIXED = {"Mahalanobis": ("threshold", 1.0), "ErrorDifference": ("target_width", 2.0)}
"""Settings that are fixed now; another value than this had kernels and constants that disagree."""
_RENAMED = {"LevelRelease": "InterceptRelease", "BoundsRelease": "FindBounds"}
_NOISE_FIELD = ("MomentRelease", "LevelRelease", "BoundsRelease")
"""Phases whose mechanism is now called `noise`."""
_REMARKS = ("constants", "beta", "assumed")


def upgraded(content: Any) -> Any:
    """The encoded plan in this version's form; what is no old plan comes back as it is, and is refused later."""
    content = _upgraded(content)
    if not (isinstance(content, dict) and content.get("type") == "Plan"):
        return content
    plan = dict(content)
    for gone in ("mechanisms", "public", "bounds_release"):
        plan.pop(gone, None)
    stated = content.get("public", {})
    items = stated.get("items", {}) if isinstance(stated, dict) else {}
    plan["remarks"] = {"type": "dict", "items": {key: items[key] for key in _REMARKS if key in items}}
    search = content.get("bounds_release")
    if search is not None:
        plan["phases"] = [{**search, "within": plan["features"]}, *plan["phases"]]
    return plan


def _upgraded(content: Any) -> Any:
    if isinstance(content, list):
        return [_upgraded(item) for item in content]
    if not isinstance(content, dict):
        return content
    kind = content.get("type")
    new = {key: _upgraded(value) for key, value in content.items()}
    if kind == "Mechanism" and content.get("kind") in _KINDS:
        return _mechanism(new)
    if kind in _FIXED and new.get(_FIXED[kind][0]) == _FIXED[kind][1]:
        new.pop(_FIXED[kind][0])
    if kind in _NOISE_FIELD:
        new["noise"] = new.pop("mechanism", None)
    if kind in _RENAMED:
        new["type"] = _RENAMED[kind]
    return new


def _mechanism(old: dict[str, Any]) -> dict[str, Any]:
    name, noise = _KINDS[old["kind"]]
    bound = {"type": "Bound", "value": old["l2_sensitivity"], "lemma": old["lemma"], "l1": old.get("l1_sensitivity")}
    new = {"type": name, "bound": bound, noise: old[noise], "count": old["count"], "scope": old["scope"]}
    return new if old.get("sampling") is None else {**new, "sampling": old["sampling"]}
