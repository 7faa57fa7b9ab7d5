"""The options of an algorithm with their units: names and defaults from its planner, the rest from words."""

from __future__ import annotations

import inspect
from typing import Any

from algorithm_pages.words import AGAIN, OptionWords, PageError, key_of, library_algorithms, option_words, words_of
from entrenous.planners.registry import Algorithm

HEADER = "| option | unit | default | what it does |\n|---|---|---|---|\n"


def options_of(record: Algorithm) -> str:
    """The table of one algorithm."""
    if not record.options:
        return "It has none of its own.\n"
    return HEADER + "".join(_row(record, name) for name in record.options)


def all_options() -> str:
    """Every option once, with the algorithms that have it."""
    lines = ["| option | unit | what it does | algorithms |", "|---|---|---|---|"]
    names = {name for record in library_algorithms() for name in record.options}
    for name in sorted(names, key=lambda name: described(name).argument or name):
        entry = described(name)
        having = [key_of(record) for record in library_algorithms() if name in record.options]
        links = ", ".join(f"[{key}]({key}.md)" for key in having)
        lines.append(f"| {written(name, entry)} | {entry.unit} | {entry.says} | {links} |")
    return "\n".join(lines) + "\n"


def described(name: str) -> OptionWords:
    """What is said of an option; an error that names the file where there is nothing."""
    if name not in option_words():
        raise PageError(
            f"the option {name} is not described. Add it to benchmarks/algorithm_pages/words/options.toml. {AGAIN}"
        )
    return option_words()[name]


def written(name: str, entry: OptionWords) -> str:
    """How a user writes it."""
    return f"`{entry.argument}=`" if entry.argument else f'`options={{"{name}": ...}}`'


def _row(record: Algorithm, name: str) -> str:
    entry = described(name)
    says = words_of(record).options.get(name, entry.says)
    default = inspect.signature(record.planner).parameters[name].default
    return f"| {written(name, entry)} | {entry.unit} | {_default(name, default, entry)} | {says} |\n"


def _default(name: str, value: Any, entry: OptionWords) -> str:
    if value is inspect.Parameter.empty or value is None:
        if not entry.none:
            raise PageError(
                f"the option {name} may be None. Say what that stands for: none = ... in words/options.toml. {AGAIN}"
            )
        return entry.none if value is inspect.Parameter.empty else f"`None`: {entry.none}"
    return f"`{value!r}`".replace("'", '"')
