"""Rounds of DouDiZhu that begin with given hands."""

from __future__ import annotations

from games.climbing.doudizhu.multiset import count_ranks, read_multiset
from games.climbing.doudizhu.round_state import empty_rounds
from games.support.array_types import Rows


def round_of(*hands: str) -> Rows:
    """Return a round in which the landlord, seat 0, is about to lead, [1] ROUND; no bottom was dealt."""
    states = empty_rounds(1)
    states["hand"] = [read_multiset(hand) for hand in hands]
    states["left"], states["dealt"] = count_ranks(states["hand"]).sum(2), 15
    states["player"] = states["landlord"] = states["leader"] = 0
    return states
