"""Kuhn poker: each player antes one chip and holds one card; one bet of one chip; the higher card wins.

The smallest game with bluffing, and the first to try anything on. Actions, their order and the payoffs are
OpenSpiel's. Source: Kuhn 1950, "A simplified two-person poker".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL
from games.parameters import Int, named
from games.research.poker import CardPoker, PublicTree
from games.support.array_types import Array

PASS, BET = 0, 1

CARDS = Int(name="cards", default=3, low=2, high=13, doc="cards in the deck, all of different rank")

LINES = ("", "p", "b", "pp", "pb", "bp", "bb", "pbp", "pbb")
"""Everything that can be said, one letter an action; line i is node 2 + i, after the two deals."""
BETTING = 2


def _tree() -> PublicTree:
    tree = PublicTree([CHANCE] * 2, [[1, -1], [BETTING, -1]], [(1, 1)] * 2, [-1] * 2, [("", "")] * 2)
    for line in LINES:
        longer = [line + letter for letter in "pb"]
        tree.player.append(len(line) % 2 if longer[0] in LINES else TERMINAL)
        tree.child.append([BETTING + LINES.index(after) if after in LINES else -1 for after in longer])
        tree.chips.append((1 + line[::2].count("b"), 1 + line[1::2].count("b")))
        tree.folded.append((len(line) - 1) % 2 if line.endswith("bp") else -1)
        tree.words.append((" ".join("bet" if letter == "b" else "pass" for letter in line), ""))
    return tree


class KuhnPoker(CardPoker):
    """Kuhn poker with `cards` ranks. Chance deals player 0's card, then player 1's."""

    summary = "one card each, one bet: the smallest game with bluffing"
    parameters = (CARDS,)
    payoff_range = (-2.0, 2.0)
    key_bits = 4

    def __init__(self, *, cards: int = 3) -> None:
        name, (cards,) = named("kuhn_poker", self.parameters, (cards,))
        self.cards = cards
        super().__init__(name, _tree(), self.cards)

    def action_text(self, state: Array, action: Array) -> str:
        if state["node"] < BETTING:
            return f"deal {self._card_names[int(action)]}"
        return "bet" if action == BET else "pass"

    def _others(self, seat: int, own: int, board: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return (own + 1 + rng.integers(self.cards - 1, size=n)) % self.cards
