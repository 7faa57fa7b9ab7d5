"""Tables that a script writes into a page, between the marks ``<!-- name -->`` and ``<!-- end of name -->``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def fill(page: Path, blocks: Mapping[str, str]) -> None:
    """Put each block between its marks; a page may have some of them only."""
    text = page.read_text(encoding="utf-8")
    for name, block in blocks.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if start in text:
            text = text.split(start)[0] + start + block + end + text.split(end)[1]
    page.write_text(text, encoding="utf-8")
