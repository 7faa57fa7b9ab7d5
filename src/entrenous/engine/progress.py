"""Who is told how far a run has come. Steps done and steps in all are public numbers; nothing else is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int], None]
"""Called with (steps done, steps in all)."""


def _silent(done: int, total: int) -> None:
    """Nobody asked."""


_listener: ContextVar[Progress] = ContextVar("listener", default=_silent)


def current_listener() -> Progress:
    """The listener of the innermost `progress_bar`, or one that does nothing."""
    return _listener.get()


@contextmanager
def progress_bar(description: str = "fitting") -> Iterator[None]:
    """Show a bar for every fit inside the block.

    ::

        with entrenous.progress_bar():
            clf.fit(X, y)
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        token = _listener.set(lambda done, total: bar.update(task, completed=done, total=total))
        try:
            yield
        finally:
            _listener.reset(token)
