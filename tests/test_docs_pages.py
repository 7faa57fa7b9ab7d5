"""The documentation's code runs: every python block of a page, in order, in one namespace."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = {
    str(page.relative_to(ROOT)): re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for page in sorted((ROOT / "docs").rglob("*.md"))
}


@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks])
def test_its_python_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in BLOCKS[page]:
        exec(compile(block, page, "exec"), namespace)


@pytest.mark.parametrize("page", BLOCKS)
def test_its_links_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:\s]+)\)", text):
        assert (ROOT / page).parent.joinpath(link).exists(), link


def test_the_metrics_figures_are_the_ones_on_file():
    page = (ROOT / "docs/estimators/mahalanobis.md").read_text(encoding="utf-8")
    for title, rows in json.loads((ROOT / "benchmarks/results/metric.json").read_text())["results"].items():
        shown = "".join(f"| {name} | {row['mean']:.3f} | {row['sd']:.3f} |\n" for name, row in rows.items())
        assert f"| {title} | mean | sd |\n|---|---|---|\n{shown}" in page
