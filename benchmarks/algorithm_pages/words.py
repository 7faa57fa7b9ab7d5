"""What a page says in words: one TOML file per algorithm, and one for the options that algorithms share."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import entrenous as en
from entrenous.planners.registry import Algorithm
from entrenous.registry import is_own

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "algorithms"
WORDS = Path(__file__).parent / "words"
AGAIN = "Then run `make pages`."


class PageError(Exception):
    """A page cannot be written: the message says what is missing and where it goes."""


@dataclass(frozen=True)
class Words:
    """What is said of one algorithm."""

    purpose: str
    source: str
    """Where in the paper it stands."""
    box: str
    time: str
    memory: str
    code: tuple[str, ...]
    """The lines that are it, beside the planner: ``module:name``, or a module that is linked only."""
    published: str
    """What figures the paper prints, and where."""
    transcription: tuple[str, ...] = ()
    """Functions of the tests that follow the box, as ``file::name``."""
    differs: tuple[str, ...] = ()
    printed: str = ""
    """The noise as printed; empty where the paper prints none."""
    theory: tuple[str, ...] = ()
    """Functions of `entrenous.theory`."""
    plan: dict[str, Any] = field(default_factory=dict)
    """Arguments of `entrenous.plan` that it cannot do without."""
    printed_options: dict[str, Any] = field(default_factory=dict)
    """Options without which the printed noise says nothing."""
    also_printed: dict[str, Any] = field(default_factory=dict)
    """Options of a second printed row, and its label."""
    table_1: dict[str, tuple[float, float]] = field(default_factory=dict)
    """AUC and its spread in Table 1 of Yang et al. 2021, NeurIPS, by data set."""
    slow_to_price: bool = False
    """Whether a larger table would keep the tests waiting."""
    options: dict[str, str] = field(default_factory=dict)
    """What an option says here, where it is not what it says elsewhere."""


@dataclass(frozen=True)
class OptionWords:
    """What is said of one option."""

    says: str
    unit: str
    none: str = ""
    """What ``None`` stands for, or leaving out an option that has no default."""
    argument: str = ""
    """The argument of `entrenous.plan` and of the estimators that sets it; empty: ``options={...}``."""


@dataclass(frozen=True)
class Argument:
    """An argument of `entrenous.plan` that all algorithms share."""

    name: str
    unit: str
    default: str
    says: str


def library_algorithms() -> list[Algorithm]:
    """Every algorithm of the library; one that a user registered has no page here."""
    return [record for record in en.algorithms() if not is_own(record.planner)]


def key_of(record: Algorithm) -> str:
    """The name of an algorithm's page: two that share a name are told apart by the task."""
    return f"{record.name}-{record.tasks[0]}" if record.joins else record.name


def words_of(record: Algorithm) -> Words:
    """What is said of an algorithm; an error that names the file where there is nothing."""
    return words_in(WORDS / "algorithms" / f"{key_of(record)}.toml")


@cache
def words_in(path: Path) -> Words:
    """The words of one file."""
    if not path.exists():
        raise PageError(f"the algorithm {path.stem} has no words. Write {path.relative_to(ROOT)}. {AGAIN}")
    stored = tomllib.loads(path.read_text(encoding="utf-8"))
    known = {each.name for each in fields(Words)}
    needed = {"purpose", "source", "box", "time", "memory", "code", "published"}
    if unknown := set(stored) - known:
        raise PageError(f"{path.name} has entries that no page shows: {', '.join(sorted(unknown))}. {AGAIN}")
    if missing := needed - set(stored):
        raise PageError(f"{path.name} lacks {', '.join(sorted(missing))}. {AGAIN}")
    return Words(**{name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()})


@cache
def option_words() -> dict[str, OptionWords]:
    """What is said of each option, by name."""
    stored = tomllib.loads((WORDS / "options.toml").read_text(encoding="utf-8"))
    return {name: OptionWords(**entry) for name, entry in stored.items()}


@cache
def shared_arguments() -> tuple[Argument, ...]:
    """The arguments that all algorithms share."""
    stored = tomllib.loads((WORDS / "arguments.toml").read_text(encoding="utf-8"))
    return tuple(Argument(name, **entry) for name, entry in stored.items())


@cache
def papers() -> dict[str, str]:
    """Authors, title and place of a paper, by how the registry cites it."""
    stored: dict[str, str] = tomllib.loads((WORDS / "papers.toml").read_text(encoding="utf-8"))
    return stored


@cache
def needs_in_words() -> dict[str, str]:
    """What each need of the registry asks for."""
    stored: dict[str, str] = tomllib.loads((WORDS / "needs.toml").read_text(encoding="utf-8"))
    return stored
