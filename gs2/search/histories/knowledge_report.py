"""How many histories, infosets and nodes each order of knowledge holds at an infoset."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from games.game import Infoset
from gs2.search.context import KnowledgeGraph, SearchContext


@dataclass(frozen=True)
class KnowledgeSize:
    """What lies within one order of knowledge.

    order: 1 for the infoset itself.
    histories: histories of the knowledge set.
    infosets: infosets of each seat that they belong to.
    nodes: nodes of the game at and below them, which is what an unlimited subgame would hold.
    """

    order: int
    histories: int
    infosets: tuple[int, ...]
    nodes: int


@dataclass(frozen=True)
class KnowledgeReport:
    """Sizes of an infoset's knowledge sets, order by order up to the common-knowledge closure.

    sizes: order 1, 2, … as long as each adds histories; the last one is the closure, unless it was cut off.
    closure_order: the order of the closure; None if it was cut off.
    """

    player: int
    infoset: int
    text: str
    sizes: tuple[KnowledgeSize, ...]
    closure_order: int | None

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain dictionaries, lists, numbers and strings."""
        return asdict(self)


def knowledge_report(
    context: SearchContext, infoset: Infoset | int, max_order: int | None = None
) -> KnowledgeReport:
    """Return how many histories, infosets and nodes each order of knowledge holds at an infoset.

    max_order: stop there even if the closure is wider.
    """
    tree, number = context.tree, context.infoset_number(infoset)
    player = int(tree.infoset_player[number])
    graph = context.graph(player)
    rows: list[KnowledgeSize] = []
    now = graph.of_infoset(number)
    while True:
        roots = graph.nodes[antichain(graph, now, tree)]
        infosets = tuple(len(np.unique(graph.group[seat, now])) for seat in range(tree.n_players))
        rows.append(KnowledgeSize(len(rows) + 1, len(now), infosets, context.nodes_below(roots)))
        wider = graph.neighbours(now)
        if len(wider) == len(now) or len(rows) == max_order:
            break
        now = wider
    closure = len(rows) if len(wider) == len(now) else None
    return KnowledgeReport(player, number, context.infoset_text(number), tuple(rows), closure)


def antichain(graph: KnowledgeGraph, positions: NDArray[np.int64], tree: FlatTree) -> NDArray[np.int64]:
    """Return the positions, [k] int64, less those that lie below another one of them, rising."""
    levels = graph.level[positions]
    if len(levels) == 0 or levels.min() == levels.max():
        return positions
    chosen = np.zeros(tree.n_nodes, bool)
    chosen[graph.nodes[positions]] = True
    keep = np.ones(len(positions), bool)
    above = tree.parent[graph.nodes[positions]]
    while np.any(above >= 0):
        keep &= ~((above >= 0) & chosen[above])
        above = np.where(above >= 0, tree.parent[above], -1)
    return positions[keep]
