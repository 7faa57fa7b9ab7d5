"""Errors and warnings as a person at a terminal wants them: short, no traceback."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from entrenous.errors import BudgetError, EntrenousError, PrivacyError, PrivacyWarning


@contextmanager
def clear_errors() -> Iterator[None]:
    """Print the library's errors and warnings and leave with exit code 2, or 1 where privacy is at stake."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        try:
            yield
        except EntrenousError as error:
            _say("error", typer.colors.RED, f"{error.needs}")
            typer.secho(f"  got      {error.got}", err=True)
            typer.secho(f"  way out  {error.way_out}", err=True)
            raise typer.Exit(1 if isinstance(error, PrivacyError | BudgetError) else 2) from None
        except ValueError as error:
            # scikit-learn's own checks of the table: the first line says it.
            _say("error", typer.colors.RED, str(error).splitlines()[0])
            raise typer.Exit(2) from None
        finally:
            for warning in caught:
                _say("warning", typer.colors.YELLOW, str(warning.message))


def _say(kind: str, colour: str, text: str) -> None:
    typer.secho(f"{kind}: ", fg=colour, bold=True, nl=False, err=True)
    typer.secho(text, err=True)
