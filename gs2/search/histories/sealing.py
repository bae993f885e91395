"""What histories may be confused with later: the rest of what a search must know where turns can be hidden.

A search at some histories is exact if no seat, at anything below them, can take itself to be outside. Where
all that looks like an infoset to its player leads to its histories, that holds for what lies below them
(`HistorySample.sealed`). Where a seat need not notice that another moved, it may not, and histories of other
infosets are added until it does: what `gs2.search.histories.cover` does on a whole tree, without one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cfr.tree import TreeBudget, grow, require_states
from cfr.tree.memory import SEARCH_BYTES, TooLarge
from games.game import Game
from games.infosets.histories import HistorySample, joined_samples
from games.infosets.trail import Trail, trails_along
from games.ragged import Ragged
from gs2.search.subgame.cut import root_numbers

__all__ = ["apart", "are_sealed", "sealed_groups"]

SEALING = TreeBudget(max_nodes=100_000, history_bytes=SEARCH_BYTES)
"""What may lie below histories where it is searched for what it can be confused with."""


def are_sealed(own: HistorySample, groups: list[HistorySample]) -> bool:
    """Return whether what looks like the infoset or a group leads to it, after equally many moves."""
    lengths = np.unique(np.concatenate([own.lines.counts, *(group.lines.counts for group in groups)]))
    return len(lengths) == 1 and own.sealed and all(group.sealed for group in groups)


def sealed_groups(
    game: Game,
    player: int,
    own: HistorySample,
    groups: list[HistorySample],
    follow: Callable[[list[Trail], int], list[HistorySample]],
    most: int,
) -> list[HistorySample] | None:
    """Return histories that nobody can take for others, at or below them; None if there are more than `most`.

    own: all histories of the player's infoset. groups: all of the opponent's infosets that they belong to.
    follow: gives up to n histories of each trail. Every infoset of both seats below is followed to the end of
    the game, what lies outside is added, and again, until none reaches outside.
    """
    if are_sealed(own, groups):
        return groups
    seen: set[tuple[int, int, bytes]] = set()
    while True:
        every = joined_samples(groups)
        every = every.take(np.flatnonzero(apart(every.lines, np.zeros(len(every), bool))))
        if len(every) > most:
            return None
        trails = _trails_below(game, player, every, seen)
        if trails is None or len(trails) > most:
            return None
        new = follow(trails, most + 1) if trails else []
        if not all(sample.complete for sample in new):
            return None
        if not new:
            return [every]
        groups = [every, *new]


def _trails_below(
    game: Game, player: int, roots: HistorySample, seen: set[tuple[int, int, bytes]]
) -> list[Trail] | None:
    """Return a trail to each infoset at or below some histories that is not in `seen`, and add it there.

    Where the player acts, what its opponent knows is an infoset, too. None if the tree is too large.
    """
    ones = np.ones(len(roots))
    try:
        tree = require_states(grow(game, roots.states, ones, budget=SEALING), "sampling")
    except TooLarge:
        return None
    root_of, trails = root_numbers(tree), []
    for seat, acting in ((0, 0), (1, 1), (1 - player, player)):
        nodes = np.flatnonzero(tree.player == acting)
        keys = game.infoset_key(tree.states[nodes], seat)
        lines = []
        for row in np.unique(keys, axis=0, return_index=True)[1].tolist():
            name = seat, acting, keys[row].tobytes()
            if name not in seen:
                seen.add(name)
                node, way = int(nodes[row]), []
                root = roots.lines[int(root_of[node])]
                while tree.parent[node] >= 0:
                    way.append(tree.action[node])
                    node = int(tree.parent[node])
                lines.append(np.concatenate([root, np.array(way[::-1], root.dtype)]) if way else root)
        if lines:
            counts = np.array([len(line) for line in lines])
            trails += trails_along(game, Ragged.from_counts(counts, np.concatenate(lines)), seat)
    return trails


def apart(lines: Ragged, first: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which histories are kept so that none goes on from another, [n] bool.

    first: [n] bool, those that are kept rather than the others.
    """
    kept = np.ones(len(lines), bool)
    names: set[bytes] = set()
    above: set[bytes] = set()
    lengths = np.unique(lines.counts).tolist()
    for row in np.lexsort((lines.counts, ~first)).tolist():
        line = lines[row]
        ways = {line[:length].tobytes() for length in lengths if length <= len(line)}
        kept[row] = not (ways & names) and line.tobytes() not in above
        if kept[row]:
            names.add(line.tobytes())
            above |= ways
    return kept
