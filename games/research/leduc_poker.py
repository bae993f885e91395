"""Leduc poker: one private card each, one card on the board, a betting round before it and one after.

Limit betting: a raise adds the round's fixed size, and each round has a cap on raises. A pair with the board
wins, then the higher rank. With the default parameters the histories, their actions, infosets and payoffs are
OpenSpiel's `leduc_poker`. Source: Southey et al. 2005, "Bayes' bluff: opponent modelling in poker".
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, GameError
from games.parameters import Bool, Int, Ints, named
from games.research.poker import CARDS, DEAL_0, DEAL_1, DEALS, CardPoker, Said
from games.support.array_types import Array

FOLD, CALL, RAISE = 0, 1, 2
ANTE = 1

Pair = tuple[int, int]
Words = tuple[str, str]


def limit_betting(raise_sizes: tuple[int, int], raise_caps: tuple[int, int]) -> list[Said]:
    """Return two rounds of limit betting as rows; the actions are FOLD, CALL and RAISE."""
    rows = list(DEALS)

    def add(*row: Any) -> int:
        rows.append(Said(*row))
        return len(rows) - 1

    def bet(
        stage: int, before: tuple[int, int], chips: Pair, words: Words, to_act: int, raises: int, acted: int
    ) -> None:
        """Add the decision of `to_act` in betting round `stage` and all that follows.

        before: the parent and the action that leads here.
        """
        node = add(to_act, *before, chips, words)
        other = 1 - to_act
        facing = chips[other] > chips[to_act]

        def said(word: str) -> Words:
            line = f"{words[stage]} {word}".strip()
            return (line, words[1]) if stage == 0 else (words[0], line)

        def paid(amount: int) -> Pair:
            return (chips[other] + amount, chips[1]) if to_act == 0 else (chips[0], chips[other] + amount)

        if facing:
            add(TERMINAL, node, FOLD, chips, said("fold"), to_act)
        called = said("call" if facing else "check")
        if not facing and acted == 0:
            bet(stage, (node, CALL), chips, called, other, raises, 1)
        elif stage == 0:
            board = add(CHANCE, node, CALL, paid(0), called)
            bet(1, (board, CARDS), paid(0), called, 0, 0, 0)
        else:
            add(TERMINAL, node, CALL, paid(0), called)
        if raises < raise_caps[stage]:
            bet(stage, (node, RAISE), paid(raise_sizes[stage]), said("raise"), other, raises + 1, acted + 1)

    bet(0, (DEAL_1, CARDS), (ANTE, ANTE), ("", ""), 0, 0, 0)
    return rows


class LeducPoker(CardPoker):
    """Leduc poker with any deck, raise sizes and caps; chance deals player 0, player 1, later the board.

    With `suit_isomorphism` the suits of cards are not seen: chance deals ranks, with the right odds.
    """

    summary = "one private card, one on the board, two rounds of limit betting"
    parameters = (
        Int(name="ranks", default=3, low=2, high=13, doc="ranks in the deck"),
        Int(name="suits", default=2, low=1, high=4, doc="cards of each rank"),
        Ints(
            name="raise_sizes", default=(2, 4), low=1, high=1000, length=2, doc="chips a raise adds, by round"
        ),
        Ints(name="raise_caps", default=(2, 2), low=0, high=8, length=2, doc="raises allowed, by round"),
        Bool(name="suit_isomorphism", default=False, doc="whether suits, which never matter, are left out"),
    )

    def __init__(
        self,
        *,
        ranks: int = 3,
        suits: int = 2,
        raise_sizes: tuple[int, int] = (2, 4),
        raise_caps: tuple[int, int] = (2, 2),
        suit_isomorphism: bool = False,
    ) -> None:
        given = (ranks, suits, raise_sizes, raise_caps, suit_isomorphism)
        name, values = named("leduc_poker", self.parameters, given)
        ranks, suits, self.raise_sizes, self.raise_caps, suit_isomorphism = values
        if ranks * suits < 3:
            raise GameError(f"leduc_poker: ranks times suits must be at least 3; got {ranks} times {suits}")
        rows = limit_betting(self.raise_sizes, self.raise_caps)
        super().__init__(name, rows, ranks, suits, same=suit_isomorphism)
        most = float(self._chips[self._betting.player == TERMINAL].max())
        self.payoff_range = (-most, most)

    def features(self, states: Array, player: int) -> NDArray[np.uint8]:
        """Return what a network sees: rank and suit of both cards, whether they pair, and the betting.

        [n, width] uint8 of 0 and 1: what was said, word by word in each round, and the chips in unary.
        """
        own, board = (states[card].astype(np.int64) - 1 for card in (f"card{player}", "board"))
        parts = [self._bets[states["node"]]]
        for card in (own, board):
            rank = np.where(card < 0, -1, self._rank_of[card])
            parts.append(rank[:, None] == np.arange(self.ranks))
            if self.suits > 1 and not self.suit_isomorphism:
                parts.append(np.where(card < 0, -1, card % self.suits)[:, None] == np.arange(self.suits))
        pair = (own >= 0) & (board >= 0) & (self._rank_of[own] == self._rank_of[board])
        return np.concatenate([part.astype(np.uint8) for part in (*parts, pair[:, None])], axis=1)

    @cached_property
    def _bets(self) -> NDArray[np.uint8]:
        """The betting at each row of the public tree, [rows, width] uint8 of 0 and 1."""
        said = [[word for line in words for word in (*line.split(), "|")] for words in self._words]
        places = max(len(line) for line in said)
        known = ("check", "call", "raise", "fold", "|")
        bits = np.zeros((len(said), places, len(known)), np.uint8)
        for row, line in enumerate(said):
            for place, word in enumerate(line):
                bits[row, place, known.index(word)] = 1
        sizes = np.unique(self._chips)[:64]
        chips = (self._chips[:, :, None] >= sizes).reshape(len(said), -1)
        dealing = np.arange(len(said))[:, None] == [DEAL_0, DEAL_1]
        return np.concatenate([bits.reshape(len(said), -1), chips, dealing], axis=1).astype(np.uint8)

    def action_text(self, state: Array, action: Array) -> str:
        node = int(state["node"])
        if self._betting.player[node] == CHANCE:
            return f"deal {self._card_names[int(action)]}"
        if action == CALL and self._chips[node, 0] == self._chips[node, 1]:
            return "check"
        return ("fold", "call", "raise")[int(action)]
