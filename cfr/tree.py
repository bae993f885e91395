"""Flat game trees: structures of arrays in breadth-first order, grown from a game level by level.

A full game is one root without limits; a subgame is a few weighted roots with limits. Both are the same
object, so every solver and every gadget serves both.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.memory import TooLarge, bytes_per_history, memory_limit, too_large, words_of_bytes
from games.contract import ContractError
from games.game import CHANCE, TERMINAL, Game
from games.ragged import Ragged
from games.size import estimate_size

__all__ = ["FlatTree", "InvalidTree", "grow"]

BranchRule = Callable[[Game, NDArray, int, Ragged], NDArray[np.bool_]]
"""(game, states, player, actions) -> [m] bool, the actions to keep; a function of the infoset alone."""
PolicyRule = Callable[[Game, NDArray, int, Ragged], NDArray[np.float64]]
"""(game, states, player, actions) -> [m] float64, action probabilities that sum to 1 in each row."""
FrozenRule = Callable[[Game, NDArray, NDArray], NDArray[np.bool_]]
"""(game, states, players) -> [n] bool, where the blueprint moves in the player's stead."""
LeafRule = Callable[[Game, NDArray], NDArray[np.float64]]
"""(game, states) -> [n, players] float64, what a history beyond the depth limit is worth, in payoffs."""


LOOK_AFTER = 100_000
"""Histories after which a growing tree's size is estimated; below, growing takes less than looking."""
ANNOUNCED = 2**30
"""Bytes from which on what a tree is about to take is logged, as a warning."""
_log = logging.getLogger("gs2")


class InvalidTree(ContractError):
    """Arrays that are not a tree, or a game that is not of perfect recall."""


