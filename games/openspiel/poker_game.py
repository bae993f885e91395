"""OpenSpiel's poker as a factored game, to be solved on its public tree (extra: `openspiel`).

`load_game("openspiel:universal_poker(...)")`, and OpenSpiel's Leduc and Kuhn poker. A state is a betting
node, two hands and a board, each a number, and tables answer everything (`games.openspiel.poker_form`). What
chance deals to one player is one action here, and so is a board. Where that is one card, histories and
actions are OpenSpiel's own; elsewhere `openspiel_actions` takes them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Infoset
from games.infosets import normal_text, unknown_infoset
from games.infosets.naming import ACTS, OTHER_ACTS, OVER, infoset_line, joined_lines, numbered
from games.openspiel.expansion import load_openspiel
from games.openspiel.poker_form import BettingTree, NotPoker, check_form, poker_form
from games.openspiel.telling import texts_of
from games.research.poker import DEAL_0, DEAL_1, FIRST, TwoHands
from games.support.array_types import Array

STATE = np.dtype([("node", "i4"), ("card0", "i4"), ("card1", "i4"), ("board", "i4")])
"""A history: betting node, hands and board. Hands and boards count from 1, 0 is none."""


POKER = frozenset({"universal_poker", "leduc_poker", "kuhn_poker"})
"""OpenSpiel's names of the games that are tried in this form."""
BITS = 20
"""Of a hand and of a board in an infoset key."""
LISTED = 20_000
"""Histories looked at for near matches of a text that names no infoset."""
WIDEST = 4096
"""Bits for the betting that a network is shown action by action; where it is more, its node is numbered."""


