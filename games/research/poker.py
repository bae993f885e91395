"""Poker of two hands: what all of it here shares, and Kuhn's and Leduc poker.

Chance deals a hand to either player, then both bet in sight of each other; after the first round of betting
a board may be shown. The betting is laid out as rows, OpenSpiel's too (`games.openspiel.poker_form`). Kuhn's
and Leduc poker have one card in a hand. A pair with the board wins, then the higher rank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame, actions_to
from games.game import CHANCE, TERMINAL, Infoset
from games.infosets.payoff_forms import FormBuilder, PayoffForms
from games.ragged import Ragged
from games.support.array_types import Array

DEAL_0, DEAL_1, FIRST = 0, 1, 2
"""The nodes at which the hands are dealt, and the first of the betting."""
CARDS = -1
"""The action of a way past cards that chance deals."""
SUITS = "shdc"

STATE = np.dtype([("node", np.uint32), ("card0", "u1"), ("card1", "u1"), ("board", "u1"), ("unused", "u1")])
"""node: where the public history stands, a row of `Betting`. Cards: 1 + index in the deck, 0 until dealt."""


@dataclass(frozen=True, eq=False)
class Betting:
    """What can be bet, whatever the cards; parents come before their children.

    player: [n] int8, a seat, CHANCE where cards are dealt, or TERMINAL; nodes 0 and 1 deal the hands.
    parent: [n] int64, -1 at the root. action: [n] int64, what leads to the node, CARDS past a deal.
    fought: [n] bool, a showdown. stake: [n] float64, what player 0 is paid where there is no showdown, else
    what the winner is paid.
    """

    player: NDArray[np.int8]
    parent: NDArray[np.int64]
    action: NDArray[np.int64]
    fought: NDArray[np.bool_]
    stake: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.player)

    def way(self, node: int) -> list[int]:
        """Return the actions that lead to a node once the hands are dealt."""
        return actions_to(node, self.parent, self.action)[FIRST:]

    @cached_property
    def _moves(self) -> NDArray[np.int64]:
        """The nodes that an action leads to, by the node before them and the action."""
        moves = np.flatnonzero(self.action[1:] != CARDS) + 1
        return moves[np.lexsort((self.action[moves], self.parent[moves]))]

    @cached_property
    def legal(self) -> Ragged:
        """The actions of each node; none where chance acts."""
        counts = np.bincount(self.parent[self._moves], minlength=len(self))
        return Ragged.from_counts(counts, self.action[self._moves])

    @cached_property
    def _edges(self) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return (span, edges [m], what follows each deal [n]); an edge is `node * span + action`, sorted."""
        span, dealt = int(self.action.max(initial=0)) + 1, np.zeros(len(self), np.int64)
        shown = np.flatnonzero(self.action[1:] == CARDS) + 1
        dealt[self.parent[shown]] = shown
        return span, self.parent[self._moves] * span + self.action[self._moves], dealt

    def follow(self, nodes: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nodes after actions, [n]; at chance nodes whatever is dealt."""
        span, edges, dealt = self._edges
        at = np.searchsorted(edges, nodes * span + actions)
        moved = self._moves[np.minimum(at, len(edges) - 1)]
        return np.where(self.player[nodes] == CHANCE, dealt[nodes], moved)


class TwoHands(TwoPlayerGame):
    """A game of two hands dealt first, one after the other, and of at most one board, shown between bets.

    A subclass gives the betting, `_betting`, what chance deals (`_odds`) and who wins a showdown (`_won`).
    state: dtype of a history: node, card0, card1 and board, the latter counted from 1; 0 is none.
    key_bits: of a hand and of a board in an infoset key. has_board: whether there may be one.
    """

    state = STATE
    key_bits = 8
    has_board = True
    _betting: Betting

    def _odds(self, states: Array) -> NDArray[np.float64]:
        """Return how likely chance deals each outcome where it acts, [n, outcomes]; 0 for what it cannot."""
        raise NotImplementedError

    def _won(self, states: Array) -> NDArray[np.float64]:
        """Return who wins with the cards of finished games, [n]: 1 player 0, -1 player 1, 0 neither."""
        raise NotImplementedError

    def root(self) -> Array:
        return np.zeros(1, self.state)

    def player(self, states: Array) -> NDArray[np.int8]:
        acting: NDArray[np.int8] = self._betting.player[states["node"]]
        return acting

    def actions(self, states: Array) -> Ragged:
        node, chance, legal = states["node"], self.player(states) == CHANCE, self._betting.legal
        if not chance.any():
            return legal.take(node)
        possible = self._odds(states[chance]) > 0
        counts = legal.counts[node]
        counts[chance] = possible.sum(axis=1)
        values = np.empty(counts.sum(), np.int64)
        dealing = np.repeat(chance, counts)
        values[dealing] = np.nonzero(possible)[1]
        values[~dealing] = legal.take(node).values
        return Ragged.from_counts(counts, values)

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        probs, chance = np.ones(len(actions.values)), self.player(states) == CHANCE
        if chance.any():
            row = (np.cumsum(chance) - 1)[actions.rows]
            dealing = np.repeat(chance, actions.counts)
            probs[dealing] = self._odds(states[chance])[row[dealing], actions.values[dealing]]
        return probs

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after, taken = states[rows], np.asarray(actions, np.int64)
        node = after["node"].astype(np.int64)
        chance = self._betting.player[node] == CHANCE
        if chance.any():
            for card, dealt in (
                ("card0", node == DEAL_0),
                ("card1", node == DEAL_1),
                ("board", chance & (node >= FIRST)),
            ):
                after[card][dealt] = taken[dealt] + 1
        after["node"] = self._betting.follow(node, taken)
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        node = states["node"]
        paid = np.where(self._betting.fought[node], self._won(states), 1.0) * self._betting.stake[node]
        return np.stack([paid, -paid], axis=1)

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
        way = [board if action == CARDS else action for action in self._betting.way(node)]
        line = np.array(way, np.int64)
        table = np.concatenate([columns, np.tile(line, (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, table.shape[1]), table.reshape(-1))

    def _others(self, seat: int, own: int, board: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return n hands of the other player, drawn as chance deals them; own, board: -1 for none."""
        raise NotImplementedError

    def public_root(self) -> Array:
        root = self.root()
        root["node"] = FIRST
        return root

    def deal(self, states: Array, private0: NDArray[np.int64], private1: NDArray[np.int64]) -> Array:
        dealt = states.copy()
        dealt["card0"], dealt["card1"] = private0 + 1, private1 + 1
        return dealt

    def public_state(self, states: Array) -> Array:
        public = states.copy()
        public["card0"] = public["card1"] = 0
        return public


class Said(NamedTuple):
    """What both players see at a node, the board card aside: a row of the betting while it is laid out.

    player, parent, action: as of `Betting`. chips: what each player has put in. words: what was said in each
    round. folded: who gave up, -1 if nobody.
    """

    player: int
    parent: int
    action: int
    chips: tuple[int, int] = (1, 1)
    words: tuple[str, str] = ("", "")
    folded: int = -1


DEALS = (Said(CHANCE, -1, CARDS), Said(CHANCE, DEAL_0, CARDS))
"""The first rows: the private cards are dealt."""


class CardPoker(TwoHands):
    """Poker with one private card each; a subclass gives betting, deck, payoff range and words of actions.

    rows: the betting, DEALS first. ranks, suits: of the deck. same: whether suits are not seen; chance then
    deals ranks.
    """

    def __init__(
        self, name: str, rows: Sequence[Said], ranks: int, suits: int = 1, *, same: bool = False
    ) -> None:
        self.name, self.ranks, self.suits, self.suit_isomorphism = name, ranks, suits, same
        player, parent, action, chips, _, folded = map(np.array, zip(*rows, strict=True))
        self._words, self._chips = [row.words for row in rows], chips.astype(np.float64)
        fought = (player == TERMINAL) & (folded < 0)
        # Who gives up loses what it has put in.
        stake = np.where(folded == 0, -self._chips[:, 0], self._chips[:, 1])
        self._betting = Betting(player.astype(np.int8), parent, action, fought, stake)
        self.has_board = int((self._betting.player == CHANCE).sum()) > FIRST
        self._card_names = list("JQK"[3 - ranks :] if ranks <= 3 else "23456789TJQKA"[13 - ranks :])
        if suits > 1 and not same:
            self._card_names = [rank + suit for rank in self._card_names for suit in SUITS[:suits]]
        self._copies = suits if same else 1
        self._rank_of = np.arange(len(self._card_names)) // (1 if same else suits)

    def _odds(self, states: Array) -> NDArray[np.float64]:
        left = np.full((len(states), len(self._card_names)), self._copies)
        for card in ("card0", "card1", "board"):
            dealt = np.flatnonzero(states[card])
            left[dealt, states[card][dealt].astype(np.int64) - 1] -= 1
        odds: NDArray[np.float64] = left / left.sum(axis=1, keepdims=True)
        return odds

    def _won(self, states: Array) -> NDArray[np.float64]:
        strength = []
        for card in ("card0", "card1"):
            rank = self._rank_of[states[card].astype(np.int64) - 1]
            pair = (states["board"] > 0) & (rank == self._rank_of[states["board"].astype(np.int64) - 1])
            strength.append(rank + pair * self.ranks)
        won: NDArray[np.float64] = np.sign(strength[0] - strength[1]).astype(np.float64)
        return won

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
            stake = float(self._betting.stake[node])
            if self._betting.fought[node]:
                forms.pay(row, deal, forms.strengths(hands, hands), (-stake, 0.0, stake))
            else:
                forms.pay(row, deal, None, stake)
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
        elif self._betting.player[node] == CHANCE:
            parts.append("dealing the board")
        return "".join(f" | {part}" for part in parts)
