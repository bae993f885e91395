"""Arrays of structured rows (STATE, ACTION) put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from games.support.array_types import Array

__all__ = ["join"]


def join(arrays: Sequence[Array]) -> Array:
    """Return arrays of one dtype end to end, structured ones as they are.

    NumPy's `concatenate` would pack a structured dtype and drop its padding.
    """
    dtype = arrays[0].dtype
    if dtype.fields is None:
        return np.concatenate(arrays)
    rows = [np.ascontiguousarray(a).view(np.uint8).reshape(len(a), dtype.itemsize) for a in arrays]
    joined: Array = np.concatenate(rows).view(dtype)[:, 0]
    return joined
