"""The gadget `path`: the opponent's own decisions on its way stand above the roots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.game import CHANCE, TERMINAL
from gs2.search.gadget.entry import Entry, GadgetError, forced_by_infoset
from gs2.search.gadget.graft import Top, team_returns
from gs2.search.gadget.path import OpponentPath

__all__ = ["path_top"]

Node = tuple[str, int | float]
"""What a node of the way is, and its index or payoff.

sequence: what the opponent played so far; chance goes on from it. decision: one of the opponent's. out: a
payoff that ends the way. entry: the histories of an infoset. floor: whether entry is forced. force: which
infoset is forced. forced: the histories of that infoset, dealt once more.
"""


def path_top(forest: FlatTree, entry: Entry, path: OpponentPath, floor: float) -> Top:
    """Return the opponent's decisions above the roots, level by level.

    floor: probability of a forced entry wherever chance and the searching player lead to the subgame.
    Raises GadgetError unless the entry numbers the opponent's infosets in the order of the path.
    """
    group = entry.group[0]
    g = len(path.entry)
    within = entry.reach / path.entry_mass[group]
    share, forced = np.zeros(0), np.zeros(0)
    if floor:
        # Payoffs above stand for the whole game; force entry as often as chance leads to the subgame.
        floor *= min(1.0, float(path.entry_mass.sum()))
        share, forced = forced_by_infoset(entry, within)
    top = Top.of_one(forest)
    level = _add_levels(top, _Way(path, path.sequence_mass(), floor, share), entry.seats[0])
    waiting = [node for node in level if node[0] != "out"]
    if waiting != [("entry", j) for j in range(g)] + [("forced", j) for j in range(g if floor else 0)]:
        raise GadgetError("gadget: for `path`, number the opponent's infosets in the order of its path")
    place = np.array([at for at, (kind, _) in enumerate(level) if kind != "out"])
    if floor:
        top.roots(np.concatenate([place[group], place[g + group]]), np.concatenate([within, forced]))
    else:
        top.roots(place[group], within)
    return top


@dataclass(frozen=True, eq=False)
class _Way:
    """What follows each node of the way.

    mass: [q] float64, probability of each sequence when the opponent plays for it. floor: probability of a
    forced entry. share: [g] float64, probability of each infoset among forced entries.
    """

    path: OpponentPath
    mass: NDArray[np.float64]
    floor: float
    share: NDArray[np.float64]

    def after(self, kind: str, what: int) -> list[tuple[Node, float]]:
        """Return the children of a node with their probabilities; entries wait as their own only child."""
        path = self.path
        found: list[tuple[Node, float]] = []
        if kind == "sequence":
            scale = self.mass[what]
            found += [(("decision", i), path.mass[i] / scale) for i in path.decisions_after[what]]
            found += [(("entry", j), path.entry_mass[j] / scale) for j in path.entries_after[what]]
            if path.rest_mass[what] > 0:
                found.append((("out", float(path.rest[what])), path.rest_mass[what] / scale))
            return found
        if kind == "decision":
            found += [(("sequence", q), 1.0) for q in path.sequences_of[what]]
            if not np.isnan(path.out[what]):
                found.append((("out", float(path.out[what])), 1.0))
            return found
        if kind == "floor":
            return [(("sequence", 0), 1.0 - self.floor), (("force", 0), self.floor)]
        if kind == "force":
            return [(("forced", j), float(self.share[j])) for j in range(len(self.share))]
        return [((kind, what), 1.0)]


def _add_levels(top: Top, way: _Way, seat: int) -> list[Node]:
    """Add levels until only entries and payoffs are left; return the nodes of the last one.

    Entries wait in single-child chance nodes until all have come, so that the roots stand on one level.
    """
    level: list[Node] = [("floor" if way.floor else "sequence", 0)]
    while any(kind not in ("entry", "forced", "out") for kind, _ in level):
        below: list[Node] = []
        parent: list[int] = []
        prob: list[float] = []
        for at, (kind, what) in enumerate(level):
            if kind == "out":
                continue
            found = way.after(kind, int(what))
            if kind == "decision":
                top.infoset_size.append(len(found))
            below += [node for node, _ in found]
            parent += [at] * len(found)
            prob += [share for _, share in found]
        player = np.full(len(below), CHANCE, np.int8)
        infoset = np.full(len(below), -1, np.int32)
        for at, (kind, _) in enumerate(below):
            if kind == "decision":
                player[at] = seat
                infoset[at] = len(top.infoset_player)
                top.infoset_player.append(seat)
            elif kind == "out":
                player[at] = TERMINAL
        payoffs = np.array([what for kind, what in below if kind == "out"], np.float64)
        returns = team_returns(top.forest, seat, payoffs)
        top.level(np.array(parent), np.array(prob), player, infoset, returns)
        level = below
    return level
