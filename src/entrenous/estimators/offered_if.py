"""Methods that only some models have: where one is missing, the error says why and what has it."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any


class _Offered:
    """A method that stands on the class, and on an instance only if nothing speaks against it.

    scikit-learn's `available_if` does the same, but puts a text of its own before the reason, which is then shown as
    the cause of the error only.
    """

    def __init__(self, method: Callable[..., Any], obstacle: Callable[[Any], str | None]) -> None:
        self._method, self._obstacle = method, obstacle
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self._method
        reason = self._obstacle(instance)
        if reason is not None:
            # An AttributeError, so that `hasattr` is False.
            raise AttributeError(f"{type(instance).__name__} has no {self._method.__name__} here: {reason}")
        return MethodType(self._method, instance)


def offered_if(obstacle: Callable[[Any], str | None]) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a method: `obstacle` tells of an instance why it lacks the method; ``None``: it has it."""

    def offered(method: Callable[..., Any]) -> _Offered:
        return _Offered(method, obstacle)

    return offered
