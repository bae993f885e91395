"""Generative subgame solving at GuanDan as published: sample, keep the diverse few, grow, solve.

The seats that decide in the subgame are ours and the opponents'; the partner is chance, by the blueprint.
Each of the two opponents may decline a history for its alternative value before play begins (resolving
gadget: chance, A's choice, B's choice); with one opponent left its least margin is maximised instead.
Source: GS2 supplement, appendix C. We differ where it says nothing: alternative values are what the
opponent expects from what it sees (V of the network, max Q at an infoset where it acts); companions, deals
that share an opponent's hand, keep it from seeing through the deal; and the tree is held to a number of
nodes by thinning the moves of crowded levels, infoset by infoset.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfr.solver import Stop, solve
from cfr.tree import FlatTree, TreeRules
from cfr.values import node_values
from games.game import Game
from games.guandan.cards import PASS
from games.guandan.rounds.round import GuanDan
from games.guandan.rounds.state import action_words
from games.ragged import Ragged
from gs2.guandan.agent.determinize import Worlds
from gs2.guandan.agent.evaluator import Evaluator, evaluator_values
from gs2.guandan.agent.guandan_config import GuanDanConfig
from gs2.guandan.agent.rollout import Rollouts
from gs2.guandan.beliefs.belief_network import steer
from gs2.search.gadget.build import Entry, build_gadget
from gs2.search.generation import generator
from gs2.search.subgame.cut import grow_subgame

__all__ = ["SampledSolution", "alternative_values", "choose_worlds", "solve_sampled_subgame"]

_GAME = GuanDan(moves="canonical")
CROWD = 27
"""Opponents' cards beyond which the smaller depth limit holds (GS2 supplement, C.3)."""


@dataclass(frozen=True, eq=False)
class SampledSolution:
    """A solved subgame.

    worlds: the r deals in it. opponents: the seats that may decline. alternative: [q, r] float64, what each
    gets by that, in levels; solved: [q, r], what it gets in the subgame.
    moves: [a] indices of the candidate moves kept; policy: [a], refined probabilities.
    nodes, infosets, leaves: size of the tree. depth: its limit. iterations: of CFR. gap: exploitability
    within the gadget, in levels. thinned: levels at which moves were left out to save nodes.
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
    thinned: int
    later: dict[bytes, tuple[NDArray, NDArray[np.float64]]]
    seconds: dict[str, float]


def alternative_values(
    evaluator: Evaluator, states: NDArray, opponents: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return what each opponent expects at each state from what it sees, [q, n] float64, in levels to it."""
    out = np.empty((len(opponents), len(states)))
    for i, seat in enumerate(opponents):
        for start in range(0, len(states), 1024):
            rows = np.arange(start, min(start + 1024, len(states)))
            out[i, rows] = evaluator.views(states, rows, np.full(len(rows), seat, np.int64))
    return out


