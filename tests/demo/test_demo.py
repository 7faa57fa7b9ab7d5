"""The demo tells the truth: public ranges, verified certificates, a page that stands alone."""

import json
import statistics
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from entrenous.demo import show
from entrenous.demo.breast_cancer import EPSILONS, WIDENING, number_of_fits, public_ranges, run_demo
from entrenous.errors import InputError
from entrenous.privacy.certificate import PrivacyCertificate
from entrenous.report import page as report

SPLITS = 2


class Counter:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1


class Outline(HTMLParser):
    """What a page is made of: its tags in order, attributes that may fetch something, and unbalanced tags."""

    VOID = frozenset({"meta", "link", "img", "br", "hr", "input", "path", "use", "rect"})

    def __init__(self, html):
        super().__init__()
        self.tags, self.fetched, self.ids, self.open = [], [], [], []
        self.headers_without_scope = 0
        self.text = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags.append(tag)
        self.fetched += [v for k, v in attrs if k in ("src", "srcset", "href", "xlink:href", "action", "data")]
        self.ids += [given["id"]] if "id" in given else []
        self.headers_without_scope += tag == "th" and "scope" not in given
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The demo as the command runs it, and the result that its files were written from."""
    out = tmp_path_factory.mktemp("demo") / "new folder"
    results = []
    original = show.run_demo
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(show, "run_demo", lambda *args: results.append(original(*args)) or results[-1])
        page = show.demo(out, SPLITS)
    return page, results[0]


def test_every_feature_has_a_range_and_a_reason():
    ranges = public_ranges()
    names = [str(name) for name in load_breast_cancer().feature_names]
    assert [feature.name for feature in ranges.features] == names
    for feature in ranges.features:
        assert feature.low < feature.high, feature.name
        assert len(feature.why) > 10, feature.name
        assert feature.unit, feature.name
    assert len(ranges.clip_why) > 10


def test_no_range_ends_at_an_extreme_of_the_data():
    X = load_breast_cancer().data
    for feature, column in zip(public_ranges().features, X.T, strict=True):
        for end in (feature.low, feature.high):
            # Nor at an extreme rounded to the three or four figures that descriptions of the data print.
            assert not np.isclose([column.min(), column.max()], end, rtol=2e-3, atol=1e-12).any(), feature.name


def test_standard_errors_follow_the_one_rule():
    """(range of worst) / 4 / sqrt(10), to two figures."""
    by_name = {feature.name: feature for feature in public_ranges().features}
    for name, feature in by_name.items():
        if name.endswith(" error"):
            worst = by_name["worst " + name.removesuffix(" error")]
            assert feature.high == pytest.approx((worst.high - worst.low) / 4 / 10**0.5, rel=0.03), name


def test_wider_ranges_keep_their_centre():
    ranges = public_ranges()
    bounds, wider = ranges.bounds(), ranges.bounds(WIDENING)
    np.testing.assert_allclose(wider.origin, bounds.origin)
    np.testing.assert_allclose(wider.unit, WIDENING * bounds.unit)
    assert bounds.low == tuple(feature.low for feature in ranges.features)


def test_run_demo_measures_every_level():
    counter = Counter()
    result = run_demo(SPLITS, counter)
    assert counter.calls == number_of_fits(SPLITS)
    assert tuple(outcome.epsilon for outcome in result.private) == EPSILONS
    assert result.train_rows + result.test_rows == 569
    for outcome in (*result.private, result.wider):
        assert len(outcome.aucs) == SPLITS
        assert all(0.0 <= auc <= 1.0 for auc in outcome.aucs)
        assert outcome.certificate.epsilon == outcome.epsilon
        assert not outcome.certificate.seeded
        outcome.certificate.verify()
    assert result.non_private.certificate is None
    assert result.non_private.noise_share == 0.0
    noise = [outcome.noise_share for outcome in result.private]
    assert noise[0] > noise[-1] > 0.0


def test_at_epsilon_1_privacy_costs_less_than_5_points(monkeypatch):
    # More splits than the demo, because the noise is never seeded: the mean must hold on any run.
    monkeypatch.setattr("entrenous.demo.breast_cancer.EPSILONS", (1.0,))
    result = run_demo(16)
    assert result.non_private.mean > 0.98
    assert result.cost_of_privacy < 0.05


def test_a_spread_needs_two_splits():
    with pytest.raises(InputError, match="two splits"):
        run_demo(1)


def test_page_stands_alone(shown):
    page, _ = shown
    html = page.read_text(encoding="utf-8")
    outline = Outline(html)
    assert outline.open == []
    assert not {"script", "link", "iframe", "object", "embed"} & set(outline.tags)
    assert all(target.startswith(("#", "data:")) for target in outline.fetched)
    assert "http" not in html
    assert "@import" not in html
    assert "url(" not in html.replace("url(#", "")


def test_page_is_accessible(shown):
    page, _ = shown
    html = page.read_text(encoding="utf-8")
    outline = Outline(html)
    assert outline.headers_without_scope == 0
    assert len(outline.ids) == len(set(outline.ids))
    assert outline.tags.count("svg") == html.count('role="img"') == outline.tags.count("desc") == 2
    assert outline.tags.count("h1") == 1


def test_page_says_what_was_measured(shown):
    page, result = shown
    outline = Outline(page.read_text(encoding="utf-8"))
    text = " ".join(" ".join(outline.text).split())
    for outcome in (*result.private, result.non_private, result.wider):
        assert f"{outcome.mean:.3f} ± {outcome.spread:.3f}" in text
    for feature in result.ranges.features:
        assert feature.name in text
        assert feature.why in text
    assert result.ranges.clip_why in text
    assert "used no bounds" in text
    assert "a release of its own that no certificate covers" in text
    assert '"schema": "entrenous-certificate/1"' in text
    assert not {"not valid", "seeded whoever"} & set(outline.text)


def test_results_file_agrees_with_the_table(shown):
    page, result = shown
    written = json.loads((page.parent / "results.json").read_text(encoding="utf-8"))
    cells = [list(column.cells) for column in show.results_table(result).columns]
    assert len(written["results"]) == len(cells[0]) == len(EPSILONS) + 1
    for entry, epsilon, auc, algorithm, _, status in zip(written["results"], *cells, strict=True):
        assert epsilon == ("no privacy" if entry["epsilon"] is None else f"{entry['epsilon']:g}")
        assert auc == f"{entry['auc']['mean']:.3f} ± {entry['auc']['sd']:.3f}"
        assert entry["auc"]["mean"] == pytest.approx(statistics.fmean(entry["auc"]["per_split"]))
        assert algorithm == entry["algorithm"]
        assert entry["certificate"] in status
        assert entry["certificate"] == ("none" if entry["epsilon"] is None else "verified")
    at_one = next(entry for entry in written["results"] if entry["epsilon"] == 1.0)
    lost = at_one["auc"]["mean"] - written["wider_ranges"]["auc"]["mean"]
    assert written["wider_ranges"]["auc_lost"] == pytest.approx(lost)
    PrivacyCertificate.from_dict(written["certificate"]).verify()


def test_a_false_certificate_is_shown_as_one(shown):
    _, result = shown
    true = result.shown.certificate
    false = replace(true, epsilon=true.epsilon / 2, algorithm="<script>alert(1)</script>")
    card = str(report.certificate_card(false))
    assert "not valid" in card
    assert '<span class="badge">verified</span>' not in card
    assert "<script" not in card
    assert '<span class="badge">verified</span>' in str(report.certificate_card(true))


def test_a_seeded_certificate_says_so(shown):
    _, result = shown
    assert "seeded</span>" in str(report.certificate_card(result.shown.certificate.as_seeded("repeatable")))


def test_curve_is_repeatable():
    points = [report.CurvePoint(1.0, (0.9, 0.95)), report.CurvePoint(0.1, (0.5, 0.7))]
    first, second = (report.privacy_curve_svg(points, 0.99, title="a < b", description="two points") for _ in range(2))
    assert first == second
    assert "a &lt; b" in first


def test_missing_libraries_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r'pip install "entrenous\[report\]"'):
        show.demo(tmp_path, SPLITS)


def test_import_of_the_library_leaves_the_demo_alone():
    code = (
        "import entrenous, sys; print([m for m in sys.modules if m.startswith(('entrenous.demo', 'entrenous.report'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_drawing_is_a_file_of_its_own(shown):
    root = ElementTree.parse(shown[0].parent / "privacy-curve.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert any("without privacy" in (text.text or "") for text in root.iter("{http://www.w3.org/2000/svg}text"))
