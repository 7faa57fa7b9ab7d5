"""scikit-learn's checks of tables, without its quotes from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from entrenous.errors import InputError


def validated(estimator: Any, **arrays_and_checks: Any) -> Any:
    """``validate_data`` on numbers; its messages about text and complex numbers quote cells, and cells are private."""
    try:
        return validate_data(estimator, dtype=np.float64, **arrays_and_checks)
    except ValueError as error:
        if "Complex data" in str(error):
            raise InputError("Complex data not supported", "complex numbers", "Take their parts as features.") from None
        if "could not convert string" not in str(error):
            raise
        raise InputError("features must be numbers", "text in the table", "Encode or drop these columns.") from None
