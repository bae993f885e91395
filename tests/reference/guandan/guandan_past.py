"""What the others were seen to do in a round, told from its moves in words; slow and obvious."""

from __future__ import annotations

from tests.reference.guandan.guandan_features import SEQUENCES, TYPES
from tests.reference.guandan.guandan_match import order_of
from tests.reference.guandan.guandan_round import Round

KINDS = ("passed on an opponent's", "passed on its partner's", "led", "followed with")
ACE_FIRST = "A23456789TJQK"


def place_of(kind: str, rank: str, level: str) -> int:
    """Return the place of a move: sequences from the ace up, all else in the order of the level."""
    return ACE_FIRST.index(rank) if kind in SEQUENCES else order_of(level).index(rank)


def past_of(
    hands: list[list[str]], first: int, moves: list[tuple[str, str, list[str]]], level: str
) -> set[tuple[int, int]]:
    """Return (seat, number of the input) of everything done; moves: (type or "PASS", rank, cards)."""
    table = Round(hands, first)
    found = set()
    for kind, rank, cards in moves:
        seat, on_table = table.player, table.best
        assert seat is not None
        about, what = (kind, rank), "led" if on_table is None else "followed with"
        if kind == "PASS":
            assert on_table is not None
            about = on_table[1]
            friend = on_table[0] == (seat + 2) % 4
            what = "passed on its partner's" if friend else "passed on an opponent's"
        number = (KINDS.index(what) * 10 + TYPES.index(about[0])) * 16 + place_of(*about, level)
        found.add((seat, number))
        table.play((kind, rank), cards)
    return found
