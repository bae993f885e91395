"""Short names for the kinds of arrays that pass between modules, for type hints.

They say the dtype alone. Shapes, units and meaning stand in the docstring of whatever takes or returns one.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""Of a dtype that belongs to somebody else: the states and actions of a game, whatever it is."""
Rows: TypeAlias = NDArray[np.void]
"""Records, one a row, of a structured dtype that the docstring names, such as STATE or ACTION."""
Row: TypeAlias = np.void
"""A single record."""
Int: TypeAlias = int | np.int64
"""One whole number, as kernels have it."""
Ints: TypeAlias = NDArray[np.int64]
"""Whole numbers, or packed words as kernels see them."""
Bytes: TypeAlias = NDArray[np.uint8]
"""Small whole numbers: counts of cards, seats, or a state's bytes as kernels see them."""
