"""Write every page of ``docs/algorithms``, and take away those of algorithms that are no more."""

from __future__ import annotations

from algorithm_pages.algorithm_page import page
from algorithm_pages.index import index
from algorithm_pages.words import FOLDER, key_of, library_algorithms


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts = {f"{key_of(record)}.md": page(record) for record in library_algorithms()}
    texts["README.md"] = index()
    for path in FOLDER.glob("*.md"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(texts)} pages in docs/algorithms")


if __name__ == "__main__":
    main()
