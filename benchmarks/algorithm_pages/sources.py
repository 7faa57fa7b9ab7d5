"""Functions of the library and of the tests, as they stand in their files."""

from __future__ import annotations

import ast
import textwrap
from functools import cache
from pathlib import Path

from algorithm_pages.words import AGAIN, ROOT, PageError

Definition = ast.FunctionDef | ast.ClassDef


def library_lines(name: str) -> str:
    """The source of ``module:function`` or ``module:Class.method``, without decorators and docstring."""
    return _lines(_module(name), name.partition(":")[2].split("."), decorated=False)


def library_link(name: str) -> str:
    """A link to the file of ``module:function``, from a page."""
    path = _module(name).relative_to(ROOT).as_posix()
    return f"[{path.removeprefix('src/entrenous/')}](../../{path})"


def lines_of_a_test(name: str) -> str:
    """The source of ``file::function`` under ``tests``, without its docstring."""
    return _lines(_test(name), [name.partition("::")[2]])


def link_to_a_test(name: str) -> str:
    """A link to the file of ``file::function``, from a page."""
    path = _test(name).relative_to(ROOT).as_posix()
    return f"[{path}](../../{path})"


def _module(name: str) -> Path:
    return ROOT / "src" / f"{name.partition(':')[0].replace('.', '/')}.py"


def _test(name: str) -> Path:
    return ROOT / "tests" / name.partition("::")[0]


@cache
def _tree(path: Path) -> tuple[ast.Module, list[str]]:
    text = path.read_text(encoding="utf-8")
    return ast.parse(text), text.splitlines()


def _lines(path: Path, names: list[str], *, decorated: bool = True) -> str:
    if not path.exists():
        raise PageError(f"a page shows {'.'.join(names)} of {path.relative_to(ROOT)}, which is not there. {AGAIN}")
    tree, lines = _tree(path)
    node: ast.Module | Definition = tree
    for name in names:
        inside = (each for each in node.body if isinstance(each, Definition) and each.name == name)
        found = next(inside, None)
        if found is None:
            raise PageError(f"a page shows {'.'.join(names)}, which {path.relative_to(ROOT)} has not. {AGAIN}")
        node = found
    assert isinstance(node, Definition)
    first = min([node.lineno, *(each.lineno for each in node.decorator_list if decorated)])
    kept = lines[first - 1 : node.end_lineno]
    if ast.get_docstring(node) is not None and len(node.body) > 1:
        said = node.body[0]
        assert said.end_lineno is not None
        kept = lines[first - 1 : said.lineno - 1] + lines[said.end_lineno : node.end_lineno]
    return textwrap.dedent("\n".join(kept)).strip("\n")
