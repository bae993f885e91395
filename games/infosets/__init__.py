"""Infosets: their names, the way a player came to one, and histories drawn from one without listing it."""

from games.infosets.naming import (
    decision_infosets,
    drawn_infoset,
    find_infoset,
    infoset_at,
    normal_text,
    unknown_infoset,
)

__all__ = [
    "decision_infosets",
    "drawn_infoset",
    "find_infoset",
    "infoset_at",
    "normal_text",
    "unknown_infoset",
]
