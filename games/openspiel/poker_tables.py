"""A poker game of OpenSpiel's as tables: who acts at each betting node, what follows, and what is paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from games.game import CHANCE
from games.openspiel.betting_tree import CARDS
from games.openspiel.poker_form import PokerForm
from games.ragged import Ragged, ranges
from games.support.array_types import Array

__all__ = ["DEAL_0", "DEAL_1", "FIRST", "STATE", "PokerTables"]

STATE = np.dtype([("bet", "i4"), ("hand0", "i4"), ("hand1", "i4"), ("board", "i4")])
"""A history: betting node, hands and board. Hands and boards count from 1, 0 is none."""
DEAL_0, DEAL_1, FIRST = 0, 1, 2
"""Values of `bet`: chance deals to a player, and the first node of the betting."""


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
        rows = states["bet"].astype(np.int64)
        n, first = len(self.player), states["hand0"].astype(np.int64)
        pairs = (first - 1) * self.hands[1] + states["hand1"]
        board = np.where(first == 0, 0, pairs) + n + self.hands[0]
        shown = (self.player[rows] == CHANCE) & (rows >= FIRST)
        return np.where(rows == DEAL_1, n + first - 1, np.where(shown, board, rows))

    def follow(self, bet: NDArray[np.int64], actions: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the betting nodes after actions, [n]; at chance nodes whatever is dealt."""
        at = np.searchsorted(self.edges, bet * self.span + actions)
        moved = self.child[np.minimum(at, len(self.child) - 1)]
        return np.where(self.player[bet] == CHANCE, self.dealt[bet], moved)
