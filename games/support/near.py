"""Names close to one that nobody has, for error messages."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, names: Iterable[str], *, most: int = 3, cutoff: float = 0.5) -> list[str]:
    """Return the names most like a word, the closest first.

    most: how many at most. cutoff: in [0, 1], how alike a name must be; 1 is equal (`difflib`).
    """
    import difflib

    return difflib.get_close_matches(word, list(names), n=most, cutoff=cutoff)


def near(word: str, names: Iterable[str], instead: str, *, most: int = 3, cutoff: float = 0.5) -> str:
    """Return "did you mean A or B?" for the names most like a word, or `instead` where none is close."""
    found = nearest(word, names, most=most, cutoff=cutoff)
    return f"did you mean {' or '.join(found)}?" if found else instead
