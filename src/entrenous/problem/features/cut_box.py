"""A box cut by an ellipsoid with a centre and axes of its own: what standardising finds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from entrenous.arrays import Array
from entrenous.errors import InputError
from entrenous.problem.features.domain import FeatureDomain
from entrenous.registry import part


@part
@dataclass(frozen=True)
class CutBox(FeatureDomain):
    """Entries from `low` to `high`, then ``||(x - center) / axes|| <= 1``; an axis of 0 is a public constant.

    >>> CutBox((0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.5, 2.0)).to_internal(np.array([[9.0, 0.5]])).tolist()
    [[1.0, 0.0]]
    """

    kind: ClassVar[str] = "cut box"

    low: tuple[float, ...]
    high: tuple[float, ...]
    center: tuple[float, ...]
    axes: tuple[float, ...]
    names: tuple[str, ...] | None = None
    binary: tuple[int, ...] = ()
    """Numbers of the features that were declared 0/1."""

    def __post_init__(self) -> None:
        sides = {name: np.asarray(getattr(self, name), dtype=float) for name in ("low", "high", "center", "axes")}
        sizes = {side.shape for side in sides.values()}
        finite = all(np.isfinite(side).all() for side in sides.values())
        if len(sizes) != 1 or sides["low"].ndim != 1 or not sides["low"].size or not finite:
            raise InputError(f"a {self.kind} needs four finite numbers per feature", "others", "Give one of each.")
        if (sides["low"] > sides["high"]).any() or (sides["axes"] < 0.0).any():
            raise InputError(f"a {self.kind} needs low <= high and axes >= 0", "others", "Swap the ends.")
        for name, side in sides.items():
            object.__setattr__(self, name, tuple(side.tolist()))
        if not all(isinstance(j, int) and 0 <= j < sides["low"].size for j in self.binary):
            raise InputError("binary must be numbers of features", repr(self.binary), "Count from 0.")
        object.__setattr__(self, "binary", tuple(self.binary))

    @staticmethod
    def inside(domain: FeatureDomain, low: Array, high: Array, center: Array, axes: Array) -> CutBox:
        """The columns of a domain, with their names and what is declared of them, in other numbers."""
        sides = {"low": low, "high": high, "center": center, "axes": axes}
        numbers: dict[str, Any] = {name: tuple(side.tolist()) for name, side in sides.items()}
        binary = tuple(np.flatnonzero(domain.is_binary).tolist())
        return CutBox(**numbers, names=getattr(domain, "names", None), binary=binary)

    def for_features(self, n_features: int) -> CutBox:
        if len(self.low) != n_features:
            raise InputError(
                f"bounds need one range per feature ({n_features})", str(len(self.low)), "Match the table."
            )
        return self

    @property
    def origin(self) -> Array:
        return np.array(self.center)

    @property
    def unit(self) -> Array:
        return np.array(self.axes)

    @property
    def is_binary(self) -> npt.NDArray[np.bool_]:
        flags = np.zeros(len(self.low), dtype=bool)
        flags[list(self.binary)] = True
        return flags

    def ends(self) -> tuple[Array, Array]:
        return np.array(self.low), np.array(self.high)

    def public_numbers(self) -> dict[str, Any]:
        numbers = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "binary"}
        return {"kind": self.kind, **numbers, **({"binary": self.binary} if self.binary else {})}
