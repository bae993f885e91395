"""Words for infosets that are named by what others wrote: one line each, no two alike."""

from __future__ import annotations

from collections.abc import Iterable

from games.infosets.naming import normal_text

__all__ = ["ACTS", "OTHER_ACTS", "OVER", "infoset_line", "joined_lines", "numbered"]

OTHER_ACTS, ACTS, OVER = range(3)
"""What a player's infoset is: one where somebody else acts, one where it acts, or the end."""


def infoset_line(role: int, known: str, player: int) -> str:
    """Return an infoset in one line of words."""
    ending = {ACTS: "", OTHER_ACTS: " | waiting", OVER: " | over"}[role]
    return f"P{player} {joined_lines(known)}".rstrip() + ending


def joined_lines(text: str) -> str:
    """Return the lines of a text as one line."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return "; ".join(line for line in lines if line)


def numbered(texts: Iterable[str]) -> list[str]:
    """Return the texts, those that would be taken for an earlier one numbered from #2."""
    counts: dict[str, int] = {}
    distinct = []
    for text in texts:
        number = counts[normal_text(text)] = counts.get(normal_text(text), 0) + 1
        distinct.append(text if number == 1 else f"{text} #{number}")
    return distinct
