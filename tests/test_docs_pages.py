"""The pages: their Python runs, their links lead somewhere, their figures are on file, every pitfall is complete."""

import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
over_pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))


@over_pages
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(page), "exec"), namespace)


@over_pages
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / link).exists(), link


def test_every_pitfall_has_a_severity_and_three_parts():
    text = (DOCS / "pitfalls.md").read_text(encoding="utf-8")
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)[1:]
    pitfalls = dict(zip(parts[::2], parts[1::2], strict=True))
    assert len(pitfalls) > 20
    for heading, body in pitfalls.items():
        assert re.search(r" \((critical|high|medium|low)\)$", heading), heading
        # Lines are filled, so a phrase may be broken.
        words = " ".join(body.split())
        for part in ("*What goes wrong.*", "*How to see it.*", "*The way out.*"):
            assert part in words, (heading, part)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name.startswith("from-")], ids=lambda page: page.name)
def test_rows_of_migration_tables_are_whole(page):
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert len(rows) > 10
    assert {line.count("|") for line in rows} == {4}


def test_the_metrics_figures_are_the_ones_on_file():
    page = (DOCS / "estimators/mahalanobis.md").read_text(encoding="utf-8")
    results = json.loads((DOCS.parent / "benchmarks/results/metric.json").read_text())["results"]
    for title, rows in results.items():
        shown = "".join(f"| {name} | {row['mean']:.3f} | {row['sd']:.3f} |\n" for name, row in rows.items())
        assert f"| {title} | mean | sd |\n|---|---|---|\n{shown}" in page


def test_the_figures_of_found_ranges_are_the_ones_on_file():
    page = (DOCS / "private-ranges.md").read_text(encoding="utf-8")
    results = json.loads((DOCS.parent / "benchmarks/results/private_bounds.json").read_text())["results"]
    for algorithm, by_epsilon in results.items():
        for epsilon, row in by_epsilon.items():
            for key, words in (("1x", "clinical"), ("10x", "10 times as wide"), ("100x", "100 times as wide")):
                alone, found = (row[key][way]["auc"] for way in ("declared alone", "PrivateBounds"))
                line = f"| {algorithm} | {float(epsilon):g} | {words} | {alone:.3f} | {found:.3f} |"
                assert line in page
    best = [by_epsilon["1.0"]["clinical ranges and radius declared"]["auc"] for by_epsilon in results.values()]
    assert f"({best[0]:.3f} and {best[1]:.3f} at epsilon 1)" in page


def test_the_figures_of_large_tables_are_the_ones_on_file():
    page = (DOCS / "large-tables.md").read_text(encoding="utf-8")
    results = json.loads((DOCS.parent / "benchmarks/results/scale.json").read_text())["results"]
    for title, row in results["whole"].items():
        size = f"{row['rows']:,} x {row['features']} | {row['steps']} | {row['seconds']:.1f}"
        assert f"| {title} | {size} | {row['peak_over_input']:.2f} | {row['test_auc']:.3f} |" in page
    for title, row in results["chunked"].items():
        assert f"| {title} | {row['seconds']:.1f} | {row['peak_MB']:.1f} |" in page
