"""The figures of docs/why-it-works.md: each block of the page is written from the results on file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from marked_blocks import fill
from why_it_works_measures import PARTS, STEPS, UNITS, WITHOUT_PRIVACY

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "why-it-works.md"
SIDE_BY_SIDE = Path(__file__).parent / "results" / "side_by_side.json"

Content = dict[str, Any]
PAIRS = [name for name in UNITS if name.startswith("pairs")]


def table(heading: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = list(heading)
    lines = [head, ["---"] * len(head), *(list(row) for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def two_digits(ratio: float) -> str:
    """At least two digits, never as a power of ten."""
    return f"{ratio:.2g}" if ratio < 100.0 else f"{ratio:.0f}"


def auc(found: dict[str, Any]) -> str:
    """Mean and standard error."""
    return f"{found['auc']:.3f} ± {found['se']:.3f}"


def steps(content: Content) -> str:
    """Every step on both sets."""
    by_set = content["steps"]
    heading = ["fit", *(f"{name}: AUC" for name in by_set), *(f"{name}: noise : signal" for name in by_set)]
    rows = [
        [name, *(auc(found[name]) for found in by_set.values()), *(_ratio(found[name]) for found in by_set.values())]
        for name in (*STEPS, WITHOUT_PRIVACY)
    ]
    return table(heading, rows)


def _ratio(found: dict[str, Any]) -> str:
    return two_digits(found["noise_to_signal"]) if "noise_to_signal" in found else ""


def printed(content: Content) -> str:
    """What printed noise gives and how much of it is needed."""
    real = content["promises"]["real"]
    at = content["promises"]["claimed"].index(content["epsilon"])
    lines = [f"- {name}: epsilon {values[at]:.2f} in place of {content['epsilon']:g}" for name, values in real.items()]
    for name, found in content["steps"].items():
        ratios = " and ".join(
            f"{found[f'{algorithm}, printed noise']['noise_in_needed']:.1f} ({algorithm})"
            for algorithm in ("dpgdsc", "dpgdc2")
        )
        lines.append(f"- times the noise that epsilon = {content['epsilon']:g} asks for on {name}: {ratios}")
        # The paper's bound for any loss is 4G/n; Lemma 2 has 2G/n for a ranking in the paper's form.
        general = found["dpgdc2, printed noise"]["noise_in_needed"] / 2.0
        lines.append(f"- the same of dpgdc2 on {name}, were the paper's general bound reached: {general:.3f}")
    return "\n".join(lines) + "\n"


def gradients(content: Content) -> str:
    """Noise on each gradient of noisy-gd and on all of them, and what one exact gradient would rank."""
    lines = []
    for name, way in content["along_the_way"].items():
        first, last, steps = way["sums_of_gradients"][0], way["sums_of_gradients"][-1], len(way["sums_of_gradients"])
        lines.append(
            f"- {name}: {steps} steps. The noise on the first gradient is {way['noise'] / first:.1f} times as long as "
            f"the gradient; the noise of all steps together is {steps**0.5 * way['noise'] / last:.2f} times as long as "
            f"all gradients together, which are {last / first:.1f} times as long as the first. "
            f"AUC of the first gradient alone, without noise: {auc(way['first_gradient'])}."
        )
    return "\n".join(lines) + "\n"


def pairs_and_single(content: Content) -> str:
    """The same descent over pairs and over single records, in both kinds of units."""
    heading = ["set", "ranges", "noise : signal, pairs", "single"]
    heading += ["AUC: pairs", "pairs, best of 3 lengths", "single records", "single records, class weights"]
    rows = []
    for name, found in content["parts"].items():
        for place in ("declared", "found"):
            pairs, single = found[f"pairs, {place}"], found[f"single, {place}"]
            best = max((found[f"{kind}, {place}"] for kind in PAIRS), key=lambda one: one["auc"])
            weighted = found[f"single, class weights, {place}"]
            rows.append([name, place, _ratio(pairs), _ratio(single), *map(auc, (pairs, best, single, weighted))])
    return table(heading, rows)


def free(content: Content) -> str:
    """Logistic loss over pairs and single records without privacy."""
    rows = [
        [name, f"{found['pairs']['auc']:.4f}", *(_beside_pairs(found[kind]) for kind in ("single", "weighted"))]
        for name, found in content["without_privacy"].items()
    ]
    return table(["set", "all pairs", "single records", "single records, classes weigh the same"], rows)


def _beside_pairs(found: dict[str, Any]) -> str:
    less = found["less_pairs"]
    return f"{found['auc']:.4f} ({less['auc']:+.4f} ± {less['se']:.4f})"


def rows_inside(content: Content) -> str:
    """Medians of the distances, and the columns' spread."""
    rows = [
        [name, f"{found['centre']['median']:.2f}", f"{found['mean']['median']:.2f}", f"{found['spread']:.2f}"]
        for name, found in content["rows"].items()
    ]
    return table(
        ["set", "from the centre of the ranges", "from the mean row", "spread of a column, in half-widths"], rows
    )


