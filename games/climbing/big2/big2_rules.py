"""The rules that tables differ in, as parameters of the game, and what the kernels read of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from games.climbing.big2.card_masks import RANK_NAMES
from games.game import GameError
from games.parameters import Bool, Int, OneOf, Parameter
from games.support.array_types import Bytes, Ints

Book: TypeAlias = tuple[Ints, Bytes, Ints]
"""What kernels read: (options by the places below, straight of each set of ranks, the straights).

straight of ranks: [8192] uint8, 1 + the place of the straight that a set of ranks makes, or 0.
straights: [k, 5] int64, ranks of each, weakest straight first; the last rank of a row is the one whose suit
decides between straights of one rank.
"""

PLAYERS, HAND, SUITS, DECK, LOWEST_LEADS, IN_FIRST_PLAY = 0, 1, 2, 3, 4, 5
MUST_PLAY, STAYS_OUT, BY_SUIT, BOMBS, TRIPLES, OPTIONS = 6, 7, 8, 9, 10, 11
"""Places of the options in a book."""
STRAIGHT, FLUSH, FULL_HOUSE, QUADS, STRAIGHT_FLUSH = range(1, 6)
"""Kinds of five cards, weakest first."""

PARAMETERS: tuple[Parameter, ...] = (
    Int(name="players", default=4, low=2, high=4, doc="seats, each for itself"),
    Int(name="ranks", default=13, low=2, high=13, doc="ranks of the deck, from 3 upwards"),
    Int(name="suits", default=4, low=1, high=4, doc="suits of the deck"),
    Int(name="cards", default=0, low=0, high=26, doc="cards dealt to a seat; 0 deals as many as go round"),
    OneOf(
        name="suit_order",
        default="dchs",
        choices=("dchs", "cdhs", "scdh"),
        doc="suits by strength, weakest first: diamonds, clubs, hearts, spades",
    ),
    OneOf(
        name="opening",
        default="lowest",
        choices=("lowest", "holder", "first"),
        doc="lowest: whoever has the lowest card leads with it; holder: leads anything; first: seat 0 leads",
    ),
    OneOf(
        name="straights",
        default="poker",
        choices=("poker", "twos", "plain", "ladder"),
        doc="poker: A2345, 23456, … TJQKA; twos: 34567, … TJQKA, 23456, A2345; plain: 34567, … TJQKA; "
        "ladder: 34567, … JQKA2; weakest first",
    ),
    OneOf(
        name="flushes",
        default="rank",
        choices=("rank", "suit"),
        doc="what decides between flushes: their highest cards, or first their suits",
    ),
    OneOf(
        name="bombs",
        default="none",
        choices=("none", "quads", "both"),
        doc="what beats any play of another size: nothing, four of a kind, or straight flushes as well",
    ),
    Bool(name="triples", default=True, doc="whether three of a kind may be played alone"),
    Bool(name="must_play", default=False, doc="whether who can beat the last play has to"),
    Bool(name="stays_out", default=False, doc="whether who passes is out until the next lead"),
    OneOf(
        name="settling",
        default="winner",
        choices=("winner", "pairs"),
        doc="whom losers pay: the winner, or everyone the difference of their penalties",
    ),
    Int(name="double_from", default=0, low=0, high=26, doc="cards left that count twice; 0 for never"),
    Int(name="triple_from", default=0, low=0, high=26, doc="cards left that count three times; 0 for never"),
)


@dataclass(frozen=True, kw_only=True)
class Big2Rules:
    """Everything that may differ from table to table; the fields are those of `PARAMETERS`.

    The defaults are the rules of Tan et al. 2024 (appendix B: four seats, thirteen cards, the three of
    diamonds leads, ten straights, a point a card for the winner), where they say; where they are silent, the
    mildest of the rules in use: nothing is a bomb, nobody has to play, and who passed may come back.
    Raises GameError, naming the parameter, at a value that is not allowed, or at more cards than there are.
    """

    players: int = 4
    ranks: int = 13
    suits: int = 4
    cards: int = 0
    suit_order: str = "dchs"
    opening: str = "lowest"
    straights: str = "poker"
    flushes: str = "rank"
    bombs: str = "none"
    triples: bool = True
    must_play: bool = False
    stays_out: bool = False
    settling: str = "winner"
    double_from: int = 0
    triple_from: int = 0

    def __post_init__(self) -> None:
        for parameter in PARAMETERS:
            object.__setattr__(self, parameter.name, parameter.check("big2", getattr(self, parameter.name)))
        size, wanted = self.ranks * self.suits, self.players * max(1, self.cards)
        if wanted > size:
            raise GameError(
                f"big2: players times cards must be at most ranks times suits, {size}; got {wanted}; "
                "deal fewer cards or take a larger deck"
            )
        if self.cards == size // self.players:  # one name for one game
            object.__setattr__(self, "cards", 0)

    def values(self) -> list[Any]:
        """Return the value of each parameter."""
        return [getattr(self, parameter.name) for parameter in PARAMETERS]

    @property
    def hand(self) -> int:
        """Cards of a hand."""
        return self.cards or self.ranks * self.suits // self.players

    @property
    def suit_letters(self) -> str:
        """Letters of the suits that there are, weakest first."""
        return self.suit_order[: self.suits].upper()

    @cached_property
    def deck(self) -> NDArray[np.int64]:
        """The cards that there are, [ranks * suits] int64, rising, in the order in which they are dealt."""
        return np.array([4 * r + s for r in range(self.ranks) for s in range(self.suits)], np.int64)

    @property
    def straight_rows(self) -> list[list[int]]:
        """The straights of this deck, as in `Book`."""
        # an ace below the two: the natural order is A, 2, 3, … K, A
        natural = [11, 12, *range(12)]
        rows = [natural[at : at + 5] for at in range(10)]
        low, plain = rows[:2], rows[2:]
        if self.straights == "poker":
            chosen = [*low, *plain]
        elif self.straights == "twos":  # the two is the highest card of the straights that it is in
            chosen = [*plain, [0, 1, 2, 3, 12], [11, 0, 1, 2, 12]]
        elif self.straights == "plain":
            chosen = plain
        else:
            chosen = [*plain, [8, 9, 10, 11, 12]]
        return [row for row in chosen if max(row) < self.ranks]

    def penalties(self) -> NDArray[np.float64]:
        """Return what 0, 1, … 26 cards left cost, [27] float64 points."""
        left = np.arange(27)
        times = np.ones(27)
        times[(left >= self.double_from) & (self.double_from > 0)] = 2
        times[(left >= self.triple_from) & (self.triple_from > 0)] = 3
        return left * times

    def payoff_range(self) -> tuple[float, float]:
        """Return the smallest and the largest payoff, in points.

        A seat that never gets to play pays for its whole hand, at the best of others in its place where
        losers settle in pairs. Where everyone must play who can, these are bounds that need not be reached.
        """
        cost = self.penalties()
        most, least = float(cost[self.hand]), float(cost[1])
        others = self.players - 1
        if self.settling == "winner":
            return -most, others * most
        return (others - 1) * least - others * most, others * most

    def book(self) -> Book:
        """Return what the kernels read."""
        options = np.zeros(OPTIONS, np.int64)
        options[[PLAYERS, HAND, SUITS, DECK]] = self.players, self.hand, self.suits, len(self.deck)
        options[LOWEST_LEADS] = self.opening != "first"
        options[IN_FIRST_PLAY] = self.opening == "lowest"
        options[[MUST_PLAY, STAYS_OUT, TRIPLES]] = self.must_play, self.stays_out, self.triples
        options[BY_SUIT] = self.flushes == "suit"
        kinds = {"none": 0, "quads": 1 << QUADS, "both": 1 << QUADS | 1 << STRAIGHT_FLUSH}
        options[BOMBS] = kinds[self.bombs]
        rows = self.straight_rows
        of_ranks = np.zeros(1 << len(RANK_NAMES), np.uint8)
        for place, row in enumerate(rows):
            of_ranks[sum(1 << rank for rank in row)] = place + 1
        return options, of_ranks, np.array(rows, np.int64).reshape(-1, 5)
