"""Exact noise in long form: ten million draws of each law and scale against its probabilities, by chi-square.

Writes the part ``noise`` of ``results/trust.json`` and the table of ``docs/proofs.md``. Run with ``make trust``.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from marked_blocks import fill  # noqa: E402
from noise_laws import LEAST_P, laplace_cdf, normal_cdf, p_of_low_bits, p_value, seeded_words  # noqa: E402

import entrenous as en  # noqa: E402
from entrenous.arrays import Codes  # noqa: E402
from entrenous.privacy.exact_laplace import rounded_laplaces  # noqa: E402
from entrenous.privacy.exact_normal import rounded_normals  # noqa: E402

RESULTS = HERE / "results" / "trust.json"
PAGE = HERE.parent / "docs" / "proofs.md"
DRAWS = 10_000_000
AT_ONCE = 1_000_000
SCALES = (1, 3, 100, 2**30)
FULL = 2**30
"""The scale from which on the last digits are looked at too: that of releases."""
WRONG = (101, 100)
"""Drawn at the first, held against the second."""
LAWS: dict[str, tuple[Callable[..., Codes], Callable[[Any], Any], Any]] = {
    "normal": (rounded_normals, normal_cdf, stats.norm),
    "laplace": (rounded_laplaces, laplace_cdf, stats.laplace),
}


def drawn(law: str, scale: int, seed: int) -> Codes:
    """All draws of one seed."""
    words = seeded_words(seed)
    return np.concatenate([LAWS[law][0](scale, AT_ONCE, words) for _ in range(DRAWS // AT_ONCE)])


def edges(law: str, scale: int) -> list[int]:
    """Whole numbers near 255 quantiles; as many as differ. Cells of small scales have unequal, known probabilities."""
    quantiles = LAWS[law][2].ppf(np.arange(1, 256) / 256.0)
    return sorted({round(float(scale * z)) for z in quantiles} | {round(scale * z) for z in (-4.0, 4.0)})


def measured(law: str, seed: int) -> dict[str, Any]:
    """Every scale of one law, then a scale that is 1 % off."""
    cdf, rows = LAWS[law][1], []
    for k, scale in enumerate(SCALES):
        draws, cuts = drawn(law, scale, seed + k), edges(law, scale)
        found: dict[str, Any] = {"scale": scale, "draws": len(draws), "seed": seed + k, "cells": len(cuts) + 1}
        found["p"] = p_value(draws, cdf, scale, cuts)
        found["p_of_low_bits"] = p_of_low_bits(draws) if scale == FULL else None
        rows.append(found)
    true, wrong = WRONG
    draws, cuts = drawn(law, true, seed + len(SCALES)), edges(law, wrong)
    off = {"drawn_at": true, "held_against": wrong, "draws": len(draws), "seed": seed + len(SCALES)}
    return {"rows": rows, "off": {**off, "p": p_value(draws, cdf, wrong, cuts)}}


def failures(found: dict[str, Any]) -> list[str]:
    """What is not as it should be."""
    bad = []
    for law, one in found.items():
        for row in one["rows"]:
            asked = ("p", "p_of_low_bits") if row["scale"] == FULL else ("p",)
            bad += [f"{law} at {row['scale']}: {key}" for key in asked if not row[key] > LEAST_P]
        if not one["off"]["p"] < LEAST_P:
            bad.append(f"{law}: a scale 1 % off was not caught")
    return bad


def table(found: dict[str, Any]) -> str:
    """What the page shows."""
    lines = ["| law | scale | draws | cells | p | p of the last six digits |", "|---|---|---|---|---|---|"]
    for law, one in found.items():
        for row in one["rows"]:
            low = "" if row["p_of_low_bits"] is None else f"{row['p_of_low_bits']:.2f}"
            scale = "2^30" if row["scale"] == FULL else row["scale"]
            lines.append(f"| {law} | {scale} | {row['draws']:,} | {row['cells']} | {row['p']:.2f} | {low} |")
        off = one["off"]
        held = f"{off['drawn_at']}, held against {off['held_against']}"
        lines.append(f"| {law} | {held} | {off['draws']:,} | | below 1e-6: caught | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, write, and put the table into the page."""
    found = {law: measured(law, 1000 * (k + 1)) for k, law in enumerate(LAWS)}
    content = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    setting = {"library": en.__version__, "python": platform.python_version(), "machine": platform.machine()}
    content["noise"] = {"setting": setting, "threshold": LEAST_P, "results": found}
    RESULTS.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    bad = failures(found)
    if bad:
        raise SystemExit("exact noise does not have its law: " + ", ".join(bad))
    print(table(found))
    fill(PAGE, {"trust of the noise": table(found)})


if __name__ == "__main__":
    main()
