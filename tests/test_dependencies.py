"""What is imported is declared: what another package happens to bring along may be gone with its next release."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMES = {"sklearn": "scikit-learn", "dp_accounting": "dp-accounting"}
"""Distributions that are not called as what is imported from them."""


def imported(folder):
    """Top-level packages that the files of a folder import, anywhere in them."""
    found = set()
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.split(".")[0])
    ours = {path.stem for place in ("tests", "benchmarks") for path in (ROOT / place).rglob("*")} | {"entrenous"}
    return {NAMES.get(name, name) for name in found - ours - sys.stdlib_module_names}


def declared(*extras):
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    assert all(re.search(r">=\d", line) for line in lines if not line.startswith("entrenous"))
    return {re.match(r"[\w-]+", line)[0] for line in lines}


@pytest.mark.parametrize(
    ("folder", "extras"), [("src", ["files", "report", "onnx", "ledger"]), ("tests", ["postgresql", "dev"])]
)
def test_what_is_imported_is_declared(folder, extras):
    known = declared("files", "report", "onnx", "ledger", *extras)
    assert imported(folder) - known == set()


def test_a_pin_is_of_something_declared_and_not_below_its_bound():
    """`pyparsing` is pinned for the oldest matplotlib alone."""
    lines = [*PROJECT["dependencies"], *(line for extra in PROJECT["optional-dependencies"].values() for line in extra)]
    bounds = dict(re.match(r"([\w-]+)>=([\d.]+)", line).groups() for line in lines if ">=" in line)
    pins = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "oldest.txt").read_text(encoding="utf-8"), re.MULTILINE))
    for name in pins.keys() - {"pyparsing"}:
        pinned, bound = ([int(part) for part in version.split(".")] for version in (pins[name], bounds[name]))
        assert pinned[: len(bound)] == bound, name
