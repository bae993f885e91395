"""The public tree of a factored game: what both players see, once for all private states.

A node is a public state at which somebody has a choice or chance decides; a forced move is no node, its edge
leads on to what follows. Nodes lie in preorder, so that the subtree below a node is one slice of every array
and a sweep reads them in the order in which they lie. Payoffs are functions of both private states with all
of chance's probabilities multiplied in, one for each kind of terminal.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.engine.simd import LANES
from cfr.public.array_file import raw_bytes
from cfr.tree.memory import ALLOW_MORE, TooLarge, memory_limit, words_of_bytes
from games.game import CHANCE, TERMINAL, GameError
from games.infosets.factored import FactoredGame, payoffs_at
from games.infosets.payoff_forms import PayoffForms
from games.size import estimate_size
from games.support.array_types import Array
from games.support.kernel import kernel

MOST_NODES = 2**31 - 2
PIECE = 1 << 20
"""Edges or nodes that are looked at at once."""
GROWTH_BYTES = 60
"""Bytes an edge takes at the peak of growing, besides its public state."""


class PublicTreeError(ValueError):
    """Arrays that are no public tree: the rule that they break."""


@dataclass(frozen=True, eq=False)
class PublicTree:
    """A public tree with n nodes and m edges, in preorder.

    game: whose tree it is.
    player: [n] int8, the seat that acts or CHANCE.
    first_edge: [n + 1] int64, where the edges of each node begin.
    child: [m] int32, the node that an edge leads to, or -1 - kind for a terminal of that kind.
    size: [n] int32, nodes in the subtree of each.
    row: [n] int64, first of the rows that the acting player's arrays hold for the node, one row an edge.
    n_rows: rows of each player. n_private: private states of each player.
    payoffs: for each kind, the payoff to player 0 times all of chance's probabilities.
    depth: edges on the longest path. n_terminals: terminal public states, forced moves followed.
    """

    game: FactoredGame
    player: NDArray[np.int8]
    first_edge: NDArray[np.int64]
    child: NDArray[np.int32]
    size: NDArray[np.int32]
    row: NDArray[np.int64]
    n_rows: tuple[int, int]
    n_private: tuple[int, int]
    payoffs: PayoffForms
    depth: int
    n_terminals: int

    def __len__(self) -> int:
        return len(self.player)

    @property
    def n_slots(self) -> int:
        """Probabilities in a policy: rows times private states, both players together."""
        return sum(rows * n for rows, n in zip(self.n_rows, self.n_private, strict=True))

    @property
    def payoff_scale(self) -> float:
        """Largest payoff of any terminal, in payoffs."""
        low, high = self.game.payoff_range
        return max(abs(low), abs(high))

    @property
    def kinds_used(self) -> NDArray[np.bool_]:
        """Which kinds of terminals the tree has, [kinds] bool."""
        used = np.zeros(len(self.payoffs), bool)
        for start in range(0, len(self.child), PIECE):
            part = self.child[start : start + PIECE]
            used[-1 - part[part < 0]] = True
        return used

    @property
    def nbytes(self) -> int:
        """Bytes of the tree's own arrays."""
        arrays = self.player, self.first_edge, self.child, self.size, self.row, self.payoffs
        return sum(array.nbytes for array in arrays)

    def digest(self) -> str:
        """Return a fingerprint of the shape: who acts where, with how many actions, leading where."""
        found = 0
        for array in (self.player, self.first_edge, self.child):
            found = zlib.crc32(raw_bytes(np.ascontiguousarray(array)), found)
        return f"{found:08x}"

    def below(self, node: int) -> PublicTree:
        """Return the public tree below a node, sharing the arrays that need no change."""
        end = node + int(self.size[node])
        first, last = int(self.first_edge[node]), int(self.first_edge[end])
        player = self.player[node:end]
        row, child = self.row[node:end].copy(), self.child[first:last].copy()
        child[child >= 0] -= node
        n_rows = []
        counts = np.diff(self.first_edge[node : end + 1])
        for seat in (0, 1):
            own = player == seat
            row[own] -= row[own][0] if own.any() else 0
            n_rows.append(int(counts[own].sum()))
        return replace(
            self,
            player=player,
            first_edge=self.first_edge[node : end + 1] - first,
            child=child,
            size=self.size[node:end],
            row=row,
            n_rows=(n_rows[0], n_rows[1]),
            depth=depth_of(self.size[node:end]),
            n_terminals=int((child < 0).sum()),
        )

    def rows_below(self, node: int, player: int) -> slice:
        """Return which of a player's rows belong to the subtree of a node."""
        nodes = slice(node, node + int(self.size[node]))
        own = np.flatnonzero(self.player[nodes] == player) + node
        if not len(own):
            return slice(0, 0)
        last = int(own[-1])
        return slice(
            int(self.row[own[0]]), int(self.row[last] + self.first_edge[last + 1] - self.first_edge[last])
        )


