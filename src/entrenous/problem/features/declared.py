"""From what a user declares as `bounds` to a feature domain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from entrenous.errors import InputError, PrivacyError
from entrenous.problem.features.box import FeatureBounds
from entrenous.problem.features.domain import FeatureDomain


def feature_domain_from(bounds: Any, n_features: int, names: Sequence[str] | None = None) -> FeatureDomain:
    """What the user declared as `bounds`, as a domain with one entry per feature.

    `bounds` is ``(low, high)`` with scalars, lists or arrays, a mapping from feature name to ``(low, high)``, a
    `FeatureBounds` or a `FeatureBall`.
    """
    if isinstance(bounds, Mapping):
        bounds = FeatureBounds.from_mapping(bounds)
    elif not isinstance(bounds, FeatureDomain):
        refuse_pairs(bounds, "bounds")
        if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
            raise InputError(
                "bounds must be (low, high), a mapping from feature name to (low, high), FeatureBounds, FeatureBall "
                "or PrivateBounds",
                repr(bounds),
                "Scalars or one number per feature: bounds=(0, 100) or bounds=([0, 40], [120, 250]).",
            )
        bounds = FeatureBounds(bounds[0], bounds[1])
    if isinstance(bounds, FeatureBounds) and bounds.names is not None:
        if names is None:
            if len(bounds.names) != n_features:
                raise InputError(
                    f"bounds need one range per feature ({n_features})",
                    f"{len(bounds.names)} named ranges and a table without column names",
                    "Pass a DataFrame, or bounds=(low, high) arrays in column order.",
                )
        else:
            bounds = bounds.reordered(names)
    domain: FeatureDomain = bounds.for_features(n_features)
    return domain


def refuse_pairs(given: Any, argument: str) -> None:
    """An error for a list of ``(low, high)`` pairs, one per feature.

    Of two features it has the shape of ``(low ends, high ends)`` and would be read as that, without a word. So two
    pairs of numbers are taken only as they are documented: a tuple of lists or arrays.
    """
    if not isinstance(given, list | tuple) or not given or not all(_is_pair(entry) for entry in given):
        return
    as_documented = isinstance(given, tuple) and not any(isinstance(entry, tuple) for entry in given)
    if len(given) == 2 and as_documented:
        return
    raise InputError(
        f"{argument} must be all low ends, then all high ends, or pairs by feature name",
        f"{len(given)} pairs, which may be one per feature: {given!r}",
        f'Write {argument}=([0, 0], [120, 1e5]), low ends and high ends, or {argument}={{"age": (0, 120), ...}}.',
    )


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, list | tuple | np.ndarray) and len(entry) == 2


def missing_bounds(what: str) -> PrivacyError:
    """The error every private entry point raises when no public domain was declared."""
    return PrivacyError(
        f"{what} needs public bounds on the features, because the noise is scaled to them",
        "bounds=None",
        'Declare what is known before looking at the data, e.g. bounds={"age": (0, 120), "bmi": (10, 70)}, '
        "bounds=(low, high) with scalars or arrays, or bounds=entrenous.FeatureBall(radius). "
        "If only loose ranges are known: bounds=entrenous.PrivateBounds(within=(low, high)). "
        "Rows outside are clipped. Never use X.min() and X.max(): they are private. "
        "For a fit without privacy set epsilon=None.",
    )
