"""Multi-valued states: at the depth limit every player chooses how it will play on.

A leaf then holds one payoff for each combination of the players' continuations, and the players choose at
once, each knowing what it knows there: one after another in the tree, none seeing what the others chose.
Payoffs come from rollouts in common random numbers, so that continuations are compared by what they do and
not by their luck, or from a full tree exactly.

With one continuation for everybody this is a rollout of the blueprint; a depth limit of one decision and one
continuation compares the actions at the root by rollouts.
Who chooses. A player who may choose as well counts on playing the best of its continuations later on. That is
right if it will: if the game is played on by what the subgame's solution says. Where every later decision is
searched anew it is too hopeful, and by far: on Leduc poker and Liar's Dice searches with choices for everyone
end above the blueprint where the same with choices for the opponent alone mostly end below
(`experiments/results/FAMILY.md`).
Source: Brown, Sandholm and Amos 2018, "Depth-limited solving", where only the opponent chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blueprint.protocol import Blueprint
from cfr.tree import FlatTree, require_states
from cfr.values import counterfactual_values, node_values
from games.game import Game
from games.ragged import Ragged
from gs2.search.continuation_policies import Continuation
from gs2.search.subgame.playing_out import CommonDraws, Draws, play_out

__all__ = [
    "continuation_payoffs",
    "exact_continuation_payoffs",
    "known_at",
]

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
        draws: Draws = CommonDraws(seed, stream, sample, rollouts, game.num_players)
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
    mine = np.flatnonzero(tree.infoset_player == seat)
    plan = policy.copy()
    if len(mine):
        actions = Ragged(tree.infoset_offset, np.arange(tree.n_slots)).take(mine)
        slots = actions.values
        plan[slots] = continuation.probs(
            actions,
            lambda: game.action_type(tree.slot_actions()[slots]),
            lambda: policy[slots],
            lambda: _q(tree, policy, seat)[slots],
        )
    return plan


def _q(tree: FlatTree, policy: NDArray[np.float64], seat: int) -> NDArray[np.float64]:
    """Return the value of each of the seat's actions where others lead there, 0 elsewhere, [slots]."""
    known = counterfactual_values(tree, policy, seat)
    mass = known.reach[tree.slot_infoset]
    q = np.zeros(tree.n_slots)
    np.divide(known.slot, mass, out=q, where=np.nan_to_num(mass) > 0)
    return q


def known_at(game: Game, states: NDArray[Any], seat: int) -> NDArray[np.int64]:
    """Return a number for what a seat knows at each history, [n] int64, equal where it knows the same."""
    keys = game.infoset_key(states, seat)
    number: NDArray[np.int64] = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    return number
