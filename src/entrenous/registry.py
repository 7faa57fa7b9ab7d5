"""The classes that plans, files and certificates may name: the library's own, and those that a user registers.

Reading a file builds objects of these classes only, and a plan runs these only. A user registers a class with the same
decorators as the library does. Certificates then name it as the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from entrenous.errors import InputError

T = TypeVar("T")

_LIBRARY = "entrenous."
_PARTS: dict[str, type] = {}
_ESTIMATORS: dict[str, type] = {}


def part(kind: type[T]) -> type[T]:
    """Class decorator: this dataclass may stand in plans and files, under its own name.

    >>> from dataclasses import dataclass
    >>> @part
    ... @dataclass(frozen=True)
    ... class Example:
    ...     number: float = 1.0
    >>> part_named("Example") is Example
    True
    """
    return _add(_PARTS, kind)


def estimator(kind: type[T]) -> type[T]:
    """Class decorator: fitted estimators of this class can be saved and loaded."""
    return _add(_ESTIMATORS, kind)


def part_named(name: str) -> type:
    """The registered part of this name."""
    return _named(_PARTS, name, "part", load_library)


def estimator_named(name: str) -> Any:
    """The registered estimator of this name."""
    return _named(_ESTIMATORS, name, "estimator", _load_estimators)


def estimator_names() -> tuple[str, ...]:
    """Estimators that can be saved."""
    _load_estimators()
    return tuple(_ESTIMATORS)


def is_part(kind: type) -> bool:
    """Whether exactly this class is registered: a subclass of a registered class does not count."""
    return _PARTS.get(kind.__name__) is kind


def is_estimator(kind: type) -> bool:
    """Whether exactly this class can be saved."""
    return _ESTIMATORS.get(kind.__name__) is kind


def is_own(kind: Any) -> bool:
    """Whether a class or function is the user's own, that is, defined outside this library."""
    return not str(kind.__module__).startswith(_LIBRARY)


def own_among(kinds: Iterable[type]) -> set[type]:
    """Those of the classes that are the user's own."""
    return {kind for kind in kinds if is_own(kind)}


def parts_of(base: type[T]) -> Iterator[type[T]]:
    """All registered parts of one kind."""
    return (kind for kind in _PARTS.values() if issubclass(kind, base))


@cache
def load_library() -> None:
    """Import every module of the library that registers something.

    Low rooms read files that may name parts of higher rooms. Those modules are imported here by their names, as
    plug-ins are, so that no low room has to import a higher one.
    """
    _import_all(
        "entrenous.problem.features",
        "entrenous.problem.tasks",
        "entrenous.privacy.lemmas",
        "entrenous.privacy.mechanisms",
        "entrenous.engine.phases",
        "entrenous.planners",
    )


@cache
def _load_estimators() -> None:
    _import_all("entrenous.estimators")


def _import_all(*packages: str) -> None:
    for package in packages:
        for module in iter_modules(import_module(package).__path__):
            import_module(f"{package}.{module.name}")


def late(module: str, name: str) -> Callable[..., Any]:
    """A function of a higher room, imported when it is called: for methods that print or draw an object."""
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def _add(kinds: dict[str, type], kind: type[T]) -> type[T]:
    known = kinds.get(kind.__name__)
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise InputError(
            "a registered class needs a name of its own",
            f"{kind.__name__}, which {known.__module__} has registered",
            "Choose another name.",
        )
    kinds[kind.__name__] = kind
    return kind


def _named(kinds: dict[str, type], name: str, what: str, load: Callable[[], None]) -> type:
    if name not in kinds:
        load()
    try:
        return kinds[name]
    except (KeyError, TypeError):
        raise InputError(
            f"a stored {what} must be the library's own or registered in this process",
            f"{name!r}, which is neither",
            "Import the module that registers it, then try again.",
        ) from None