class OpenSpielPoker(TwoHands):
    """A poker game of OpenSpiel's for two players, as `games.infosets.factored.FactoredGame` asks.

    text: OpenSpiel's own game string.
    derived, remembers: as of `OpenSpielGame`; a waiting player knows its hand and all that is public.
    Raises NotPoker, a GameError, with the reason if the game is no product of hands, betting and a board, and
    the GameErrors of `OpenSpielGame`.
    """

    derived: tuple[int, ...] = ()
    remembers = True
    by_observations = False
    state = STATE
    key_bits = BITS
    _betting: BettingTree

    def __init__(self, text: str) -> None:
        self._game, self.name = load_openspiel(text)
        if self._game.num_players() != 2:
            raise NotPoker(self.name, f"must have 2 players; this one has {self._game.num_players()}")
        self._form = poker_form(self._game, self.name)
        check_form(self._game, self._form, self.name, np.random.default_rng(0))
        self._betting = betting = self._form.betting
        most = float(np.abs(betting.stake).max())
        self.payoff_range = (-most, most)
        prior, boards = self._form.hands.prior, self._form.board_probs
        self._first = prior.sum(axis=1)
        self._second = prior / np.maximum(self._first, np.finfo(float).tiny)[:, None]
        self._some = np.einsum("ij,bij->b", prior, boards)
        pays = np.stack([betting.fought, betting.stake], axis=1)
        self._pays = np.unique(pays, axis=0, return_inverse=True)[1].reshape(-1)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but OpenSpiel's game, which may not know its own name."""
        return {**self.__dict__, "_game": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Load OpenSpiel's game again."""
        self.__dict__ |= state
        self._game = load_openspiel(self.name.partition(":")[2])[0]

    def _odds(self, states: Array) -> NDArray[np.float64]:
        """Return the chances of the outcomes; a board where no hands are filled in has those of all hands."""
        node, boards = states["node"], self._form.board_probs
        one, two = (states[f"card{seat}"].astype(np.int64) - 1 for seat in (0, 1))
        odds = np.zeros((len(states), max(*self._form.hands.counts, len(boards))))
        odds[node == DEAL_0, : len(self._first)] = self._first
        second, public, shown = node == DEAL_1, (node >= FIRST) & (one < 0), (node >= FIRST) & (one >= 0)
        odds[second, : self._second.shape[1]] = self._second[one[second]]
        odds[public, : len(boards)] = self._some
        odds[shown, : len(boards)] = boards[:, one[shown], two[shown]].T
        return odds

    def _won(self, states: Array) -> NDArray[np.float64]:
        board = states["board"].astype(np.int64)
        early, late = self._form.outcomes
        one, two = (states[f"card{seat}"].astype(np.int64) - 1 for seat in (0, 1))
        won = early[one, two].astype(np.float64)
        shown = board > 0
        won[shown] = late[board[shown] - 1, one[shown], two[shown]]
        return won

    def private_states(self) -> tuple[int, int]:
        return self._form.hands.counts

    def deal_weights(self, states: Array) -> NDArray[np.float64]:
        weights = np.empty((len(states), *self._form.hands.counts))
        for row, board in enumerate(states["board"].tolist()):
            weights[row] = self._form.shares(board - 1)
        return weights

    def payoff_kinds(self, states: Array) -> NDArray[np.int64]:
        pays = self._pays[states["node"]] * (len(self._form.boards) + 1)
        return np.asarray(pays + states["board"], np.int64)

    def _others(self, seat: int, own: int, board: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        share = self._form.shares(board) if seat == 0 else self._form.shares(board).T
        odds = share[own] if own >= 0 else share.sum(axis=0)
        return rng.choice(len(odds), size=n, p=odds / odds.sum())

    def features(self, states: Array, player: int) -> NDArray[np.uint8]:
        """Return what a network sees, [n, width] uint8: the cards it holds, the board and the betting."""
        hands, boards = self._cards
        held, shown = hands[player][states[f"card{player}"]], boards[states["board"]]
        return np.concatenate([held, shown, self._bets[states["node"]]], axis=1)

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
        betting = self._betting
        ways = [betting.way(node) for node in range(len(betting))]
        known = np.unique(betting.action[FIRST + 1 :])
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
            line += self._form.boards[action] if self._betting.player[bet] == CHANCE else [action]
            bet = int(self._betting.follow(np.array([bet]), np.array([action]))[0])
        return line

    def action_text(self, state: Array, action: Array) -> str:
        bet, chosen = int(state["node"]), int(action)
        if self._betting.player[bet] < 0:
            return self._dealt[min(bet, FIRST)][chosen]
        ids = self._betting.legal[bet].tolist()
        at: int = ids.index(chosen)
        held = int(state["card0"]) - 1, int(state["card1"]) - 1
        return texts_of(self._played(bet, held, int(state["board"])), ids)[at]

    def state_text(self, state: Array) -> str:
        if state["node"] == DEAL_0:
            return "the start"
        if state["node"] == DEAL_1:
            return f"P0 {self._dealt[DEAL_0][int(state['card0']) - 1]}"
        held = int(state["card0"]) - 1, int(state["card1"]) - 1
        return joined_lines(str(self._played(int(state["node"]), held, int(state["board"]))))

    def infoset_text(self, state: Array, player: int) -> str:
        return self._line(int(state["node"]), int(state[f"card{player}"]), int(state["board"]), player)

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names. Raises GameError with near matches if there is none."""
        wanted = normal_text(text)
        player = {"p0": 0, "p1": 1}.get(wanted[:2], -1)
        for bet, own, board in self._likely(wanted, player) if player >= 0 else ():
            line = self._line(bet, own, board, player)
            if normal_text(line) == wanted:
                return Infoset(player, ((bet << BITS | own) << BITS | board,), line)
        raise unknown_infoset(self, text, max_states=LISTED)

    def _line(self, bet: int, own: int, board: int, player: int) -> str:
        """Return an infoset in one line: the betting node, the player's hand and the board, from 1 on."""
        if bet < FIRST:
            dealt = f"{self._dealt[DEAL_0][own - 1]} | " if own else ""
            return f"P{player} {dealt}dealing to P{bet}"
        share = self._form.hands.prior.take(own - 1, axis=player)
        if board:
            share = share * self._form.board_probs[board - 1].take(own - 1, axis=player)
        other = int(np.argmax(share))
        held = (own - 1, other) if player == 0 else (other, own - 1)
        who = int(self._betting.player[bet])
        role = OVER if who == TERMINAL else ACTS if who == player else OTHER_ACTS
        told = str(self._played(bet, held, board).information_state_string(player))
        return infoset_line(role, told, player)

    def _likely(self, wanted: str, player: int) -> Iterator[tuple[int, int, int]]:
        """Yield the infosets that a text may name: of the hands and boards whose words it has, if any's."""
        hands = range(self._form.hands.counts[player])
        yield from ((bet, 0, 0) for bet in range(DEAL_0, DEAL_1 + (player == 1)))
        yield from ((DEAL_1, own + 1, 0) for own in hands if player == 0)
        likely = _fitting(wanted, [self._line(FIRST, own + 1, 0, player) for own in hands])
        before, after = (np.flatnonzero(self._betting.stage == stage) for stage in (0, 1))
        for own in likely:
            yield from ((bet, own + 1, 0) for bet in before.tolist())
        for own in likely if len(after) else ():
            with_it = self._form.board_probs.take(own, axis=1 + player)
            boards = (np.flatnonzero(np.asarray(with_it).any(axis=1)) + 1).tolist()
            texts = [self._line(int(after[0]), own + 1, board, player) for board in boards]
            for at in _fitting(wanted, texts):
                yield from ((bet, own + 1, boards[at]) for bet in after.tolist())

    def _played(self, bet: int, held: tuple[int, int], board: int) -> Any:
        position = self._game.new_initial_state()
        for action in self._form.line(bet, held, board - 1):
            position.apply_action(action)
        return position

    @cached_property
    def _dealt(self) -> tuple[list[str], ...]:
        """The words for every hand of both players and for every board."""
        start = self._game.new_initial_state()

        def words(cards: tuple[int, ...]) -> str:
            said = (joined_lines(start.action_to_string(start.current_player(), card)) for card in cards)
            return " and ".join(said) or "nothing"

        hands = self._form.hands.cards
        return tuple(numbered(map(words, lines)) for lines in (*hands, self._form.boards))


def _fitting(wanted: str, texts: list[str]) -> list[int]:
    """Return which texts have no part of their own that a wanted text lacks; all if there is none such.

    Parts are what stands between brackets; a part of all texts is nobody's own.
    """
    parts = [set(re.split(r"[\[\]]", normal_text(text))) for text in texts]
    common = set.intersection(*parts) if parts else set()
    found = [at for at, own in enumerate(parts) if own - common and all(p in wanted for p in own - common)]
    return found or list(range(len(texts)))
