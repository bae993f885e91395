"""A round of Big2 written from the rules, slow and obvious: cards are names, plays sorted tuples of names.

Shares nothing with the kernels. Options are those of `Big2Rules`, by name, as keywords.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from types import SimpleNamespace
from typing import Any

RANKS = "3456789TJQKA2"
NATURAL = "A23456789TJQKA"
KINDS = ("straight", "flush", "full house", "four and one", "straight flush")
DEFAULTS: dict[str, Any] = {
    "players": 4,
    "ranks": 13,
    "suits": 4,
    "cards": 0,
    "suit_order": "dchs",
    "opening": "lowest",
    "straights": "poker",
    "flushes": "rank",
    "bombs": "none",
    "triples": True,
    "must_play": False,
    "stays_out": False,
    "settling": "winner",
    "double_from": 0,
    "triple_from": 0,
}

Play = tuple[str, ...]


class Table(SimpleNamespace):
    """The rules of one table, by name."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**DEFAULTS, **options})
        self.places = {card: place for place, card in enumerate(self.deck())}
        windows = [NATURAL[at : at + 5] for at in range(10)]
        plain = windows[2:]
        rows = {
            "poker": windows,
            "twos": [*plain, "34562", "A3452"],
            "plain": plain,
            "ladder": [*plain, "JQKA2"],
        }[self.straights]
        self.straight_of = {frozenset(row): (place, row[-1]) for place, row in enumerate(rows)}

    def deck(self) -> list[str]:
        """Return the cards, weakest first."""
        letters = self.suit_order.upper()[: self.suits]
        return [suit + rank for rank in RANKS[: self.ranks] for suit in letters]

    def card_value(self, card: str) -> tuple[int, int]:
        """Return how high a card stands: its rank, then its suit."""
        return divmod(self.places[card], self.suits)

    def straight_value(self, cards: Play) -> tuple[int, int] | None:
        """Return how high a straight stands, None if there is none; the suit of its last rank decides."""
        found = self.straight_of.get(frozenset(card[1] for card in cards))
        if found is None:
            return None
        (last,) = [card for card in cards if card[1] == found[1]]
        return found[0], self.card_value(last)[1]

    def worth(self, cards: Play) -> tuple[Any, ...] | None:
        """Return what compares plays of one size, None if the cards, weakest first, make no play."""
        if not 1 <= len(cards) <= 5 or len(cards) == 4:
            return None
        counts = sorted(Counter(card[1] for card in cards).values())
        highest = self.card_value(cards[-1])
        if len(cards) < 5:
            return highest if len(counts) == 1 and (len(cards) < 3 or self.triples) else None
        one_suit = len({card[0] for card in cards}) == 1
        straight = self.straight_value(cards)
        if straight is not None:
            return (KINDS.index("straight flush" if one_suit else "straight"), *straight)
        if one_suit:
            return KINDS.index("flush"), *(highest if self.flushes == "rank" else highest[::-1])
        if counts in ([2, 3], [1, 4]):
            (rank,) = [r for r, n in Counter(card[1] for card in cards).items() if n >= 3]
            return KINDS.index("full house" if counts == [2, 3] else "four and one"), RANKS.index(rank)
        return None

    def is_bomb(self, cards: Play) -> bool:
        """Return whether a play beats plays of other sizes."""
        worth = self.worth(cards)
        if len(cards) != 5 or worth is None:
            return False
        kinds = {"none": (), "quads": ("four and one",), "both": ("four and one", "straight flush")}
        return KINDS[worth[0]] in kinds[self.bombs]

    def follows(self, cards: Play, beat: Play) -> bool:
        """Return whether a play may be made on another, () when leading."""
        worth, other = self.worth(cards), self.worth(beat)
        if worth is None or not beat:
            return worth is not None
        assert other is not None
        return worth > other if len(cards) == len(beat) else self.is_bomb(cards)

    def moves(self, hand: set[str], beat: Play, within: str | None = None) -> set[Play]:
        """Return every play of a hand, () for a pass. within: a card that the play must hold."""
        ordered = sorted(hand, key=self.card_value)
        sizes = {1, 2, 3, 5} if not beat else {len(beat), 5}
        found: set[Play] = {
            cards
            for size in sizes
            for cards in combinations(ordered, size)
            if (within is None or within in cards) and self.follows(cards, beat)
        }
        if beat and not (self.must_play and found):
            found.add(())
        return found

    def cost(self, left: int) -> int:
        """Return what so many cards left cost."""
        if self.triple_from and left >= self.triple_from:
            return 3 * left
        return 2 * left if self.double_from and left >= self.double_from else left


class Round:
    """A round from given hands, sets of card names. `turn` is None once it is over."""

    def __init__(self, table: Table, hands: list[set[str]]) -> None:
        self.table = table
        self.hands = [set(hand) for hand in hands]
        self.lowest = min((card for hand in hands for card in hand), key=table.card_value)
        holder = next(seat for seat, hand in enumerate(hands) if self.lowest in hand)
        self.turn: int | None = 0 if table.opening == "first" else holder
        self.beat: Play = ()
        self.owner: int | None = None
        self.line: list[tuple[int, Play]] = []
        self.passed: set[int] = set()

    def moves(self) -> set[Play]:
        """Return the actions of whoever acts."""
        assert self.turn is not None
        opens = self.table.opening == "lowest" and not self.line
        return self.table.moves(self.hands[self.turn], self.beat, self.lowest if opens else None)

    def play(self, cards: Play) -> None:
        """Take an action: the cards played, () for a pass."""
        seat = self.turn
        assert seat is not None
        self.line.append((seat, cards))
        if cards:
            self.hands[seat] -= set(cards)
            self.beat, self.owner = cards, seat
            if not self.hands[seat]:
                self.turn = None
                return
        elif self.table.stays_out:
            self.passed.add(seat)
        n = self.table.players
        seat = (seat + 1) % n
        while seat in self.passed:
            seat = (seat + 1) % n
        if not cards and seat == self.owner:
            self.beat, self.passed = (), set()
        self.turn = seat

    def payoffs(self) -> list[float]:
        """Return every seat's payoff once the round is over."""
        costs = [self.table.cost(len(hand)) for hand in self.hands]
        if self.table.settling == "winner":
            return [
                float(sum(costs)) if not hand else -float(cost)
                for hand, cost in zip(self.hands, costs, strict=True)
            ]
        return [float(sum(other - cost for other in costs)) for cost in costs]
