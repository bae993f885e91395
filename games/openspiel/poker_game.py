"""OpenSpiel's poker as a factored game, to be solved on its public tree (extra: `openspiel`).

`load_game("openspiel:universal_poker(...)")`, and OpenSpiel's Leduc and Kuhn poker. A state is a betting
node, two hands and a board, each a number, and tables answer everything (`games.openspiel.poker_form`). What
chance deals to one player is one action here, and so is a board. Where that is one card, histories and
actions are OpenSpiel's own; elsewhere `openspiel_actions` takes them apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE, TERMINAL, Infoset
from games.infosets import normal_text, unknown_infoset
from games.infosets.naming import ACTS, OTHER_ACTS, OVER, infoset_line, joined_lines, numbered
from games.openspiel.expansion import load_openspiel
from games.openspiel.poker_form import CARDS, NotPoker, PokerForm, check_form, poker_form
from games.openspiel.telling import texts_of
from games.ragged import Ragged, ranges
from games.research.poker import DEAL_0, DEAL_1, TwoHands
from games.support.array_types import Array

STATE = np.dtype([("node", "i4"), ("card0", "i4"), ("card1", "i4"), ("board", "i4")])
"""A history: betting node, hands and board. Hands and boards count from 1, 0 is none."""
FIRST = DEAL_1 + 1
"""The first node of the betting."""


@dataclass(frozen=True, eq=False)
class PokerTables:
    """What follows on what; betting nodes count from FIRST, the two of the dealing come before them.

    player: [n] int8. open: the actions and outcomes of each row, `row` says which is a state's; of a public
    state at which the board is shown they are those of all hands. probs: of the outcomes, 1 for actions.
    dealt: [n] int32, what follows a chance node. edges, child: sorted (node, action), and where they lead; an
    edge is `node * span + action`. fought, stake: as of `BettingTree`. pays: [n] int64, equal where both are.
    """

    player: NDArray[np.int8]
    open: Ragged
    probs: Ragged
    dealt: NDArray[np.int32]
    edges: NDArray[np.int64]
    child: NDArray[np.int32]
    span: int
    fought: NDArray[np.bool_]
    stake: NDArray[np.float64]
    pays: NDArray[np.int64]
    hands: tuple[int, int]

    @classmethod
    def of(cls, form: PokerForm) -> PokerTables:
        """Return the tables of a game."""
        betting, n = form.betting, len(form.betting) + FIRST
        player = np.concatenate([[CHANCE, CHANCE], betting.player]).astype(np.int8)
        parent, action = betting.parent.astype(np.int64) + FIRST, betting.action
        shown = np.flatnonzero(action[1:] == CARDS) + 1
        dealt = np.zeros(n, np.int32)
        dealt[[DEAL_0, DEAL_1]] = DEAL_1, FIRST
        dealt[parent[shown]] = shown + FIRST
        moves = np.flatnonzero(action[1:] != CARDS) + 1
        moves = moves[np.lexsort((action[moves], parent[moves]))]
        span = int(action.max(initial=0)) + 1
        fought, stake = (
            np.concatenate([np.zeros(FIRST), column]) for column in (betting.fought, betting.stake)
        )

        prior = form.hands.prior
        first = prior.sum(axis=1)
        second = prior / np.maximum(first, np.finfo(float).tiny)[:, None]
        boards = np.moveaxis(form.board_probs, 0, -1)
        some = np.einsum("ij,ijb->b", prior, boards)
        chance = np.concatenate([second.reshape(-1), some, (boards * (prior > 0)[..., None]).reshape(-1)])
        sizes = np.concatenate([np.full(len(second), prior.shape[1]), np.full(1 + prior.size, len(some))])
        places = ranges(np.zeros_like(sizes), sizes)
        rows = np.repeat(np.arange(len(sizes)), sizes)
        possible = chance > 0
        counts = np.concatenate(
            [
                [len(first), 0],
                np.bincount(parent[moves] - FIRST, minlength=n - FIRST),
                np.bincount(rows[possible], minlength=len(sizes)),
            ]
        )
        values = np.concatenate([np.arange(len(first)), action[moves], places[possible]])
        probs = np.concatenate([first, np.ones(len(moves)), chance[possible]])
        return cls(
            player=player,
            open=Ragged.from_counts(counts, values),
            probs=Ragged.from_counts(counts, probs),
            dealt=dealt,
            edges=parent[moves] * span + action[moves],
            child=(moves + FIRST).astype(np.int32),
            span=span,
            fought=fought > 0,
            stake=stake,
            pays=np.unique(np.stack([fought, stake], axis=1), axis=0, return_inverse=True)[1].reshape(-1),
            hands=form.hands.counts,
        )

    def row(self, states: Array) -> NDArray[np.int64]:
        """Return where in `open` the actions of states are, [n]."""
        rows = states["node"].astype(np.int64)
        n, first = len(self.player), states["card0"].astype(np.int64)
        pairs = (first - 1) * self.hands[1] + states["card1"]
        board = np.where(first == 0, 0, pairs) + n + self.hands[0]
        shown = (self.player[rows] == CHANCE) & (rows >= FIRST)
        return np.where(rows == DEAL_1, n + first - 1, np.where(shown, board, rows))

    def follow(self, bet: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the betting nodes after actions, [n]; at chance nodes whatever is dealt."""
        at = np.searchsorted(self.edges, bet * self.span + actions)
        moved = self.child[np.minimum(at, len(self.child) - 1)]
        return np.where(self.player[bet] == CHANCE, self.dealt[bet], moved)


