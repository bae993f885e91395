"""DanZero's and OpenGuanDan's inputs, slow and obvious, from a round's moves instead of its state.

A round is given as the hands dealt, the level, the teams' levels, and the moves so far: (seat, type name or
"PASS", rank name, card names).
"""

from __future__ import annotations

from tests.reference.guandan.guandan_match import RANKS, index_of, order_of, wild_flags

Move = tuple[int, str, str, list[str]]
TYPES = [
    "Single",
    "Pair",
    "Trips",
    "ThreePair",
    "ThreeWithTwo",
    "TwoTrips",
    "Straight",
    "StraightFlush",
    "Bomb",
    "FourKings",
]
SEQUENCES = ("ThreePair", "TwoTrips", "Straight", "StraightFlush")


def count(cards: list[str]) -> list[int]:
    counts = [0] * 54
    for card in cards:
        counts[index_of(card)] += 1
    return counts


def one_hot(place: int, width: int) -> list[int]:
    return [int(i == place) for i in range(width)]


class Table:
    """What can be read off a round's record."""

    def __init__(self, hands: list[list[str]], moves: list[Move]) -> None:
        self.moves = moves
        self.played: list[list[str]] = [[] for _ in range(4)]
        for seat, _, _, cards in moves:
            self.played[seat] += cards
        self.hands = [list(hand) for hand in hands]
        for seat in range(4):
            for card in self.played[seat]:
                self.hands[seat].remove(card)

    def last_of(self, seat: int) -> Move | None:
        own = [move for move in self.moves if move[0] == seat]
        return own[-1] if own else None

    def unseen(self, seat: int) -> list[int]:
        seen = count(self.hands[seat])
        for cards in self.played:
            seen = [a + b for a, b in zip(seen, count(cards), strict=True)]
        return [2 - copies for copies in seen]


def state_features(
    hands: list[list[str]], moves: list[Move], level: str, levels: list[str], seat: int
) -> list[int]:
    """DanZero's 513 numbers in the eyes of a seat."""
    table = Table(hands, moves)
    partner = (seat + 2) % 4
    others = [(seat + j) % 4 for j in (1, 2, 3)]
    row = count(table.hands[seat]) + wild_flags(table.hands[seat], level) + table.unseen(seat)
    row += count(moves[-1][3]) if moves else [-1] * 54
    last = table.last_of(partner)
    row += [-1] * 54 if last is None or not table.hands[partner] else count(last[3])
    for other in others:
        row += count(table.played[other])
    for other in others:
        row += one_hot(len(table.hands[other]), 28)
    for team_level in (levels[seat % 2], levels[1 - seat % 2], level):
        row += one_hot(RANKS.index(team_level), 13)
    return row


def action_numbers(move: Move | None, level: str) -> list[int]:
    """OpenGuanDan's 79 numbers of an action."""
    if move is None:
        return [-1] * 79
    _, kind, rank, cards = move
    if kind == "PASS":
        return [0] * 79
    place = ("A" + RANKS[:-1]).index(rank) if kind in SEQUENCES else order_of(level).index(rank)
    return count(cards) + one_hot(TYPES.index(kind), 10) + one_hot(place, 15)


def observation(
    hands: list[list[str]], moves: list[Move], level: str, levels: list[str], seat: int
) -> list[int]:
    """OpenGuanDan's 722 numbers in the eyes of a seat."""
    table = Table(hands, moves)
    others = [(seat + j) % 4 for j in (1, 2, 3)]
    row = count(table.hands[seat]) + table.unseen(seat)
    for other in others:
        row += count(table.played[other])
    row += action_numbers(moves[-1] if moves else None, level)
    for other in others:
        row += action_numbers(table.last_of(other), level)
    for other in others:
        row += one_hot(len(table.hands[other]), 28)
    for team_level in (levels[seat % 2], levels[1 - seat % 2], level):
        row += one_hot(RANKS.index(team_level), 13)
    wild = table.hands[seat].count("H" + level)
    return row + [wild * int(r == level) for r in RANKS]
