"""Poker of two hands: what all of it here shares, and Kuhn's and Leduc poker, their betting laid out as rows.

Chance deals a hand to either player, then both bet in sight of each other; after the first round of betting
a board may be shown. Kuhn's and Leduc poker have one card in a hand. A pair with the board wins, then the
higher rank.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import CHANCE, Infoset
from games.infosets.payoff_forms import FormBuilder, PayoffForms
from games.ragged import Ragged
from games.support.array_types import Array

DEAL_0, DEAL_1 = 0, 1
SUITS = "shdc"

STATE = np.dtype([("node", np.uint32), ("card0", "u1"), ("card1", "u1"), ("board", "u1"), ("unused", "u1")])
"""node: where the public history stands, a row of PublicTree. Cards: 1 + index in the deck, 0 until dealt."""


class TwoHands(TwoPlayerGame):
    """A game of two hands dealt first, one after the other, and of at most one board, shown between bets.

    A subclass says in `_player`, [n] int8, who acts at each node of the betting; nodes 0, 1 deal the hands.
    state: dtype of a history: node, card0, card1 and board, the latter counted from 1; 0 is none.
    key_bits: of a hand and of a board in an infoset key. has_board: whether there may be one.
    """

    state = STATE
    key_bits = 8
    has_board = True
    _player: NDArray[np.int8]

    def root(self) -> Array:
        return np.zeros(1, self.state)

    def player(self, states: Array) -> NDArray[np.int8]:
        acting: NDArray[np.int8] = self._player[states["node"]]
        return acting

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        key = states["node"].astype(np.uint64)
        for card in (f"card{player}", "board") if self.has_board else (f"card{player}",):
            key = key << np.uint64(self.key_bits) | states[card].astype(np.uint64)
        return key[:, None]

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset; the other's hand is any left, as often as chance deals it."""
        key, board, mask = int(infoset.key[0]), -1, (1 << self.key_bits) - 1
        if self.has_board:
            key, board = key >> self.key_bits, (key & mask) - 1
        node, own = key >> self.key_bits, (key & mask) - 1
        other, mine = self._others(infoset.player, own, board, n, rng), np.full(n, own)
        columns = np.stack([mine, other] if infoset.player == 0 else [other, mine], axis=1)[:, :node]
        line = np.array(self._way(node, board) if node > DEAL_1 else [], np.int64)
        table = np.concatenate([columns, np.tile(line, (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, table.shape[1]), table.reshape(-1))

    def _others(self, seat: int, own: int, board: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return n hands of the other player, drawn as chance deals them; own, board: -1 for none."""
        raise NotImplementedError

    def _way(self, node: int, board: int) -> list[int]:
        """Return the actions, that of the board among them, that lead to a node of the betting."""
        raise NotImplementedError

    def public_root(self) -> Array:
        root = self.root()
        root["node"] = DEAL_1 + 1
        return root

    def deal(self, states: Array, private0: NDArray[np.int64], private1: NDArray[np.int64]) -> Array:
        dealt = states.copy()
        dealt["card0"], dealt["card1"] = private0 + 1, private1 + 1
        return dealt

    def public_state(self, states: Array) -> Array:
        public = states.copy()
        public["card0"] = public["card1"] = 0
        return public


@dataclass
class PublicTree:
    """Everything that both players see except the board card: deals and betting, as rows of arrays.

    player: who acts: a seat, CHANCE or TERMINAL. child: row after each action, -1 where it is illegal; after
    a deal it stands under action 0. chips: what each player has put in. folded: who gave up, -1 if nobody.
    words: what was said in each round. Rows 0 and 1 deal the private cards; parents come first.
    """

    player: list[int] = field(default_factory=list)
    child: list[list[int]] = field(default_factory=list)
    chips: list[tuple[int, int]] = field(default_factory=list)
    folded: list[int] = field(default_factory=list)
    words: list[tuple[str, str]] = field(default_factory=list)


class CardPoker(TwoHands):
    """Poker with one private card each; a subclass gives betting, deck, payoff range and words of actions.

    tree: the betting. ranks, suits: of the deck. same: whether suits are not seen; chance then deals ranks.
    """

    def __init__(
        self, name: str, tree: PublicTree, ranks: int, suits: int = 1, *, same: bool = False
    ) -> None:
        self.name, self.ranks, self.suits, self.suit_isomorphism = name, ranks, suits, same
        child = np.array(tree.child)
        self._player = np.array(tree.player, np.int8)
        self._child = child.astype(np.uint32)
        legal = child >= 0
        self._chips = np.array(tree.chips, np.float64)
        self._folded = np.array(tree.folded, np.int8)
        self._words = tree.words
        chance = self._player == CHANCE
        self.has_board = int(chance.sum()) > 2
        # The node before each, and what led on from it: an action, or -1 for the board.
        self._above = {
            int(child[node, action]): (node, -1 if chance[node] else action)
            for node, action in zip(*np.nonzero(legal), strict=True)
        }
        self._legal = Ragged.from_counts(
            np.where(chance, 0, legal.sum(axis=1)), np.nonzero(legal & ~chance[:, None])[1]
        )
        self._card_names = list("JQK"[3 - ranks :] if ranks <= 3 else "23456789TJQKA"[13 - ranks :])
        if suits > 1 and not same:
            self._card_names = [rank + suit for rank in self._card_names for suit in SUITS[:suits]]
        self._copies = suits if same else 1
        self._rank_of = np.arange(len(self._card_names)) // (1 if same else suits)

    def actions(self, states: Array) -> Ragged:
        node = states["node"]
        if not np.any(self._player[node] == CHANCE):
            return self._legal.take(node)
        left = self._copies_left(states)
        counts = np.where(self._player[node] == CHANCE, (left > 0).sum(axis=1), self._legal.counts[node])
        values = np.empty(counts.sum(), np.int64)
        dealing = np.repeat(self._player[node] == CHANCE, counts)
        values[dealing] = np.nonzero(left)[1]
        values[~dealing] = self._legal.take(node).values
        return Ragged.from_counts(counts, values)

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        chance = self._player[states["node"]] == CHANCE
        if not chance.any():
            return np.ones(len(actions.values))
        left = self._copies_left(states)
        rows = actions.rows
        cards = np.where(chance[rows], actions.values, 0)
        return np.where(chance[rows], left[rows, cards] / np.maximum(left.sum(axis=1), 1)[rows], 1.0)

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after = states[rows]
        node = after["node"]
        chance = self._player[node] == CHANCE
        deal = np.flatnonzero(chance)
        if len(deal):
            stage = node[deal]
            for card, at in (
                ("card0", stage == DEAL_0),
                ("card1", stage == DEAL_1),
                ("board", stage > DEAL_1),
            ):
                after[card][deal[at]] = actions[deal[at]] + 1
        after["node"] = self._child[node, np.where(chance, 0, actions)]
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        node = states["node"]
        strength = []
        for card in ("card0", "card1"):
            rank = self._rank_of[states[card].astype(np.int64) - 1]
            pair = (states["board"] > 0) & (rank == self._rank_of[states["board"].astype(np.int64) - 1])
            strength.append(rank + pair * self.ranks)
        sign = np.sign(strength[0] - strength[1])
        folded = self._folded[node]
        sign = np.where(folded < 0, sign, np.where(folded == 1, 1, -1))
        chips = np.where(sign > 0, self._chips[node, 1], self._chips[node, 0]) * sign
        return np.stack([chips, -chips], axis=1)

    def state_text(self, state: Array) -> str:
        return f"P0 {self._card(state, 0)}, P1 {self._card(state, 1)}{self._public(state)}"

    def infoset_text(self, state: Array, player: int) -> str:
        return f"P{player} {self._card(state, player)}{self._public(state)}"

    def _others(self, seat: int, own: int, board: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        left = np.full(len(self._card_names), self._copies, np.float64)
        for card in (own, board):
            if card >= 0:
                left[card] -= 1
        return rng.choice(len(left), size=n, p=left / left.sum())

    def _way(self, node: int, board: int) -> list[int]:
        way: list[int] = []
        while node > DEAL_1 + 1:
            node, action = self._above[node]
            way.append(board if action < 0 else action)
        return way[::-1]

    def private_states(self) -> tuple[int, int]:
        return len(self._card_names), len(self._card_names)

    def deal_weights(self, states: Array) -> NDArray[np.float64]:
        n, total = len(self._card_names), len(self._card_names) * self._copies
        one = np.eye(n)
        left = self._copies - one  # of each card, once player 0 holds one: [n0, card]
        pairs = self._copies * left / (total * (total - 1))
        if not self.has_board:
            return np.broadcast_to(pairs, (len(states), n, n))
        shown = left[:, None, :] - one[None]  # once player 1 holds one as well: [n0, n1, card]
        board = np.concatenate([np.ones((n, n, 1)), shown / (total - 2)], axis=2)
        weights: NDArray[np.float64] = pairs * np.moveaxis(np.maximum(board, 0), 2, 0)[states["board"]]
        return weights

    def payoff_kinds(self, states: Array) -> NDArray[np.int64]:
        kinds: NDArray[np.int64] = states["node"].astype(np.int64) << 8 | states["board"]
        return kinds

    def payoff_forms(self, states: Array) -> PayoffForms:
        n, total = len(self._card_names), len(self._card_names) * self._copies
        forms = FormBuilder((n, n))
        for row, state in enumerate(states):
            node, shown = int(state["node"]), int(state["board"])
            left, likely = np.full(n, float(self._copies)), 1 / (total * (total - 1))
            hands = self._rank_of
            if shown:
                likely *= self._copies / (total - 2)
                left[shown - 1] -= 1
                hands = hands + self.ranks * (hands == self._rank_of[shown - 1])
            # What is left of a card is one less where the other has it too.
            deal = forms.deal(likely * left, left, diagonal=-likely * left)
            chips, folded = self._chips[node], self._folded[node]
            if folded >= 0:
                forms.pay(row, deal, None, float(-chips[0] if folded == 0 else chips[1]))
            else:
                paid = float(-chips[0]), 0.0, float(chips[1])
                forms.pay(row, deal, forms.strengths(hands, hands), paid)
        return forms.build(len(states))

    def history_in(self, text: str) -> Array | None:
        read = re.fullmatch(
            r"p([01]) holds (\w+)(?: \| (?!board)([\w ]+))?(?: \| board (\w+)(?: \| ([\w ]+))?)?", text
        )
        names = [name.lower() for name in self._card_names]
        if not read or read[2] not in names or (read[4] or read[2]) not in names:
            return None
        own = names.index(read[2])
        board = names.index(read[4]) if read[4] else None
        spare = np.full(len(names), self._copies)
        spare[own] -= 1
        if board is not None:
            spare[board] -= 1
        if spare.min() < 0 or spare.max() < 1:
            return None
        other = int(spare.argmax())
        states = self.forced(self.root(), *((own, other) if read[1] == "0" else (other, own)))
        before = self.played(states, (read[3] or "").split())
        if before is None or board is None:
            return before
        if self.player(before)[0] != CHANCE:
            return None
        return self.played(self.forced(before, board), (read[5] or "").split())

    def _copies_left(self, states: Array) -> NDArray[np.int64]:
        """Return how many of each card are still in the deck, [n, cards]; zero where chance does not act."""
        left = np.full((len(states), len(self._card_names)), self._copies)
        left[self._player[states["node"]] != CHANCE] = 0
        for card in ("card0", "card1", "board"):
            dealt = np.flatnonzero((states[card] > 0) & (self._player[states["node"]] == CHANCE))
            left[dealt, states[card][dealt].astype(np.int64) - 1] -= 1
        return left

    def _card(self, state: Array, player: int) -> str:
        card = int(state[f"card{player}"])
        return f"holds {self._card_names[card - 1]}" if card else "holds no card"

    def _public(self, state: Array) -> str:
        node = int(state["node"])
        if node <= DEAL_1:
            return f" | dealing to P{node}"
        before, after = self._words[node]
        parts = [before] if before else []
        if state["board"]:
            parts.append(f"board {self._card_names[int(state['board']) - 1]}")
            parts += [after] if after else []
        elif self._player[node] == CHANCE:
            parts.append("dealing the board")
        return "".join(f" | {part}" for part in parts)
