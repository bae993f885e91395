"""Fingerprints of trees, by which a saved run is known again."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["array_digest"]


def array_digest(*arrays: NDArray[np.generic]) -> str:
    """Return a fingerprint of arrays of whole numbers and of fractions, 32 hexadecimal digits.

    Fractions count in single precision: what another machine or release rounds otherwise is no other tree.
    """
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        kept = np.ascontiguousarray(array, "<f4" if array.dtype.kind == "f" else "<i4") + 0  # -0.0 is 0.0
        found.update(repr(kept.shape).encode())
        found.update(kept.data)
    return found.hexdigest()
