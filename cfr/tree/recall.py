"""What a player did before each of its decisions, and the error for one that forgot it."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from cfr.tree.flat import FlatTree, InvalidTree, Nodes
from games.game import Game
from games.support.array_types import Array
from games.support.kernel import kernel

__all__ = ["ImperfectRecall", "infoset_parent_slot", "infoset_parent_slots", "own_slots"]


class ImperfectRecall(InvalidTree):
    """An infoset whose histories follow different own actions: its player has forgotten something."""

    @classmethod
    def at(cls, tree: FlatTree, node: int, game: Game | None = None) -> Self:
        """Return the error for a history whose infoset's other histories follow other own actions.

        game: that of the tree, only to put the histories into words.
        """
        infoset, player = int(tree.infoset[node]), int(tree.player[node])
        own, alike = own_slots(tree, player), np.flatnonzero(tree.infoset == infoset)
        two = sorted({node, *alike[own[alike] != own[node]][:1].tolist()})
        if game is None:
            name = f"infoset {infoset} (histories {' and '.join(map(str, two))} of the tree)"
        else:
            name = " and ".join(repr(game.state_text(_state_at(tree, one, game)[0])) for one in two)
        return cls(
            "perfect recall: all histories of an infoset must follow the same own actions; "
            f"got {name} of player {player} after different ones; put the player's own actions and the order "
            "of its observations into the game's infoset_key"
        )


def _state_at(tree: FlatTree, node: int, game: Game) -> Array:
    """Return the state of a history, [1]; in a tree that keeps none the game is played up to there."""
    if tree.states is not None:
        return tree.states[node : node + 1]
    line = []
    while tree.parent[node] >= 0:
        line.append(node)
        node = int(tree.parent[node])
    state = game.root()[node : node + 1]
    for step in reversed(line):
        state = game.step(state, np.zeros(1, np.int64), tree.action[step : step + 1])
    return state


def own_slots(tree: FlatTree, player: int) -> NDArray[np.int64]:
    """Return the player's last own slot before each node, [N] int64; -1 if none."""
    own = np.empty(tree.n_nodes, np.int64)
    _own_slot(tree.nodes, tree.infoset_offset, player, own)
    return own


def infoset_parent_slot(
    tree: FlatTree,
    player: int,
    own: NDArray[np.int64] | None = None,
    *,
    game: Game | None = None,
    recall: bool = True,
) -> NDArray[np.int64]:
    """Return the player's own slot before each infoset, [I] int64; -1 if none, or if it is another's.

    own: the player's `own_slots`, if they are at hand. game: that of the tree, only for the error.
    Raises ImperfectRecall where the histories of an infoset follow different own actions; without `recall`
    the last history's counts.
    """
    nodes = np.flatnonzero(tree.player == player)
    before = (own_slots(tree, player) if own is None else own)[nodes]
    parent = np.full(tree.n_infosets, -1, np.int64)
    infoset = tree.infoset[nodes]
    parent[infoset] = before
    other = parent[infoset] != before
    if recall and other.any():
        raise ImperfectRecall.at(tree, int(nodes[other.argmax()]), game)
    return parent


def infoset_parent_slots(tree: FlatTree, *, recall: bool = True) -> NDArray[np.int64]:
    """Return its player's own slot before each infoset, [I] int64; as `infoset_parent_slot`."""
    found = np.full(tree.n_infosets, -1, np.int64)
    for seat in np.unique(tree.infoset_player).tolist():
        found = np.maximum(found, infoset_parent_slot(tree, seat, recall=recall))
    return found


@kernel(lazy=True)
def _own_slot(nodes: Nodes, infoset_offset: NDArray[np.int64], me: int, own: NDArray[np.int64]) -> None:
    parent, first_child, player, infoset, _ = nodes
    for node in range(len(parent)):
        up = parent[node]
        if up < 0:
            own[node] = -1
        elif player[up] == me:
            own[node] = infoset_offset[infoset[up]] + node - first_child[up]
        else:
            own[node] = own[up]
