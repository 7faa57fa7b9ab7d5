"""scikit-learn's checks of tables, without its quotes from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from entrenous.arrays import AnyArray
from entrenous.engine.rows.registry import rows_of
from entrenous.engine.rows.rows import Rows
from entrenous.errors import InputError


def validated(estimator: Any, **arrays_and_checks: Any) -> Any:
    """``validate_data`` on numbers; its messages about text and complex numbers quote cells, and cells are private."""
    try:
        # A warning of a number too large for float64 would tell of a row; it becomes an infinity, which is refused.
        with np.errstate(all="ignore"):
            # Bounds map the rows to other numbers anyway, so that float32 ones need no copy first.
            mapped = getattr(estimator, "bounds", None) is not None
            return validate_data(
                estimator, dtype=[np.float64, np.float32] if mapped else np.float64, **arrays_and_checks
            )
    except ValueError as error:
        if "Complex data" in str(error):
            raise InputError("Complex data not supported", "complex numbers", "Take their parts as features.") from None
        if "could not convert string" not in str(error):
            raise
        raise InputError("features must be numbers", "text in the table", "Encode or drop these columns.") from None


def own_rows(estimator: Any, table: Any, *, reset: bool = True, ensure_min_samples: int = 1) -> Rows:
    """Rows of a kind from outside the library, which scikit-learn cannot check: it is asked itself."""
    rows = rows_of(table)
    n, d = rows.shape
    if reset:
        estimator.n_features_in_ = d
        vars(estimator).pop("feature_names_in_", None)
    if d != estimator.n_features_in_:
        raise InputError(f"this model is for {estimator.n_features_in_} features", str(d), "Score the same columns.")
    if n < ensure_min_samples:
        raise InputError(f"a fit needs {ensure_min_samples} rows or more", str(n), "Check how rows were split.")
    if not rows.all_finite():
        raise InputError("the features must be finite", "NaN or infinity", "Fill or drop missing values first.")
    return rows


def checked_labels(y: Any, *, numeric: bool) -> AnyArray:
    """Labels beside such rows: a flat array without NaN, of numbers if the task needs them."""
    labels: AnyArray = check_array(column_or_1d(y), ensure_2d=False, dtype=np.float64 if numeric else None)
    return labels
