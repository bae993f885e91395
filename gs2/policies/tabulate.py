"""A policy on a tree as a tabular blueprint (probabilities, Q(I, a), values), and a blueprint on a tree."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from blueprint.tabular import SeatTable, TabularBlueprint
from cfr.tree import FlatTree, require_states
from cfr.values import group_values, node_values, reach
from games.game import Game
from games.infosets.trail import same_actions
from games.ragged import Ragged
from games.support.array_types import Array


def tabulate(
    game: Game, tree: FlatTree, policy: NDArray[np.float64], name: str = "tabular"
) -> TabularBlueprint:
    """Return the blueprint that plays `policy`, with the values that playing it gives.

    policy: [slots] float64 on the game's full tree, which must hold its states.
    Q(I, a) and values are means over the histories that the seat cannot tell apart, weighted by the reach of
    chance and the others, or by that of chance alone where it is zero.
    Raises ValueError for a tree without states or a policy of another size.
    """
    tree = require_states(tree, "tabulate")
    values = node_values(tree, policy)
    known = reach(tree, policy)
    child_slot = tree.child_slot()
    decided = np.flatnonzero(tree.player >= 0)
    counts = np.diff(tree.infoset_offset)
    seats = []
    for seat in range(tree.n_players):
        others = known.without(seat)
        mine = np.flatnonzero(tree.infoset_player == seat)
        rows = Ragged(tree.infoset_offset, np.arange(tree.n_slots)).take(mine).values
        below = np.flatnonzero(child_slot >= 0)
        below = below[tree.player[tree.parent[below]] == seat]
        above = tree.parent[below]
        q = group_values(
            values[below, seat], others[above], child_slot[below], known.chance[above], tree.n_slots
        )
        keys = game.infoset_key(tree.states[decided], seat)
        seen, group = np.unique(keys, axis=0, return_inverse=True)
        seen_value = group_values(
            values[decided, seat], others[decided], group.reshape(-1), known.chance[decided]
        )
        offset = np.concatenate([[0], np.cumsum(counts[mine])]).astype(np.int64)
        seats.append(
            SeatTable(tree.infoset_key[mine], offset, policy[rows].copy(), q[rows], seen, seen_value)
        )
    return TabularBlueprint(name, tuple(seats))


class Plays(Protocol):
    """What says how it plays: a blueprint, or one without values."""

    name: str

    def policy(self, game: Game, states: Array, player: int, actions: Ragged) -> Array:
        """Return the probability of each action, [m] float."""
        ...


def policy_of(blueprint: Plays, game: Game, tree: FlatTree) -> NDArray[np.float64]:
    """Return a blueprint's probabilities on the slots of a tree, [slots] float64.

    Where the tree lacks actions, those that are there share what is played among them; all alike where
    nothing is. Raises ValueError if the tree holds no states.
    """
    tree = require_states(tree, "policy_of")
    out = np.empty(tree.n_slots)
    first, counts = tree.infoset_first_node(), np.diff(tree.infoset_offset)
    actions = tree.slot_actions()
    for seat in range(tree.n_players):
        mine = np.flatnonzero(tree.infoset_player == seat)
        if len(mine) == 0:
            continue
        states = tree.states[first[mine]]
        legal = game.actions(states)
        prob = np.asarray(blueprint.policy(game, states, seat, legal), np.float64)
        if np.array_equal(legal.counts, counts[mine]):
            out[Ragged(tree.infoset_offset, np.arange(tree.n_slots)).take(mine).values] = prob
            continue
        for row, number in enumerate(mine.tolist()):
            slots = tree.slots(number)
            found = prob[legal.offsets[row] : legal.offsets[row + 1]]
            if len(found) > len(slots):
                found = found[places_among(legal[row], actions[slots])]
                total = found.sum()
                found = found / total if total > 0 else np.full(len(found), 1 / len(found))
            out[slots] = found
    return out


def places_among(legal: NDArray[Any], kept: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each action kept among the legal ones, whose order it keeps, [k] int64."""
    places, at = np.empty(len(kept), np.int64), 0
    for k, action in enumerate(kept):
        at += int(np.argmax(same_actions(legal[at:], np.repeat(action[None], len(legal) - at, axis=0))))
        places[k] = at
        at += 1
    return places
