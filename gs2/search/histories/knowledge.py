"""Knowledge sets: which histories a player has to think about, and how many there are.

Two histories are neighbours if some seat cannot tell them apart. Starting from the histories of an infoset
(order 1), each further order adds the neighbours; where nothing more is added stands the common-knowledge
closure. A method that works on order k never looks further, so these sizes say what a method would have to
solve before it is chosen. Source: Zhang and Sandholm 2021, "Subgame solving without common knowledge".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree, require_states
from games.game import Game
from games.ragged import Ragged

__all__ = ["KnowledgeGraph", "knowledge_graph"]


@dataclass(frozen=True, eq=False)
class KnowledgeGraph:
    """Which of the histories where one player acts each seat can tell apart; n histories.

    Only histories at which the player itself acts are compared: they are the roots a search can start from.

    player: the searching seat.
    nodes: [n] int32, rising nodes of the tree; a history is named by its position in here.
    group: [P, n] int32, number of the history's infoset for each seat; within a seat, equal numbers mean
        that the seat cannot tell the histories apart.
    members: for each seat, its groups as rows of rising positions.
    infoset_group: [I] int32, group of the player's own infosets, -1 for the infosets of others.
    level: [n] int32, depth of each history in the tree.
    """

    player: int
    nodes: NDArray[np.int32]
    group: NDArray[np.int32]
    members: tuple[Ragged, ...]
    infoset_group: NDArray[np.int32]
    level: NDArray[np.int32]

    def of_infoset(self, infoset: int) -> NDArray[np.int64]:
        """Return the positions of an infoset's histories, [k] int64, rising: its order-1 knowledge set.

        Raises ValueError if the infoset is not the player's.
        """
        group = self.infoset_group[infoset]
        if group < 0:
            raise ValueError(f"infoset must be one of player {self.player}; got {infoset}, another seat's")
        return self.members[self.player][group]

    def neighbours(
        self, positions: NDArray[np.int64], seats: tuple[int, ...] | None = None
    ) -> NDArray[np.int64]:
        """Return the histories that one of the seats cannot tell from one of these, themselves included.

        positions: [k] int64, rising; so is the result. seats: by default every seat.
        """
        found = [positions]
        for seat in range(len(self.members)) if seats is None else seats:
            groups = np.unique(self.group[seat, positions])
            found.append(self.members[seat].take(groups).values)
        return np.unique(np.concatenate(found))

    def order(self, infoset: int, k: int | None) -> NDArray[np.int64]:
        """Return the order-k knowledge set of an infoset, [m] int64, rising; k = None is the closure.

        Raises ValueError if k < 1 or the infoset is not the player's.
        """
        if k is not None and k < 1:
            raise ValueError(f"order must be at least 1, or None for common knowledge; got {k}")
        now = self.of_infoset(infoset)
        hops = 1
        while k is None or hops < k:
            wider = self.neighbours(now)
            if len(wider) == len(now):
                break
            now, hops = wider, hops + 1
        return now


def knowledge_graph(game: Game, tree: FlatTree, player: int) -> KnowledgeGraph:
    """Return who can tell which histories apart where `player` acts, from the game's infoset keys.

    Raises ValueError if the tree does not hold its states, or no such seat exists.
    """
    tree = require_states(tree, "knowledge")
    if not 0 <= player < tree.n_players:
        raise ValueError(f"player must be in [0, {tree.n_players}); got {player}")
    nodes = np.flatnonzero(tree.player == player).astype(np.int32)
    states = tree.states[nodes]
    group = np.zeros((tree.n_players, len(nodes)), np.int32)
    members = []
    for seat in range(tree.n_players):
        if seat == player:
            own = tree.infoset[nodes]
            known, number = np.unique(own, return_inverse=True)
        else:
            keys = np.ascontiguousarray(game.infoset_key(states, seat))
            words = keys[:, 0] if keys.shape[1] == 1 else keys.view(np.dtype((np.void, keys[0].nbytes)))[:, 0]
            known, number = np.unique(words, return_inverse=True)
        group[seat] = number.reshape(-1)
        counts = np.bincount(group[seat], minlength=len(known))
        members.append(Ragged.from_counts(counts, np.argsort(group[seat], kind="stable")))
    infoset_group = np.full(tree.n_infosets, -1, np.int32)
    infoset_group[tree.infoset[nodes]] = group[player]
    level = np.searchsorted(tree.level_offsets, nodes, side="right") - 1
    return KnowledgeGraph(player, nodes, group, tuple(members), infoset_group, level.astype(np.int32))
