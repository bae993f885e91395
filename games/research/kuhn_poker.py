"""Kuhn poker: each player antes one chip and holds one card; one bet of one chip; the higher card wins.

The smallest game with bluffing, and the first to try anything on. Actions, their order and the payoffs are
OpenSpiel's. Source: Kuhn 1950, "A simplified two-person poker".
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import CHANCE, TERMINAL, Infoset
from games.infosets.payoff_forms import FormBuilder, PayoffForms
from games.parameters import Int, canonical_name
from games.ragged import Ragged
from games.research.poker import rank_names
from games.support.array_types import Array

__all__ = ["BET", "PASS", "KuhnPoker"]

PASS, BET = 0, 1

CARDS = Int(name="cards", default=3, low=2, high=13, doc="cards in the deck, all of different rank")

STATE = np.dtype([("stage", np.uint32), ("card0", np.uint16), ("card1", np.uint16)])
"""stage: a row of the tables below. card: 1 + rank, 0 until it is dealt."""

LINES = ("", "p", "b", "pp", "pb", "bp", "bb", "pbp", "pbb")
"""Everything that can be said, one letter an action; line i is stage 2 + i, after the two deals."""

DEAL_0, DEAL_1, BETTING = 0, 1, 2
PLAYER = np.array([CHANCE, CHANCE, 0, 1, 1, TERMINAL, 0, TERMINAL, TERMINAL, TERMINAL, TERMINAL], np.int8)
NEXT_STAGE = np.array(
    [
        [BETTING + LINES.index(line + letter) if line + letter in LINES else 0 for letter in "pb"]
        for line in LINES
    ],
    np.uint32,
)
STAKE = np.array([0, 0, 0, 0, 0, 1, 0, 1, 2, 1, 2], np.float64)
FOLDED = np.array([BETTING + LINES.index("bp"), BETTING + LINES.index("pbp")])
"""Stage at which player 1, then player 0, has given up against a bet."""


class KuhnPoker(TwoPlayerGame):
    """Kuhn poker with `cards` ranks. Chance deals player 0's card, then player 1's."""

    summary = "one card each, one bet: the smallest game with bluffing"
    parameters = (CARDS,)
    payoff_range = (-2.0, 2.0)

    def __init__(self, *, cards: int = 3) -> None:
        self.cards = CARDS.check("kuhn_poker", cards)
        self.name = canonical_name("kuhn_poker", self.parameters, {"cards": self.cards})
        self._ranks = rank_names(self.cards)

    def root(self) -> Array:
        return np.zeros(1, STATE)

    def player(self, states: Array) -> NDArray[np.int8]:
        acting: NDArray[np.int8] = PLAYER[states["stage"]]
        return acting

    def actions(self, states: Array) -> Ragged:
        stage = states["stage"]
        acting = PLAYER[stage]
        legal = np.zeros((len(states), max(2, self.cards)), bool)
        legal[acting >= 0, :2] = True
        legal[stage <= DEAL_1] = True
        legal[stage <= DEAL_1, self.cards :] = False
        second = np.flatnonzero(stage == DEAL_1)
        legal[second, states["card0"][second] - 1] = False
        return Ragged.from_counts(legal.sum(axis=1), np.nonzero(legal)[1])

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        chance = (PLAYER[states["stage"]] == CHANCE)[actions.rows]
        return np.where(chance, 1.0 / np.maximum(actions.counts, 1)[actions.rows], 1.0)

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after = states[rows]
        stage = after["stage"].copy()
        for deal, card in ((DEAL_0, "card0"), (DEAL_1, "card1")):
            dealt = stage == deal
            after[card][dealt] = actions[dealt] + 1
            after["stage"][dealt] = deal + 1
        betting = stage >= BETTING
        after["stage"][betting] = NEXT_STAGE[stage[betting] - BETTING, actions[betting]]
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        stage = states["stage"]
        wins = np.where(states["card0"] > states["card1"], 1.0, -1.0)
        wins[stage == FOLDED[0]] = 1.0
        wins[stage == FOLDED[1]] = -1.0
        chips = wins * STAKE[stage]
        return np.stack([chips, -chips], axis=1)

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        key: NDArray[np.uint64] = states["stage"].astype(np.uint64) << np.uint64(4) | states[f"card{player}"]
        return key[:, None]

    def action_text(self, state: Array, action: Array) -> str:
        if state["stage"] < BETTING:
            return f"deal {self._ranks[int(action)]}"
        return "bet" if action == BET else "pass"

    def state_text(self, state: Array) -> str:
        return f"P0 {self._card(state, 0)}, P1 {self._card(state, 1)}{self._line(state)}"

    def infoset_text(self, state: Array, player: int) -> str:
        return f"P{player} {self._card(state, player)}{self._line(state)}"

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset; the other's card is any but the player's own."""
        stage, own = infoset.key[0] >> 4, (infoset.key[0] & 15) - 1
        other = (own + 1 + rng.integers(self.cards - 1, size=n)) % self.cards
        mine = np.full(n, own)
        said = ["pb".index(letter) for letter in LINES[stage - BETTING]]
        columns = [mine, other] if infoset.player == 0 else [other, mine]
        table = np.concatenate([np.stack(columns, axis=1), np.tile(np.array(said, np.int64), (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, table.shape[1]), table.reshape(-1))

    def private_states(self) -> tuple[int, int]:
        return self.cards, self.cards

    def public_root(self) -> Array:
        return np.array([(BETTING, 0, 0)], STATE)

    def deal(self, states: Array, private0: NDArray[np.int64], private1: NDArray[np.int64]) -> Array:
        dealt = states.copy()
        dealt["card0"], dealt["card1"] = private0 + 1, private1 + 1
        return dealt

    def public_state(self, states: Array) -> Array:
        public = states.copy()
        public["card0"] = public["card1"] = 0
        return public

    def deal_weights(self, states: Array) -> NDArray[np.float64]:
        one = (1 - np.eye(self.cards)) / (self.cards * (self.cards - 1))
        return np.broadcast_to(one, (len(states), self.cards, self.cards))

    def payoff_kinds(self, states: Array) -> NDArray[np.int64]:
        kinds: NDArray[np.int64] = states["stage"].astype(np.int64)
        return kinds

    def payoff_forms(self, states: Array) -> PayoffForms:
        forms, one = FormBuilder((self.cards, self.cards)), np.ones(self.cards)
        likely = one / (self.cards * (self.cards - 1))
        deal = forms.deal(likely, one, diagonal=-likely)
        cards = forms.strengths(np.arange(self.cards), np.arange(self.cards))
        for row, stage in enumerate(states["stage"].tolist()):
            stake = float(STAKE[stage])
            if stage in FOLDED:
                forms.pay(row, deal, None, stake if stage == FOLDED[0] else -stake)
            else:
                forms.pay(row, deal, cards, (-stake, 0.0, stake))
        return forms.build(len(states))

    def history_in(self, text: str) -> Array | None:
        read = re.fullmatch(r"p([01]) holds (\w)(?: \| (.*))?", text)
        if not read or read[2].upper() not in self._ranks:
            return None
        card = self._ranks.index(read[2].upper())
        other = 0 if card else 1
        cards = (card, other) if read[1] == "0" else (other, card)
        return self.played(self.forced(self.root(), *cards), (read[3] or "").split())

    def _card(self, state: Array, player: int) -> str:
        card = int(state[f"card{player}"])
        return f"holds {self._ranks[card - 1]}" if card else "holds no card"

    def _line(self, state: Array) -> str:
        stage = int(state["stage"])
        if stage < BETTING:
            return f" | dealing to P{stage}"
        words = " ".join("bet" if letter == "b" else "pass" for letter in LINES[stage - BETTING])
        return f" | {words}" if words else ""