@dataclass(frozen=True, eq=False)
class FlatTree:
    """A game tree, or a forest of weighted roots, as arrays of equal length; parents before children.

    N nodes in breadth-first order; the children of a node stand together, in the order of its actions.

    parent: [N] int32, -1 at roots.
    first_child: [N] int32, where the children start; meaningless when there are none.
    n_children: [N] int32.
    player: [N] int8, a seat, CHANCE or TERMINAL (leaves at the depth limit are TERMINAL too).
    infoset: [N] int32, number of the infoset at decision nodes, -1 elsewhere.
    chance_prob: [N] float64, probability with which chance leads from the parent to the node, 1 under
        a decision node; at roots the root's weight.
    level_offsets: [L + 1] int64, nodes of level d are `level_offsets[d]:level_offsets[d + 1]`.
    terminal: [Z] int32, the terminal nodes, rising.
    returns: [Z, players] float64, their payoffs.
    infoset_player: [I] int8; infosets are numbered by first appearance, so ancestors come first.
    infoset_offset: [I + 1] int64; action k of infoset s has slot `infoset_offset[s] + k`.
    infoset_key: [I, key width] uint64, `Game.infoset_key` of the infoset for its player.
    action: [N] the game's actions; the one that led to the node (arbitrary at roots).
    states: [N] the game's states, or None where they were not kept.
    teams: for each seat 0 or 1.
    n_truncated: leaves that stand at the depth limit rather than at the end of the game.
    """

    parent: NDArray[np.int32]
    first_child: NDArray[np.int32]
    n_children: NDArray[np.int32]
    player: NDArray[np.int8]
    infoset: NDArray[np.int32]
    chance_prob: NDArray[np.float64]
    level_offsets: NDArray[np.int64]
    terminal: NDArray[np.int32]
    returns: NDArray[np.float64]
    infoset_player: NDArray[np.int8]
    infoset_offset: NDArray[np.int64]
    infoset_key: NDArray[np.uint64]
    action: NDArray
    states: NDArray | None
    teams: tuple[int, ...]
    n_truncated: int = 0

    @property
    def n_nodes(self) -> int:
        """Return N."""
        return len(self.parent)

    @property
    def n_infosets(self) -> int:
        """Return I, over all players."""
        return len(self.infoset_player)

    @property
    def n_slots(self) -> int:
        """Return the number of (infoset, action) pairs, over all players."""
        return int(self.infoset_offset[-1])

    @property
    def n_players(self) -> int:
        """Return the number of seats."""
        return len(self.teams)

    @property
    def n_roots(self) -> int:
        """Return the number of roots."""
        return int(self.level_offsets[1])

    def validate(self) -> FlatTree:
        """Return self if the arrays hold together.

        Raises InvalidTree naming the first rule that is broken.
        """
        n = self.n_nodes
        for name in ("first_child", "n_children", "player", "infoset", "chance_prob", "action"):
            if len(getattr(self, name)) != n:
                raise InvalidTree(f"{name} must have one entry per node, {n}; got {len(getattr(self, name))}")
        roots = self.n_roots
        if np.any(self.parent[:roots] != -1) or np.any(self.parent[roots:] >= np.arange(roots, n)):
            raise InvalidTree("parents must come before their children, and only roots lack one")
        inner = np.flatnonzero(self.n_children)
        if int(self.n_children.sum()) != n - roots:
            raise InvalidTree("every node but a root must be some node's child")
        starts = roots + np.concatenate(([0], np.cumsum(self.n_children[inner])[:-1]))
        if np.any(self.first_child[inner] != starts):
            raise InvalidTree("children must stand together, in the order of their parents")
        if np.any((self.player == TERMINAL) != (self.n_children == 0)):
            raise InvalidTree("a node is terminal if and only if it has no children")
        if len(self.terminal) != len(self.returns) or np.any(self.player[self.terminal] != TERMINAL):
            raise InvalidTree("terminal must list the terminal nodes, with one row of returns each")
        decision = self.player >= 0
        if np.any((self.infoset >= 0) != decision):
            raise InvalidTree("exactly the decision nodes have an infoset")
        sizes = np.diff(self.infoset_offset)[self.infoset[decision]]
        if np.any(sizes != self.n_children[decision]):
            raise InvalidTree(
                "all histories of an infoset must have the same actions; check that the game's actions "
                "(and any branch limit) depend on the infoset alone"
            )
        if np.any(self.infoset_player[self.infoset[decision]] != self.player[decision]):
            raise InvalidTree("an infoset belongs to one player")
        return self

    def child_slot(self) -> NDArray[np.int64]:
        """Return, for each node, the slot of the decision that led to it, [N] int64; -1 under chance."""
        slot = np.full(self.n_nodes, -1, np.int64)
        below = np.arange(self.n_roots, self.n_nodes)
        parent = self.parent[below]
        decided = self.player[parent] >= 0
        below, parent = below[decided], parent[decided]
        slot[below] = self.infoset_offset[self.infoset[parent]] + (below - self.first_child[parent])
        return slot

    def infoset_first_node(self) -> NDArray[np.int32]:
        """Return the first history of each infoset, [I] int32 nodes."""
        first = np.full(self.n_infosets, -1, np.int32)
        decision = np.flatnonzero(self.infoset >= 0)[::-1]
        first[self.infoset[decision]] = decision
        return first

    def slot_actions(self) -> NDArray:
        """Return the game action of each slot, [A] of the game's action dtype."""
        first = self.infoset_first_node()
        counts = np.diff(self.infoset_offset)
        within = np.arange(self.n_slots) - np.repeat(self.infoset_offset[:-1], counts)
        return self.action[np.repeat(self.first_child[first], counts) + within]