def depth_of(size: NDArray[np.int32]) -> int:
    """Return the edges on the longest path of a tree in preorder, by the nodes in the subtree of each."""
    ended = np.zeros(len(size) + 1, np.int32)
    for start in range(0, len(size), PIECE):
        part = size[start : start + PIECE]
        counts = np.bincount(np.arange(len(part)) + part)
        ended[start : start + len(counts)] += counts.astype(np.int32)
    deepest = level = 0
    for start in range(0, len(size), PIECE):
        # A node lies in the subtrees that began and did not end: so many edges lead to what follows it.
        levels = level + np.cumsum(1 - ended[start : min(start + PIECE, len(size))])
        deepest, level = max(deepest, int(levels.max())), int(levels[-1])
    return deepest


def require_public_tree(tree: PublicTree) -> None:
    """Raise PublicTreeError unless a tree is in preorder with its rows in order, as `PublicTree` says.

    Kernels that sweep a tree trust every number in it. One that was grown is sound; one from a file is what
    the file says. What holds then: every edge leads to a later node of its own subtree or to a kind of
    terminal that has payoffs, every row lies in its player's, and no path is longer than `depth`.
    """
    n, edges, rows = len(tree), 0, [0, 0]
    _require(n > 0 and tree.first_edge[0] == 0, "first_edge must begin with 0")
    _require(tree.size[0] == n, "the first node's subtree must be the whole tree")
    for start in range(0, n, PIECE):
        edges = _require_nodes(tree, start, min(start + PIECE, n), edges, rows)
    _require(edges == len(tree.child), "first_edge must end with the number of edges")
    _require(tuple(rows) == tree.n_rows, f"rows must be {tree.n_rows}; there are {tuple(rows)}")
    depth = depth_of(tree.size)
    _require(tree.depth == depth, f"depth must be that of the longest path, {depth}; it is {tree.depth}")


def _require_nodes(tree: PublicTree, start: int, end: int, edges: int, rows: list[int]) -> int:
    """Check the nodes from `start` to `end`, and return where the edges of the next begin.

    edges: where those of the first begin. rows: of each player, where its next begins; brought forward.
    """
    nodes, first = np.arange(start, end), np.asarray(tree.first_edge[start : end + 1])
    rising = first[0] == edges and (first[1:] > first[:-1]).all() and first[-1] <= len(tree.child)
    _require(bool(rising), "first_edge must rise from node to node")
    counts, size = np.diff(first), tree.size[start:end].astype(np.int64)
    _require(bool(((size >= 1) & (nodes + size <= len(tree))).all()), "size must be of a subtree")
    child = tree.child[edges : int(first[-1])]
    within = child.min() >= -len(tree.payoffs) and child.max() < len(tree)
    _require(bool(within), "child must be a node or a kind of terminal")
    # Children lie one behind the other, the first right after its parent, the last to the subtree's end.
    inner = np.flatnonzero(child >= 0)
    to, parent = child[inner].astype(np.int64), np.repeat(nodes, counts)[inner]
    ends, last = to + tree.size[to], np.diff(parent, append=end) > 0
    due = parent + 1
    due[1:][~last[:-1]] = ends[:-1][~last[:-1]]
    closed = nodes + 1
    closed[parent[last] - start] = ends[last]
    _require(np.array_equal(to, due) and np.array_equal(closed, nodes + size), "nodes must lie in preorder")
    player, row = tree.player[start:end], tree.row[start:end]
    _require(bool(player.min() >= CHANCE and player.max() <= 1), "player must be 0, 1 or chance")
    for seat in (0, 1):
        own = player == seat
        taken = np.cumsum(counts[own])
        _require(np.array_equal(row[own], rows[seat] + taken - counts[own]), "rows must follow the nodes")
        rows[seat] += int(taken[-1]) if len(taken) else 0
    return int(first[-1])


