"""Counts of work: rounds, games, iterations, decisions. All share one upper bound."""

from __future__ import annotations

MOST = 1_000_000_000
"""The largest count. It fits 32 bits, and no run here gets that far; a larger one is a slip of the keys."""


def count_in(words: str, name: str, error: type[ValueError]) -> int:
    """Return the count that words such as "100" spell.

    name: what is counted, for the error. Raises `error` unless it is a whole number in 1..MOST.
    """
    try:
        found = int(words)
    except ValueError:
        found = MOST + 1 if words.strip().isdecimal() else 0  # more digits than Python reads
    if not 1 <= found <= MOST:
        rule = "of at least 1" if found < 1 else f"in [1, {MOST}]"
        got = words if len(words) <= 40 else f"{words[:40]}…"
        raise error(f"{name} must be an integer {rule}; got {got!r}; give another")
    return found
