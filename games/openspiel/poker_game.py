"""OpenSpiel's poker as a factored game, to be solved on its public tree (extra: `openspiel`).

`load_game("openspiel:universal_poker(...)")`, and OpenSpiel's Leduc and Kuhn poker. A state is a betting
node, two hands and a board, each a number, and tables answer everything (`games.openspiel.poker_form`). What
chance deals to one player is one action here, and so is a board. Where that is one card, histories and
actions are OpenSpiel's own; elsewhere `openspiel_actions` takes them apart.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.base import TwoPlayerGame
from games.game import CHANCE, GameError, Infoset
from games.infosets import normal_text, unknown_infoset
from games.openspiel.betting_tree import CARDS, NotPoker
from games.openspiel.expansion import load_openspiel
from games.openspiel.poker_check import check_form
from games.openspiel.poker_form import poker_form
from games.openspiel.poker_tables import DEAL_0, DEAL_1, FIRST, STATE, PokerTables
from games.openspiel.poker_words import PokerWords
from games.ragged import Ragged
from games.support.array_types import Array

__all__ = ["POKER", "OpenSpielPoker"]

POKER = frozenset({"universal_poker", "leduc_poker", "kuhn_poker"})
"""OpenSpiel's names of the games that are tried in this form."""
BITS = 20
"""Of a hand and of a board in an infoset key."""
LISTED = 20_000
"""Histories looked at for near matches of a text that names no infoset."""
WIDEST = 4096
"""Bits for the betting that a network is shown action by action; where it is more, its node is numbered."""