def _require(sound: bool, rule: str) -> None:
    if not sound:
        raise PublicTreeError(rule)


def padded(n: int) -> int:
    """Return how many numbers a row of n private states takes, full vectors all."""
    return -(-n // LANES) * LANES


def path_to(tree: PublicTree, node: int) -> list[tuple[int, int]]:
    """Return the (node, edge) pairs that lead from the tree's root to a node."""
    found, at = [], 0
    while at != node:
        edges = np.arange(tree.first_edge[at], tree.first_edge[at + 1])
        below = tree.child[edges]
        inner = edges[below >= 0]
        # Preorder: the child that the node lies under is the last one that does not come after it.
        edge = int(inner[np.searchsorted(tree.child[inner], node, "right") - 1])
        found.append((at, edge))
        at = int(tree.child[edge])
    return found


class PublicView:
    """A factored game as seen by both players, forced moves left out; enough of one to be sized."""

    def __init__(self, game: FactoredGame) -> None:
        self._game, self.num_players = game, game.num_players
        self.player, self.actions = game.player, game.actions

    def step(self, states: Array, rows: NDArray[np.int64], actions: Array) -> Array:
        return past_forced(self._game, self._game.step(states, rows, actions))


def grow_public(game: FactoredGame, root: Array | None = None, *, memory: float | None = None) -> PublicTree:
    """Return the public tree of a game below a public state, by default its first.

    memory: bytes that growing may take, by default `cfr.tree.memory.memory_limit()`.
    Raises TooLarge if it would take more, which a sample tells early of much too large ones; GameError if
    nobody has a choice below the root.
    """
    limit = memory_limit() if memory is None else memory
    states = past_forced(game, game.public_root() if root is None else root)
    if game.player(states)[0] == TERMINAL:
        raise GameError(
            f"{game.name}: at least one player must have a choice below this public state; none has; "
            "choose one nearer the root"
        )
    levels: list[tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]] = []
    kinds: dict[int, Array] = {}
    n_edges = n_terminals = 0
    sampled = False
    while len(states):
        actions = game.actions(states)
        n_edges += len(actions.values)
        if n_edges > PIECE and not sampled:
            sampled = True
            _require_room(game, limit, root)
        needed = n_edges * GROWTH_BYTES + len(actions.values) * 3 * states.itemsize
        if needed > limit or n_edges > MOST_NODES:
            raise TooLarge(
                f"{game.name}: its public tree must fit into {words_of_bytes(limit)} while it grows; "
                f"it has more than {n_edges:,} edges, which is more than {words_of_bytes(needed)}",
                f"choose a smaller game, or {ALLOW_MORE}",
            )
        after = past_forced(game, game.step(states, actions.rows, actions.values))
        over = game.player(after) == TERMINAL
        leads = np.empty(len(after), np.int64)
        leads[~over] = np.arange(len(after) - over.sum())
        leads[over] = -1 - _kinds_of(game, after[over], kinds)
        n_terminals += int(over.sum())
        levels.append((game.player(states), actions.counts, leads))
        states = after[~over]
    depth = len(levels)
    player, first_edge, child, size = _in_preorder(levels)
    owned = np.diff(first_edge) * (player != CHANCE)
    row = np.zeros(len(player), np.int64)
    n_rows = []
    for seat in (0, 1):
        own = np.where(player == seat, owned, 0)
        ends = np.cumsum(own)
        row[player == seat] = (ends - own)[player == seat]
        n_rows.append(int(ends[-1]))
    payoffs = payoffs_at(game, np.concatenate(list(kinds.values())))
    return PublicTree(
        game=game,
        player=player,
        first_edge=first_edge,
        child=child,
        size=size,
        row=row,
        n_rows=(n_rows[0], n_rows[1]),
        n_private=game.private_states(),
        payoffs=payoffs,
        depth=depth,
        n_terminals=n_terminals,
    )


