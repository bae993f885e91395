"""Kuhn poker: each player antes one chip and holds one card; one bet of one chip; the higher card wins.

The smallest game with bluffing, and the first to try anything on. Actions, their order and the payoffs are
OpenSpiel's. Source: Kuhn 1950, "A simplified two-person poker".
"""

from __future__ import annotations

from games.game import TERMINAL
from games.parameters import Int, named
from games.research.poker import CARDS, DEAL_1, DEALS, FIRST, CardPoker, Said
from games.support.array_types import Array

PASS, BET = 0, 1

LINES = ("", "p", "b", "pp", "pb", "bp", "bb", "pbp", "pbb")
"""Everything that can be said, one letter an action; line i is node 2 + i, after the two deals."""
BETTING = FIRST


def _betting() -> list[Said]:
    rows = list(DEALS)
    for line in LINES:
        ends = line + "p" not in LINES
        parent, action = (BETTING + LINES.index(line[:-1]), "pb".index(line[-1])) if line else (DEAL_1, CARDS)
        chips = 1 + line[::2].count("b"), 1 + line[1::2].count("b")
        words = " ".join("bet" if letter == "b" else "pass" for letter in line), ""
        folded = (len(line) - 1) % 2 if line.endswith("bp") else -1
        rows.append(Said(TERMINAL if ends else len(line) % 2, parent, action, chips, words, folded))
    return rows


class KuhnPoker(CardPoker):
    """Kuhn poker with `cards` ranks. Chance deals player 0's card, then player 1's."""

    summary = "one card each, one bet: the smallest game with bluffing"
    parameters = (
        Int(name="cards", default=3, low=2, high=13, doc="cards in the deck, each of its own rank"),
    )
    payoff_range = (-2.0, 2.0)
    key_bits = 4

    def __init__(self, *, cards: int = 3) -> None:
        name, (cards,) = named("kuhn_poker", self.parameters, (cards,))
        self.cards = cards
        super().__init__(name, _betting(), self.cards)

    def action_text(self, state: Array, action: Array) -> str:
        if state["node"] < BETTING:
            return f"deal {self._card_names[int(action)]}"
        return "bet" if action == BET else "pass"
