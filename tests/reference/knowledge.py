"""Slow, obvious twin of the knowledge sets: Python sets of histories, keys compared one by one."""

from __future__ import annotations

import numpy as np

from cfr.tree import FlatTree
from games.game import Game


def order_k_by_sets(game: Game, tree: FlatTree, infoset: int, k: int) -> set[int]:
    """Return the nodes of the order-k knowledge set: k - 1 times, add what some seat cannot tell apart."""
    player = int(tree.infoset_player[infoset])
    candidates = [node for node in range(tree.n_nodes) if tree.player[node] == player]
    keys = {}
    for seat in range(tree.n_players):
        rows = game.infoset_key(tree.states[np.array(candidates)], seat)
        keys[seat] = {node: tuple(row.tolist()) for node, row in zip(candidates, rows, strict=True)}
    known = {node for node in candidates if tree.infoset[node] == infoset}
    for _ in range(k - 1):
        seen = {(seat, keys[seat][node]) for seat in keys for node in known}
        known = {node for node in candidates if any((seat, keys[seat][node]) in seen for seat in keys)}
    return known