def _require_room(game: FactoredGame, limit: float, root: Array | None) -> None:
    """Raise TooLarge if the low end of an estimate from a sample takes twice the memory that there is."""
    seen: Any = PublicView(game)
    first = past_forced(game, game.public_root() if root is None else root)
    size = estimate_size(seen, first, infosets=False).histories
    if size.low * GROWTH_BYTES > 2 * limit:
        raise TooLarge(
            f"{game.name}: its public tree must fit into {words_of_bytes(limit)} while it grows; it has "
            f"{size} public states by an estimate",
            f"choose a smaller game, train a network (gs2 train GAME), or {ALLOW_MORE}",
        )


def past_forced(game: FactoredGame, states: Array) -> Array:
    """Return the public states that follow [n] states once every forced move is made."""
    states = states.copy()
    while True:
        going = np.flatnonzero(game.player(states) != TERMINAL)
        actions = game.actions(states[going])
        forced = np.flatnonzero(actions.counts == 1)
        if not len(forced):
            return states
        taken = actions.values[actions.offsets[:-1][forced]]
        states[going[forced]] = game.step(states[going], forced, taken)


def _kinds_of(game: FactoredGame, states: Array, kinds: dict[int, Array]) -> NDArray[np.int64]:
    """Return the kinds of terminals, numbered from 0 as they come; a new one is added to `kinds`."""
    found, first, which = np.unique(game.payoff_kinds(states), return_index=True, return_inverse=True)
    for kind, at in zip(found.tolist(), first, strict=True):
        kinds.setdefault(kind, states[at : at + 1])
    number = {kind: k for k, kind in enumerate(kinds)}
    return np.array([number[kind] for kind in found.tolist()], np.int64)[which]


def _in_preorder(
    levels: list[tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return (player, first_edge, child, size) of the levels' nodes in preorder."""
    starts = np.cumsum([0, *[len(players) for players, _, _ in levels]])
    n = int(starts[-1])
    player = np.concatenate([players for players, _, _ in levels])
    first_edge = np.zeros(n + 1, np.int64)
    np.cumsum(np.concatenate([counts for _, counts, _ in levels]), out=first_edge[1:])
    child = np.empty(int(first_edge[-1]), np.int32)
    at = 0
    while levels:
        _, _, leads = levels.pop(0)
        start = starts[len(starts) - len(levels) - 1]
        child[at : at + len(leads)] = np.where(leads >= 0, leads + start, leads)
        at += len(leads)
    size, place = np.ones(n, np.int32), np.zeros(n, np.int32)
    new_player, new_first = np.empty(n, np.int8), np.zeros(n + 1, np.int64)
    new_child, new_size = np.empty(len(child), np.int32), np.empty(n, np.int32)
    _reorder((player, first_edge, child), size, place, (new_player, new_first, new_child, new_size))
    return new_player, new_first, new_child, new_size


@kernel
def _reorder(
    tree: tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int32]],
    size: NDArray[np.int32],
    place: NDArray[np.int32],
    out: tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]],
) -> None:
    """Fill `out` with the breadth-first tree in preorder. size: ones; place: zeros."""
    player, first_edge, child = tree
    new_player, new_first, new_child, new_size = out
    n = len(player)
    for node in range(n - 1, -1, -1):
        for edge in range(first_edge[node], first_edge[node + 1]):
            if child[edge] >= 0:
                size[node] += size[child[edge]]
    for node in range(n):
        after = place[node] + 1
        new_player[place[node]] = player[node]
        new_size[place[node]] = size[node]
        new_first[place[node] + 1] = first_edge[node + 1] - first_edge[node]
        for edge in range(first_edge[node], first_edge[node + 1]):
            if child[edge] >= 0:
                place[child[edge]] = after
                after += size[child[edge]]
    for node in range(n):
        new_first[node + 1] += new_first[node]
    for node in range(n):
        start = new_first[place[node]]
        for edge in range(first_edge[node], first_edge[node + 1]):
            to = child[edge]
            new_child[start + edge - first_edge[node]] = place[to] if to >= 0 else to
