"""Growing a tree from a game, level by level, as far as its rules and the memory allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from cfr.tree.flat import EnumeratedTree, FlatTree, InvalidTree
from cfr.tree.memory import USUAL_BUDGET, GrowthWatch, TreeBudget
from games.game import CHANCE, TERMINAL, Game
from games.ragged import Ragged

Rows = NDArray[Any]
"""An array of the game's states or actions, one in each row."""

BranchRule = Callable[[Game, Rows, int, Ragged], NDArray[np.bool_]]
"""(game, states, player, actions) -> [m] bool, the actions to keep; a function of the infoset alone."""
PolicyRule = Callable[[Game, Rows, int, Ragged], NDArray[np.float64]]
"""(game, states, player, actions) -> [m] float64, action probabilities that sum to 1 in each row."""
FrozenRule = Callable[[Game, Rows, NDArray[np.int8]], NDArray[np.bool_]]
"""(game, states, players) -> [n] bool, where the blueprint moves in the player's stead."""
CutRule = Callable[[Game, Rows], NDArray[np.bool_]]
"""(game, states) -> [n] bool, where a tree may end though chance acts there."""
LeafRule = Callable[[Game, Rows], NDArray[np.float64]]
"""(game, states) -> [n, players] float64, what a history beyond the depth limit is worth, in payoffs."""


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


@dataclass(frozen=True)
class TreeRules:
    """Which part of the game below the roots a tree holds; by default all of it.

    depth_limit: player decisions (frozen ones included, chance not) below a root before `leaf` values it.
    cut: histories beyond the limit that `leaf` values though chance acts there; by default chance goes on.
    branch_limit: which actions to keep at decision nodes; it must depend on the infoset alone.
    frozen: where a player's decision becomes a chance node that follows `policy`.
    Raises ValueError for rules that need each other.
    """

    depth_limit: int | None = None
    leaf: LeafRule | None = None
    cut: CutRule | None = None
    branch_limit: BranchRule | None = None
    frozen: FrozenRule | None = None
    policy: PolicyRule | None = None

    def __post_init__(self) -> None:
        if self.depth_limit is not None and self.leaf is None:
            raise ValueError("grow: a depth_limit needs a leaf evaluator; pass leaf=")
        if self.frozen is not None and self.policy is None:
            raise ValueError("grow: frozen nodes need a policy to follow; pass policy=")

    @property
    def limited(self) -> bool:
        """Return whether anything is left out or changed."""
        return self.depth_limit is not None or self.branch_limit is not None or self.frozen is not None


WHOLE = TreeRules()
"""Nothing is left out."""


@overload
def grow(
    game: Game,
    roots: Rows | None = None,
    weights: NDArray[np.float64] | None = None,
    *,
    rules: TreeRules = WHOLE,
    keep_states: Literal[True] = True,
    budget: TreeBudget = USUAL_BUDGET,
) -> EnumeratedTree: ...


@overload
def grow(
    game: Game,
    roots: Rows | None = None,
    weights: NDArray[np.float64] | None = None,
    *,
    rules: TreeRules = WHOLE,
    keep_states: bool,
    budget: TreeBudget = USUAL_BUDGET,
) -> FlatTree: ...


def grow(
    game: Game,
    roots: Rows | None = None,
    weights: NDArray[np.float64] | None = None,
    *,
    rules: TreeRules = WHOLE,
    keep_states: bool = True,
    budget: TreeBudget = USUAL_BUDGET,
) -> FlatTree:
    """Return the tree below `roots`, level by level.

    A tree without limits is not grown into what does not fit: once it has LOOK_AFTER histories, the size of
    the whole is estimated from a sample. What the estimate missed, and trees with limits, are stopped at the
    first level that would not fit.

    roots: [r] states, by default the game's root. weights: [r] float64, by default 1 each.
    rules: what to leave out. budget: how large it may become.
    keep_states: hold the game's states of all nodes in the result, which is then an `EnumeratedTree`.
    Raises ValueError for roots and weights that do not fit, InvalidTree if the game breaks its contract,
    TooLarge (a ValueError and a MemoryError) for more histories or more memory than it may take.
    """
    states = game.root() if roots is None else roots
    if len(states) == 0:
        raise ValueError("grow: needs at least one root; got none")
    prob = np.ones(len(states)) if weights is None else np.asarray(weights, np.float64)
    if prob.shape != (len(states),):
        raise ValueError(f"grow: weights must have one entry per root, {len(states)}; got {prob.shape}")
    if len(wrong := prob[~((prob >= 0) & (prob < np.inf))]):
        raise ValueError(f"grow: weights must be finite and at least 0; got {wrong[0]}")
    none = np.zeros(len(states), np.int32)
    level = _Level(states=states, parent=none - 1, prob=prob, depth=none, action=None)

    out = _Arrays()
    watch = GrowthWatch(game, states, budget, keep_states, rules.limited)
    watch.admit(len(level.states))
    while len(level.states):
        n = len(level.states)
        watch.look(out.n_nodes, level.states)
        player = game.player(level.states).astype(np.int8, copy=True)
        terminal = player == TERMINAL
        returns = np.zeros((n, game.num_players))
        if terminal.any():
            returns[terminal] = game.returns(level.states[terminal])
        if rules.depth_limit is not None and rules.leaf is not None:
            ready = player >= 0 if rules.cut is None else (player >= 0) | rules.cut(game, level.states)
            cut = ~terminal & ready & (level.depth >= rules.depth_limit)
            if cut.any():
                returns[cut] = rules.leaf(game, level.states[cut])
                player[cut] = TERMINAL
                out.n_truncated += int(cut.sum())
        nxt, counts = _expand(game, level, player, rules, out, watch)
        out.add_level(level, player, returns, counts)
        level = nxt
    return out.build(game, keep_states)


