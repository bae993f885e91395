"""Several continuations per leaf: at the depth limit players choose how they will play on.

A single value per leaf lets a search believe that the opponent cannot adapt to it. Where the opponent picks,
at each of its infosets there, among several strategies for the rest of the game, the solution must stand up
to all of them. `with_choices` serves any number of choosers: a leaf then holds one payoff for each
combination of continuations, and the players choose at once, each knowing what it knows there: one after
another in the tree, none seeing what the others chose. Payoffs come from rollouts in common random numbers,
so that continuations are compared by what they do and not by their luck, or from a full tree exactly.

With one continuation for everybody this is a rollout of the blueprint; a depth limit of one decision and one
continuation compares the actions at the root by rollouts.
Who chooses. A player who may choose as well counts on playing the best of its continuations later on. That is
right if it will: if the game is played on by what the subgame's solution says. Where every later decision is
searched anew it is too hopeful, and by far: on Leduc poker and Liar's Dice searches with choices for everyone
end above the blueprint where the same with choices for the opponent alone mostly end below
(`experiments/results/FAMILY.md`).
Source: Brown, Sandholm and Amos 2018, "Depth-limited solving" (multi-valued states), where only the opponent
chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.best_response import counterfactual_values
from cfr.tree import FlatTree, require_states
from cfr.values import best_responses, node_values
from games.game import TERMINAL, Game
from games.ragged import Ragged
from gs2.search.continuation_policies import Continuation
from gs2.search.subgame.cut import Subgame
from gs2.search.subgame.leaf import CommonDraws, play_out


def best_response_policy(tree: FlatTree, policy: NDArray[np.float64], seat: int) -> NDArray[np.float64]:
    """Return `policy` with the part of `seat` replaced by its pure counterfactual best response, [slots]."""
    answer = policy.copy()
    mine = tree.slot_player == seat
    answer[mine] = best_responses(tree, policy, seat)[2][mine]
    return answer


@dataclass(frozen=True, eq=False)
class LeafChooser:
    """A seat that chooses among continuations at truncated leaves.

    known: [T] or [T, c] int64, what it knows at each leaf: any numbers that tell its infosets there apart.
    """

    seat: int
    known: NDArray[np.int64]


def with_choices(subgame: Subgame, choosers: Sequence[LeafChooser], values: NDArray[np.float64]) -> Subgame:
    """Return a subgame at whose truncated leaves some seats choose at once, each along its own axis.

    choosers: in the order of the axes of `values`. They stand one below the other, and none sees what those
    above it chose. A seat with a single choice has no decision.
    values: [T, K0, K1, …, P] float64, the payoffs of each combination.
    The new infosets come after the others, chooser by chooser; their slots and theirs alone have no origin.
    The truncated leaves of the result are where the first choice stands, or the payoffs if there is none. Its
    tree holds no states.
    Raises ValueError for values of another shape.
    """
    tree, leaves = subgame.tree, subgame.truncated
    t = len(leaves)
    if t == 0:
        return subgame
    wanted = (t, *values.shape[1:-1], tree.n_players)
    if values.shape != wanted or values.ndim != len(choosers) + 2:
        raise ValueError(
            f"choices: values must be [leaves, one axis for each of {len(choosers)} choosers, seats], with "
            f"{t} leaves and {tree.n_players} seats; got {values.shape}"
        )
    known = np.arange(t)  # of which leaf each end is
    ends = leaves
    for chooser, k in zip(choosers, values.shape[1:-1], strict=True):
        if k > 1:
            subgame, ends = _chosen(subgame, ends, LeafChooser(chooser.seat, chooser.known[known]), k)
            known = np.repeat(known, k)
    tree = subgame.tree
    returns = tree.returns.copy()
    returns[np.searchsorted(tree.terminal, ends)] = values.reshape(-1, tree.n_players)
    return replace(subgame, tree=replace(tree, returns=returns))


def _chosen(
    subgame: Subgame, ends: NDArray[np.int32], chooser: LeafChooser, k: int
) -> tuple[Subgame, NDArray[np.int32]]:
    """Return a subgame in which a seat chooses among k leaves at each of some leaves, and these, [n · k].

    ends: [n], the leaves at which it chooses. Each one's choices stand together, without payoffs.
    """
    tree = subgame.tree
    above, added = np.repeat(ends, k), k * len(ends)
    depth = np.repeat(np.arange(len(tree.level_offsets) - 1), np.diff(tree.level_offsets))
    ups = np.concatenate([tree.parent, above]).astype(np.int64)
    order, place, offsets = _breadth_first(ups, np.concatenate([depth, depth[above] + 1]))
    seen, number = np.unique(chooser.known, axis=0, return_inverse=True)
    player = np.concatenate([tree.player, np.full(added, TERMINAL, np.int8)])
    infoset = np.concatenate([tree.infoset, np.full(added, -1, np.int32)])
    player[ends], infoset[ends] = chooser.seat, tree.n_infosets + number.reshape(-1)
    returns = np.zeros((tree.n_nodes + added, tree.n_players))
    returns[tree.terminal] = tree.returns
    player, many = player[order], np.full(len(seen), k)
    none = np.zeros_like(tree.action, shape=(added, *tree.action.shape[1:]))
    made = FlatTree.of_levels(
        np.where(ups[order] < 0, -1, place[ups[order]]),
        player,
        offsets,
        np.append(np.diff(tree.infoset_offset), many),
        infoset=infoset[order],
        chance_prob=np.concatenate([tree.chance_prob, np.ones(added)])[order],
        returns=returns[order[player == TERMINAL]],
        infoset_player=np.append(tree.infoset_player, np.full(len(seen), chooser.seat)).astype(np.int8),
        infoset_key=np.pad(tree.infoset_key, ((0, len(seen)), (0, 0))),
        action=np.concatenate([tree.action, none])[order],
        teams=tree.teams,
        n_truncated=tree.n_truncated,
    )
    source = np.concatenate([np.arange(tree.n_nodes), above])[order]
    grown = replace(
        subgame,
        tree=made,
        root_of=subgame.root_of[source],
        origin=subgame.origin[source] if len(subgame.origin) else subgame.origin,
        grafted=np.append(subgame.chosen, np.ones(len(seen), bool)),
        infoset_origin=np.append(subgame.infoset_origin, np.full(len(seen), -1)).astype(np.int32),
        slot_origin=np.append(subgame.slot_origin, np.full(int(many.sum()), -1)),
        truncated=place[subgame.truncated].astype(np.int32),
    )
    return grown, place[tree.n_nodes :].astype(np.int32)


def _breadth_first(
    parent: NDArray[np.int64], level: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes in breadth-first order, the place of each, and where the levels start.

    Within a level by the new place of the parent; the sort is stable, so children keep their order.
    """
    order, place = np.empty(len(parent), np.int64), np.empty(len(parent), np.int64)
    offsets = [0]
    for depth in range(int(level.max()) + 1):
        here = np.flatnonzero(level == depth)
        if depth:
            here = here[np.argsort(place[parent[here]], kind="stable")]
        start = offsets[-1]
        order[start : start + len(here)] = here
        place[here] = np.arange(start, start + len(here))
        offsets.append(start + len(here))
    return order, place, np.array(offsets, np.int64)