def choose_worlds(
    worlds: Worlds, values: NDArray[np.float64], config: GuanDanConfig, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return which deals enter the subgame, [min(k, n)] rising indices.

    values: [q, n], alternative values. The generator "diverse" spreads their mean over the opponents,
    "clusters" takes them as vectors.
    """
    features = values.mean(0) if config.generator == "diverse" else values.T
    return generator(config.generator)(
        np.ascontiguousarray(features), worlds.weights, min(config.k, len(worlds)), rng
    )


def with_companions(
    states: NDArray, weights: NDArray, seat: int, opponents: tuple[int, ...], count: int, rng
) -> tuple[NDArray, NDArray]:
    """Return each state and `count` more for each opponent that differ in what that opponent cannot see."""
    if count == 0:
        return states, weights
    parts = [states]
    none = np.zeros((3, 54))
    for opponent in opponents:
        parts += [steer(states, seat, none, rng, still=opponent) for _ in range(count)]
    together = np.concatenate(parts)
    keys = np.unique(together["hand"].reshape(len(together), -1), axis=0, return_index=True)[1]
    rows = np.sort(keys)
    return together[rows], np.tile(weights, len(parts))[rows]


class _Branches:
    """The moves worth growing: the best few of each type by the blueprint, fewer where a level is crowded."""

    def __init__(self, evaluator: Evaluator, per_type: int, room: int, deadline: float) -> None:
        self.evaluator, self.per_type, self.room, self.deadline = evaluator, per_type, room, deadline
        self.thinned = 0

    def __call__(self, game: Game, states: NDArray, player: int, actions: Ragged) -> NDArray[np.bool_]:
        """Return which actions to keep, [m] bool."""
        if time.perf_counter() >= self.deadline:
            raise TimeoutError("the subgame could not be grown in time")
        q = evaluator_values(self.evaluator, states, actions)
        rows, kinds = actions.rows, actions.values["type"].astype(np.int64)
        # rank of each action within its row, and within its row and type, by falling Q
        order = np.lexsort((-q, rows))
        place = np.empty(len(q), np.int64)
        place[order] = np.arange(len(q)) - actions.offsets[:-1][rows[order]]
        order = np.lexsort((-q, kinds, rows))
        group = rows[order] * 16 + kinds[order]
        start = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
        within = np.empty(len(q), np.int64)
        within[order] = np.arange(len(q)) - np.repeat(start, np.diff([*start, len(q)]))
        keep = (within < self.per_type) | (kinds == PASS)
        for most in (12, 6, 4, 3, 2, 1):
            if np.count_nonzero(keep) <= self.room:
                break
            keep &= place < most
            self.thinned += most == 12
        return keep


def solve_sampled_subgame(
    state: NDArray,
    actions: NDArray,
    candidates: NDArray[np.int64],
    worlds: Worlds,
    chosen: NDArray[np.int64],
    values: NDArray[np.float64],
    rollouts: Rollouts,
    config: GuanDanConfig,
    rng: np.random.Generator,
    deadline: float,
) -> SampledSolution:
    """Return the refined policy at one decision.

    state: [1] STATE. actions: [m] ACTION, canonical; candidates: those the policy is over.
    worlds, chosen, values: the sampled deals, which of them to solve, their alternative values [q, n].
    deadline: an instant of `time.perf_counter()`.
    Raises TimeoutError if the tree could not be grown in time.
    """
    evaluator = rollouts.evaluator
    seat = int(state["player"][0])
    seats = (seat + 1 & 3, seat + 3 & 3)
    opponents = tuple(s for s in seats if state["left"][0, s] > 0)
    laps: dict[str, float] = {}
    began = time.perf_counter()
    roots, weights = with_companions(
        worlds.states[chosen], worlds.weights[chosen], seat, opponents, config.companions, rng
    )
    if len(roots) == len(chosen):
        alternative = values[:, chosen]
    else:
        alternative = alternative_values(evaluator, roots, opponents)
    group = np.empty((len(opponents), len(roots)), np.int32)
    for i, opponent in enumerate(opponents):
        key = _GAME.infoset_key(roots, opponent)
        group[i] = np.unique(key, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(group[0], kind="stable")
    roots, weights, alternative, group = roots[order], weights[order], alternative[:, order], group[:, order]
    laps["generation"] = time.perf_counter() - began

    began = time.perf_counter()
    cards = int(state["left"][0, list(seats)].sum())
    depth = config.crowd_depth if cards > CROWD else config.subgame_depth
    branches = _Branches(evaluator, config.actions_per_type, config.room, deadline)
    wanted = actions[candidates]
    first = True

    def branch(game: Game, states: NDArray, player: int, legal: Ragged) -> NDArray[np.bool_]:
        nonlocal first
        if first:
            # our own decision: exactly the candidates
            first = False
            return np.isin(_words(legal.values), _words(wanted))
        return branches(game, states, player, legal)

    def partner(game: Game, states: NDArray, player: int, legal: Ragged) -> NDArray[np.float64]:
        q = evaluator_values(evaluator, states, legal)
        best = np.maximum.reduceat(q, legal.offsets[:-1])
        hits = np.flatnonzero(q >= best[legal.rows])
        out = np.zeros(len(q))
        out[hits[np.unique(legal.rows[hits], return_index=True)[1]]] = 1.0
        return out

    def leaf(game: Game, states: NDArray) -> NDArray[np.float64]:
        gain = rollouts.payoffs(states.copy(), None if config.leaf == "rollout" else 0, deadline)
        return gain[:, None] * np.array([1.0, -1.0, 1.0, -1.0])

    frozen = np.zeros(4, bool)
    frozen[seat + 2 & 3] = True
    subgame = grow_subgame(
        _GAME,
        roots,
        weights,
        rules=TreeRules(depth_limit=depth, leaf=leaf, branch_limit=branch, policy=partner),
        frozen_seats=frozen,
        max_nodes=200 * config.room,
    )
    laps["growth"] = time.perf_counter() - began

    began = time.perf_counter()
    kind = config.gadget
    if kind == "auto":
        kind = "resolve" if len(opponents) == 2 else "maxmargin"
    if kind == "maxmargin" and len(opponents) == 2:
        kind = "resolve"
    entry = Entry(opponents, group, _even(alternative, group), weights, np.ones(len(weights)))
    gadget = build_gadget(
        kind, subgame.tree, subgame.root_of, entry, floor=0.0 if kind == "unsafe" else config.entry_floor
    )
    # the average of few iterations is what counts, and exploitability costs more than they do
    solution = solve(gadget.tree, iterations=config.iterations, stop=Stop(deadline))
    policy = gadget.to_forest(solution.policy, subgame.tree.n_slots)
    laps["solve"] = time.perf_counter() - began

    tree = subgame.tree
    low, high = tree.infoset_offset[tree.infoset[0] : tree.infoset[0] + 2]
    kept = tree.action[tree.first_child[0] : tree.first_child[0] + tree.n_children[0]]
    place = {bytes(word): i for i, word in zip(candidates, _words(wanted), strict=True)}
    moves = np.array([place[bytes(word)] for word in _words(kept)], np.int64)
    return SampledSolution(
        Worlds(roots, weights, False),
        opponents,
        alternative,
        _root_values(subgame.tree, policy, opponents),
        moves,
        policy[low:high],
        gadget.tree.n_nodes,
        gadget.tree.n_infosets,
        tree.n_truncated,
        depth,
        solution.iteration,
        float(solution.exploitability),
        branches.thinned,
        _own_policies(tree, policy, seat),
        laps,
    )


def _own_policies(
    tree: FlatTree, policy: NDArray[np.float64], seat: int
) -> dict[bytes, tuple[NDArray, NDArray[np.float64]]]:
    """Return the moves and probabilities of every infoset of `seat` but the first, by its key."""
    first = tree.infoset_first_node()
    out = {}
    for i in np.flatnonzero(tree.infoset_player == seat)[1:]:
        child, size = tree.first_child[first[i]], tree.n_children[first[i]]
        low, high = tree.infoset_offset[i : i + 2]
        out[tree.infoset_key[i].tobytes()] = (tree.action[child : child + size], policy[low:high])
    return out


def _words(actions: NDArray) -> NDArray:
    """Return actions as one comparable value each; the bytes between their fields hold anything."""
    words = action_words(actions).copy()
    words[:, 0] &= 0xFFFFFF
    return words.view("V24").reshape(-1)


def _even(alternative: NDArray, group: NDArray) -> NDArray[np.float64]:
    """Return alternative values averaged within each opponent's infosets."""
    out = np.empty_like(alternative)
    for i in range(len(group)):
        out[i] = (np.bincount(group[i], alternative[i]) / np.bincount(group[i]))[group[i]]
    return out


def _root_values(tree: FlatTree, policy: NDArray, opponents: tuple[int, ...]) -> NDArray[np.float64]:
    """Return what each opponent gets at each root when everyone follows `policy`, [q, r]."""
    values = node_values(tree, policy)
    return values[: tree.n_roots, list(opponents)].T
