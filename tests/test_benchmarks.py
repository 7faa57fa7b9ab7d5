"""The benchmark scripts are not run here, but what they import has to exist, or nobody can repeat a figure."""

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.py"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_imports_what_the_library_has(name):
    tree = ast.parse((FOLDER / name).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    for node in imports:
        if (node.module or "").split(".")[0] == "entrenous":
            module = importlib.import_module(node.module)
            missing = [entry.name for entry in node.names if not _has(module, entry.name)]
            assert not missing, f"{node.module} has no {', '.join(missing)}"


def _has(module, name):
    return hasattr(module, name) or importlib.util.find_spec(f"{module.__name__}.{name}") is not None


def test_there_are_scripts():
    assert "engine.py" in SCRIPTS