def gone(content: Content) -> str:
    """How much of the noise beside the signal goes away with the geometry."""
    lines = []
    for name, found in content["steps"].items():
        start, zoomed, end = (
            found[step]["noise_to_signal"] for step in ("single records", "single records, zoom", "the default")
        )
        ran = "Zoom" in found["the default"]["stages"]
        zoom = f"zooming takes {1 - zoomed / start:.0%} of it away, " if ran else "zooming does not run, "
        lines.append(f"- {name}: {zoom}all stages together {1 - end / start:.0%}")
    return "\n".join(lines) + "\n"


def zooming(content: Content) -> str:
    """With and without zooming, in ranges of several widths."""
    rows = [
        [name, wider, auc(one["no zoom"]), auc(one["zoom"])]
        for name, found in content["zoom"].items()
        for wider, one in found.items()
    ]
    return table(["set", "times as wide as declared", "no zoom", "zoom"], rows)


def parts(content: Content) -> str:
    """The default in NumPy with one part left out, on every set where it was tried."""
    found = content["parts"]
    heading = ["", *found]
    return table(heading, [[name, *(auc(one[name]) for one in found.values())] for name in PARTS])


def sigmoid(content: Content) -> str:
    """What the sigmoid over pairs reaches without privacy, from the comparison with other libraries."""
    stored = json.loads(SIDE_BY_SIDE.read_text(encoding="utf-8"))["data"]
    methods = ("LogisticRegression", "entrenous, logistic", "entrenous, sigmoid")
    rows = [[name, *(f"{one['results'][method]['auc']:.4f}" for method in methods)] for name, one in stored.items()]
    return table(["set", "logistic, single records", "logistic over pairs", "sigmoid over pairs"], rows)


def wild_rows(content: Content) -> str:
    """AUC with and without rows that were moved out and relabelled."""
    found = content["outliers"]
    first = next(iter(found.values()))
    kinds = [name.removesuffix(", clean") for name in first if name.endswith(", clean")]
    heading = ["", *(f"{name}, {state}" for name in found for state in ("clean", "spoilt"))]
    rows = [
        [kind, *(auc(one[f"{kind}, {state}"]) for one in found.values() for state in ("clean", "spoilt"))]
        for kind in kinds
    ]
    words = (
        f"{first['share']:.0%} of the training rows made {first['factor']:g} times as long, with the other label.\n\n"
    )
    return words + table(heading, rows)


def circumstances(content: Content) -> str:
    """Sizes of the sets, the library, numbers of fits."""
    fits = {name: sorted({one["fits"] for one in found.values()}) for name, found in content["steps"].items()}
    lines = [f"- {content['library']}; epsilon = {content['epsilon']:g}, delta = 1/n², four rows in five to learn from"]
    for name, numbers in fits.items():
        lines.append(f"- fits on {name} for each line of the first table: {' or '.join(str(k) for k in numbers)}")
    lines += [
        f"- {name}: {one['rows']:,} x {one['columns']}, {one['binary']} of the columns 0/1, {one['events']:.0%} events"
        for name, one in content["sets"].items()
    ]
    return "\n".join(lines) + "\n"


BLOCKS: dict[str, Callable[[Content], str]] = {
    "steps": steps,
    "printed": printed,
    "gradients": gradients,
    "pairs and single": pairs_and_single,
    "without privacy": free,
    "rows": rows_inside,
    "gone": gone,
    "zoom": zooming,
    "parts": parts,
    "sigmoid": sigmoid,
    "outliers": wild_rows,
    "circumstances": circumstances,
}


def write_page(content: Content) -> None:
    """Put what is measured between its marks."""
    fill(PAGE, {name: block(content) for name, block in BLOCKS.items()})