ROWS_AT_ONCE = 1 << 16
"""Games played at once, which bounds the memory."""


def continuation_payoffs(
    game: Game,
    states: NDArray[Any],
    policies: Sequence[Sequence[Blueprint]],
    rng: np.random.Generator,
    *,
    rollouts: int = 10,
) -> NDArray[np.float64]:
    """Return the mean payoffs at each history of each combination of continuations, [T, K0, …, P] float64.

    states: [T]. policies: for each seat its continuations, at least one; seat s has axis 1 + s of the result.
    rollouts: games for each history and combination; all combinations meet the same luck.
    """
    counts = tuple(len(of) for of in policies)
    combined = np.array(list(product(*map(range, counts))), np.int64)
    seed = int(rng.integers(1 << 62))
    each = rollouts * len(combined)
    found = np.empty((len(states), len(combined), game.num_players))
    step = max(1, ROWS_AT_ONCE // each)
    for start in range(0, len(states), step):
        rows = np.arange(start, min(start + step, len(states)))
        stream = np.repeat(rows, each)
        sample = np.tile(np.repeat(np.arange(rollouts), len(combined)), len(rows))
        chosen = np.tile(combined, (len(rows) * rollouts, 1))
        draws = CommonDraws(seed, stream, sample, rollouts, game.num_players)
        payoffs = play_out(game, states[stream], policies, draws, chosen)
        found[rows] = payoffs.reshape(len(rows), rollouts, len(combined), -1).mean(axis=1)
    return found.reshape(len(states), *counts, game.num_players)


def exact_continuation_payoffs(
    game: Game,
    tree: FlatTree,
    policy: NDArray[np.float64],
    continuations: Sequence[Sequence[Continuation]],
) -> NDArray[np.float64]:
    """Return what each node of a full tree is worth under each combination, [K0, …, N, P] float64.

    policy: [slots] float64, the blueprint. continuations: of each seat; its q is that of the blueprint.
    Raises ValueError for a tree without states.
    """
    tree = require_states(tree, "multi-valued leaves")
    plans = [
        [_played(game, tree, policy, seat, continuation) for continuation in named]
        for seat, named in enumerate(continuations)
    ]
    counts = [len(of) for of in plans]
    out = np.empty((*counts, tree.n_nodes, tree.n_players))
    for chosen in product(*map(range, counts)):
        joint = policy.copy()
        for seat, k in enumerate(chosen):
            mine = tree.slot_player == seat
            joint[mine] = plans[seat][k][mine]
        out[chosen] = node_values(tree, joint)
    return out


def _played(
    game: Game, tree: FlatTree, policy: NDArray[np.float64], seat: int, continuation: Continuation
) -> NDArray[np.float64]:
    """Return the policy with the seat's part replaced by one of its continuations, [slots]."""
    if continuation.kind == "best":
        return best_response_policy(tree, policy, seat)
    mine = np.flatnonzero(tree.infoset_player == seat)
    plan = policy.copy()
    if len(mine):
        actions = Ragged(tree.infoset_offset, np.arange(tree.n_slots)).take(mine)
        slots = actions.values

        def q() -> NDArray[np.float64]:
            """Return the value of each action where others lead there, 0 elsewhere."""
            known = counterfactual_values(tree, policy, seat)
            mass = known.reach[tree.slot_infoset[slots]]
            zero = np.zeros(len(slots))
            return np.divide(known.slot[slots], mass, out=zero, where=np.nan_to_num(mass) > 0)

        plan[slots] = continuation.probs(
            actions,
            lambda: game.action_type(tree.slot_actions()[slots]),
            lambda: policy[slots],
            q,
        )
    return plan


def known_at(game: Game, states: NDArray[Any], seat: int) -> NDArray[np.int64]:
    """Return a number for what a seat knows at each history, [n] int64, equal where it knows the same."""
    keys = game.infoset_key(states, seat)
    number: NDArray[np.int64] = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    return number
