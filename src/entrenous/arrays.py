"""The one array type of the library: float64, any shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
"""Class codes 0..k-1, or any integer array."""
AnyArray = npt.NDArray[Any]
