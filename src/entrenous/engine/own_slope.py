"""The compiled loops with a slope of the user's own in the place of the library's."""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

from numba import jit, njit

from entrenous.parts.own_surrogate import Function, OwnSurrogate, compiled
from entrenous.parts.surrogates import Surrogate, base_of


def with_slope_of(surrogate: Surrogate, kernel: Any) -> Any:
    """The kernel itself for a surrogate of the library; for one of the user's own, the same code with its slope."""
    base = base_of(surrogate)
    return _with_slope(kernel, base.derivative_of) if isinstance(base, OwnSurrogate) else kernel


@cache
def _with_slope(kernel: Any, derivative: Function) -> Any:
    """A kernel's Python code in which `slope` is another function; without a compiler, what it calls is Python too."""
    scalar = compiled(derivative)
    function = (lambda t: derivative(float(t))) if scalar is None else scalar

    def slope(code: int, parameter: float, inner: float, outer: float, t: float) -> float:
        return outer * inner * function(inner * t)

    source = kernel.py_func
    names: dict[str, Any] = {"slope": slope, "hint_row": _no_hint} if scalar is None else {"slope": njit(slope)}
    made = FunctionType(
        source.__code__, source.__globals__ | names, source.__name__, source.__defaults__, source.__closure__
    )
    return made if scalar is None else jit(**kernel.targetoptions)(made)


def _no_hint(table: Any, row: int) -> None:
    """Python has no word for it."""