class OpenSpielPoker(TwoPlayerGame):
    """A poker game of OpenSpiel's for two players, as `games.infosets.factored.FactoredGame` asks.

    text: OpenSpiel's own game string.
    derived, remembers: as of `OpenSpielGame`; a waiting player knows its hand and all that is public.
    Raises NotPoker, a GameError, with the reason if the game is no product of hands, betting and a board, and
    the GameErrors of `OpenSpielGame`.
    """

    derived: tuple[int, ...] = ()
    remembers = True
    by_observations = False

    def __init__(self, text: str) -> None:
        self._game, self.name = load_openspiel(text)
        if self._game.num_players() != 2:
            raise NotPoker(self.name, f"must have 2 players; this one has {self._game.num_players()}")
        self._form = poker_form(self._game, self.name)
        check_form(self._game, self._form, self.name, np.random.default_rng(0))
        self._tables = PokerTables.of(self._form)
        self._words = PokerWords(self._game, self._form, self._tables)
        most = float(np.abs(self._tables.stake).max())
        self.payoff_range = (-most, most)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but OpenSpiel's game, which may not know its own name."""
        return {**self.__dict__, "_game": None, "_words": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load OpenSpiel's game again."""
        self.__dict__ |= state
        self._game = load_openspiel(self.name.partition(":")[2])[0]
        self._words = PokerWords(self._game, self._form, self._tables)

    def root(self) -> Array:
        return np.zeros(1, STATE)

    def player(self, states: Array) -> NDArray[np.int8]:
        acting: NDArray[np.int8] = self._tables.player[states["bet"]]
        return acting

    def actions(self, states: Array) -> Ragged:
        return self._tables.open.take(self._tables.row(states))

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        return self._tables.probs.take(self._tables.row(states)).values

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after, taken = states[rows], np.asarray(actions, np.int64)
        bet = after["bet"].astype(np.int64)
        shown = (self._tables.player[bet] == CHANCE) & (bet >= FIRST)
        for field, dealt in (("hand0", bet == DEAL_0), ("hand1", bet == DEAL_1), ("board", shown)):
            after[field][dealt] = taken[dealt] + 1
        after["bet"] = self._tables.follow(bet, taken)
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        bet, board = states["bet"], states["board"].astype(np.int64)
        early, late = self._form.outcomes
        one, two = (states[f"hand{seat}"].astype(np.int64) - 1 for seat in (0, 1))
        won = early[one, two].astype(np.float64)
        shown = board > 0
        won[shown] = late[board[shown] - 1, one[shown], two[shown]]
        paid = np.where(self._tables.fought[bet], won, 1.0) * self._tables.stake[bet]
        return np.stack([paid, -paid], axis=1)

    def infoset_key(self, states: Array, player: int) -> NDArray[np.uint64]:
        key = states["bet"].astype(np.uint64)
        for field in (f"hand{player}", "board"):
            key = key << np.uint64(BITS) | states[field].astype(np.uint64)
        return key[:, None]

    def private_states(self) -> tuple[int, int]:
        return self._form.hands.counts

    def public_root(self) -> Array:
        return np.array([(FIRST, 0, 0, 0)], STATE)

    def deal(self, states: Array, private0: NDArray[np.int64], private1: NDArray[np.int64]) -> Array:
        dealt = states.copy()
        dealt["hand0"], dealt["hand1"] = private0 + 1, private1 + 1
        return dealt

    def public_state(self, states: Array) -> Array:
        public = states.copy()
        public["hand0"] = public["hand1"] = 0
        return public

    def deal_weights(self, states: Array) -> NDArray[np.float64]:
        weights = np.empty((len(states), *self._form.hands.counts))
        for row, board in enumerate(states["board"].tolist()):
            weights[row] = self._form.shares(board - 1)
        return weights

    def payoff_kinds(self, states: Array) -> NDArray[np.int64]:
        pays = self._tables.pays[states["bet"]] * (len(self._form.boards) + 1)
        return np.asarray(pays + states["board"], np.int64)

    def sample_histories(self, infoset: Infoset, n: int, rng: np.random.Generator) -> Ragged:
        """Return n histories of an infoset; the other's hand is any, as often as chance deals it."""
        (bet, own, board), seat = _unpacked(infoset.key[0]), infoset.player
        share = self._form.shares(board - 1)
        share = share if seat == 0 else share.T
        odds = share[own - 1] if own else share.sum(axis=0)
        other = rng.choice(len(odds), size=n, p=odds / odds.sum())
        mine = np.full(n, own - 1)
        columns = np.stack([mine, other] if seat == 0 else [other, mine], axis=1)[:, :bet]
        way = self._form.betting.way(bet - FIRST) if bet >= FIRST else []
        line = np.array([board - 1 if action == CARDS else action for action in way], np.int64)
        table = np.concatenate([columns, np.tile(line, (n, 1))], axis=1)
        return Ragged.from_counts(np.full(n, table.shape[1]), table.reshape(-1))

    def features(self, states: Array, player: int) -> NDArray[np.uint8]:
        """Return what a network sees, [n, width] uint8: the cards it holds, the board and the betting."""
        hands, boards = self._cards
        held, shown = hands[player][states[f"hand{player}"]], boards[states["board"]]
        return np.concatenate([held, shown, self._bets[states["bet"]]], axis=1)

    @cached_property
    def _cards(self) -> tuple[tuple[NDArray[np.uint8], ...], NDArray[np.uint8]]:
        """How often each card is in each hand of either player, and in each board; row 0 is none."""
        *hands, boards = lines = (*self._form.hands.cards, self._form.boards)
        deck = 1 + max((card for group in lines for line in group for card in line), default=0)
        counted = [
            np.array([np.bincount(np.array(line, int), minlength=deck) for line in ((), *group)], np.uint8)
            for group in (*hands, boards)
        ]
        return (counted[0], counted[1]), counted[2]

    @cached_property
    def _bets(self) -> NDArray[np.uint8]:
        """The betting up to each node, [nodes, width] of 0 and 1."""
        betting = self._form.betting
        ways = [[], [], *(betting.way(node) for node in range(len(betting)))]
        known = np.unique(betting.action[1:])
        longest, nodes = max(len(way) for way in ways), np.arange(len(ways))
        if longest * len(known) > WIDEST:
            return (nodes[:, None] >> np.arange(BITS + 1) & 1).astype(np.uint8)
        bits = np.zeros((len(ways), longest, len(known)), np.uint8)
        for node, way in enumerate(ways):
            bits[node, np.arange(len(way)), np.searchsorted(known, way)] = 1
        dealing = (nodes[:, None] == [DEAL_0, DEAL_1]).astype(np.uint8)
        return np.concatenate([bits.reshape(len(ways), -1), dealing], axis=1)

    def openspiel_game(self) -> Any:
        """Return OpenSpiel's own game."""
        return self._game

    def openspiel_actions(self, actions: list[int]) -> list[int]:
        """Return OpenSpiel's own actions for those that lead to a history here, its dealing over."""
        bet = FIRST
        line: list[int] = self._form.hands.lines[actions[0], actions[1]].tolist()
        for action in actions[2:]:
            line += self._form.boards[action] if self._tables.player[bet] == CHANCE else [action]
            bet = int(self._tables.follow(np.array([bet]), np.array([action]))[0])
        return line

    def openspiel_string(self, key: int, player: int) -> str:
        """Return OpenSpiel's information state string of an infoset where the player acts.

        Raises GameError if it is not one.
        """
        bet, own, board = _unpacked(key)
        if self._tables.player[bet] != player:
            raise GameError(f"{self.name}: player {player} must act at the infoset; it waits at {key}")
        return self._words.told(bet, own, board, player)[1]

    def action_text(self, state: Array, action: Array) -> str:
        return self._words.action(state, int(action))

    def state_text(self, state: Array) -> str:
        return self._words.history(state)

    def infoset_text(self, state: Array, player: int) -> str:
        own, board = int(state[f"hand{player}"]), int(state["board"])
        return self._words.infoset(int(state["bet"]), own, board, player)

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names. Raises GameError with near matches if there is none."""
        wanted = normal_text(text)
        player = {"p0": 0, "p1": 1}.get(wanted[:2])
        found = None if player is None else self._words.named(wanted, player)
        if player is None or found is None:
            raise unknown_infoset(self, text, max_states=LISTED)
        bet, own, board = found
        return Infoset(player, ((bet << BITS | own) << BITS | board,), self._words.infoset(*found, player))


def _unpacked(key: int) -> tuple[int, int, int]:
    """Return (betting node, own hand, board) of an infoset key."""
    mask = (1 << BITS) - 1
    return key >> 2 * BITS, key >> BITS & mask, key & mask
