"""The compiled loops with a slope of the user's own in the place of the library's."""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

from numba import jit, njit

from entrenous.engine.pairs.surrogate_kernels import is_compiled
from entrenous.errors import InputError
from entrenous.problem.pair_scores import ErrorDifference, LinearDifference, Mahalanobis, Score
from entrenous.problem.point_scores import Residual, SignedScore
from entrenous.problem.surrogates.base import Function, Surrogate, base_of
from entrenous.problem.surrogates.own import compiled


def with_slope_of(surrogate: Surrogate, kernel: Any) -> Any:
    """The kernel itself for a surrogate of the library; for one of the user's own, the same code with its slope."""
    base = base_of(surrogate)
    return kernel if is_compiled(base) else _with_slope(kernel, _slope_of(base))


@cache
def _slope_of(surrogate: Surrogate) -> Function:
    """Its slope as a function of one number: the same one every time, so that loops are compiled once."""
    return surrogate.scalar_functions[1]


def need_compiled_loop(score: Score) -> None:
    """An error where no compiled loop knows the score. Exact types: a subclass may define another margin."""
    if type(score) not in (LinearDifference, Mahalanobis, ErrorDifference, SignedScore, Residual):
        raise InputError(
            "an algorithm that takes pairs one by one needs a score of the library",
            f"{type(score).__name__}, a score of your own",
            "Use an algorithm over all pairs, such as noisy-gd.",
        )


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