@dataclass
class _Level:
    states: Rows
    parent: NDArray[np.int32]
    prob: NDArray[np.float64]
    depth: NDArray[np.int32]
    action: Rows | None


def _expand(
    game: Game,
    level: _Level,
    player: NDArray[np.int8],
    rules: TreeRules,
    out: _Arrays,
    watch: GrowthWatch,
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

    if rules.frozen is not None and rules.policy is not None:
        fixed = rules.frozen(game, states, acting) & (acting >= 0)
        for p in np.unique(acting[fixed]):
            sub, at = _select(actions, fixed & (acting == p))
            prob[at] = rules.policy(game, states[fixed & (acting == p)], int(p), sub)
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
            if rules.branch_limit is not None:
                # The first history of an infoset in this level decides for all of them.
                first, number = _unique_infosets(keys[of_p], acting[rows_p])
                mask = np.zeros(len(states), bool)
                mask[rows_p] = True
                sub, at = _select(actions, mask)
                kept = rules.branch_limit(game, states[rows_p], int(p), sub)
                offset = sub.offsets[:-1]
                source = np.repeat(offset[first[number]] - offset, sub.counts) + np.arange(len(kept))
                keep = np.ones(len(values), bool) if keep is None else keep
                keep[at] &= kept[source]
        out.decisions.append((keys, acting[key_rows], open_rows[key_rows] + out.n_nodes))
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
    watch.admit(out.n_nodes + n + len(values))
    nxt = _Level(
        states=game.step(states, rows, values),
        parent=(open_rows[rows] + out.n_nodes).astype(np.int32),
        prob=prob,
        depth=depth[rows].astype(np.int32),
        action=values,
    )
    return nxt, counts


def _select(actions: Ragged, mask: NDArray[np.bool_]) -> tuple[Ragged, NDArray[np.bool_]]:
    """Return the rows of `actions` under `mask`, and the mask of their values."""
    at = np.repeat(mask, actions.counts)
    return Ragged.from_counts(actions.counts[mask], actions.values[at]), at


@dataclass
class _Arrays:
    """Pieces of a tree under construction: of each level, and of the (keys, players, nodes) of decisions."""

    n_nodes: int = 0
    n_truncated: int = 0
    levels: list[tuple[_Level, NDArray[np.int8], NDArray[np.float64], NDArray[np.int32]]] = field(
        default_factory=list
    )
    decisions: list[tuple[NDArray[np.uint64], NDArray[np.int8], NDArray[np.int64]]] = field(
        default_factory=list
    )

    def add_level(
        self,
        level: _Level,
        player: NDArray[np.int8],
        returns: NDArray[np.float64],
        counts: NDArray[np.int32],
    ) -> None:
        rows = np.flatnonzero(player == TERMINAL)
        self.levels.append((level, player, returns[rows], counts))
        self.n_nodes += len(player)

    def build(self, game: Game, keep_states: bool) -> FlatTree:
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

        nobody = np.zeros((0, game.key_width), np.uint64), np.zeros(0, np.int8), np.zeros(0, np.int64)
        parts: list[Any] = [np.concatenate(part) for part in zip(nobody, *self.decisions, strict=True)]
        keys, players, nodes = parts
        first, number = _unique_infosets(keys, players)
        infoset = np.full(len(player), -1, np.int32)
        infoset[nodes] = number
        kind: type[FlatTree] = EnumeratedTree if keep_states else FlatTree
        return kind(
            parent=np.concatenate([level.parent for level, *_ in self.levels]),
            first_child=first_child.astype(np.int32),
            n_children=n_children,
            player=player,
            infoset=infoset,
            chance_prob=np.concatenate([level.prob for level, *_ in self.levels]),
            level_offsets=level_offsets,
            terminal=np.flatnonzero(player == TERMINAL).astype(np.int32),
            returns=np.concatenate([r for *_, r, _ in self.levels]),
            infoset_player=players[first],
            infoset_offset=np.concatenate(([0], np.cumsum(n_children[nodes[first]]))).astype(np.int64),
            infoset_key=keys[first],
            action=action,
            states=np.concatenate([level.states for level, *_ in self.levels]) if keep_states else None,
            teams=tuple(game.teams),
            n_truncated=self.n_truncated,
            zero_sum=getattr(game, "zero_sum", True),
        ).validate()