def _unique_infosets(
    keys: NDArray[np.uint64], players: NDArray[np.int8]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (row of the first appearance of each infoset, infoset number of each row).

    Infosets are numbered by first appearance. keys: [n, w]; players: [n].
    """
    if len(keys) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((*keys.T[::-1], players)) if keys.shape[1] > 1 else None
    if order is None:
        order = np.argsort(keys[:, 0], kind="stable")
        if players.min() != players.max():
            order = order[np.argsort(players[order], kind="stable")]
    sorted_keys, sorted_players = keys[order], players[order]
    new = np.empty(len(keys), bool)
    new[0] = True
    new[1:] = np.any(sorted_keys[1:] != sorted_keys[:-1], axis=1) | (
        sorted_players[1:] != sorted_players[:-1]
    )
    # Both sorts are stable, so each group starts with its first appearance.
    first = order[new]
    rank = np.empty(len(first), np.int64)
    by_appearance = np.argsort(first)
    rank[by_appearance] = np.arange(len(first))
    number = np.empty(len(keys), np.int64)
    number[order] = rank[np.cumsum(new) - 1]
    return first[by_appearance], number


def grow(
    game: Game,
    roots: NDArray | None = None,
    weights: NDArray[np.float64] | None = None,
    *,
    depth_limit: int | None = None,
    branch_limit: BranchRule | None = None,
    frozen: FrozenRule | None = None,
    policy: PolicyRule | None = None,
    leaf: LeafRule | None = None,
    keep_states: bool = True,
    max_nodes: int = 50_000_000,
    memory: float | None = None,
    history_bytes: float = 0.0,
) -> FlatTree:
    """Return the tree below `roots`, level by level.

    A tree without limits is not grown into what does not fit: once it has LOOK_AFTER histories, the size of
    the whole is estimated from a sample. What the estimate missed, and trees with limits, are stopped at the
    first level that would not fit.

    roots: [r] states, by default the game's root. weights: [r] float64, by default 1 each.
    depth_limit: player decisions (frozen ones included, chance not) below a root before `leaf` values it.
    branch_limit: which actions to keep at decision nodes; it must depend on the infoset alone.
    frozen: where a player's decision becomes a chance node that follows `policy`.
    keep_states: hold the game states of all nodes in the result.
    memory: bytes that the tree may take while it grows, by default `cfr.memory.memory_limit()`.
    history_bytes: what the caller will need for each history, its share of the tree included, if that is more
        than growing the tree takes.
    Raises ValueError for options that need each other, InvalidTree if the game breaks its contract, TooLarge
    (a ValueError and a MemoryError) for more than `max_nodes` histories or more memory than it may take.
    """
    if depth_limit is not None and leaf is None:
        raise ValueError("grow: a depth_limit needs a leaf evaluator; pass leaf=")
    if frozen is not None and policy is None:
        raise ValueError("grow: frozen nodes need a policy to follow; pass policy=")
    states = game.root() if roots is None else roots
    if len(states) == 0:
        raise ValueError("grow: needs at least one root; got none")
    level = _Level(
        states=states,
        parent=np.full(len(states), -1, np.int32),
        prob=np.ones(len(states)) if weights is None else np.asarray(weights, np.float64),
        depth=np.zeros(len(states), np.int32),
        action=None,
    )
    if len(level.prob) != len(states):
        raise ValueError(f"grow: weights must have one entry per root, {len(states)}; got {len(level.prob)}")

    out = _Arrays()
    start = 0
    n_truncated = 0
    limited = depth_limit is not None or branch_limit is not None or frozen is not None
    watch = _Watch(game, states, max_nodes, memory, history_bytes, keep_states, limited)
    watch.admit(len(level.states))
    while len(level.states):
        n = len(level.states)
        watch.look(start, level.states)
        player = game.player(level.states).astype(np.int8, copy=True)
        terminal = player == TERMINAL
        returns = np.zeros((n, game.num_players))
        if terminal.any():
            returns[terminal] = game.returns(level.states[terminal])
        if depth_limit is not None and leaf is not None:
            cut = ~terminal & (player >= 0) & (level.depth >= depth_limit)
            if cut.any():
                returns[cut] = leaf(game, level.states[cut])
                player[cut] = TERMINAL
                n_truncated += int(cut.sum())
        nxt, counts = _expand(game, level, player, branch_limit, frozen, policy, start, out, watch)
        out.add_level(level, player, returns, counts)
        start += n
        level = nxt
    return out.build(game, keep_states, n_truncated)


class _Watch:
    """Sees to it that a growing tree keeps to its limits; reads the free memory only when it is large."""

    def __init__(
        self,
        game: Game,
        roots: NDArray,
        max_nodes: int,
        memory: float | None,
        history_bytes: float,
        keep_states: bool,
        limited: bool,
    ) -> None:
        self.game, self.max_nodes = game, max_nodes
        self._root = roots[:1]
        self._memory, self._history_bytes, self._keep_states = memory, history_bytes, keep_states
        self._limit: float | None = memory
        self._each = 0.0
        self._looked = limited

    def _known(self) -> tuple[float, float]:
        """Return the bytes that may be taken, and the bytes per history."""
        if not self._each:
            self._limit = memory_limit() if self._memory is None else self._memory
            each = bytes_per_history(self.game, self._root, keep_states=self._keep_states)
            self._each = max(each, self._history_bytes)
        assert self._limit is not None
        return self._limit, self._each

    def look(self, above: int, states: NDArray) -> None:
        """Estimate the size of the whole tree, once it is large; raise TooLarge if it will not fit."""
        if self._looked or above + len(states) <= LOOK_AFTER:
            return
        self._looked = True
        limit, each = self._known()
        enough = 1e4 * max(limit / each, self.max_nodes)  # far too much; by how much does not matter
        size = estimate_size(self.game, states, infosets=False, enough=enough)
        total = above + size.histories.mean
        if total * each > limit:
            raise too_large(self.game, size, above, each, limit)
        if above + size.histories.low > self.max_nodes:
            raise TooLarge(self._more_nodes(f"about {total:.3g}"))
        if total * each > ANNOUNCED:
            _log.warning(
                "%s: about %.3g histories, about %s of memory (%s may be taken)",
                self.game.name,
                total,
                words_of_bytes(total * each),
                words_of_bytes(limit),
            )

    def admit(self, nodes: int) -> None:
        """Raise TooLarge if that many nodes are too many, before they are made."""
        if nodes > self.max_nodes:
            raise TooLarge(self._more_nodes(f"more than {self.max_nodes}"))
        if nodes <= LOOK_AFTER and self._memory is None:
            return
        limit, each = self._known()
        if nodes * each > limit:
            raise TooLarge(
                f"{self.game.name}: the tree must fit into {words_of_bytes(limit)} of memory; it has at "
                f"least {nodes:,} histories of {each:.0f} bytes; set a depth or branch limit, take a smaller "
                "game, or allow more with --memory or GS2_MEMORY"
            )

    def _more_nodes(self, count: str) -> str:
        return (
            f"grow: {self.game.name} has {count} nodes below these roots, and at most {self.max_nodes:,} are "
            "allowed; set a depth or branch limit, or raise max_nodes"
        )


@dataclass
class _Level:
    states: NDArray
    parent: NDArray[np.int32]
    prob: NDArray[np.float64]
    depth: NDArray[np.int32]
    action: NDArray | None


def _expand(
    game: Game,
    level: _Level,
    player: NDArray[np.int8],
    branch_limit: BranchRule | None,
    frozen: FrozenRule | None,
    policy: PolicyRule | None,
    start: int,
    out: _Arrays,
    watch: _Watch,
) -> tuple[_Level, NDArray[np.int32]]:
    """Return the next level and each node's number of children; in `player`, frozen nodes turn to chance."""
    n = len(level.states)
    open_rows = np.flatnonzero(player != TERMINAL)
    states = level.states if len(open_rows) == n else level.states[open_rows]
    actions = game.actions(states)
    rows, values = actions.rows, actions.values
    acting = player[open_rows]
    prob = np.ones(len(values))
    chance = acting == CHANCE
    if chance.any():
        at = chance[rows]
        prob[at] = game.chance_probs(states, actions)[at]
    keep: NDArray[np.bool_] | None = None

    if frozen is not None and policy is not None:
        fixed = frozen(game, states, acting) & (acting >= 0)
        for p in np.unique(acting[fixed]):
            sub, at = _select(actions, fixed & (acting == p))
            prob[at] = policy(game, states[fixed & (acting == p)], int(p), sub)
        acting = np.where(fixed, np.int8(CHANCE), acting)
        keep = ~fixed[rows] | (prob > 0)

    deciding = acting >= 0
    if deciding.any():
        key_rows = np.flatnonzero(deciding)
        keys = np.zeros((len(key_rows), game.key_width), np.uint64)
        for p in np.unique(acting[deciding]):
            of_p = acting[key_rows] == p
            rows_p = key_rows[of_p]
            keys[of_p] = game.infoset_key(states if len(rows_p) == len(states) else states[rows_p], int(p))
            if branch_limit is not None:
                # The first history of an infoset in this level decides for all of them.
                first, number = _unique_infosets(keys[of_p], acting[rows_p])
                mask = np.zeros(len(states), bool)
                mask[rows_p] = True
                sub, at = _select(actions, mask)
                kept = branch_limit(game, states[rows_p], int(p), sub)
                offset = sub.offsets[:-1]
                source = np.repeat(offset[first[number]] - offset, sub.counts) + np.arange(len(kept))
                keep = np.ones(len(values), bool) if keep is None else keep
                keep[at] &= kept[source]
        out.add_infosets(keys, acting[key_rows], open_rows[key_rows] + start)
    player[open_rows] = acting

    if keep is not None and not keep.all():
        rows, values, prob = rows[keep], values[keep], prob[keep]
    counts = np.zeros(n, np.int32)
    counts[open_rows] = np.bincount(rows, minlength=len(open_rows))
    childless = open_rows[counts[open_rows] == 0]
    if len(childless):
        history = game.state_text(level.states[childless[0]])
        raise InvalidTree(f"{game.name}: a history without actions must be terminal; got {history}")
    depth = level.depth[open_rows] + (game.player(states) >= 0)
    watch.admit(start + n + len(values))
    nxt = _Level(
        states=game.step(states, rows, values),
        parent=(open_rows[rows] + start).astype(np.int32),
        prob=prob,
        depth=depth[rows].astype(np.int32),
        action=values,
    )
    return nxt, counts


def _select(actions: Ragged, mask: NDArray[np.bool_]) -> tuple[Ragged, NDArray[np.bool_]]:
    """Return the rows of `actions` under `mask`, and the mask of their values."""
    at = np.repeat(mask, actions.counts)
    return Ragged.from_counts(actions.counts[mask], actions.values[at]), at


class _Arrays:
    """Per-level pieces of a tree under construction."""

    def __init__(self) -> None:
        self.levels: list[tuple[_Level, NDArray, NDArray, NDArray]] = []
        self.keys: list[NDArray[np.uint64]] = []
        self.key_players: list[NDArray[np.int8]] = []
        self.key_nodes: list[NDArray] = []

    def add_infosets(self, keys: NDArray, players: NDArray, nodes: NDArray) -> None:
        self.keys.append(keys)
        self.key_players.append(players)
        self.key_nodes.append(nodes)

    def add_level(self, level: _Level, player: NDArray, returns: NDArray, counts: NDArray) -> None:
        rows = np.flatnonzero(player == TERMINAL)
        self.levels.append((level, player, returns[rows], counts))

    def build(self, game: Game, keep_states: bool, n_truncated: int) -> FlatTree:
        sizes = [len(level.parent) for level, *_ in self.levels]
        level_offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        player = np.concatenate([p for _, p, _, _ in self.levels])
        n_children = np.concatenate([c for *_, c in self.levels]).astype(np.int32)
        first_child = np.zeros(len(player), np.int64)
        np.cumsum(n_children[:-1], out=first_child[1:])
        first_child += sizes[0]
        actions = [level.action for level, *_ in self.levels if level.action is not None]
        if actions:
            none = np.zeros((sizes[0], *actions[0].shape[1:]), actions[0].dtype)
            action = np.concatenate([none, *actions])
        else:
            action = np.zeros(sizes[0], np.int64)

        infoset = np.full(len(player), -1, np.int32)
        if self.keys:
            keys = np.concatenate(self.keys)
            players = np.concatenate(self.key_players)
            nodes = np.concatenate(self.key_nodes)
            first, number = _unique_infosets(keys, players)
            infoset[nodes] = number
            infoset_key, infoset_player = keys[first], players[first]
            sizes_i = n_children[nodes[first]].astype(np.int64)
        else:
            infoset_key = np.zeros((0, game.key_width), np.uint64)
            infoset_player = np.zeros(0, np.int8)
            sizes_i = np.zeros(0, np.int64)
        return FlatTree(
            parent=np.concatenate([level.parent for level, *_ in self.levels]),
            first_child=first_child.astype(np.int32),
            n_children=n_children,
            player=player,
            infoset=infoset,
            chance_prob=np.concatenate([level.prob for level, *_ in self.levels]),
            level_offsets=level_offsets,
            terminal=np.flatnonzero(player == TERMINAL).astype(np.int32),
            returns=np.concatenate([r for *_, r, _ in self.levels]),
            infoset_player=infoset_player,
            infoset_offset=np.concatenate(([0], np.cumsum(sizes_i))).astype(np.int64),
            infoset_key=infoset_key,
            action=action,
            states=np.concatenate([level.states for level, *_ in self.levels]) if keep_states else None,
            teams=tuple(game.teams),
            n_truncated=n_truncated,
        ).validate()
