"""Legal moves written from the rules, slow and obvious: cards are names, hands are lists, moves are sets.

Shares nothing with the kernels. A move is (type name, rank name, sorted tuple of card names).
"""

from __future__ import annotations

from itertools import combinations, product

RANKS = "23456789TJQKA"
SEQUENCE = "A" + RANKS  # the ace stands at both ends
BOMBS = ("Bomb", "StraightFlush", "FourKings")

Move = tuple[str, str, tuple[str, ...]]


def rank_value(rank: str, level: str) -> int:
    """Return the place of a rank outside sequences: 2 < ... < A < level < small joker < big joker."""
    if rank in "BR":
        return 20 if rank == "B" else 21
    return 15 if rank == level else RANKS.index(rank)


def sequence_value(rank: str) -> int:
    """Return the place of a sequence by the rank of its lowest card, an ace being low."""
    return SEQUENCE.index(rank)


def bomb_class(move: Move) -> int:
    """Return the place of a kind of bomb among the bombs; 0 for other moves."""
    kind, _, cards = move
    if kind == "FourKings":
        return 100
    if kind == "StraightFlush":
        return 11  # between five and six cards
    return 2 * len(cards) if kind == "Bomb" else 0


def value(move: Move, level: str) -> int:
    """Return how high a move stands among moves of its type and bomb class."""
    kind, rank, _ = move
    if kind in ("Straight", "StraightFlush", "ThreePair", "TwoTrips"):
        return sequence_value(rank)
    return rank_value(rank, level)


def beats(move: Move, other: Move, level: str) -> bool:
    """Return whether `move` may be played on `other`, neither a pass."""
    if bomb_class(move) != bomb_class(other):
        return bomb_class(move) > bomb_class(other)
    return (bomb_class(move) > 0 or move[0] == other[0]) and value(move, level) > value(other, level)


def ways(hand: list[str], wild: str, rank: str, size: int) -> set[tuple[str, ...]]:
    """Return the multisets of `size` cards that can stand for `size` cards of a rank, wild cards included."""
    usable = [card for card in hand if card == wild or card[1] == rank]
    return {tuple(sorted(chosen)) for chosen in combinations(usable, size)}


def group_moves(hand: list[str], level: str) -> set[Move]:
    """Return singles, pairs, trips and bombs."""
    wild = "H" + level
    moves = set()
    for joker in "BR":
        for size, kind in ((1, "Single"), (2, "Pair")):
            copies = [card for card in hand if card == ("SB" if joker == "B" else "HR")]
            if len(copies) >= size:
                moves.add((kind, joker, tuple(copies[:size])))
    for rank in RANKS:
        for size in range(1, 11):
            kind = {1: "Single", 2: "Pair", 3: "Trips"}.get(size, "Bomb")
            for cards in ways(hand, wild, rank, size):
                # wild cards alone are cards of the level
                if rank == level or any(card != wild for card in cards):
                    moves.add((kind, rank, cards))
    if hand.count("SB") == 2 and hand.count("HR") == 2:
        moves.add(("FourKings", "B", ("HR", "HR", "SB", "SB")))
    return moves


def full_houses(hand: list[str], level: str, groups: set[Move]) -> set[Move]:
    """Return trips with a pair of another rank, both moves in their own right, out of one hand."""
    wild = "H" + level
    moves = set()
    trips = [move for move in groups if move[0] == "Trips"]
    pairs = [move for move in groups if move[0] == "Pair"]
    for (_, rank, three), (_, other, two) in product(trips, pairs):
        cards = three + two
        # cards of two ranks only compete for wild cards
        if rank != other and cards.count(wild) <= hand.count(wild):
            moves.add(("ThreeWithTwo", rank, tuple(sorted(cards))))
    return moves


def sequence_moves(hand: list[str], level: str) -> set[Move]:
    """Return straights, straight flushes, tubes and plates."""
    wild = "H" + level
    moves = set()
    for length, size, kind in ((5, 1, "Straight"), (3, 2, "ThreePair"), (2, 3, "TwoTrips")):
        for start in range(14 - length + 1):
            ranks = SEQUENCE[start : start + length]
            for chosen in product(*(ways(hand, wild, rank, size) for rank in ranks)):
                cards = tuple(sorted(card for group in chosen for card in group))
                if cards.count(wild) > hand.count(wild):
                    continue
                natural = [card for card in cards if card != wild]
                one_suit = len({card[0] for card in natural}) == 1
                if kind == "Straight" and one_suit:
                    moves.add(("StraightFlush", ranks[0], cards))
                    if len(natural) == 5:
                        continue  # with a wild card among them the same cards also make a plain straight
                moves.add((kind, ranks[0], cards))
    return moves


def legal_moves(hand: list[str], level: str, greater: Move | None) -> set[Move]:
    """Return every legal move of a hand, leading if `greater` is None; a pass is ("PASS", "PASS", ())."""
    groups = group_moves(hand, level)
    moves = groups | full_houses(hand, level, groups) | sequence_moves(hand, level)
    if greater is None:
        return moves
    return {move for move in moves if beats(move, greater, level)} | {("PASS", "PASS", ())}