class PokerWords:
    """What can be said of a poker game's histories and infosets.

    An infoset is (betting node, own hand, board, player) here, the hand and the board counted from 1.
    """

    def __init__(self, game: Any, form: PokerForm, tables: PokerTables) -> None:
        self._game, self._form, self._tables = game, form, tables

    def position(self, state: Array) -> Any:
        """Return OpenSpiel's own state at a history, its dealing over."""
        held = int(state["card0"]) - 1, int(state["card1"]) - 1
        return self._played(int(state["node"]), held, int(state["board"]))

    def action(self, state: Array, action: int) -> str:
        """Return an action, or what chance deals."""
        bet = int(state["node"])
        if self._tables.player[bet] < 0:
            return self._dealt[min(bet, FIRST)][action]
        ids = self._tables.open[bet].tolist()
        at: int = ids.index(action)
        return texts_of(self.position(state), ids)[at]

    def history(self, state: Array) -> str:
        """Return a history."""
        if state["node"] == DEAL_0:
            return "the start"
        if state["node"] == DEAL_1:
            return f"P0 {self._dealt[DEAL_0][int(state['card0']) - 1]}"
        return joined_lines(str(self.position(state)))

    def infoset(self, bet: int, own: int, board: int, player: int) -> str:
        """Return an infoset in one line."""
        if bet < FIRST:
            held = f"{self._dealt[DEAL_0][own - 1]} | " if own else ""
            return f"P{player} {held}dealing to P{bet}"
        return infoset_line(*self.told(bet, own, board, player), player)

    def told(self, bet: int, own: int, board: int, player: int) -> tuple[int, str]:
        """Return a player's part at an infoset of the betting, and what OpenSpiel tells it."""
        share = self._form.hands.prior.take(own - 1, axis=player)
        if board:
            share = share * self._form.board_probs[board - 1].take(own - 1, axis=player)
        other = int(np.argmax(share))
        held = (own - 1, other) if player == 0 else (other, own - 1)
        who = int(self._tables.player[bet])
        role = OVER if who == TERMINAL else ACTS if who == player else OTHER_ACTS
        return role, str(self._played(bet, held, board).information_state_string(player))

    def named(self, wanted: str, player: int) -> tuple[int, int, int] | None:
        """Return the infoset of a player that a normalised text names, None if there is none."""
        for bet, own, board in self._likely(wanted, player):
            if normal_text(self.infoset(bet, own, board, player)) == wanted:
                return bet, own, board
        return None

    def _likely(self, wanted: str, player: int) -> Iterator[tuple[int, int, int]]:
        """Yield the infosets that a text may name: of the hands and boards whose words it has, if any's."""
        betting, hands = self._form.betting, range(self._tables.hands[player])
        yield from ((bet, 0, 0) for bet in range(DEAL_0, DEAL_1 + (player == 1)))
        yield from ((DEAL_1, own + 1, 0) for own in hands if player == 0)
        likely = _fitting(wanted, [self.infoset(FIRST, own + 1, 0, player) for own in hands])
        before, after = (np.flatnonzero(betting.stage == stage) + FIRST for stage in (0, 1))
        for own in likely:
            yield from ((bet, own + 1, 0) for bet in before.tolist())
        for own in likely if len(after) else ():
            with_it = self._form.board_probs.take(own, axis=1 + player)
            boards = (np.flatnonzero(np.asarray(with_it).any(axis=1)) + 1).tolist()
            texts = [self.infoset(int(after[0]), own + 1, board, player) for board in boards]
            for at in _fitting(wanted, texts):
                yield from ((bet, own + 1, boards[at]) for bet in after.tolist())

    def _played(self, bet: int, held: tuple[int, int], board: int) -> Any:
        position = self._game.new_initial_state()
        for action in self._form.line(bet - FIRST, held, board - 1):
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

    def __init__(self, text: str) -> None:
        self._game, self.name = load_openspiel(text)
        if self._game.num_players() != 2:
            raise NotPoker(self.name, f"must have 2 players; this one has {self._game.num_players()}")
        self._form = poker_form(self._game, self.name)
        check_form(self._game, self._form, self.name, np.random.default_rng(0))
        self._tables = PokerTables.of(self._form)
        self._player = self._tables.player
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

    def actions(self, states: Array) -> Ragged:
        return self._tables.open.take(self._tables.row(states))

    def chance_probs(self, states: Array, actions: Ragged) -> NDArray[np.float64]:
        return self._tables.probs.take(self._tables.row(states)).values

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        after, taken = states[rows], np.asarray(actions, np.int64)
        bet = after["node"].astype(np.int64)
        shown = (self._tables.player[bet] == CHANCE) & (bet >= FIRST)
        for field, dealt in (("card0", bet == DEAL_0), ("card1", bet == DEAL_1), ("board", shown)):
            after[field][dealt] = taken[dealt] + 1
        after["node"] = self._tables.follow(bet, taken)
        return after

    def returns(self, states: Array) -> NDArray[np.float64]:
        bet, board = states["node"], states["board"].astype(np.int64)
        early, late = self._form.outcomes
        one, two = (states[f"card{seat}"].astype(np.int64) - 1 for seat in (0, 1))
        won = early[one, two].astype(np.float64)
        shown = board > 0
        won[shown] = late[board[shown] - 1, one[shown], two[shown]]
        paid = np.where(self._tables.fought[bet], won, 1.0) * self._tables.stake[bet]
        return np.stack([paid, -paid], axis=1)

    def private_states(self) -> tuple[int, int]:
        return self._form.hands.counts

    def deal_weights(self, states: Array) -> NDArray[np.float64]:
        weights = np.empty((len(states), *self._form.hands.counts))
        for row, board in enumerate(states["board"].tolist()):
            weights[row] = self._form.shares(board - 1)
        return weights

    def payoff_kinds(self, states: Array) -> NDArray[np.int64]:
        pays = self._tables.pays[states["node"]] * (len(self._form.boards) + 1)
        return np.asarray(pays + states["board"], np.int64)

    def _others(self, seat: int, own: int, board: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        share = self._form.shares(board) if seat == 0 else self._form.shares(board).T
        odds = share[own] if own >= 0 else share.sum(axis=0)
        return rng.choice(len(odds), size=n, p=odds / odds.sum())

    def _way(self, node: int, board: int) -> list[int]:
        return [board if action == CARDS else action for action in self._form.betting.way(node - FIRST)]

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

    def action_text(self, state: Array, action: Array) -> str:
        return self._words.action(state, int(action))

    def state_text(self, state: Array) -> str:
        return self._words.history(state)

    def infoset_text(self, state: Array, player: int) -> str:
        own, board = int(state[f"card{player}"]), int(state["board"])
        return self._words.infoset(int(state["node"]), own, board, player)

    def parse_infoset(self, text: str) -> Infoset:
        """Return the infoset that `text` names. Raises GameError with near matches if there is none."""
        wanted = normal_text(text)
        player = {"p0": 0, "p1": 1}.get(wanted[:2])
        found = None if player is None else self._words.named(wanted, player)
        if player is None or found is None:
            raise unknown_infoset(self, text, max_states=LISTED)
        bet, own, board = found
        return Infoset(player, ((bet << BITS | own) << BITS | board,), self._words.infoset(*found, player))
