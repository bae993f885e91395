"""Policies on public trees and the same on the slots of a listed tree, for games small enough for both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfr.public.policies.public_policy import PublicPolicy, PublicPolicyError
from cfr.public.tree import PublicTree
from cfr.tree import EnumeratedTree
from games.ragged import Ragged

__all__ = ["from_slots", "to_slots"]


def to_slots(policy: PublicPolicy, tree: EnumeratedTree) -> NDArray[np.float64]:
    """Return a policy's probabilities on the slots of the game's listed tree, [n_slots] float64."""
    out = np.empty(tree.n_slots)
    first = tree.infoset_first_node()
    counts, actions = np.diff(tree.infoset_offset), tree.slot_actions()
    for player in (0, 1):
        mine = np.flatnonzero(tree.infoset_player == player)
        rows = Ragged(tree.infoset_offset, np.arange(tree.n_slots)).take(mine)
        legal = Ragged.from_counts(counts[mine], actions[rows.values])
        out[rows.values] = policy.policy(policy.game, tree.states[first[mine]], player, legal)
    return out


def from_slots(tree: PublicTree, listed: EnumeratedTree, slots: NDArray[np.float64]) -> PublicPolicy:
    """Return the policy on a public tree with these probabilities on the listed tree's slots.

    slots: [n_slots] float64. Private states that chance does not deal play uniformly.
    Raises PublicPolicyError for another number of slots.
    """
    if slots.shape != (listed.n_slots,):
        raise PublicPolicyError(f"slots must be [{listed.n_slots}]; got shape {slots.shape}")
    edges = np.diff(tree.first_edge)
    rows = []
    for player in (0, 1):
        own = edges[tree.player == player]
        rows.append(np.repeat(1.0 / own, own)[:, None] * np.ones(tree.n_private[player]))
    policy = PublicPolicy(tree, (rows[0], rows[1]))
    first, counts = listed.infoset_first_node(), np.diff(listed.infoset_offset)
    for player in (0, 1):
        mine = np.flatnonzero((listed.infoset_player == player) & (counts > 1))
        if not len(mine):
            continue
        nodes, private = policy.located(listed.states[first[mine]], player)
        at = np.repeat(np.arange(len(mine)), counts[mine])
        within = np.arange(len(at)) - np.repeat(np.cumsum(counts[mine]) - counts[mine], counts[mine])
        where = tree.row[nodes][at] + within
        rows[player][where, private[at]] = slots[listed.infoset_offset[mine][at] + within]
    return policy
