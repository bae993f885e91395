"""A solved subgame of GuanDan; generative subgame solving as published: the pipeline over sampled deals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfr.tree import FlatTree
from gs2.guandan.agent.deals.determinize import Worlds
from gs2.guandan.agent.solving.deal_source import DealSource, action_keys
from gs2.search.pipeline import search

__all__ = ["SampledSolution", "solve_deals"]


@dataclass(frozen=True, eq=False)
class SampledSolution:
    """A solved subgame.

    worlds: the r deals in it. opponents: the seats that may decline. alternative: [q, r] float64, what each
    gets by that, in levels; solved: [q, r], what it gets in the subgame.
    moves: [a] indices of the candidate moves kept; policy: [a], refined probabilities.
    nodes, infosets, leaves: size of the tree. depth: its limit. iterations: of the solver. gap:
    exploitability within the gadget, in levels.
    later: what it plays further down, (moves [a] ACTION, probabilities [a]) by own infoset key.
    """

    worlds: Worlds
    opponents: tuple[int, ...]
    alternative: NDArray[np.float64]
    solved: NDArray[np.float64]
    moves: NDArray[np.int64]
    policy: NDArray[np.float64]
    nodes: int
    infosets: int
    leaves: int
    depth: int
    iterations: int
    gap: float
    later: dict[bytes, tuple[NDArray[np.void], NDArray[np.float64]]] = field(default_factory=dict)


def solve_deals(source: DealSource, rng: np.random.Generator) -> SampledSolution:
    """Return the refined policy at one decision.

    Raises TimeoutError if the tree could not be grown in time, MemoryError if it became too large.
    """
    found = search(source, rng, source.log)
    assert found.solved is not None  # deals are never left alone: the pipeline solves or raises
    problem, solution = found.solved
    decision = source.decision
    tree, policy, whole = solution.subgame.tree, solution.policy, solution.gadget.tree
    wanted = action_keys(decision.actions[decision.candidates])
    place = {bytes(key): i for i, key in zip(decision.candidates, wanted, strict=True)}
    kept = tree.action[tree.first_child[0] : tree.first_child[0] + tree.n_children[0]]
    return SampledSolution(
        worlds=problem.deals,
        opponents=problem.entry.seats,
        alternative=problem.values,
        solved=problem.solved,
        moves=np.array([place[bytes(key)] for key in action_keys(kept)], np.int64),
        policy=policy[tree.slots(int(tree.infoset[0]))],
        nodes=whole.n_nodes,
        infosets=whole.n_infosets,
        leaves=tree.n_truncated,
        depth=problem.config.subgame.depth or 0,
        iterations=solution.iterations,
        gap=float(solution.gap),
        later=_own_policies(tree, policy, decision.seat),
    )


def _own_policies(
    tree: FlatTree, policy: NDArray[np.float64], seat: int
) -> dict[bytes, tuple[NDArray[Any], NDArray[np.float64]]]:
    """Return the moves and probabilities of every infoset of `seat` but the first, by its key."""
    first = tree.infoset_first_node()
    out = {}
    for i in np.flatnonzero(tree.infoset_player == seat)[1:].tolist():
        child, size = tree.first_child[first[i]], tree.n_children[first[i]]
        out[tree.infoset_key[i].tobytes()] = (tree.action[child : child + size], policy[tree.slots(i)])
    return out
